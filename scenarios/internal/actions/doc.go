// Package actions is what can happen in a run: the Action that an event of a scenario does,
// the keywords that declare actions, and the Stage that actions act on.
//
// Every action stands in one file of a package below: its keyword, the attributes of
// its block, what is wrong with them, the mark in the Result, what it does and how soak draws
// it: faults befall servers and links, package clients is about clients, and operations are
// what users and operators ask of the leader. No list names them all: Keywords does.
//
// It drives cluster and fleet. It must not import what runs scenarios, nor what judges runs.
package actions
