package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/simctl/simctl/internal/infile"
	"github.com/simctl/simctl/scenarios/language"
	"github.com/simctl/simctl/scenarios/serve"
)

func newEventCommand() *cobra.Command {
	var address, text string
	var format string
	cmd := &cobra.Command{
		Use:   "event [FILE]",
		Short: "Make something happen to the cluster that simctl serve serves",
		Long: `Send event blocks, as scenario files have them, to a running simctl serve: faults, what users
and operators do, what clients do. FILE has them (- is stdin), or --event. The job and
behaviour blocks that they name go with them. An event with "at" comes so much later; faults
end after "for", or at event "heal".

Then, or without events, it says which faults are under way and which events are to come.`,
		Example: `  simctl event --event 'event "kill_leader" { for = "30s" }'
  simctl event faults.hcl
  simctl event
  simctl event --event 'event "heal" {}'`,
		Args: atMost(1, "one file"),
		RunE: func(cmd *cobra.Command, args []string) error {
			send, err := eventText(cmd, args, text)
			if err != nil {
				return err
			}
			address, err := apiAddress(address, cmd.Flags().Changed("address"))
			if err != nil {
				return err
			}
			status, err := serve.Send(cmd.Context(), address, os.Getenv("NOMAD_TOKEN"), send)
			if bad, ok := errors.AsType[*serve.RefusedError](err); ok {
				return usageErrorf("%w", bad)
			}
			if err != nil {
				return err
			}
			if format == "json" {
				return printJSON(cmd, status)
			}
			return printStatus(cmd.OutOrStdout(), status)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&address, "address", "", "address of the HTTP API (default: NOMAD_ADDR, or http://127.0.0.1:4646)")
	flags.StringVarP(&text, "event", "e", "", "event blocks, instead of a FILE")
	bindFormat(flags, &format)
	return cmd
}

// eventText returns the events that a command line names; nil if it names none.
func eventText(cmd *cobra.Command, args []string, text string) ([]byte, error) {
	given := cmd.Flags().Changed("event")
	switch {
	case given && len(args) > 0:
		return nil, usageErrorf("give a FILE or --event, not both")
	case given && text == "":
		return nil, usageErrorf(`--event "": want event blocks, such as event "heal" {}`)
	case given:
		return []byte(text), nil
	case len(args) == 0:
		return nil, nil
	}
	send, err := readArgument(cmd, args[0], infile.MostText)
	if err != nil {
		return nil, usageErrorf("%s: %w: name a file of event blocks or, for stdin, -", args[0], err)
	}
	return send, nil
}

func printStatus(w io.Writer, s serve.Status) error {
	if len(s.Faults)+len(s.Events) == 0 {
		_, err := fmt.Fprintln(w, "nothing is under way, and nothing is to come")
		return err
	}
	for _, f := range s.Faults {
		rest := "until healed"
		if f.InS != nil {
			rest = "for " + seconds(*f.InS)
		}
		if _, err := fmt.Fprintf(w, "under way, %s: %s\n", rest, language.Printable(f.What)); err != nil {
			return err
		}
	}
	for _, e := range s.Events {
		if _, err := fmt.Fprintf(w, "to come in %s: %s\n", seconds(*e.InS), language.Printable(e.What)); err != nil {
			return err
		}
	}
	return nil
}

func seconds(s float64) string {
	return time.Duration(s * float64(time.Second)).Round(time.Second).String()
}
