package fsm

import (
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-msgpack/v2/codec"
	"github.com/hashicorp/raft"

	"github.com/simctl/simctl/cluster/internal/config"
	"github.com/simctl/simctl/cluster/state"
)

// Type tells the entries of the log apart. It is the first byte of a command. Zero is no
// type: an entry that was never seen.
type Type uint8

// kind is what the registry knows of a type. Those that Raft writes have no functions.
type kind struct {
	name    string
	request reflect.Type
	decode  func(body []byte) (any, error)
	cost    func(req any, costs config.FSMCosts, store *state.Store) config.Work
	apply   func(tx *state.Tx, req any, fx *Effects) error
	copied  func(req any) any // nil unless it costs less than decoding
}

var kinds = []kind{{}}

func register(k kind) Type {
	kinds = append(kinds, k)
	return Type(len(kinds) - 1)
}

// Entry is a type of command whose request is a T.
type Entry[T any] struct{ Type }

// costOf is the work of applying a request to a state.
type costOf[T any] func(req *T, costs config.FSMCosts, store *state.Store) config.Work

// Declare makes a type of command. Its name is Nomad's (nomad/structs/structs.go,
// MessageType). Cost is the work of applying a request to a state. Apply writes to the state what
// a request asks for and notes the effects; its error must be the same on every server.
func Declare[T any](name string, cost costOf[T], apply func(*state.Tx, *T, *Effects) error) Entry[T] {
	return Entry[T]{register(kind{
		name: name, request: reflect.TypeFor[T](),
		decode: func(body []byte) (any, error) {
			req := new(T)
			dec := codec.NewDecoderBytes(body, handle)
			err := dec.Decode(req)
			if t, ok := any(req).(trailed); ok && err == nil && dec.NumBytesRead() < len(body) {
				*t.trailer() = slices.Clone(body[dec.NumBytesRead():])
			}
			return req, err
		},
		cost: func(req any, costs config.FSMCosts, store *state.Store) config.Work {
			return cost(req.(*T), costs, store)
		},
		apply: func(tx *state.Tx, req any, fx *Effects) error { return apply(tx, req.(*T), fx) },
	})}
}

// lendable says that requests of the type are lent (Results, Lend): copied gives what decoding the entry would, for less.
func (e Entry[T]) lendable(copied func(*T) *T) Entry[T] {
	kinds[e.Type].copied = func(req any) any { return copied(req.(*T)) }
	return e
}

// trailed is a request that ends with bytes as they are, and mostly with none.
type trailed interface{ trailer() *[]byte }

// With returns the command that carries a request.
func (e Entry[T]) With(req *T) Command { return Command{e.Type, req} }

// Of returns the request that a command carries, if it is of this type: no other type has
// requests like it.
func (e Entry[T]) Of(c Command) (req *T, ok bool) {
	req, ok = c.req.(*T)
	return req, ok
}

// Begins reports whether an entry's data are a command of this type.
func (e Entry[T]) Begins(data []byte) bool { return len(data) > 0 && Type(data[0]) == e.Type }

func (t Type) String() string {
	if t > 0 && int(t) < len(kinds) {
		return kinds[t].name
	}
	return fmt.Sprintf("Type(%d)", uint8(t))
}

// Applied reports whether entries of the type reach the state machine, which those that
// Raft writes of its own accord do not.
func (t Type) Applied() bool { return int(t) < len(kinds) && kinds[t].apply != nil }

// Types returns the names of all types of entries, Raft's own included.
func Types() []string {
	var names []string
	for _, k := range kinds[1:] {
		names = append(names, k.name)
	}
	return names
}

// TypeOf classifies any entry of the log; zero when it is of no known type.
func TypeOf(l *raft.Log) Type {
	switch l.Type {
	case raft.LogNoop:
		return raftNoop
	case raft.LogBarrier:
		return raftBarrier
	case raft.LogConfiguration:
		return raftConfiguration
	}
	if len(l.Data) == 0 || !Type(l.Data[0]).Applied() {
		return 0
	}
	return Type(l.Data[0])
}

// Command is a request together with its type: what one entry of the log says.
type Command struct {
	Type Type
	req  any
}

// handle packs structs as arrays: the log needs no field names, since one build writes and
// reads it.
var handle = func() *codec.MsgpackHandle {
	h := &codec.MsgpackHandle{}
	h.StructToArray = true
	return h
}()

// encoders lets go of what it holds when garbage is collected: a plan of a hundred thousand
// allocations has 20 MB.
var encoders = sync.Pool{New: func() any { return &encoder{enc: codec.NewEncoderBytes(nil, handle)} }}

type encoder struct {
	enc *codec.Encoder
	buf []byte
}

// Encode returns the bytes of the command in the log.
func (c Command) Encode() ([]byte, error) {
	e := encoders.Get().(*encoder)
	defer encoders.Put(e)
	e.buf = e.buf[:0]
	e.enc.ResetBytes(&e.buf)
	if err := e.enc.Encode(c.req); err != nil {
		return nil, fmt.Errorf("encode %v: %w", c.Type, err)
	}
	var trailer []byte
	if t, ok := c.req.(trailed); ok {
		trailer = *t.trailer()
	}
	return slices.Concat([]byte{byte(c.Type)}, e.buf, trailer), nil
}

// Decode reads what Encode wrote.
func Decode(data []byte) (Command, error) {
	if len(data) == 0 || !Type(data[0]).Applied() {
		return Command{}, fmt.Errorf("command of %d bytes has an unknown type", len(data))
	}
	t := Type(data[0])
	req, err := kinds[t].decode(data[1:])
	if err != nil {
		return Command{}, fmt.Errorf("decode %v: %w", t, err)
	}
	return Command{t, req}, nil
}

// Cost is the CPU time that every server spends on applying the command to a state before
// its effect is visible.
func (c Command) Cost(costs config.FSMCosts, store *state.Store) config.Work {
	return kinds[c.Type].cost(c.req, costs, store)
}

// Apply applies the command to a state as the entry at an index, and returns what others
// are to hear of it. The request's objects belong to the state afterwards. Nothing is
// changed when it returns an error.
func (c Command) Apply(store *state.Store, index uint64) (*Effects, error) {
	fx := &Effects{}
	err := store.Update(index, func(tx *state.Tx) error { return kinds[c.Type].apply(tx, c.req, fx) })
	if err != nil {
		return nil, err
	}
	return fx, nil
}

// Costs that several entries share: a fixed part, and one for each thing written.

func flat[T any](_ *T, c config.FSMCosts, _ *state.Store) config.Work {
	return config.Work{Few: c.Entry}
}

func perNode[T any](nodes func(*T) int) costOf[T] {
	return func(req *T, c config.FSMCosts, _ *state.Store) config.Work {
		return config.Work{Few: c.Entry + time.Duration(nodes(req))*c.Node}
	}
}

func oneNode[T any](_ *T, c config.FSMCosts, _ *state.Store) config.Work {
	return config.Work{Few: c.Entry + c.Node}
}

func perEval[T any](evals func(*T) int) costOf[T] {
	return func(req *T, c config.FSMCosts, s *state.Store) config.Work {
		w := c.Evals(evals(req), s.Snapshot().Rows())
		w.Few += c.Entry
		return w
	}
}
