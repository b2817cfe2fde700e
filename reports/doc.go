// Package reports turns Result files into what people look at: a table for the terminal,
// charts, a self-contained page, and text for other programs.
//
// It imports metrics (and libraries that draw) only: every report can be made from stored
// results, on any machine, long after the run. It decides nothing about a run; a number
// that it shows is either in a Result or worked out by metrics.
//
// Every function takes runs in the order in which they are to be shown. Two runs are shown
// side by side, the older design left and the newer right; more become small multiples.
//
// A metrics.Sweep, many runs with what tells them apart, has functions of its own (WriteSweep,
// Sweep), and a Plan is estimates beside a run that checks them.
//
// Charts are made in two steps. A figure (figure.go) holds what is plotted as plain data;
// the drawing of it (draw.go for PNG and SVG, html.go for the page) adds nothing to it. So
// tests compare figures, and one look at a picture covers all of them. Live does the same
// for a display that follows runs under way: it turns samples into text, and knows neither
// time nor terminal.
package reports
