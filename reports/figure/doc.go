// Package figure holds a figure as plain data, and draws it.
//
// A Figure holds what is plotted: panels with lines, areas, bars and cells on axes that they
// share. The drawing adds nothing to it, so tests compare figures, and one look at a picture
// covers them all. The page draws the same figures with a script.
//
// It knows no runs: it must not import metrics or any other room but wording, which formats
// the numbers on the axes.
package figure
