package status

import (
	"html"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/llm-prober/prober/internal/probe"
	"github.com/llm-prober/prober/internal/usage"
)

// fleet returns a board with more targets than fit as cards, of two teams and of one group. They are added in an order
// that no column gives.
func fleet() *Board {
	b := NewBoard(time.Now(), "v1", "", Links{Grafana: "https://grafana.example.com/ops"})
	set := func(name, group, team string, objectives ...probe.Objective) {
		b.Set(probe.Description{
			Name: name, Group: group, URL: "http://" + name + ":8000", Model: "llama", Prompt: "cold",
			Labels: map[string]string{"team": team, "tier": ""}, Objectives: objectives,
		})
		time.Sleep(time.Second)
	}
	availability := probe.Objective{Name: "availability", Signal: probe.SignalAvailability, Goal: 0.9}
	set("fox", "fox", "search")
	set("cat", "pets", "search", availability)
	set("elk", "elk", "chat", availability)
	set("dog", "pets", "chat", availability)
	set("bee", "", "")
	set("ant", "", "chat")
	for _, name := range []string{"gnu", "hen", "ibis"} {
		set(name, name, "chat")
	}
	moved := map[string]string{"team": "search"}
	b.RejectTarget("ant", moved, usage.Problems{{Place: "f.yaml:7", Text: "is wrong"}})
	b.Record(success("fox", 100*ms, 130*ms))
	b.Record(success("cat", 300*ms, 310*ms))
	b.Record(success("elk", 200*ms, 220*ms))
	b.Record(broken("elk", probe.Overloaded, "HTTP 503: no free replica"))
	b.Record(success("dog", 400*ms, 440*ms))
	b.Record(success("dog", 400*ms, 440*ms))
	b.Record(broken("dog", probe.Timeout, "no answer"))
	return b
}

// shownTargets returns the names of the targets on a page, in its order.
func shownTargets(body string) string {
	var names []string
	for _, match := range regexp.MustCompile(`data-target="([^"]+)" data-state`).FindAllStringSubmatch(body, -1) {
		names = append(names, match[1])
	}
	return strings.Join(names, " ")
}

// TestSelection holds which targets each parameter leaves, and how each order sorts them: targets without a value are
// the last, even if it is reversed, and equal targets keep the order of urgency and of the configuration.
func TestSelection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := fleet()
		for query, want := range map[string]string{
			"":                             "elk dog ant bee gnu hen ibis fox cat",
			"state=waiting":                "bee gnu hen ibis",
			"state=nonsense":               "elk dog ant bee gnu hen ibis fox cat",
			"group=pets":                   "dog cat",
			"label=team:search":            "ant fox cat",
			"label=team:chat&label=":       "elk dog gnu hen ibis",
			"label=team:chat&label=tier:":  "elk dog gnu hen ibis",
			"label=team:":                  "bee",
			"label=team:sea":               "",
			"label=nobody:search":          "",
			"q=DOG":                        "dog",
			"q=replica+503":                "elk",
			"q=team:search+fox":            "fox",
			"q=+++":                        "elk dog ant bee gnu hen ibis fox cat",
			"q=timeout":                    "dog",
			"q=rejected":                   "ant",
			"q=.*":                         "",
			"q=llama&label=team:search":    "ant fox cat",
			"target=cat&state=ok":          "cat",
			"sort=target":                  "ant bee cat dog elk fox gnu hen ibis",
			"sort=-target":                 "ibis hen gnu fox elk dog cat bee ant",
			"sort=state":                   "elk dog ant bee gnu hen ibis fox cat",
			"sort=-state":                  "fox cat bee gnu hen ibis ant elk dog",
			"sort=since":                   "elk dog ant fox cat ibis hen gnu bee",
			"sort=group":                   "dog cat elk ant bee gnu hen ibis fox",
			"sort=-group":                  "dog cat elk ant bee gnu hen ibis fox",
			"sort=label:team":              "elk dog gnu hen ibis ant fox cat bee",
			"sort=-label:team":             "ant fox cat elk dog gnu hen ibis bee",
			"sort=ttft":                    "dog cat elk fox ant bee gnu hen ibis",
			"sort=-ttft":                   "fox elk cat dog ant bee gnu hen ibis",
			"sort=itl":                     "dog fox elk cat ant bee gnu hen ibis",
			"sort=e2el":                    "dog cat elk fox ant bee gnu hen ibis",
			"sort=objective":               "elk dog cat ant bee gnu hen ibis fox",
			"sort=nonsense":                "elk dog ant bee gnu hen ibis fox cat",
			"sort=-target&label=team:chat": "ibis hen gnu elk dog",
		} {
			w := get(t, b, "/?"+query)
			equal(t, query+": code", w.Code, http.StatusOK)
			equal(t, query, shownTargets(w.Body.String()), want)
		}
	})
}

