package main

// Colours. Values without thresholds are neutral.
const (
	neutral = "blue"
	good    = "green"
	wary    = "orange"
	bad     = "red"
)

// Units, as Grafana calls them.
const (
	seconds = "s"
	share   = "percentunit"
	count   = "short"
	ratio   = "none"
)

const (
	noProbes = "No probes"
	noRules  = "Load alerts/rules.yaml"
)

// prometheus is the data source that the reader chose.
func prometheus() source { return source{Type: "prometheus", UID: "${datasource}"} }

// newPanel is a panel without thresholds, w columns wide and h rows high.
func newPanel(panelType, title, unit string, w, h int, queries ...query) *panel {
	ds := prometheus()
	p := &panel{
		Type: panelType, Title: title, Datasource: &ds, GridPos: rectangle{W: w, H: h}, Options: map[string]any{},
		FieldConfig: &fieldConfig{
			Defaults: field{
				Unit: unit, NoValue: noProbes, Color: colour{Mode: "thresholds"},
				Thresholds: thresholds{Mode: "absolute", Steps: []step{{Color: neutral}}},
				Mappings:   []mapping{nanIs(noProbes)}, Custom: map[string]any{},
			},
			Overrides: []override{},
		},
	}
	if unit == count {
		p.FieldConfig.Defaults.Decimals = new(int) // increase() interpolates
	}
	for i, q := range queries {
		q.RefID = string(rune('A' + i))
		p.Targets = append(p.Targets, q)
	}
	return p
}

// nanIs shows a text where there is no number.
func nanIs(text string) mapping {
	return mapping{Type: "special", Options: map[string]any{"match": "null+nan", "result": map[string]any{"index": 99, "text": text}}}
}

// over asks for an expression over the time shown.
func over(expr, legend string) query {
	return query{Datasource: prometheus(), EditorMode: "code", Expr: expr, Format: "time_series", Range: true, LegendFormat: legend}
}

// now asks for an expression at the end of the time shown.
func now(expr, legend string) query {
	q := over(expr, legend)
	q.Range, q.Instant = false, true
	return q
}

// rows asks for an expression at the end of the time shown, a row a series.
func rows(expr string) query {
	q := now(expr, "__auto")
	q.Format = "table"
	return q
}

// lines are curves over time.
func lines(title, unit string, w, h int, queries ...query) *panel {
	p := newPanel("timeseries", title, unit, w, h, queries...)
	p.FieldConfig.Defaults.Color = colour{Mode: "palette-classic"}
	p.FieldConfig.Defaults.Custom = map[string]any{
		"drawStyle": "line", "lineWidth": 1, "fillOpacity": 0, "showPoints": "auto", "pointSize": 4, "spanNulls": false,
		"axisPlacement": "auto", "axisSoftMin": 0,
		"stacking": map[string]any{"mode": "none", "group": "A"}, "thresholdsStyle": map[string]any{"mode": "off"},
	}
	p.Options = map[string]any{
		"legend":  map[string]any{"displayMode": "table", "placement": "bottom", "showLegend": true, "calcs": []string{"lastNotNull", "max"}},
		"tooltip": map[string]any{"mode": "multi", "sort": "desc"},
	}
	return p
}

// stacked are bars that add up to the whole.
func stacked(title, unit string, w, h int, queries ...query) *panel {
	p := lines(title, unit, w, h, queries...)
	p.FieldConfig.Defaults.Custom["drawStyle"] = "bars"
	p.FieldConfig.Defaults.Custom["fillOpacity"] = 80
	p.FieldConfig.Defaults.Custom["lineWidth"] = 0
	p.FieldConfig.Defaults.Custom["stacking"] = map[string]any{"mode": "normal", "group": "A"}
	return p
}

// figure is a number, or one for each series, at the end of the time shown.
func figure(title, unit string, w, h int, queries ...query) *panel {
	p := newPanel("stat", title, unit, w, h, queries...)
	p.Options = map[string]any{
		"reduceOptions": map[string]any{"calcs": []string{"lastNotNull"}, "fields": "", "values": false},
		"colorMode":     "value", "graphMode": "none", "justifyMode": "auto", "orientation": "auto",
		"textMode": "auto", "wideLayout": true,
	}
	return p
}

// table is a row for each set of labels, with a column for each query.
func table(title, unit string, w, h int, queries ...query) *panel {
	p := newPanel("table", title, unit, w, h, queries...)
	p.FieldConfig.Defaults.Custom = map[string]any{"align": "auto", "filterable": true, "cellOptions": map[string]any{"type": "auto"}}
	p.Options = map[string]any{"showHeader": true, "cellHeight": "sm", "footer": map[string]any{"show": false, "reducer": []string{"sum"}, "fields": ""}}
	p.Transformations = []transformation{{ID: "merge", Options: map[string]any{}}}
	return p
}

