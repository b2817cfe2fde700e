package forecast

import (
	"bytes"
	"os"
	"strconv"
	"strings"
)

// defaultMemory is the free memory of a machine that does not tell, as only Linux does.
const defaultMemory = 4 << 30

// FreeMemory returns the bytes that processes can take before any is swapped out: what the
// kernel says, or what this process's group has left if that is less.
func FreeMemory() int64 {
	free := int64(defaultMemory)
	if text, err := os.ReadFile("/proc/meminfo"); err == nil {
		for line := range bytes.Lines(text) {
			if rest, ok := bytes.CutPrefix(line, []byte("MemAvailable:")); ok {
				if kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(string(rest)), " kB"), 10, 64); err == nil {
					free = kb << 10
				}
			}
		}
	}
	limit, err1 := readNumber("/sys/fs/cgroup/memory.max")
	used, err2 := readNumber("/sys/fs/cgroup/memory.current")
	if err1 == nil && err2 == nil && limit > used {
		free = min(free, limit-used)
	}
	return free
}

func readNumber(file string) (int64, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return 0, err
	}
	return strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
}
