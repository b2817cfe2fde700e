// Package addingdocs holds docs/adding.md to the truth: its test applies every diff of that
// page, builds the program with it and runs the command that follows.
package addingdocs
