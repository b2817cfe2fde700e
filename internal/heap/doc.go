// Package heap is a binary min-heap of any type: container/heap without the boxing of its
// elements and without five methods for each type.
//
// It must import nothing.
package heap