// TestLinksKeepTheSelection holds that a reader who sorts, or chooses a state, does not lose the rest of what was
// chosen, that a second click reverses or undoes it, and that the form has all of it.
func TestLinksKeepTheSelection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		bodyOf := func(path string) string {
			return strings.Join(strings.Fields(get(t, fleet(), path).Body.String()), " ")
		}
		body := bodyOf("/?q=a%22b+%3Cc%3E&sort=-ttft&state=ok")
		for what, want := range map[string]string{
			"the text, escaped": `name="q" value="a&#34;b &lt;c&gt;"`,
			"the state":         `<input type="hidden" name="state" value="ok">`,
			"the order":         `<input type="hidden" name="sort" value="-ttft">`,
			"a value of a label": `<select name="label" aria-label="team"><option value="">team: any</option>` +
				`<option value="team:chat">chat</option><option value="team:search">search</option></select>`,
		} {
			equal(t, what, strings.Contains(body, want), true)
		}

		body = bodyOf("/?label=team:search")
		equal(t, "the chosen value", strings.Contains(body, `value="team:search" selected>search<`), true)
		body = bodyOf("/?q=llama&sort=-ttft")
		for what, want := range map[string]string{
			"a state":               `href="?q=llama&amp;sort=-ttft&amp;state=failing">2 failing`,
			"another order":         `<a href="?q=llama&amp;sort=target">target`,
			"the same order again":  `aria-sort="ascending"> <a href="?q=llama&amp;sort=ttft"`,
			"the order without any": `<a href="?q=llama&amp;sort=state">state`,
		} {
			equal(t, what, strings.Contains(body, want), true)
		}
		body = bodyOf("/?state=ok")
		equal(t, "another state", strings.Contains(body, `href="?state=failing">2 failing</a>`), true)
		equal(t, "the state again", strings.Contains(body, `href="./" aria-current="true">2 ok`), true)
		body = bodyOf("/")
		equal(t, "the default order", strings.Contains(body, `aria-sort="ascending"> <a href="?sort=-state">state`), true)
	})
}

// TestLinks holds the addresses of a target elsewhere, in JSON and on the page, with what must be escaped.
func TestLinks(t *testing.T) {
	const name = "a&b c"
	b := NewBoard(time.Now(), "v1", "", Links{External: "https://ops.example.com/prober", Grafana: "https://grafana.example.com"})
	b.Set(probe.Description{Name: name, Prompt: "cold"})
	b.Record(broken(name, probe.Stalled, "stalled"))
	v := b.views()[0]
	equal(t, "page", v.PageURL, "https://ops.example.com/prober/?target=a%26b+c")
	const dashboard = "https://grafana.example.com/d/prober-target?var-prompt=cold&var-target=a%26b+c"
	equal(t, "dashboard", v.DashboardURL, dashboard)
	equal(t, "runbook", v.RunbookURL(), runbooks+"ProberStreamStall.md")
	body := html.UnescapeString(get(t, b, "/").Body.String())
	equal(t, "link on the page", strings.Contains(body, `href="`+dashboard+`"`), true)

	v = boardOf(success("a", ms)).views()[0]
	equal(t, "without settings", v.PageURL+v.DashboardURL+v.RunbookURL(), "")
}
