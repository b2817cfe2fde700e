package state

import (
	"crypto/sha256"
	"fmt"
	"iter"
	"reflect"
	"slices"

	"github.com/hashicorp/go-msgpack/v2/codec"

	"github.com/simctl/simctl/broker"
	"github.com/simctl/simctl/cluster/rpc"
)

// Fingerprint hashes every node, job, evaluation, allocation and deployment with all their fields,
// in hexadecimal. Two servers that applied the same entries have the same one; counts
// and the latest index are left out, since they follow from the rows and the log.
func (s *Snapshot) Fingerprint() string {
	h := sha256.New()
	enc := codec.NewEncoder(h, msgpackHandle())
	err := firstError(
		persistRows(enc, s.Nodes(), itself),
		persistRows(enc, s.Jobs(), itself),
		persistRows(enc, s.Evals(), itself),
		persistRows(enc, s.Allocs(), itself),
		persistRows(enc, s.Deployments(), itself),
	)
	if err != nil {
		panic(fmt.Sprintf("state: a row cannot be encoded: %v", err)) // plain structs into a hash: cannot fail
	}
	return fmt.Sprintf("%x", h.Sum(nil))
}

// Diff describes the first difference between two states, in the words of a report; it
// is empty when they are equal.
func Diff(a, b *Snapshot) string {
	for _, diff := range []func() string{
		func() string { return diffRows("node", a.Nodes(), b.Nodes(), func(n *rpc.Node) string { return n.ID }) },
		func() string {
			return diffRows("job", a.Jobs(), b.Jobs(), func(j *rpc.Job) string { return j.Namespace + "/" + j.ID })
		},
		func() string {
			return diffRows("evaluation", a.Evals(), b.Evals(), func(e *broker.Evaluation) string { return e.ID })
		},
		func() string {
			return diffRows("allocation", a.Allocs(), b.Allocs(), func(x *rpc.Allocation) string { return x.ID })
		},
		func() string {
			return diffRows("deployment of job", a.Deployments(), b.Deployments(), func(d *rpc.Deployment) string { return d.Namespace + "/" + d.JobID })
		},
	} {
		if d := diff(); d != "" {
			return d
		}
	}
	return ""
}

// diffRows walks two ordered tables side by side.
func diffRows[T any](kind string, a, b iter.Seq[*T], id func(*T) string) string {
	rest := slices.Collect(b)
	for x := range a {
		switch {
		case len(rest) == 0 || id(x) < id(rest[0]):
			return fmt.Sprintf("%s %s is in the first state only", kind, id(x))
		case id(x) > id(rest[0]):
			return fmt.Sprintf("%s %s is in the second state only", kind, id(rest[0]))
		case x != rest[0] && !reflect.DeepEqual(x, rest[0]):
			return fmt.Sprintf("%s %s is %+v in the first state and %+v in the second", kind, id(x), *x, *rest[0])
		}
		rest = rest[1:]
	}
	if len(rest) > 0 {
		return fmt.Sprintf("%s %s is in the second state only", kind, id(rest[0]))
	}
	return ""
}
