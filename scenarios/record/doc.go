// Package record turns a Nomad cluster into a scenario: it reads nodes and jobs from the HTTP
// API, follows the stream of events for a while, and writes a scenario file and a trace.
//
// What was seen is plain data (seen.go), which look.go and watch.go fill and write.go turns into
// text. What has no word in a scenario is a comment at the top of the file. The package changes
// nothing in the cluster, and must not import what runs scenarios.
package record
