package main

import "slices"

// newDashboard is a dashboard without variables and panels.
func newDashboard(name, title, description string) *dashboard {
	return &dashboard{
		UID: "prober-" + name, Title: "Prober / " + title, Description: description, Tags: []string{"prober"},
		SchemaVersion: 39, Editable: true, GraphTooltip: 1, Refresh: "30s", Time: span{"now-6h", "now"},
		Links: []dashboardLink{
			{Type: "dashboards", Title: "Prober", Tags: []string{"prober"}, AsDropdown: true, IncludeVars: true, KeepTime: true, Icon: "external link", Tooltip: "The other dashboards, with the same variables and time range"},
			{Type: "link", Title: "Runbooks", Tags: []string{}, TargetBlank: true, Icon: "doc", URL: runbooks, Tooltip: "What to do when an alert fires"},
			{Type: "link", Title: "vLLM", Tags: []string{}, KeepTime: true, Icon: "dashboard", URL: "/d/vllm-overview", Tooltip: "vLLM's own dashboard, if it is installed"},
		},
	}
}

const runbooks = "https://github.com/llm-prober/prober/tree/main/alerts/runbooks"

// add appends panels below what is there, from left to right, in lines of 24
// columns.
func (b *dashboard) add(panels ...*panel) {
	b.Panels = append(b.Panels, b.place(b.bottom(), panels)...)
}

// row appends a row with panels beneath it. A collapsed one queries nothing until
// it is opened.
func (b *dashboard) row(title string, collapsed bool, panels ...*panel) {
	head := &panel{Type: "row", Title: title, Collapsed: &collapsed, GridPos: rectangle{H: 1, W: columns, Y: b.bottom()}}
	beneath := b.place(b.bottom()+1, panels)
	if collapsed {
		head.Panels = beneath
		b.Panels = append(b.Panels, head)
		return
	}
	b.Panels = append(append(b.Panels, head), beneath...)
}

// columns is the width of Grafana's grid.
const columns = 24

func (b *dashboard) place(y int, panels []*panel) []*panel {
	x, height := 0, 0
	for _, p := range panels {
		if x+p.GridPos.W > columns {
			x, y, height = 0, y+height, 0
		}
		p.GridPos.X, p.GridPos.Y = x, y
		x, height = x+p.GridPos.W, max(height, p.GridPos.H)
	}
	return panels
}

// bottom is the first line below all panels; panels in a collapsed row take no space.
func (b *dashboard) bottom() int {
	y := 0
	for _, p := range b.Panels {
		y = max(y, p.GridPos.Y+p.GridPos.H)
	}
	return y
}

// number gives every panel its id, in the order of reading.
func (b *dashboard) number() *dashboard {
	id := 0
	for _, p := range b.Panels {
		for _, each := range append([]*panel{p}, p.Panels...) {
			id++
			each.ID = id
		}
	}
	return b
}

// vars are the variables of a dashboard, after the data source and before the window.
func (b *dashboard) vars(list ...variable) {
	b.Templating.List = slices.Concat([]variable{{
		Type: "datasource", Name: "datasource", Label: "Data source", Query: "prometheus", Refresh: 1, Options: []option{},
	}}, list, []variable{
		{
			Type: "custom", Name: "window", Label: "Window", Query: "30m,5m,1h,6h,1d", Options: choices("30m", "5m", "1h", "6h", "1d"),
			Description: "How far quantiles and ratios look back: 30m holds 180 probes at 0.1 probes a second",
		},
	})
}

// atLeast is a hidden constant: how many probes a median needs.
func atLeast() variable {
	return variable{
		Type: "constant", Name: "min_probes", Query: "10", Hide: 2, Options: []option{},
		Description: "p50 is empty with fewer probes in the window; p95 needs twice, p99 ten times as many",
	}
}

// choices are the options of a custom variable; the first is the default.
func choices(words ...string) []option {
	var list []option
	for i, w := range words {
		list = append(list, option{Text: w, Value: w, Selected: i == 0})
	}
	return list
}

