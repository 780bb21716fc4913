// Sloth makes Prometheus rules of the objectives on its standard input, by the library of github.com/slok/sloth. Its
// own command does the same, and is twice as much to compile.
package main

import (
	"context"
	"fmt"
	"io"
	"os"

	"github.com/slok/sloth/pkg/lib"
)

func main() {
	err := generate(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func generate(ctx context.Context) error {
	objectives, err := io.ReadAll(os.Stdin)
	if err != nil {
		return err
	}
	generator, err := lib.NewPrometheusSLOGenerator(lib.PrometheusSLOGeneratorConfig{})
	if err != nil {
		return err
	}
	rules, err := generator.GenerateFromRaw(ctx, objectives)
	if err != nil {
		return err
	}
	return generator.WriteResultAsPrometheusStd(ctx, *rules, os.Stdout)
}
