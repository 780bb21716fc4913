package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/dashboards"
	"github.com/llm-prober/prober/internal/config"
)

func newDashboards() *cobra.Command {
	output := ""
	cmd := &cobra.Command{
		Use:   "dashboards [NAME...]",
		Short: "List the Grafana boards, print one, or write them into a directory",
		Long: `Dashboards lists the Grafana boards that come with the prober. With the name of one it
prints its JSON; with --output it writes the named ones, or all, into a directory.`,
		Example: `  prober dashboards
  prober dashboards overview > overview.json
  prober dashboards --output /var/lib/grafana/dashboards`,
		RunE: func(cmd *cobra.Command, names []string) error {
			boards, err := chosenBoards(names, output)
			switch {
			case err != nil:
				return err
			case output != "":
				return writeBoards(cmd.OutOrStdout(), boards, output)
			case len(names) == 1:
				_, err := io.WriteString(cmd.OutOrStdout(), boards[0].JSON)
				return err
			}
			return listBoards(cmd.OutOrStdout(), boards)
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "directory to write the boards into, one file each; made if it is not there")
	return cmd
}

// chosenBoards are the boards of some names, or all of them without names. The
// error holds everything that is wrong.
func chosenBoards(names []string, output string) ([]dashboards.Dashboard, error) {
	if len(names) == 0 {
		return dashboards.All(), nil
	}
	var known []string
	for _, b := range dashboards.All() {
		known = append(known, b.Name)
	}
	var boards []dashboards.Dashboard
	var problems config.Problems
	for _, name := range names {
		b, ok := dashboards.ByName(name)
		if !ok {
			problems = append(problems, config.Problem{Place: strconv.Quote(name), Text: "no such board", Hint: "there are " + strings.Join(known, ", ")})
		}
		boards = append(boards, b)
	}
	if len(names) > 1 && output == "" && problems == nil {
		problems = config.Problems{{Place: strings.Join(names, " "), Text: "more than one board", Hint: "say with --output where to write them"}}
	}
	if problems != nil {
		return nil, problems
	}
	return boards, nil
}

// listBoards says which boards there are and how they get into Grafana.
func listBoards(w io.Writer, boards []dashboards.Dashboard) error {
	var b strings.Builder
	for _, board := range boards {
		fmt.Fprintf(&b, "%-12s%-20s%-22s%s\n", board.Name, board.UID, board.Title, board.About)
	}
	b.WriteString(`
Import one:   prober dashboards overview > overview.json
              then in Grafana: Dashboards, New, Import, Upload dashboard JSON file
Provision:    prober dashboards --output DIR, with DIR a path of a file provider
Kubernetes:   a ConfigMap for each file, with the label grafana_dashboard: "1"

They ask for their Prometheus at the top, and show natively scraped histograms,
classic buckets and what came by OTLP alike. Grafana 10.4 or later.
`)
	_, err := io.WriteString(w, b.String())
	return err
}

// writeBoards writes a file for each board and says which.
func writeBoards(w io.Writer, boards []dashboards.Dashboard, dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for Grafana to read
		return fmt.Errorf("make the directory for the boards: %w", err)
	}
	for _, b := range boards {
		path := filepath.Join(dir, b.Name+".json")
		if err := os.WriteFile(path, []byte(b.JSON), 0o644); err != nil { //nolint:gosec // for Grafana to read
			return fmt.Errorf("write board %s: %w", b.Name, err)
		}
		fmt.Fprintln(w, path)
	}
	return nil
}
