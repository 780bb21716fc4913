// Skips reads what `go test -json` writes and prints it as `go test` does, and after it a line for each test that was
// skipped, with the reason. `go test` alone says nothing of skipped tests: `ok` would also stand for a package whose
// tests were all skipped.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"os"
	"strings"
)

// An event is one line of `go test -json`: see `go doc test2json`.
type event struct {
	Action, Package, Test, Output string
}

func main() {
	err := printTests(os.Stdin, os.Stdout)
	if err != nil {
		log.Fatal(err)
	}
}

// A printer prints packages when they end.
type printer struct {
	out     io.Writer
	running map[string][]event // by package: its output so far, without that of tests that passed or were skipped
	skipped []string
}

// printTests prints the events of in to out. What is no event is printed as it is.
func printTests(in io.Reader, out io.Writer) error {
	p := printer{out: out, running: map[string][]event{}}
	lines := bufio.NewReader(in)
	for {
		line, err := lines.ReadString('\n')
		var e event
		switch {
		case line == "":
		case json.Unmarshal([]byte(line), &e) != nil:
			fmt.Fprint(out, line)
		default:
			p.take(e)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return err
		}
	}
	for pkg := range p.running { // go test was killed
		p.printFailed(pkg)
	}
	_, err := io.WriteString(out, strings.Join(p.skipped, ""))
	return err
}

// take keeps or prints an event.
func (p *printer) take(e event) {
	passed := e.Action == "pass" || e.Action == "skip"
	switch {
	case e.Action == "build-output":
		fmt.Fprint(p.out, e.Output)
	case e.Action == "output":
		p.running[e.Package] = append(p.running[e.Package], e)
	case e.Test == "" && e.Action == "fail":
		p.printFailed(e.Package)
	case e.Test == "" && passed:
		for _, e := range p.running[e.Package] {
			if strings.HasPrefix(e.Output, "ok  \t") || strings.HasPrefix(e.Output, "?   \t") {
				fmt.Fprint(p.out, e.Output)
			}
		}
		delete(p.running, e.Package)
	case passed:
		var ended []event
		p.running[e.Package], ended = split(p.running[e.Package], e.Test)
		if e.Action == "skip" {
			p.skipped = append(p.skipped, fmt.Sprintf("skipped: %s %s: %s\n", e.Package, e.Test, reason(ended)))
		}
	}
}

// printFailed prints the output of a package, without the progress that `go test` only prints with -v.
func (p *printer) printFailed(pkg string) {
	isProgress := func(prefix string, e event) bool { return strings.HasPrefix(e.Output, "=== "+prefix) }
	for _, e := range p.running[pkg] {
		if !isProgress("RUN ", e) && !isProgress("PAUSE ", e) && !isProgress("CONT ", e) && !isProgress("NAME ", e) {
			fmt.Fprint(p.out, e.Output)
		}
	}
	delete(p.running, pkg)
}

// split returns the events of other tests and those of a test.
func split(events []event, test string) (others, its []event) {
	for _, e := range events {
		if e.Test == test {
			its = append(its, e)
		} else {
			others = append(others, e)
		}
	}
	return others, its
}

// reason returns what a skipped test said last.
func reason(its []event) string {
	said := "no reason given"
	for _, e := range its {
		text := strings.TrimSpace(e.Output)
		if text != "" && !strings.HasPrefix(text, "=== ") && !strings.HasPrefix(text, "--- ") {
			said = text
		}
	}
	return said
}
