package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// flagError words what pflag found as one line that names the flag, the value and what
// is allowed. The values of this package say the last in the errors of their Set.
func flagError(cmd *cobra.Command, err error) error {
	if e, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		return usageErrorf("--%s %q: %w", e.GetFlag().Name, e.GetValue(), errors.Unwrap(e))
	}
	if e, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		return usageErrorf("--%s needs a value: %s", e.GetSpecifiedName(), e.GetFlag().Usage)
	}
	if e, ok := errors.AsType[*pflag.NotExistError](err); ok {
		if e.GetSpecifiedShortnames() != "" {
			return usageErrorf("unknown flag -%s for %q (see %s --help)",
				e.GetSpecifiedShortnames(), cmd.CommandPath(), cmd.CommandPath())
		}
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden {
				names = append(names, f.Name)
			}
		})
		return usageErrorf("unknown flag --%s for %q%s (see %s --help)",
			e.GetSpecifiedName(), cmd.CommandPath(), didYouMean(e.GetSpecifiedName(), names), cmd.CommandPath())
	}
	return usageErrorf("%w", err)
}

// noArgs refuses positional arguments by name: a stray one is mostly a flag whose dashes
// were forgotten, or a list that was split by a space.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	return usageErrorf("unexpected argument %q: %q takes flags only (see %s --help)",
		args[0], cmd.CommandPath(), cmd.CommandPath())
}

// checked is a flag value that is refused at once when it is not allowed, so that the
// message can name the flag it was given to.
type checked[T any] struct {
	value *T
	kind  string // pflag's name of the type, shown in the help
	parse func(string) (T, error)
}

// newChecked returns a flag value that stores into value, which holds the default.
func newChecked[T any](value *T, kind string, parse func(string) (T, error)) *checked[T] {
	return &checked[T]{value: value, kind: kind, parse: parse}
}

func (c *checked[T]) String() string {
	if c.value == nil {
		return ""
	}
	return fmt.Sprint(*c.value)
}

func (c *checked[T]) Set(s string) error {
	v, err := c.parse(s)
	if err != nil {
		return err
	}
	*c.value = v
	return nil
}

func (c *checked[T]) Type() string { return c.kind }
