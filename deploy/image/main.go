// Image makes container images without a container engine: one static binary and
// nothing else, for each platform that a binary was built for. It knows no
// version and no date but those that the Go tool wrote into the binary, so that
// the same source makes the same bytes anywhere. It builds no binary, and talks to
// a registry only to push.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "image:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New(`want one of
  image build [-name NAME] [-to DIR] BINARY…   a layout of all platforms in DIR/oci, and for each an archive and an SBOM
  image push [-from DIR] REFERENCE…            what is in that layout to a registry, under each reference; prints its digest
  image sbom BINARY FILE                       what a binary is made of, as SPDX`)

// run is the whole program.
func run(args []string, out io.Writer) error {
	if len(args) == 0 {
		return errUsage
	}
	flags := flag.NewFlagSet(args[0], flag.ContinueOnError)
	name := flags.String("name", "ghcr.io/llm-prober/prober", "the image's name in the archives")
	to := flags.String("to", "dist/image", "directory to write to")
	from := flags.String("from", "dist/image/oci", "layout to push")
	if err := flags.Parse(args[1:]); err != nil {
		return err
	}
	rest := flags.Args()
	switch {
	case args[0] == "build" && len(rest) > 0:
		return build(out, *name, *to, rest)
	case args[0] == "push" && len(rest) > 0:
		return push(out, *from, rest)
	case args[0] == "sbom" && len(rest) == 2:
		b, err := open(rest[0])
		if err != nil {
			return err
		}
		return writeSBOM(b, rest[1])
	}
	return errUsage
}
