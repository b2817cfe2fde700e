// Package wording says how runs, phases and figures are called and formatted, and words the
// comparison of runs. Tables, charts and pages take their text from here, so that they agree.
//
// It lays nothing out and writes no files. Of this module it must import metrics only.
package wording
