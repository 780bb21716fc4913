// Package page looks at the status page with a real browser.
package page

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/llm-prober/prober/test/program"
)

var update = flag.Bool("update", false, "write the screenshots of docs/images")

// browser returns a context of a headless Chromium with an empty profile, and
// what its console says.
func browser(t *testing.T) (context.Context, *console) {
	t.Helper()
	ctx, cancel := chromedp.NewContext(context.Background(), chromedp.WithAllocatorOptions(
		chromedp.NoSandbox, chromedp.DisableGPU, chromedp.UserDataDir(t.TempDir()),
		chromedp.Flag("disable-component-update", true), chromedp.Flag("disable-quic", true),
	))
	t.Cleanup(cancel)
	ctx, timeout := context.WithTimeout(ctx, 2*time.Minute)
	t.Cleanup(timeout)
	c := &console{}
	must(t, chromedp.Listen(ctx, c.listen))
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
		c.lines = append(c.lines, "exception: "+e.ExceptionDetails.Text)
	case *log.EventEntryAdded:
		c.lines = append(c.lines, "log: "+e.Entry.Text)
	}
}

// card returns the selector of a target's card in a state.
func card(target, state string) chromedp.CSS {
	return chromedp.CSS(fmt.Sprintf(`[data-target=%q][data-state=%q]`, target, state))
}

// TestPage looks at the demo's page as a person does, at desktop and phone
// width, and takes a target down.
func TestPage(t *testing.T) {
	t.Parallel()
	demo := program.Prober(t, nil, "demo", "--listen-address", "127.0.0.1:0")
	page := demo.After(t, "page")
	server := demo.After(t, "production-stack")
	ctx, console := browser(t)
	do := func(what string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	enough := 8
	if *update {
		enough = 36 // a picture to look at
	}
	demo.Eventually(t, "results of both targets", func() bool { return len(program.Results(t, page)) >= enough })

	do("open at desktop width", chromedp.EmulateViewport(1280, 820), chromedp.Navigate(page),
		chromedp.WaitVisible(card("production-stack", "ok")), chromedp.WaitVisible(card("ray-serve", "ok")))
	for _, target := range []string{"production-stack", "ray-serve"} {
		checkNumbers(t, ctx, target)
	}
	screenshot(t, ctx, "page.png")

	do("phone width", chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile), chromedp.WaitVisible(card("ray-serve", "ok")))
	width, err := chromedp.Run(ctx, chromedp.Evaluate[int](`document.documentElement.scrollWidth`))
	if err != nil || width > 390 {
		t.Errorf("the page is %d pixels wide on a phone of 390 (%v)", width, err)
	}
	screenshot(t, ctx, "page-phone.png")

	focused, err := chromedp.Run(ctx, chromedp.Evaluate[bool](`new Promise(done => {
		const last = () => document.querySelector(".bars a:last-of-type").getAttribute("href"), before = last();
		document.querySelector(".bars a:last-of-type").focus();
		const timer = setInterval(() => {
			if (last() === before) return;
			clearInterval(timer);
			done(document.activeElement.getAttribute("href") === before);
		}, 50);
	})`, chromedp.EvalAwaitPromise))
	if err != nil || !focused {
		t.Errorf("a bar loses the focus when it moves (%v)", err)
	}
	do("a bar is a link for the keyboard", chromedp.Focus(chromedp.CSS("svg a")), chromedp.KeyEvent("\r"), chromedp.WaitVisible(chromedp.CSS(".tall")),
		chromedp.Navigate(page), chromedp.WaitVisible(card("ray-serve", "ok")))

	injected := program.SetFault(t, server, `{"status":503}`)
	// As soon as there is a result of a probe after the fault, the page says so.
	demo.Eventually(t, "a probe after the fault", func() bool {
		return slices.ContainsFunc(program.Results(t, page), func(r program.Result) bool {
			return r.Target == "production-stack" && r.Start.After(injected) && r.Outcome == "overloaded"
		})
	})
	if served, _ := program.Get(t, page, "text/html"); !strings.Contains(served, `data-target="production-stack" data-state="failing"`) {
		t.Errorf("the page does not say that the target fails:\n%s", served)
	}
	do("the state turns", chromedp.WaitVisible(card("production-stack", "failing")))
	do("the other does not", chromedp.WaitVisible(card("ray-serve", "ok")))
	console.mu.Lock()
	defer console.mu.Unlock()
	if len(console.lines) > 0 {
		t.Errorf("the browser complained: %q", console.lines)
	}
	demo.Interrupt(t)
}

