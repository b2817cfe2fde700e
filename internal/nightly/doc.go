// Package nightly tells tests whether they have time. Most runs of the tests are waited for, so a test
// that could go on for ever, such as repeats or comparisons with recorded runs, does its small part then.
// Under the build tag nightly (make nightly) it does all of it.
package nightly
