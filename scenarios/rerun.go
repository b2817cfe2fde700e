package scenarios

import (
	"strconv"
	"strings"

	"github.com/simctl/simctl/scenarios/commandline"
	"github.com/simctl/simctl/scenarios/language"
)

// CommandLine returns the command that repeats the run, less where its output goes. It does
// not compile the Spec: of one that cannot run it leaves the variables out.
func (s Spec) CommandLine() string {
	vars, err := s.Variables()
	if err != nil {
		vars = nil
	}
	return s.commandLine(vars)
}

func (s Spec) commandLine(vars []language.Variable) string {
	args := []string{"simctl scenario", s.Scenario}
	if s.Source != "" {
		args = []string{"simctl scenario run", commandline.Quote(s.File)}
	}
	for i, v := range vars {
		switch {
		case v.IsDefault() && i > 0:
		case s.Source != "":
			args = append(args, "--var", commandline.Quote(v.Name+"="+v.Text()))
		case v.Type == language.TypeBool:
			args = append(args, "--"+commandline.Flag(v.Name)+"="+v.Text())
		default:
			args = append(args, "--"+commandline.Flag(v.Name), commandline.Quote(v.Text()))
		}
	}
	add := func(differs bool, input, value string) {
		if differs {
			args = append(args, "--"+commandline.Flag(input), value)
		}
	}
	add(s.Clock == ClockWall, InputClock, s.Clock)
	add(s.TimeScale != 0, InputTimeScale, formatFloat(s.TimeScale))
	add(s.RaftStore == RaftStoreBoltDB, InputRaftStore, s.RaftStore)
	add(s.Cost != "" && s.Cost != DefaultCost, InputCost, commandline.Quote(s.Cost))
	if s.Force {
		args = append(args, "--force")
	}
	args = append(args, "--broker", s.Broker, "--seed", strconv.FormatInt(s.Seed, 10))
	return strings.Join(args, " ")
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }
