package script

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
)

// args are a command's arguments. They keep the first mistake for finish to return.
type args struct {
	values map[string]string
	used   map[string]bool
	err    error
}

func parse(line string) (command string, a *args, err error) {
	words := strings.Fields(line)
	if len(words) == 0 {
		return "", nil, fmt.Errorf("empty line")
	}
	a = &args{values: map[string]string{}, used: map[string]bool{}}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		if _, twice := a.values[key]; twice {
			return "", nil, fmt.Errorf("%s: argument %q is given twice", words[0], key)
		}
		a.values[key] = strings.Trim(value, "()")
	}
	return words[0], a, nil
}

// finish returns the first mistake. An argument that was not read is one.
func (a *args) finish() error {
	if a.err != nil {
		return a.err
	}
	for _, key := range slices.Sorted(maps.Keys(a.values)) {
		if !a.used[key] {
			return fmt.Errorf("unknown argument %q", key)
		}
	}
	return nil
}

func (a *args) text(key, or string) string {
	if a.flag(key) {
		return a.values[key]
	}
	return or
}

func (a *args) flag(key string) bool {
	_, ok := a.values[key]
	a.used[key] = true
	return ok
}

func (a *args) number(key string, or int64) int64 {
	v := a.text(key, "")
	if v == "" {
		return or
	}
	n, err := strconv.ParseInt(v, 10, 64)
	if err != nil && a.err == nil {
		a.err = fmt.Errorf("%s=%q is no whole number", key, v)
	}
	return n
}

func (a *args) duration(key string) time.Duration {
	v := a.text(key, "")
	if v == "" {
		return 0
	}
	d, err := time.ParseDuration(v)
	if err != nil && a.err == nil {
		a.err = fmt.Errorf("%q is no duration: write it like 90s or 1m30s", v)
	}
	return d
}

func (a *args) list(key string, or []string) []string {
	v := a.text(key, "")
	if v == "" {
		return or
	}
	return strings.Split(v, ",")
}
