package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/dustin/go-humanize"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/simctl/simctl/internal/nomadtls"
	"github.com/simctl/simctl/internal/redact"
	"github.com/simctl/simctl/reports"
	"github.com/simctl/simctl/scenarios"
	"github.com/simctl/simctl/scenarios/language"
)

// flagError turns an error of pflag into one line that names the flag, the value and what
// is allowed.
func flagError(cmd *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return usageErrorf("--%s %q: %w", e.GetFlag().Name, e.GetValue(), allowed(e.GetFlag(), errors.Unwrap(e)))
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return usageErrorf("--%s needs a value: %s", e.GetSpecifiedName(), e.GetFlag().Usage)
	}
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if e.GetSpecifiedShortnames() != "" {
			return usageErrorf("unknown flag -%s for %q (see %s --help)",
				e.GetSpecifiedShortnames(), cmd.CommandPath(), cmd.CommandPath())
		}
		sets := e.GetSpecifiedName() == "var" || e.GetSpecifiedName() == "set"
		if sets && scenarios.Describe(cmd.Name()) != "" {
			return usageErrorf("unknown flag --%s for %q: its variables are flags of their own, as in --nodes 500 (see %s --help)",
				e.GetSpecifiedName(), cmd.CommandPath(), cmd.CommandPath())
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		remedy := language.DidYouMean(e.GetSpecifiedName(), names)
		if (remedy == "" || sets) && cmd.Flags().Lookup("var") != nil {
			remedy = ": a variable is set by --var NAME=VALUE"
		}
		return usageErrorf("unknown flag --%s for %q%s (see %s --help)", e.GetSpecifiedName(), cmd.CommandPath(), remedy, cmd.CommandPath())
	}
	return usageErrorf("%w", err)
}

// allowed says what a value of one of pflag's own types must be. The flag values of this
// package say so themselves, in the errors of Set.
func allowed(flag *pflag.Flag, err error) error {
	if _, ok := errors.AsType[*strconv.NumError](err); !ok {
		return err
	}
	switch flag.Value.Type() {
	case "bool":
		return errors.New("it must be true or false")
	case "float64":
		return fmt.Errorf("it must be a number, such as %s", flag.DefValue)
	case "intSlice":
		return errors.New("it must be whole numbers, such as 2,5")
	}
	if errors.Is(err, strconv.ErrRange) {
		return errors.New("it must be a whole number of at most 18 digits")
	}
	return fmt.Errorf("it must be a whole number, such as %s", flag.DefValue)
}

// noArgs refuses positional arguments. Usually the first is a flag without its dashes, or
// part of a list that a space has split.
var noArgs = atMost(0, "flags only")

// atMost refuses more arguments than a command takes and names the first of them.
func atMost(most int, takes string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) <= most {
			return nil
		}
		return usageErrorf("unexpected argument %q: %q takes %s (see %s --help)", args[most], cmd.CommandPath(), takes, cmd.CommandPath())
	}
}

// takes checks the number of arguments. The text of the error says what the command takes,
// with a verb for the number that it got.
func takes(least, most int, text string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if n := len(args); n < least || n > most {
			return usageErrorf("%q takes "+text+" (see %s --help)", cmd.CommandPath(), n, cmd.CommandPath())
		}
		return nil
	}
}

// checked is a flag value whose parse errors say what is allowed.
type checked[T any] struct {
	value *T
	kind  string // what the help calls the value
	parse func(string) (T, error)
	known []string // what shells complete; nil = nothing
}

func (c *checked[T]) completions() []string { return c.known }

// newChecked returns a flag value that stores into value, which holds the default.
func newChecked[T any](value *T, kind string, parse func(string) (T, error)) *checked[T] {
	return &checked[T]{value: value, kind: kind, parse: parse}
}

func (c *checked[T]) String() string { return fmt.Sprint(*c.value) }
func (c *checked[T]) Type() string   { return c.kind }

func (c *checked[T]) Set(s string) error {
	v, err := c.parse(s)
	if err == nil {
		*c.value = v
	}
	return err
}

// commaList is the value of a flag for a comma-separated list.
type commaList []string

func (l commaList) String() string { return strings.Join(l, ",") }

// names returns a flag value for a comma-separated list of distinct names.
func names(value *[]string) pflag.Value {
	return newChecked((*commaList)(value), "names", func(s string) (commaList, error) {
		var list commaList
		for name := range strings.SplitSeq(s, ",") {
			name = strings.TrimSpace(name)
			if slices.Contains(list, name) {
				return nil, fmt.Errorf("it must not name %q twice", name)
			}
			list = append(list, name)
		}
		return list, nil
	})
}

