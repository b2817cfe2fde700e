package broker_test

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/internal/uuid"
)

// TestShedIDsAreRemembered: an evaluation that was shed is ignored when it comes again, until
// the reaper has taken the last one of its job, however many were shed, in whatever form their
// IDs are and in batches of whatever size they are taken. Short and long lists are kept
// differently.
func TestShedIDsAreRemembered(t *testing.T) {
	source := rand.NewPCG(1, 1)
	for form, id := range map[string]func(int) string{
		"words": func(i int) string { return fmt.Sprintf("e%03d", i) },
		"UUIDs": func(int) string { return uuid.Random(source) },
	} {
		for _, shed := range []int{1, 2, 63, 64, 65, 66, 67, 129, 500} {
			for _, batch := range []int{1, 7, max(shed/2, 1), max(shed-1, 1)} {
				t.Run(fmt.Sprintf("%d %s in batches of %d", shed, form, batch), func(t *testing.T) {
					rememberShed(t, id, shed, batch)
				})
			}
		}
	}
}

func rememberShed(t *testing.T, id func(int) string, shed, batch int) {
	now := time.Unix(1000, 0)
	b := broker.New(broker.Config{Policy: broker.Shedding()})
	b.SetEnabled(now, true)
	all := make([]*broker.Evaluation, shed+2) // one is processed, one kept
	for i := range all {
		all[i] = &broker.Evaluation{ID: id(i), JobID: "j", Type: "service", ModifyIndex: uint64(i)}
	}
	all[1].ModifyIndex = 1000 // the best, in the middle of what is pending
	enqueue := func() {
		for _, e := range all {
			b.Enqueue(now, e)
		}
	}
	enqueue()
	e, token, err := b.Dequeue(now, []string{"service"})
	if err != nil || e != all[0] {
		t.Fatalf("dequeue: %v, %v", e, err)
	}
	if res, err := b.Ack(now, e.ID, token); err != nil || res.Shed != shed || res.Next != all[1] {
		t.Fatalf("ack: %+v, %v; want %d shed and %s next", res, err, shed, all[1].ID)
	}
	all = all[2:]
	for left := shed; left > 0; {
		enqueue()
		if s := b.Stats(); s.Pending != 0 || s.Cancelable != left {
			t.Fatalf("with %d left to take, those shed came again: %+v", left, s)
		}
		got := len(b.Cancelable(batch))
		if want := min(batch, left); got != want {
			t.Fatalf("took %d, want %d", got, want)
		}
		left -= got
	}
	enqueue()
	if s := b.Stats(); s.Pending != shed || s.Cancelable != 0 {
		t.Errorf("with all taken, %d came again: %+v", shed, s)
	}
}
