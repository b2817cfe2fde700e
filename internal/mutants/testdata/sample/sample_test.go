package sample

import (
	"errors"
	"maps"
	"slices"
	"testing"
	"time"
)

func TestSort(t *testing.T) {
	fit, others, err := Sort([]int{3, 0, 1, 4}, small)
	if err != nil || !slices.Equal(fit, []int{1, 3}) || others != 2 {
		t.Errorf("%v and %d others (%v)", fit, others, err)
	}
	if _, _, err := Sort([]int{1, -1}, large); !errors.Is(err, errNegative) {
		t.Error(err)
	}
}

func TestWeigh(t *testing.T) {
	if got := Weigh(map[string]int{"a": 2}, maps.All(map[string]int{"b": 3})); got != 5 {
		t.Error(got)
	}
}

func TestWait(t *testing.T) {
	if Wait(small) != time.Second || Wait(large) != time.Minute {
		t.Error("wrong")
	}
}

func TestChecked(t *testing.T) {
	if ok, err := Checked([]int{1}); !ok || err != nil {
		t.Error(ok, err)
	}
	if _, err := Checked([]int{-1}); err == nil {
		t.Error("no error")
	}
}

func TestFirst(t *testing.T) {
	if First(map[string]int{"a": 1}) != "a" {
		t.Error("wrong")
	}
}
