// Package sample has a place for every rule. Its tests notice some mutants, run past others,
// and miss the function Unreached.
package sample

import (
	"errors"
	"iter"
	"maps"
	"slices"
	"strings"
	"time"
)

type kind int

const (
	small kind = iota
	large
)

var limits = [...]int{small: 3, large: 300}

var errNegative = errors.New("negative")

// Sort returns the numbers that fit in, sorted, and how many others there are.
func Sort(numbers []int, k kind) (fit []int, others int, err error) {
	for _, n := range numbers {
		if n < 0 {
			return nil, 0, errNegative
		}
		if n <= limits[k] && (k == large || n > 0) {
			fit = append(fit, n)
		} else {
			others++
		}
	}
	slices.Sort(fit)
	return fit, others, nil
}

// Weigh is what the tests of this package look at only in part.
func Weigh(words map[string]int, more iter.Seq2[string, int]) (sum int) {
	for _, w := range words {
		sum += w
	}
	for word, w := range more {
		if strings.HasPrefix(word, "#") {
			continue
		}
		sum = sum + max(w, 1)
	}
	return min(sum, 100)
}

// Wait has a duration, which no rule is for, and a switch.
func Wait(k kind) (d time.Duration) {
	d = time.Second
	switch k {
	case large:
		d *= 60
	}
	return d
}

// Checked passes an error on.
func Checked(numbers []int) (bool, error) {
	_, others, err := Sort(numbers, small)
	if err != nil {
		return false, err
	}
	return others == 0, nil
}

// Unreached is called by nobody.
func Unreached(n int) bool {
	for i := range n {
		if i*i == n {
			return true
		}
	}
	return false
}

// First is equivalent under a rule: there is at most one key.
func First(m map[string]int) string {
	keys := slices.Collect(maps.Keys(m))
	if len(keys) > 1 {
		panic("more than one key")
	}
	slices.Sort(keys)
	return strings.Join(keys, "")
}
