package nomadproc

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/simctl/simctl/internal/daemon"
)

// Settings are what servers are told beside what every cluster on loopback needs. A zero field
// leaves Nomad's default, but for Servers and NumSchedulers.
type Settings struct {
	Servers int
	// NumSchedulers is the number of scheduler workers of each server; nil leaves Nomad's default,
	// one for each core.
	NumSchedulers *int
	// MaxHeartbeatsPerSecond, MinHeartbeatTTL and HeartbeatGrace pace the clients.
	MaxHeartbeatsPerSecond          float64
	MinHeartbeatTTL, HeartbeatGrace time.Duration
}

// MaxServers is how many servers a cluster on loopback can have.
const MaxServers = 9

// Check returns an error that names a wrong setting, its value and what is allowed. It wraps
// ErrSetting.
func (s Settings) Check() error {
	switch {
	case s.Servers < 1 || s.Servers > MaxServers:
		return fmt.Errorf("%w: %d servers: there must be 1 to %d", ErrSetting, s.Servers, MaxServers)
	case s.NumSchedulers != nil && *s.NumSchedulers < 0:
		return fmt.Errorf("%w: %d schedulers: there must be 0 or more", ErrSetting, *s.NumSchedulers)
	case s.MaxHeartbeatsPerSecond < 0 || s.MinHeartbeatTTL < 0 || s.HeartbeatGrace < 0:
		return fmt.Errorf("%w: %v heartbeats a second, a TTL of %v and a grace of %v: none can be negative",
			ErrSetting, s.MaxHeartbeatsPerSecond, s.MinHeartbeatTTL, s.HeartbeatGrace)
	}
	return nil
}

// loopback is the only address that servers listen on.
const loopback = "127.0.0.1"

// Server is a server and where it listens.
type Server struct {
	Name string `json:"name"`
	HTTP string `json:"http"` // host:port
	RPC  string `json:"rpc"`
	Serf string `json:"serf"`
}

func (s Server) dir(of string) string    { return filepath.Join(of, s.Name) }
func (s Server) config(of string) string { return filepath.Join(s.dir(of), "config.json") }
func (s Server) log(of string) string    { return filepath.Join(s.dir(of), "log") }

// argument tells the server's process from others.
func (s Server) argument(of string) string { return configFlag + s.config(of) }

// start starts the server. It goes on when this process ends.
func (s Server) start(bin, dir string) error {
	log, err := os.OpenFile(s.log(dir), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(bin, "agent", s.argument(dir))
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.dir(dir), log, log
	cmd.Env = slices.DeleteFunc(os.Environ(), func(e string) bool { return strings.HasPrefix(e, "NOMAD_") })
	return daemon.Start(cmd)
}

// block is a block of a configuration file.
type block = map[string]any

// writeConfig writes the configuration of one of the servers in dir. Both Nomad 1.4 and 2.0 read it.
func (s Server) writeConfig(dir string, all []Server, set Settings) error {
	var peers []string
	for _, p := range all {
		peers = append(peers, p.Serf)
	}
	server := block{
		"enabled": true, "bootstrap_expect": set.Servers, "raft_multiplier": 1,
		"server_join": block{"retry_join": peers, "retry_interval": "1s"},
	}
	if set.NumSchedulers != nil {
		server["num_schedulers"] = *set.NumSchedulers
	}
	if set.MaxHeartbeatsPerSecond != 0 {
		server["max_heartbeats_per_second"] = set.MaxHeartbeatsPerSecond
	}
	if set.MinHeartbeatTTL != 0 {
		server["min_heartbeat_ttl"] = set.MinHeartbeatTTL.String()
	}
	if set.HeartbeatGrace != 0 {
		server["heartbeat_grace"] = set.HeartbeatGrace.String()
	}
	text, err := json.MarshalIndent(block{
		"name": s.Name, "region": "global", "datacenter": "dc1", "data_dir": filepath.Join(s.dir(dir), "data"), "bind_addr": loopback,
		"ports":     block{"http": port(s.HTTP), "rpc": port(s.RPC), "serf": port(s.Serf)},
		"advertise": block{"http": s.HTTP, "rpc": s.RPC, "serf": s.Serf},
		"log_level": "WARN", "disable_update_check": true, "leave_on_interrupt": false, "leave_on_terminate": false,
		"server": server, "client": block{"enabled": false},
		// A fleet of clients comes from one address.
		"limits":    block{"http_max_conns_per_client": 0, "rpc_max_conns_per_client": 0},
		"telemetry": block{"prometheus_metrics": true, "disable_hostname": true, "collection_interval": "1s"},
		"consul":    block{"auto_advertise": false, "server_auto_join": false, "client_auto_join": false},
	}, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(s.dir(dir), 0o755); err != nil {
		return err
	}
	return os.WriteFile(s.config(dir), append(text, '\n'), 0o644)
}
