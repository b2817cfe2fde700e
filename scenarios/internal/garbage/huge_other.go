//go:build !linux

package garbage

func reserve(int) {}
