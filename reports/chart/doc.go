// Package chart turns runs into the figures of a report.
//
// Each chart is one file. It registers the chart's name, its title, its place among the others,
// and the function that returns its figure, or one without panels if the runs lack what it
// is about. Nothing else lists charts: files, pages and tests take what Of returns.
//
// It draws nothing and must not import page or package reports.
package chart
