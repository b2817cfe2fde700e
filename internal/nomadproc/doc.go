// Package nomadproc starts and ends real Nomad servers on this machine's loopback interface.
//
// A cluster lives in a directory: the configuration, data and log of every server, and a file that
// says how to reach them. What runs is what the table of processes says: a server is known by the
// path of its configuration file on its command line. So whoever finds the directory can end the
// cluster, also if the program that started it was killed at the worst moment.
//
// The package knows nothing of scenarios, and asks servers no more than whether they have a leader.
package nomadproc