// fleetFile is more targets than fit as cards: ten that answer, at ports to be filled in, and one that does not, which
// has a long label.
func fleetFile(healthy, closed string) string {
	text := "targets:\n"
	for n := range 10 {
		text += fmt.Sprintf("- {name: t%d, url: %q, labels: {team: %s}}\n", n, healthy, []string{"search", "chat"}[n%2])
	}
	return text + fmt.Sprintf("- {name: down, url: %q, labels: {team: platform-ap-northeast-1}}\n", closed)
}

// TestPageOfManyTargets looks at the page of many targets as the person on call does, without JavaScript and by keyboard: what is
// wrong is the first row and says since when, and search, sorting and filters work at desktop and phone width.
func TestPageOfManyTargets(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "targets.yaml")
	must(t, os.WriteFile(path, []byte(fleetFile(program.Simulate(t, "fast")[0], "http://127.0.0.1:1")), 0o600))
	prober, page := program.Run(t, []string{
		"PROBER_TARGETS_FILE=" + path, "PROBER_QPS=1", "PROBER_GRAFANA_URL=https://grafana.example.com/",
	})
	prober.Eventually(t, "results of all targets", func() bool {
		served, _ := program.Get(t, page+"?state=ok", "text/html")
		return strings.Count(served, `data-state="ok"`) == 10
	})
	ctx, console := browser(t)
	do := func(what string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	evaluate := func(script string) string {
		t.Helper()
		text, err := chromedp.Run(ctx, chromedp.Evaluate[string](script))
		must(t, err)
		return text
	}
	withoutScripts := chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetScriptExecutionDisabled,
			emulation.SetScriptExecutionDisabledParams{Value: true})
		return err
	})
	do("open", withoutScripts, chromedp.EmulateViewport(1280, 820), chromedp.Navigate(page),
		chromedp.WaitVisible(card("down", "failing")))
	first := evaluate(`document.querySelector("tbody").innerText`)
	for _, want := range []string{"failing: connect", "down", "(start, ", "connection refused", "Grafana", "runbook"} {
		if !strings.Contains(first, want) {
			t.Errorf("the first row is %q, want %q in it", first, want)
		}
	}

	cut := evaluate(`[...document.querySelectorAll(".fleet :is(th, td)")]
		.filter(cell => cell.scrollWidth > cell.clientWidth).map(cell => cell.innerText).join()`)
	if cut != "" {
		t.Errorf("the table does not show the ends of %q", cut)
	}

	var order []string
	for range 17 {
		do("tab", chromedp.KeyEvent("\t"))
		order = append(order, evaluate(`document.activeElement.name || document.activeElement.innerText`))
	}
	want := "metrics results targets 1 failing 10 ok q label Find state since target team TTFT ITL E2EL worst objective down"
	if got := strings.Join(order, " "); got != want {
		t.Errorf("keyboard order %q, want %q", got, want)
	}

	names := `[...document.querySelectorAll("[data-state]")].map(e => e.dataset.target).join(" ")`
	for _, step := range []struct {
		what  string
		steps []chromedp.Action[chromedp.Void]
		want  string
	}{
		{"sort by name, twice", []chromedp.Action[chromedp.Void]{
			chromedp.Click(chromedp.CSS(`[href="?sort=target"]`)), chromedp.WaitVisible(chromedp.CSS(`[aria-sort="ascending"]`)),
			chromedp.Click(chromedp.CSS(`[href="?sort=-target"]`)), chromedp.WaitVisible(chromedp.CSS(`[aria-sort="descending"]`)),
		}, "t9 t8 t7 t6 t5 t4 t3 t2 t1 t0 down"},
		{"search", []chromedp.Action[chromedp.Void]{
			chromedp.Focus(chromedp.CSS(`[name="q"]`)), chromedp.KeyEvent("refused\r"),
			chromedp.WaitVisible(chromedp.CSS("article")),
		}, "down"},
		{"a label", []chromedp.Action[chromedp.Void]{
			chromedp.Navigate(page + "?label=team:search&sort=target"), chromedp.WaitVisible(chromedp.CSS("article")),
		}, "t0 t2 t4 t6 t8"},
	} {
		do(step.what, step.steps...)
		if got := evaluate(names); got != step.want {
			t.Errorf("%s: %q, want %q", step.what, got, step.want)
		}
	}

	do("phone", chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile),
		chromedp.Navigate(page), chromedp.WaitVisible(card("down", "failing")))
	if width := evaluate(`String(document.documentElement.scrollWidth)`); width != "390" {
		t.Errorf("the page is %s pixels wide on a phone of 390", width)
	}
	do("a probe that is not kept", chromedp.Navigate(page+"probes/0af7651916cd43dd8448eb211c80319c"),
		chromedp.WaitVisible(chromedp.CSS(`[href="../"]`)))
	if text := evaluate(`document.body.innerText`); !strings.Contains(text, "This probe is not in memory") {
		t.Errorf("the page of a probe that is not kept is %q", text)
	}
	console.mu.Lock()
	defer console.mu.Unlock()
	for _, line := range console.lines {
		if !strings.Contains(line, "404") { // of the probe
			t.Errorf("the browser complained: %s", line)
		}
	}
	prober.Interrupt(t)
}

