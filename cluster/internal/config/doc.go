// Package config is what a cluster is told: its settings with Nomad's defaults, what work
// costs on a class of machines, and who is told of what the leader's broker does. It is
// data and decides nothing; package cluster has its types under names of its own.
//
// It must not import any other part of the cluster but the types in its fields.
package config