// bindBrokers adds the flags that choose brokers, by name and by release. What they name replaces
// the default.
func bindBrokers(flags *pflag.FlagSet, value *[]string, usage string) {
	changed := false
	add := func(check func(string) error) func(string) (commaList, error) {
		return func(s string) (commaList, error) {
			var list commaList
			if changed {
				list = *value
			}
			for name := range strings.SplitSeq(s, ",") {
				name = strings.TrimSpace(name)
				if slices.Contains(list, name) {
					return nil, fmt.Errorf("it must not name %q twice", name)
				}
				if err := check(name); err != nil {
					return nil, err
				}
				list = append(list, name)
			}
			changed = true
			return list, nil
		}
	}
	flags.Var(newChecked((*commaList)(value), "names", add(func(string) error { return nil })), "broker", usage)
	flags.Var(newChecked((*commaList)(value), "versions", add(scenarios.CheckRelease)), "release", "releases of Nomad to run, beside the brokers that are named (see simctl releases)")
	flags.Lookup("release").DefValue = ""
}

// bindTLS adds the flags that name the files of TLS.
func bindTLS(flags *pflag.FlagSet, files *nomadtls.Files, authority, own string) {
	flags.StringVar(&files.CA, "tls-ca", "", "certificate of the authority that signed "+authority+" (PEM)")
	flags.StringVar(&files.Cert, "tls-cert", "", own+" (PEM)")
	flags.StringVar(&files.Key, "tls-key", "", "key of that certificate (PEM)")
}

// apiAddress returns the address of an HTTP API, with a scheme: that of --address, if it is given, or else what the nomad command
// would take.
func apiAddress(address string, given bool) (string, error) {
	said := "--address"
	if !given {
		said, address = "NOMAD_ADDR", cmp.Or(os.Getenv("NOMAD_ADDR"), "http://127.0.0.1:4646")
	}
	if address != "" && !strings.Contains(address, "://") {
		address = "http://" + address
	}
	at, err := url.Parse(address)
	switch {
	case err == nil && address != "" && !slices.Contains([]string{"http", "https", "unix"}, at.Scheme):
		return "", usageErrorf("%s %q: its scheme is %q: write http:// or https://", said, redact.Passwords(address), at.Scheme)
	case err != nil, strings.Trim(at.Host, ":")+at.Path == "", at.Host == "" && at.Scheme != "unix":
		return "", usageErrorf("%s %q: want the address of the HTTP API, such as http://127.0.0.1:4646", said, redact.Passwords(address))
	}
	return address, nil
}

// textFormat returns a flag value for the format of a comparison on stdout.
func textFormat(value *string) pflag.Value { return oneOf(value, "format", textFormats()) }

// bindFormat adds the flag that turns a command's text into JSON.
func bindFormat(flags *pflag.FlagSet, format *string) {
	*format = "text"
	flags.Var(oneOf(format, "format", []string{"text", "json"}), "format", "format of stdout: text, json")
}

// printJSON writes a value as indented JSON.
func printJSON(cmd *cobra.Command, v any) error {
	enc := json.NewEncoder(cmd.OutOrStdout())
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(v)
}

// oneOf returns a flag value for one of the known names.
func oneOf(value *string, kind string, known []string) pflag.Value {
	c := newChecked(value, kind, func(s string) (string, error) {
		if !slices.Contains(known, s) {
			return "", errors.New(language.Instead(s, known))
		}
		return s, nil
	})
	c.known = known
	return c
}

// textFormats returns the formats of a comparison that fit on stdout.
func textFormats() []string {
	return slices.DeleteFunc(reports.Formats(), func(f string) bool { return !reports.IsText(f) })
}

// size is an amount of memory, in bytes.
type size int64

// String writes whole MiB, which most amounts are, as people do.
func (s size) String() string {
	if s%(1<<20) == 0 {
		return fmt.Sprintf("%dMiB", s>>20)
	}
	return strconv.FormatInt(int64(s), 10)
}

// parseSize reads an amount of memory.
func parseSize(s string) (size, error) {
	v, err := humanize.ParseBytes(s)
	if err == nil && v > 1<<50 {
		return 0, errors.New("it must be an amount of memory of at most 1PiB, such as 6GiB or 800MB")
	}
	if err != nil || v < 1<<20 {
		return 0, errors.New("it must be an amount of memory of at least 1MiB, such as 6GiB or 800MB")
	}
	return size(v), nil
}

// commandLine returns the command as given, with its flags in the order of the help.
func commandLine(cmd *cobra.Command) string {
	words := append(strings.Fields(cmd.CommandPath()), cmd.Flags().Args()...)
	cmd.Flags().VisitAll(func(flag *pflag.Flag) {
		if !flag.Changed {
			return
		}
		values := []string{flag.Value.String()}
		if list, ok := flag.Value.(pflag.SliceValue); ok {
			values = list.GetSlice()
		}
		for _, v := range values {
			if flag.NoOptDefVal == v {
				words = append(words, "--"+flag.Name)
				continue
			}
			if flag.NoOptDefVal != "" {
				words = append(words, "--"+flag.Name+"="+v)
				continue
			}
			words = append(words, "--"+flag.Name, scenarios.Quote(v))
		}
	})
	return strings.Join(words, " ")
}
