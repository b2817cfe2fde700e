// Package reports turns Result files into what people look at: a table for the terminal,
// charts, self-contained pages, text for other programs, and a view of runs under way.
//
// It knows Results only, so that every report can be made on any machine, long after the
// run. It decides nothing about a run: a number that it shows is in a Result or follows
// from Results. It must not import anything that runs.
//
// The package holds the formats and writes the files. Its rooms are below it:
//
//	wording   how runs, phases and figures are named and formatted, and the comparison
//	figure    a figure as plain data, and its drawing
//	sweep     what a sweep found out, as figures and as text
//	chart     the charts of runs, one file each
//	page      the pages for a browser
//
// Every function takes runs in the order in which it shows them. Two runs are compared, the
// older design first; more are shown side by side.
package reports