// heatmap is a histogram over time, each probe with a trace a dot. Its step is a minute
// at least, which makes Grafana's rate interval four: by OTLP a sample comes once a
// minute, and a rate needs two.
func heatmap(title string, w, h int, expr string) *panel {
	q := over(expr, "{{le}}")
	q.Format, q.Exemplar, q.Interval = "heatmap", true, "1m"
	p := newPanel("heatmap", title, seconds, w, h, q)
	p.FieldConfig.Defaults.Mappings = []mapping{}
	p.FieldConfig.Defaults.Custom = map[string]any{"scaleDistribution": map[string]any{"type": "log", "log": 2}}
	p.Options = map[string]any{
		"calculate": false, "cellGap": 0, "showValue": "never",
		"color":        map[string]any{"mode": "scheme", "scheme": "Turbo", "steps": 64, "exponent": 0.5, "fill": "dark-orange", "reverse": false, "scale": "exponential"},
		"cellValues":   map[string]any{"unit": "reqps"},
		"exemplars":    map[string]any{"color": "rgba(255,255,255,0.8)"},
		"filterValues": map[string]any{"le": 1e-9},
		"legend":       map[string]any{"show": true},
		"rowsFrame":    map[string]any{"layout": "auto"},
		"tooltip":      map[string]any{"mode": "single", "showColorScale": true, "yHistogram": true},
		"yAxis":        map[string]any{"unit": seconds, "axisPlacement": "left", "reverse": false},
	}
	return p
}

// says describes a panel; the description ends with the metric's name.
func (p *panel) says(text, metric string) *panel {
	p.Description = text + " Metric: " + metric
	return p
}

// judged gives a panel thresholds: the colour base, and another from each value
// upwards. Curves get lines at the thresholds.
func (p *panel) judged(base string, steps ...step) *panel {
	d := &p.FieldConfig.Defaults
	d.Thresholds.Steps = append([]step{{Color: base}}, steps...)
	if p.Type == "timeseries" {
		d.Custom["thresholdsStyle"] = map[string]any{"mode": "dashed"}
	}
	return p
}

// from is a step of [panel.judged].
func from(value float64, color string) step { return step{Color: color, Value: &value} }

// empty sets the text that is shown when there is no data.
func (p *panel) empty(text string) *panel {
	p.FieldConfig.Defaults.NoValue = text
	for i, m := range p.FieldConfig.Defaults.Mappings {
		if m.Type == "special" {
			p.FieldConfig.Defaults.Mappings[i] = nanIs(text)
		}
	}
	return p
}

// upTo bounds the axis.
func (p *panel) upTo(least, most float64) *panel {
	p.FieldConfig.Defaults.Min, p.FieldConfig.Defaults.Max = &least, &most
	return p
}

// word shows a text for a value.
func (p *panel) word(value, text, color string) *panel {
	p.FieldConfig.Defaults.Mappings = append(p.FieldConfig.Defaults.Mappings, mapping{Type: "value", Options: map[string]any{
		value: map[string]any{"text": text, "color": color, "index": len(p.FieldConfig.Defaults.Mappings)},
	}})
	return p
}

// span shows a text for values from least up to most.
func (p *panel) span(least, most float64, text, color string) *panel {
	p.FieldConfig.Defaults.Mappings = append(p.FieldConfig.Defaults.Mappings, mapping{Type: "range", Options: map[string]any{
		"from": least, "to": most, "result": map[string]any{"text": text, "color": color, "index": len(p.FieldConfig.Defaults.Mappings)},
	}})
	return p
}

// override sets properties of the fields that a matcher finds.
func (p *panel) override(by, what string, properties ...property) *panel {
	p.FieldConfig.Overrides = append(p.FieldConfig.Overrides, override{Matcher: matcher{ID: by, Options: what}, Properties: properties})
	return p
}

// aside draws a query as bars on a second axis, behind the others.
func (p *panel) aside(ref, label string) *panel {
	return p.override("byFrameRefID", ref,
		property{"unit", count}, property{"custom.axisPlacement", "right"}, property{"custom.axisLabel", label},
		property{"custom.drawStyle", "bars"}, property{"custom.fillOpacity", 15}, property{"custom.lineWidth", 0},
		property{"custom.thresholdsStyle", map[string]any{"mode": "off"}},
		property{"color", colour{Mode: "fixed", FixedColor: "text"}})
}

// colours gives the series of a name a colour.
func (p *panel) colours(pattern, color string) *panel {
	return p.override("byRegexp", pattern, property{"color", colour{Mode: "fixed", FixedColor: color}})
}

// judgedColumn colours a column of a table by its values.
func judgedColumn(base string, steps ...step) []property {
	return []property{
		{"thresholds", thresholds{Mode: "absolute", Steps: append([]step{{Color: base}}, steps...)}},
		{"custom.cellOptions", map[string]any{"type": "color-text"}},
	}
}
