package sweep

import (
	"fmt"
	"io"
	"path"
	"strings"
	"text/template"

	"github.com/hashicorp/hcl/v2/hclwrite"
)

// NomadJob is what the job that cells are dispatched to depends on. Zero fields stand for
// what is named beside them.
type NomadJob struct {
	ID     string // DefaultNomadJob
	Driver string // exec
	// Datacenters are where cells may run; all, as Nomad 1.5 and later write it: "*".
	Datacenters []string
	// Artifact is where clients get the program from (an URL of go-getter), Image the image
	// that it is in, for the docker driver. Without either it must be on the clients, at
	// Command.
	Artifact string
	Image    string
	Command  string // simctl, below local/ if there is an Artifact
	// Volume is a host volume that is mounted for the Results; empty: they go to the logs.
	Volume string
	Memory int64 // bytes of a cell; 1 GiB
}

// mountPoint is where the volume is in a task.
const mountPoint = "/simctl-results"

// logsMB is how much of a log is kept: the longest run's Result takes a few MB.
const logsMB = 64

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
        args    = [{{range $i, $a := .Args}}{{if $i}}, {{end}}"{{$a}}"{{end}}]
      }

      resources {
        cpu    = 2000
        memory = {{.MemoryMB}}
      }

      logs {
        max_files     = 2
        max_file_size = {{.LogsMB}}
      }
    }
  }
}
`))

// quoteHCL writes a text as HCL does.
func quoteHCL(text string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`, "${", "$${", "%{", "%%{").Replace(text) + `"`
}

// Print writes the job as a file for nomad job run.
func (j NomadJob) Print(w io.Writer) error {
	def(&j.ID, DefaultNomadJob)
	def(&j.Driver, "exec")
	if len(j.Datacenters) == 0 {
		j.Datacenters = []string{"*"}
	}
	def(&j.Memory, 1<<30)
	if j.Command == "" {
		j.Command = "simctl"
		if j.Artifact != "" {
			j.Command = path.Join("local", "simctl")
		}
	}
	// What Nomad fills in is not quoted.
	args := []string{"run-one", "--spec", "${NOMAD_TASK_DIR}/spec.json.gz"}
	if j.Volume != "" {
		args = append(args, "--result", mountPoint+"/"+resultName("${NOMAD_META_"+metaKey+"}", "${NOMAD_META_"+metaAttempt+"}"))
	}
	var text strings.Builder
	err := jobTemplate.Execute(&text, struct {
		NomadJob
		MountPoint string
		Args       []string
		MemoryMB   int64
		LogsMB     int
	}{j, mountPoint, args, (j.Memory + 1<<20 - 1) >> 20, logsMB})
	if err != nil {
		return fmt.Errorf("write the Nomad job: %w", err)
	}
	_, err = w.Write(hclwrite.Format([]byte(strings.TrimLeft(text.String(), "\n"))))
	return err
}

// NomadMemory returns the memory that a job needs for the largest of some runs.
func NomadMemory(runs []Run) int64 {
	most := 0.0
	for _, r := range runs {
		most = max(most, Cost(r.Spec).Memory)
	}
	const room = 1.5 // estimates are no better
	return int64(most*room) + 64<<20
}
