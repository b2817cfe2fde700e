package nomad

import (
	"github.com/hashicorp/nomad/api"

	"github.com/simctl/simctl/internal/redact"
)

// address is that of the cluster, for people to read.
func address(client *api.Client) string { return redact.Passwords(client.Address()) }
