package scenarios

import (
	"strconv"
	"strings"

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
	args := append(s.arguments(vars), "--broker", s.Broker, "--seed", strconv.FormatInt(s.Seed, 10))
	return strings.Join(args, " ")
}

// arguments returns the command line less the broker and the seed.
func (s Spec) arguments(vars []language.Variable) []string {
	args := []string{"simctl scenario", s.Scenario}
	if s.Source != "" {
		file := s.File
		if file == Stdin {
			file = "-"
		}
		args = []string{"simctl scenario run", Quote(file)}
	}
	for i, v := range vars {
		switch {
		case v.IsDefault() && i > 0:
		case s.Source != "":
			args = append(args, "--var", Quote(v.Name+"="+v.Text()))
		case v.Type == language.TypeBool:
			args = append(args, "--"+Flag(v.Name)+"="+v.Text())
		default:
			args = append(args, "--"+Flag(v.Name), Quote(v.Text()))
		}
	}
	add := func(differs bool, input, value string) {
		if differs {
			args = append(args, "--"+Flag(input), value)
		}
	}
	add(s.Clock == ClockWall, InputClock, s.Clock)
	add(s.TimeScale != 0, InputTimeScale, formatFloat(s.TimeScale))
	add(s.RaftStore == RaftStoreBoltDB, InputRaftStore, s.RaftStore)
	add(s.Cost != "" && s.Cost != DefaultCost, InputCost, Quote(s.Cost))
	if s.Force {
		args = append(args, "--force")
	}
	if s.Thorough {
		args = append(args, "--thorough")
	}
	return args
}

func formatFloat(f float64) string { return strconv.FormatFloat(f, 'g', -1, 64) }

// Flag returns the flag of an input, such as a variable, without dashes.
func Flag(input string) string { return strings.ReplaceAll(input, "_", "-") }

// Quote quotes a word for a shell if it needs that.
func Quote(word string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+=,:", r)
	}
	if word != "" && !strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}
