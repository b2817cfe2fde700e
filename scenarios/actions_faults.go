package scenarios

import (
	"fmt"
	"time"

	"github.com/simctl/simctl/cluster"
	"github.com/simctl/simctl/cluster/rpc"
)

// pick finds the server that a Server stands for at this moment.
func (r *run) pick(s Server) (int, error) {
	switch s {
	case Leader:
		if l := r.cluster.Leader(); l >= 0 {
			return l, nil
		}
		return 0, fmt.Errorf("pick the leader: %w", rpc.ErrNoLeader)
	case Follower:
		leader := r.cluster.Leader()
		for i := range r.cluster.Servers() {
			if i != leader && r.cluster.Running(i) {
				return i, nil
			}
		}
		return 0, fmt.Errorf("pick a follower: none runs: %w", rpc.ErrUnreachable)
	}
	return int(s), nil
}

// pickAll finds the servers of a list; an empty one stands for all.
func (r *run) pickAll(list []Server) ([]int, error) {
	var ids []int
	if len(list) == 0 {
		for i := range r.cluster.Servers() {
			ids = append(ids, i)
		}
		return ids, nil
	}
	for _, s := range list {
		i, err := r.pick(s)
		if err != nil {
			return nil, err
		}
		ids = append(ids, i)
	}
	return ids, nil
}

// addresses finds the members' addresses; nil for everybody else.
func (r *run) addresses(m Members) ([]string, error) {
	if m.everybody() {
		return nil, nil
	}
	addrs := []string{}
	if len(m.Servers) > 0 {
		ids, err := r.pickAll(m.Servers)
		if err != nil {
			return nil, err
		}
		for _, i := range ids {
			addrs = append(addrs, r.cluster.Addr(i))
		}
	}
	return append(addrs, r.fleet.Choose(m.Clients)...), nil
}

func (a KillServer) Mark() string { return fmt.Sprintf("%v is killed", a.Server) }

func (a KillServer) do(r *run) error {
	i, err := r.pick(a.Server)
	if err != nil {
		return err
	}
	if !r.cluster.Running(i) {
		return nil // dead already
	}
	if err := r.cluster.StopServer(i); err != nil {
		return err
	}
	r.begin(a.For, fmt.Sprintf("%v is back", Server(i)), func() error { return r.startServer(i) })
	return nil
}

func (r *run) startServer(i int) error {
	if r.cluster.Running(i) {
		return nil
	}
	return r.cluster.StartServer(i)
}

func (a StartServer) Mark() string { return fmt.Sprintf("%v is started", a.Server) }

func (a StartServer) do(r *run) error {
	i, err := r.pick(a.Server)
	if err != nil {
		return err
	}
	return r.startServer(i)
}

func (a PauseServer) Mark() string { return fmt.Sprintf("%v is paused", a.Server) }

func (a PauseServer) do(r *run) error {
	i, err := r.pick(a.Server)
	if err != nil {
		return err
	}
	end := r.cluster.DisturbLinks(cluster.LinkFault{From: []string{r.cluster.Addr(i)}, Link: cluster.Link{Loss: 1}})
	r.begin(a.For, fmt.Sprintf("%v goes on", Server(i)), done(end))
	return nil
}

func (a Partition) Mark() string { return between("a partition", a.From, a.To, a.OneWay) }

func (a Partition) do(r *run) error {
	return r.disturb(a.From, a.To, a.OneWay, cluster.Link{Loss: 1}, a.For, "the partition heals")
}

func (a LinkDelay) Mark() string { return between("slow links", a.From, a.To, a.OneWay) }

func (a LinkDelay) do(r *run) error {
	l := cluster.Link{Latency: r.sc.scaleOf(a.Latency), Jitter: r.sc.scaleOf(a.Jitter)}
	return r.disturb(a.From, a.To, a.OneWay, l, a.For, "the links are as fast as before")
}

func (a LinkLoss) Mark() string {
	return between(fmt.Sprintf("%g%% loss on the links", a.Loss*100), a.From, a.To, a.OneWay)
}

func (a LinkLoss) do(r *run) error {
	return r.disturb(a.From, a.To, a.OneWay, cluster.Link{Loss: a.Loss}, a.For, "the links lose nothing more")
}

func between(what string, from, to Members, oneWay bool) string {
	if from.everybody() && to.everybody() {
		return what + " between all"
	}
	if oneWay {
		return fmt.Sprintf("%s from %v to %v", what, from, to)
	}
	return fmt.Sprintf("%s between %v and %v", what, from, to)
}

func (r *run) disturb(from, to Members, oneWay bool, l cluster.Link, lasts time.Duration, mark string) error {
	f := cluster.LinkFault{OneWay: oneWay, Link: l}
	var err error
	if f.From, err = r.addresses(from); err != nil {
		return err
	}
	if f.To, err = r.addresses(to); err != nil {
		return err
	}
	r.begin(lasts, mark, done(r.cluster.DisturbLinks(f)))
	return nil
}

// done makes an end that cannot fail one that never does.
func done(end func()) func() error {
	return func() error { end(); return nil }
}

func (a SlowDisk) Mark() string { return "slow disks: " + list(a.Servers) }

func (a SlowDisk) do(r *run) error {
	return r.slow(a.Servers, a.Longer, a.For, r.cluster.SlowDisk, "the disks are as fast as before")
}

func (a SlowApply) Mark() string { return "slow state machines: " + list(a.Servers) }

func (a SlowApply) do(r *run) error {
	return r.slow(a.Servers, a.Longer, a.For, r.cluster.SlowApply, "the state machines are as fast as before")
}

func list(servers []Server) string {
	if len(servers) == 0 {
		return "all servers"
	}
	return Members{Servers: servers}.String()
}

// slow makes servers slower by what set sets.
func (r *run) slow(servers []Server, longer, lasts time.Duration, set func(int, time.Duration), mark string) error {
	ids, err := r.pickAll(servers)
	if err != nil {
		return err
	}
	longer = r.sc.scaleOf(longer)
	for _, i := range ids {
		set(i, longer)
	}
	r.begin(lasts, mark, func() error {
		for _, i := range ids {
			set(i, -longer)
		}
		return nil
	})
	return nil
}

func (a SkewClocks) Mark() string {
	return fmt.Sprintf("the clocks of %g%% of the clients run at %g", a.Clients*100, a.Rate)
}

func (a SkewClocks) do(r *run) error {
	ids := r.fleet.Choose(a.Clients)
	if err := r.fleet.SetClockRate(ids, a.Rate); err != nil {
		return err
	}
	r.begin(a.For, "the clocks are right again", func() error { return r.fleet.SetClockRate(ids, 1) })
	return nil
}

func (a StopClients) Mark() string {
	return fmt.Sprintf("%g%% of the clients stop", a.Fraction*100)
}

func (a StopClients) do(r *run) error {
	ids := r.fleet.Stop(a.Fraction)
	if a.For > 0 {
		r.begin(a.For, "they are back", func() error { r.fleet.Resume(ids); return nil })
	}
	return nil
}

func (ResumeClients) Mark() string { return "the stopped clients are back" }

func (ResumeClients) do(r *run) error {
	r.fleet.Resume(r.fleet.StoppedNodes())
	return nil
}

func (a FlapClients) Mark() string {
	return fmt.Sprintf("%g%% of the clients flap %d times", a.Fraction*100, a.Times)
}

func (a FlapClients) do(r *run) error {
	ids := r.fleet.Choose(a.Fraction)
	left := a.Times
	var down func()
	down = func() {
		r.fleet.StopNodes(ids)
		left--
		r.begin(a.Down, "", func() error {
			r.fleet.Resume(ids)
			if left > 0 && !r.healing {
				r.begin(a.Up, "", func() error {
					if !r.healing {
						down()
					}
					return nil
				})
			}
			return nil
		})
	}
	down()
	return nil
}

func (Heal) Mark() string { return "all faults end" }

func (Heal) do(r *run) error { return r.heal() }
