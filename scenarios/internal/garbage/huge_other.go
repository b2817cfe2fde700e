//go:build !linux

package garbage

func reserve(int) {}

func touch(int) {}
