package test

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

var update = flag.Bool("update", false, "write the screenshots of docs/images")

// browser returns a context of a headless Chromium with an empty profile, and
// what its console says.
func browser(t *testing.T) (context.Context, *console) {
	t.Helper()
	options := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]),
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.NoFirstRun,
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true),
		chromedp.Flag("disable-sync", true), chromedp.Flag("disable-quic", true),
		chromedp.UserDataDir(t.TempDir()), chromedp.WSURLReadTimeout(time.Minute),
	)
	ctx, cancel := chromedp.NewExecAllocator(context.Background(), options...)
	t.Cleanup(cancel)
	ctx, close := chromedp.NewContext(ctx)
	t.Cleanup(close)
	ctx, timeout := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(timeout)
	c := &console{}
	chromedp.ListenTarget(ctx, c.listen)
	return ctx, c
}

// A console is what the browser complained about.
type console struct {
	mu    sync.Mutex
	lines []string
}

func (c *console) listen(event any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch e := event.(type) {
	case *runtime.EventConsoleAPICalled:
		for _, arg := range e.Args {
			c.lines = append(c.lines, "console: "+string(arg.Value))
		}
	case *runtime.EventExceptionThrown:
		c.lines = append(c.lines, "exception: "+e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		c.lines = append(c.lines, "log: "+e.Entry.Text)
	}
}

func (c *console) check(t *testing.T) {
	t.Helper()
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, line := range c.lines {
		t.Error(line)
	}
}

// card is the selector of a target's card in a state.
func card(target, state string) string {
	return fmt.Sprintf(`[data-target=%q][data-state=%q]`, target, state)
}

// TestPage looks at the demo's page as a person does, at desktop and phone
// width, and takes a target down.
func TestPage(t *testing.T) {
	demo := start(t, nil, "demo", "--listen-address", "127.0.0.1:0", "--qps", "0.5")
	page := demo.after(t, "page")
	fault := demo.after(t, "production-stack") + "/sim/fault"
	ctx, console := browser(t)
	do := func(what string, actions ...chromedp.Action) {
		t.Helper()
		if err := chromedp.Run(ctx, actions...); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	eventually(t, "four results of each target", func() bool { return len(results(t, page)) >= 8 })

	do("open at desktop width", emulation.SetDeviceMetricsOverride(1280, 820, 1, false), chromedp.Navigate(page),
		chromedp.WaitVisible(card("production-stack", "ok")), chromedp.WaitVisible(card("ray-serve", "ok")))
	for _, target := range []string{"production-stack", "ray-serve"} {
		checkNumbers(t, ctx, target)
	}
	screenshot(t, ctx, "page.png")

	do("phone width", emulation.SetDeviceMetricsOverride(390, 844, 2, true), chromedp.WaitVisible(card("ray-serve", "ok")))
	var width int
	do("measure", chromedp.Evaluate(`document.documentElement.scrollWidth`, &width))
	if width > 390 {
		t.Errorf("the page is %d pixels wide on a phone of 390", width)
	}
	screenshot(t, ctx, "page-phone.png")

	injected := put(t, fault, `{"status":503}`)
	do("the state turns", chromedp.WaitVisible(card("production-stack", "failing")))
	checkTurned(t, page, injected)
	do("the other does not", chromedp.WaitVisible(card("ray-serve", "ok")))
	console.check(t)
	if code := demo.stop(t); code != 0 {
		t.Errorf("exit code %d", code)
	}
}

// checkNumbers holds that every quantile of a target is on the page, and is a
// time.
func checkNumbers(t *testing.T, ctx context.Context, target string) {
	t.Helper()
	for _, metric := range []string{"ttft", "tpot", "itl", "e2el"} {
		selector := fmt.Sprintf(`[data-target=%q] [data-metric=%q]`, target, metric)
		var text string
		var ok bool
		if err := chromedp.Run(ctx, chromedp.AttributeValue(selector, "data-p50", &text, &ok)); err != nil || !ok {
			t.Errorf("%s of %s is not on the page: %v", metric, target, err)
			continue
		}
		if seconds, err := strconv.ParseFloat(text, 64); err != nil || seconds <= 0 || seconds > 60 {
			t.Errorf("%s of %s: %q", metric, target, text)
		}
	}
}

// checkTurned holds that the page turned with the first probe after the fault:
// no later probe had ended by then, but for one that was faster than the page.
func checkTurned(t *testing.T, page string, injected time.Time) {
	t.Helper()
	failures := 0
	for _, r := range results(t, page) {
		if r.Target != "production-stack" || r.Start.Before(injected) {
			continue
		}
		if failures++; r.Outcome != "overloaded" {
			t.Errorf("a probe after the fault was %s", r.Outcome)
		}
	}
	if failures < 1 || failures > 2 {
		t.Errorf("%d probes since the fault", failures)
	}
}

// put sets a fault, and returns when that was done.
func put(t *testing.T, url, body string) time.Time {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		t.Fatalf("PUT %s: %s", url, response.Status)
	}
	return time.Now()
}

// screenshot takes a picture of the page as it is, and keeps it for the
// documentation if told to.
func screenshot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	var picture []byte
	if err := chromedp.Run(ctx, chromedp.CaptureScreenshot(&picture)); err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(picture, []byte("\x89PNG")) {
		t.Errorf("%s is no PNG", name)
	}
	if !*update {
		return
	}
	if err := os.WriteFile("../docs/images/"+name, picture, 0o644); err != nil {
		t.Fatal(err)
	}
}
