// Package page writes self-contained pages about runs and about sweeps. A page is one file
// that loads nothing; its style, its script and uPlot, which draws lines and areas, are in
// assets. Bars, heat maps and tables are laid out as text.
//
// It writes no files and must not import package reports.
package page
