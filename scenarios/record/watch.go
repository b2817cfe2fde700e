package record

import (
	"context"
	"encoding/json"
	"time"

	"github.com/hashicorp/nomad/api"
)

// retry is how long to wait before asking again for a stream that broke.
const retry = time.Second

// watch follows the events from an index on until ctx ends.
func (r *recorder) watch(ctx context.Context, index uint64) {
	topics := map[api.Topic][]string{api.TopicNode: {"*"}, api.TopicJob: {"*"}, api.TopicEvaluation: {"*"}}
	for {
		events, err := r.client.EventStream().Stream(ctx, topics, index, &api.QueryOptions{Namespace: api.AllNamespacesNamespace})
		if err == nil {
			index = r.follow(events, index)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(retry):
		}
		r.seen.omit("the stream of events broke: what happened until it was there again is known from the lists, to the second")
		// If this fails the cluster has a problem, so the next round will most likely fail, too, and come here again.
		if now, err := r.lookAtNodes(ctx, time.Since(r.began)); err == nil && r.lookAtJobs(ctx, time.Since(r.began)) == nil {
			index = now + 1
		}
	}
}

// follow takes note of the events of a stream until it ends, and returns the index after them.
func (r *recorder) follow(stream <-chan *api.Events, index uint64) uint64 {
	for batch := range stream {
		if batch.Err != nil {
			continue // the stream ends
		}
		at := time.Since(r.began)
		for _, e := range batch.Events {
			r.event(e, at)
		}
		index = batch.Index + 1
		r.tell()
	}
	return index
}

// event takes note of an event of a node or of a job.
func (r *recorder) event(e api.Event, at time.Duration) {
	text, err := json.Marshal(e.Payload[e.Topic.String()])
	if err != nil {
		return // it came from JSON
	}
	switch e.Topic {
	case api.TopicNode:
		var n api.Node
		if err := json.Unmarshal(text, &n); err != nil || n.ID == "" {
			r.seen.omit("an event of a node that cannot be read")
			return
		}
		status := n.Status
		if e.Type == "NodeDeregistration" {
			status = "down"
		}
		r.seen.sawNode(n.ID, kindOf(n.Datacenter, n.NodeClass, n.Attributes, n.NodeResources, n.ReservedResources), status, at)
	case api.TopicJob:
		var j struct {
			ID, Namespace string
			Stop          bool
		}
		switch err := json.Unmarshal(text, &j); {
		case err != nil:
			r.seen.omit("an event of a job that cannot be read")
		case deregistered(e):
			r.seen.sawEnd(jobKey{j.Namespace, j.ID}, !j.Stop, at)
		case e.Type == "JobRegistered":
			r.job(text, at)
		}
	case api.TopicEvaluation:
		// A purged job has no event of its own in most releases (nomad/state/events.go,
		// eventFromChange), but its end has an evaluation.
		var eval struct{ JobID, Namespace string }
		if err := json.Unmarshal(text, &eval); err == nil && deregistered(e) {
			r.seen.sawEnd(jobKey{eval.Namespace, eval.JobID}, true, at)
		}
	}
}

// deregistered reports whether an event comes from the end of jobs.
func deregistered(e api.Event) bool {
	return e.Type == "JobDeregistered" || e.Type == "JobBatchDeregistered"
}
