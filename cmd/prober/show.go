package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/llm-prober/prober/internal/format"
	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/report"
	"github.com/llm-prober/prober/internal/usage"
)

func newShow() *cobra.Command {
	return &cobra.Command{
		Use:   "show FILE|URL|-",
		Short: "Draw stored results from a file, a URL or standard input",
		Long: `Show draws results from their JSON: what "prober once --format json" printed,
and what the prober answers at /api/v1/results/TRACE_ID and /api/v1/results. The
page of a probe names the URL of its JSON.

Exit code: 0 if there was a result, whatever its outcome, 1 if it could not be
read, 2 if it is no result.`,
		Example: `  prober show http://127.0.0.1:9464/api/v1/results/TRACE_ID
  prober once http://localhost:8000 --format json | prober show -`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			source, err := openResults(cmd.Context(), args[0], cmd.InOrStdin())
			if err != nil {
				return err
			}
			defer func() { _ = source.Close() }()
			return show(cmd.OutOrStdout(), source)
		},
	}
}

func openResults(ctx context.Context, from string, stdin io.Reader) (io.ReadCloser, error) {
	if from == "-" {
		return io.NopCloser(stdin), nil
	}
	if !strings.HasPrefix(from, "http://") && !strings.HasPrefix(from, "https://") {
		file, err := os.Open(from)
		if err != nil {
			return nil, usage.Problems{{Place: from, Text: "cannot be read: " + err.Error(), Hint: "want a file, a URL or -"}}
		}
		return file, nil
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from, http.NoBody)
	if err != nil {
		return nil, usage.Problems{{Place: "URL", Text: "is none", Hint: "want one like http://127.0.0.1:9464/api/v1/results/TRACE_ID"}}
	}
	answer, err := (&http.Client{Timeout: 30 * time.Second}).Do(req)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		defer func() { _ = answer.Body.Close() }()
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		return nil, fmt.Errorf("%s: HTTP %s: %s", req.URL.Redacted(), answer.Status, format.Clean(strings.TrimSpace(string(text))))
	}
	return answer.Body, nil
}

// show draws all results of a JSON text of at most 64 MiB.
func show(out io.Writer, source io.Reader) error {
	limited := &io.LimitedReader{R: source, N: 64 << 20}
	decoder := json.NewDecoder(limited)
	for shown := 0; ; {
		var v struct {
			probe.Account // of once
			Data          struct {
				probe.Account                 // of /api/v1/results/TRACE_ID
				Results       []probe.Account `json:"results"`
			} `json:"data"`
		}
		err := decoder.Decode(&v)
		if errors.Is(err, io.EOF) && shown > 0 {
			return nil
		}
		for _, a := range append(v.Data.Results, v.Data.Account, v.Account) {
			if err == nil && a.Outcome != "" {
				shown++
				if err := report.Waterfall(out, &a, report.Terminal(out)); err != nil {
					return err
				}
			}
		}
		switch {
		case limited.N == 0:
			return usage.Problems{{Place: "JSON", Text: "longer than 64 MiB", Hint: "show fewer results at once"}}
		case err != nil:
			place := fmt.Sprintf("JSON, byte %d", decoder.InputOffset())
			return usage.Problems{{Place: place, Text: "no results: " + format.Clean(err.Error()), Hint: wantResults}}
		case shown == 0:
			return usage.Problems{{Place: "JSON", Text: "no result in it", Hint: wantResults}}
		}
	}
}

const wantResults = "want what once --format json prints, or /api/v1/results/TRACE_ID answers"
