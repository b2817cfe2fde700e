package nomad

import (
	"cmp"
	"fmt"
	"io"
	"path"
	"strings"
	"text/template"

	"github.com/hashicorp/hcl/v2/hclwrite"
	"github.com/zclconf/go-cty/cty"

	"github.com/simctl/simctl/scenarios/forecast"
	"github.com/simctl/simctl/scenarios/sweep"
)

// Job is what the job that cells are dispatched to depends on. A zero field has the value
// named beside it.
type Job struct {
	ID     string // DefaultJob
	Driver string // exec
	// Datacenters are where cells may run; "*", which stands for all since Nomad 1.5.
	Datacenters []string
	// Artifact is the URL from which clients fetch the program (go-getter's), Image the image
	// that holds it, for the docker driver. Without either the program must be on the
	// clients, at Command.
	Artifact string
	Image    string
	Command  string // simctl, below local/ if there is an Artifact
	// Volume is the host volume for the Results. If empty, they go to the logs.
	Volume string
	Memory int64 // bytes of a cell; 1 GiB
}

// mountPoint is where a task finds the volume.
const mountPoint = "/simctl-results"

var jobTemplate = template.Must(template.New("job").Funcs(template.FuncMap{"quote": quoteHCL}).Parse(`
# Cells of a simctl sweep: register it once with "nomad job run", then start the sweep with
# --executor nomad. Each cell is dispatched with its description as payload.
job {{quote .ID}} {
  type        = "batch"
  datacenters = [{{range $i, $dc := .Datacenters}}{{if $i}}, {{end}}{{quote $dc}}{{end}}]

  parameterized {
    payload       = "required"
    meta_required = ["key", "attempt"]
    meta_optional = ["command"]
  }

  group "cell" {
    # The sweep itself tries a cell again.
    restart {
      attempts = 0
      mode     = "fail"
    }

    reschedule {
      attempts  = 0
      unlimited = false
    }
{{if .Volume}}
    volume "results" {
      type      = "host"
      source    = {{quote .Volume}}
      read_only = false
    }
{{end}}
    task "cell" {
      driver = {{quote .Driver}}

      dispatch_payload {
        file = "spec.json.gz"
      }
{{if .Artifact}}
      artifact {
        source      = {{quote .Artifact}}
        destination = "local/"
      }
{{end}}{{if .Volume}}
      volume_mount {
        volume      = "results"
        destination = {{quote .MountPoint}}
      }
{{end}}
      config {
{{if .Image}}        image   = {{quote .Image}}
{{end}}        command = {{quote .Command}}
        args    = ["run-one", "--spec", "${NOMAD_TASK_DIR}/spec.json.gz"{{if .Volume}}, "--result", "{{.Result}}"{{end}}]
      }

      resources {
        cpu    = 2000
        memory = {{.MemoryMB}}
      }

      logs {
        max_files     = 2
        max_file_size = 64{{/* MB: the Result of the longest run takes a few */}}
      }
    }
  }
}
`))

// quoteHCL returns the text as a literal of HCL.
func quoteHCL(text string) string {
	return string(hclwrite.TokensForValue(cty.StringVal(text)).Bytes())
}

// Print writes the job as a file for "nomad job run".
func (j Job) Print(w io.Writer) error {
	j.ID = cmp.Or(j.ID, DefaultJob)
	j.Driver = cmp.Or(j.Driver, "exec")
	if len(j.Datacenters) == 0 {
		j.Datacenters = []string{"*"}
	}
	j.Memory = cmp.Or(j.Memory, 1<<30)
	if j.Command == "" {
		j.Command = "simctl"
		if j.Artifact != "" {
			j.Command = path.Join("local", "simctl")
		}
	}
	var text strings.Builder
	err := jobTemplate.Execute(&text, struct {
		Job
		MountPoint, Result string
		MemoryMB           int64
	}{
		j, mountPoint, mountPoint + "/" + resultName("${NOMAD_META_"+metaKey+"}", "${NOMAD_META_"+metaAttempt+"}"), // which Nomad fills in
		(j.Memory + 1<<20 - 1) >> 20,
	})
	if err != nil {
		return fmt.Errorf("write the Nomad job: %w", err)
	}
	_, err = w.Write(hclwrite.Format([]byte(strings.TrimLeft(text.String(), "\n"))))
	return err
}

// Memory returns the bytes that the largest of some runs needs.
func Memory(runs []sweep.Run) int64 {
	most := 0.0
	for _, r := range runs {
		most = max(most, forecast.Of(r.Spec).Memory)
	}
	const room = 1.5 // estimates are no better
	return int64(most*room) + 64<<20
}