// TestPageOfPrompts looks at targets of several prompts, one of which fails: by keyboard, at desktop and phone width, as
// cards and as rows. What a reader unfolds stays so when the page refreshes itself, and what he folds, too.
func TestPageOfPrompts(t *testing.T) {
	t.Parallel()
	server := program.Simulate(t, "fast")[0]
	program.SetFault(t, server, `{"wrong_answer":true}`) // only a canary looks at the words
	text := "targets:\n"
	for n := range 9 {
		text += fmt.Sprintf("- {name: t%d, url: %q, labels: {team: %s}", n, server, []string{"few", "many"}[min(n/2, 1)])
		if n == 0 {
			text += ", qps: 4, prompts: [{name: short, prompt_tokens: 80}, {name: needle-in-a-very-long-haystack, prompt: canary}]"
		}
		text += "}\n"
	}
	path := filepath.Join(t.TempDir(), "targets.yaml")
	must(t, os.WriteFile(path, []byte(text), 0o600))
	prober, page := program.Run(t, []string{"PROBER_TARGETS_FILE=" + path, "PROBER_QPS=1"})
	prober.Eventually(t, "results of all prompts", func() bool {
		served, _ := program.Get(t, page, "text/html")
		return strings.Contains(served, "1 of 2 failing: wrong_answer") && strings.Count(served, `data-state="ok"`) >= 9
	})
	ctx, console := browser(t)
	do := func(what string, steps ...chromedp.Action[chromedp.Void]) {
		t.Helper()
		if err := chromedp.Do(ctx, steps...); err != nil {
			t.Fatalf("%s: %v", what, err)
		}
	}
	evaluate := func(what, script, want string) {
		t.Helper()
		got, err := chromedp.Run(ctx, chromedp.Evaluate[string](script, chromedp.EvalAwaitPromise))
		must(t, err)
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	// After a refresh the last result of the target has another time.
	afterRefresh := func(expression string) string {
		return `new Promise(done => {
			const last = () => document.querySelector("[data-target=t0] .when time").dateTime;
			const before = last();
			const timer = setInterval(() => {
				if (last() === before) return;
				clearInterval(timer);
				done(String(` + expression + `));
			}, 50);
		})`
	}
	const needle = `[data-prompt^=needle]`
	width := `String(document.documentElement.scrollWidth)`
	phone := chromedp.EmulateViewport(390, 844, chromedp.EmulateScale(2), chromedp.EmulateMobile)

	do("cards", chromedp.EmulateViewport(1280, 820), chromedp.Navigate(page+"?label=team:few"),
		chromedp.WaitVisible(card("t0", "failing")), chromedp.WaitVisible(card("t1", "ok")))
	evaluate("which prompt fails, before a reader unfolds anything",
		`document.querySelector("[data-target=t0] .since").innerText.split(" since")[0]`, "needle-in-a-very-long-haystack failing")
	do("unfold by keyboard", chromedp.Focus(chromedp.CSS(needle+" summary")), chromedp.KeyEvent("\r"),
		chromedp.WaitVisible(chromedp.CSS(needle+" .bars")))
	evaluate("a refresh keeps what is unfolded, and the focus",
		afterRefresh(`document.querySelector("`+needle+`").open + " " + document.activeElement.matches("`+needle+` summary")`),
		"true true")
	do("phone", phone)
	evaluate("width on a phone", width, "390")

	do("one target", chromedp.Navigate(page+"?target=t0"), chromedp.WaitVisible(chromedp.CSS(needle+" .bars")))
	evaluate("width of all prompts on a phone", width, "390")
	do("fold", chromedp.Focus(chromedp.CSS(needle+" summary")), chromedp.KeyEvent("\r"))
	evaluate("a refresh keeps what is folded",
		afterRefresh(`[...document.querySelectorAll("details.prompt")].map(d => d.open)`), "true,false")

	do("rows", chromedp.EmulateViewport(1280, 820), chromedp.Navigate(page), chromedp.WaitVisible(card("t0", "failing")))
	evaluate("a row of a prompt is hidden", `String(document.querySelector("tr`+needle+`").offsetHeight)`, "0")
	do("unfold a row", chromedp.Focus(chromedp.CSS(".prompts summary")), chromedp.KeyEvent("\r"),
		chromedp.WaitVisible(chromedp.CSS("tr"+needle)))
	evaluate("ends that the table does not show", `[...document.querySelectorAll(".fleet :is(th, td)")]
		.filter(cell => cell.scrollWidth > cell.clientWidth).map(cell => cell.innerText).join()`, "")
	do("rows on a phone", phone)
	evaluate("width of rows on a phone", width, "390")
	do("a prompt by itself", chromedp.Click(chromedp.CSS("tr"+needle+" th a")), chromedp.WaitVisible(chromedp.CSS("article .bars")))
	evaluate("its title", `document.querySelector("h3").innerText`, "t0 · needle-in-a-very-long-haystack")
	console.mu.Lock()
	defer console.mu.Unlock()
	if len(console.lines) > 0 {
		t.Errorf("the browser complained: %q", console.lines)
	}
	prober.Interrupt(t)
}

// checkNumbers holds that every quantile of a target is on the page, and is a
// time.
func checkNumbers(t *testing.T, ctx context.Context, target string) {
	t.Helper()
	for _, metric := range []string{"ttft", "tpot", "itl", "e2el"} {
		selector := chromedp.CSS(fmt.Sprintf(`[data-target=%q] [data-metric=%q]`, target, metric))
		p50, err := chromedp.Run(ctx, chromedp.AttributeValue(selector, "data-p50"))
		if err != nil || !p50.Exists {
			t.Errorf("%s of %s is not on the page: %v", metric, target, err)
			continue
		}
		if seconds, err := strconv.ParseFloat(p50.Value, 64); err != nil || seconds <= 0 || seconds > 60 {
			t.Errorf("%s of %s: %q", metric, target, p50.Value)
		}
	}
}

// screenshot takes a picture of the page as it is, and keeps it for the
// documentation if told to.
func screenshot(t *testing.T, ctx context.Context, name string) {
	t.Helper()
	picture, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.HasPrefix(picture, []byte("\x89PNG")) {
		t.Errorf("%s is no PNG", name)
	}
	if *update {
		must(t, os.WriteFile("../../docs/images/"+name, picture, 0o644))
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