// several is a variable with the values of a label, all selected by default. All
// also matches series without the label: OTLP may have no instance.
func several(name, label, metric string) variable {
	v := single(name, label, metric, name)
	v.Multi, v.IncludeAll, v.AllValue = true, true, ".*"
	return v
}

// single is a variable of one value of a label.
func single(name, label, metric, values string) variable {
	ds, q := prometheus(), "label_values("+metric+", "+values+")"
	return variable{
		Type: "query", Name: name, Label: label, Datasource: &ds, Definition: q, Refresh: 2, Sort: 1, Options: []option{},
		Query: variableQuery{QryType: 1, Query: q, RefID: "PrometheusVariableQueryEditor-VariableQuery"},
	}
}

// probers are the variables that choose probers.
func probers() []variable {
	return []variable{
		several("job", "Job", buildInfo),
		several("instance", "Instance", buildInfo+`{job=~"$job"}`),
	}
}

// probed are the variables that choose what is probed.
func probed() []variable {
	return append(probers(),
		several("target", "Target", about+"{"+ofProber+"}"),
		several("model", "Model", about+"{"+ofProber+`,target=~"$target"}`),
		several("prompt", "Prompt", about+"{"+ofProber+`,target=~"$target",model=~"$model"}`),
	)
}

// marks adds annotations: firing alerts of these targets or without a target,
// configuration reloads, and new versions of the prober.
func (b *dashboard) marks(targets string) {
	build := "group by (job, instance, version, revision) (" + buildInfo + "{" + ofProber + "}"
	b.Annotations.List = []annotation{
		{
			Name: "Alerts", Datasource: prometheus(), Enable: true, IconColor: bad, Step: "60s",
			Expr:        firing(targets),
			TitleFormat: "{{alertname}}", TextFormat: "{{severity}} {{target}} {{objective}}", TagKeys: "alertname,severity",
		},
		{
			Name: "Reloads", Datasource: prometheus(), Enable: true, IconColor: neutral, Step: "60s", UseValueForTime: "on",
			Expr:        "1000 * llm_prober_config_last_reload_success_timestamp_seconds{" + ofProber + "}",
			TitleFormat: "Configuration loaded", TextFormat: "{{job}} {{instance}}", TagKeys: "instance",
		},
		{
			Name: "Versions", Datasource: prometheus(), Enable: true, IconColor: "purple", Step: "60s",
			Expr:        build + ")\nunless " + build + " offset 5m)",
			TitleFormat: "prober {{version}}", TextFormat: "{{job}} {{instance}} {{revision}}", TagKeys: "version",
		},
	}
}

// firing selects the prober's firing alerts, of these targets or without a target.
func firing(targets string) string {
	return `ALERTS{alertname=~"Prober.+",alertstate="firing",target=~"` + targets + `|"}`
}

// ref is the letter of a panel's n-th query, from 0.
func ref(n int) string { return string(rune('A' + n)) }

// columnOf is what the n-th query of a table is called before it is renamed.
func columnOf(n int) string { return "Value #" + ref(n) }

// renamed orders and names the columns of a table. Labels keep their names; hidden
// labels and values with an empty name are left out. Grafana calls the values of a
// table with one query just Value.
func renamed(labels, hidden, values []string) transformation {
	exclude, index, names := map[string]any{"Time": true, "Value": true}, map[string]any{}, map[string]any{}
	for _, h := range hidden {
		exclude[h] = true
	}
	for i, l := range labels {
		index[l] = i
	}
	for i, v := range values {
		index[columnOf(i)], names[columnOf(i)] = len(labels)+i, v
		if v == "" {
			exclude[columnOf(i)] = true
			delete(names, columnOf(i))
		}
	}
	return transformation{ID: "organize", Options: map[string]any{"excludeByName": exclude, "indexByName": index, "renameByName": names}}
}
