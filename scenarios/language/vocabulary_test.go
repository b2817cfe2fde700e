package language

import (
	"fmt"
	"time"
)

// The words of these tests.
type (
	testCluster struct {
		Servers int `lang:"min=1,max=15"`
		Reaper  struct {
			Interval time.Duration
			Batch    int
		}
	}
	testFigures struct {
		Cores     int
		Fsync     time.Duration
		RPC       struct{ Serve time.Duration }
		Scheduler map[string]struct{ Base, PerNode time.Duration }
	}
	testStop struct {
		Fraction float64 `lang:"required,max=1"`
		Group    string  `lang:"ref=group"`
	}
	testBegin struct {
		Behaviour string `lang:"required,ref=behaviour"`
	}
	testRegister  struct{ Jobs []string }
	testPartition struct{ Servers []int }
	testFlap      struct {
		Share    float64 `lang:"max=1"`
		Up, Down Distribution
		Group    string `lang:"ref=group"`
	}
	testRecovered struct{ For time.Duration }
	testQueue     struct {
		Below *int `lang:"required"`
	}
)

func words() Vocabulary {
	return Vocabulary{
		Cluster: &testCluster{Servers: 3},
		Costs: func(class string) (any, error) {
			if class != "" && class != "published" {
				return nil, fmt.Errorf("there is no class %q", class)
			}
			f := &testFigures{Cores: 2, Fsync: time.Millisecond}
			f.Scheduler = map[string]struct{ Base, PerNode time.Duration }{"system": {Base: 5, PerNode: 7}}
			return f, nil
		},
		Events: map[string]any{
			"stop_clients": &testStop{}, "register_jobs": &testRegister{}, "begin": &testBegin{}, "partition": &testPartition{},
		},
		Conditions: map[string]any{"recovered": &testRecovered{For: 5 * time.Second}, "queue": &testQueue{}},
		Behaviours: map[string]any{"flap": &testFlap{Share: 1}},
	}
}

// define reads a whole file.
func define(src string, values map[string]any) (*Definition, error) {
	f, err := Open("test.hcl", []byte(src))
	if err != nil {
		return nil, err
	}
	return f.Define(words(), values)
}

// whole says a bit of everything.
const whole = `
title   = "everything"
about   = "A bit of everything."
sources = ["nomad #14621"]
brokers = ["legacy", "shedding"]

variable "nodes" {
  description = "number of clients"
  type        = "integer"
  default     = 50
  min         = 1
  max         = 1000
}

variable "fraction" {
  type    = "number"
  default = 0.5
  min     = 0
  max     = 1

  validation {
    condition     = var.fraction * var.nodes >= 1
    error_message = "at least one client must stop"
  }
}

variable "report" {
  type    = "bool"
  default = null
}

variable "quiet" {
  type     = "duration"
  default  = "5s"
  optional = true
}

locals {
  double = local.nodes * 2
  nodes  = var.nodes + 1
}

cluster {
  servers = 5

  reaper {
    batch    = 100
    interval = seconds(2.5)
  }
}

cost {
  class = "published"
  fsync = "2ms"

  scheduler "system" {
    base = "9ns"
  }
}

fleet {
  report_allocations = var.report
  start_delay        = uniform("1s", "2s")

  group "edge" {
    nodes      = local.double
    datacenter = "dc2"
    attributes = { "os.name" = "plan9" }

    resources {
      cpu = 100
    }
  }
}

job "web" {
  type  = "service"
  count = ceil(1.1 / 0.55)
}

behaviour "flap" "nervous" {
  group = "edge"
  up    = exponential("5m")
  down  = "30s"
}

phase "last" {
  after = "first"

  until "queue" {
    below = 0
  }
}

phase "first" {
  event "stop_clients" {
    at       = "10s"
    fraction = var.fraction
    group    = "edge"
  }

  event "begin" {
    behaviour = "nervous"
    times     = 3
    every     = "7s"
  }

  until "recovered" {
    for = var.quiet
  }
}

threshold "few-entries" {
  metric       = "phases.first.raft_entries"
  broker       = "shedding"
  max_ratio_of = "legacy"
  max_ratio    = 0.1
}
`
