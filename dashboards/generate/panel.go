package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// metricIn matches a metric with its matchers in an expression.
var metricIn = regexp.MustCompile(`(\w[\w:]*?)(?:_bucket)?\{`)

// panel returns a panel without its place. words are one of those of [panel.Each].
func (b *builder) panel(p panel, words map[string]string) object {
	look, ok := b.Panels[p.Style.Type]
	if !ok {
		b.check(fmt.Errorf("type %q is not among the panels of common.yaml", p.Style.Type))
	}
	targets, ofQueries := b.queries(p, words)
	overrides := append([]object{}, p.Overrides...) // an empty list, never null
	overrides = append(overrides, ofQueries...)
	found := metricIn.FindStringSubmatch(fmt.Sprint(targets[0]["expr"]))
	if p.Metric == "" && found != nil {
		p.Metric = found[1]
	}
	made := merge(look.Panel, object{
		"title":       b.text(scope{}, p.Title, words),
		"description": b.text(scope{}, p.Description, words) + " Metric: " + p.Metric,
		"datasource":  b.Datasource,
		"targets":     targets,
		"fieldConfig": object{
			"defaults":  b.fieldDefaults(p, look),
			"overrides": overrides,
		},
	})
	if p.Columns != nil {
		made["transformations"] = []object{{"id": "merge", "options": object{}}, organize(p)}
	}
	return merge(made, p.JSON)
}

// fieldDefaults returns how the series or columns of a panel look, where no override says otherwise.
func (b *builder) fieldDefaults(p panel, look looks) object {
	defaults := object{
		"unit":       p.Style.Unit,
		"noValue":    p.Style.Empty,
		"thresholds": b.thresholds(p.Style.Colours),
		"mappings":   []object{},
	}
	if p.Style.Type != "heatmap" {
		noNumber := object{"match": "null+nan", "result": object{"index": 99, "text": p.Style.Empty}}
		defaults["mappings"] = slices.Concat([]object{{"type": "special", "options": noNumber}}, look.Mappings, p.Mappings)
	}
	if p.Style.Unit == "short" {
		defaults["decimals"] = 0 // increase() interpolates
	}
	if p.Style.Axis != nil {
		defaults["min"] = p.Style.Axis[0]
		defaults["max"] = p.Style.Axis[1]
	}
	if p.Style.Colours != nil && look.Panel["type"] == "timeseries" {
		defaults["custom"] = object{"thresholdsStyle": object{"mode": "dashed"}}
	}
	return defaults
}

// queries returns the queries of a panel, and the overrides for the looks of their series or columns.
func (b *builder) queries(p panel, words map[string]string) (targets, overrides []object) {
	for _, side := range b.sides {
		for _, q := range p.Queries {
			s := scope{matchers: b.Matchers, by: cmp.Or(q.By, p.By), side: side, forms: b.Forms}
			expr := b.text(s, q.Expr, words)
			if expr == "" {
				continue
			}
			ref := string(rune('A' + len(targets)))
			legend := b.text(s, q.Name+" "+cmp.Or(q.Legend, p.Legend), words)
			targets = append(targets, merge(object{
				"refId":        ref,
				"datasource":   b.Datasource,
				"editorMode":   "code",
				"expr":         expr,
				"format":       "time_series",
				"instant":      false,
				"range":        true,
				"exemplar":     false,
				"legendFormat": strings.TrimSpace(legend),
			}, b.Panels[p.Style.Type].Query))
			properties := b.properties(q)
			if properties != nil {
				overrides = append(overrides, object{"matcher": q.matcher(ref), "properties": properties})
			}
		}
	}
	return targets, overrides
}

// matcher returns what selects the series or the column of a query in an override.
func (q query) matcher(ref string) object {
	if q.Column != "" {
		return object{"id": "byName", "options": q.Column}
	}
	return object{"id": "byFrameRefID", "options": ref}
}

// properties returns how the series or the column of a query look, where that is not as in the rest of the panel.
func (b *builder) properties(q query) []object {
	properties := slices.Clone(b.Queries[q.Look])
	if q.Unit != "" {
		properties = append(properties, object{"id": "unit", "value": q.Unit})
	}
	if q.Decimals != nil {
		properties = append(properties, object{"id": "decimals", "value": *q.Decimals})
	}
	if q.Colours != nil {
		properties = append(properties,
			object{"id": "thresholds", "value": b.thresholds(q.Colours)},
			object{"id": "custom.cellOptions", "value": object{"type": "color-text"}},
		)
	}
	return properties
}

// thresholds returns the colours of values: the first colour, then each "value colour" from that value on. Without
// colours, values are blue.
func (b *builder) thresholds(colours []string) object {
	steps := []object{{"color": "blue", "value": nil}}
	for i, c := range colours {
		if i == 0 {
			steps[0]["color"] = c
			continue
		}
		var from float64
		var colour string
		_, err := fmt.Sscan(c, &from, &colour)
		if err != nil {
			b.check(fmt.Errorf("colour %q, want a value and a colour, as 0.95 orange", c))
		}
		steps = append(steps, object{"color": colour, "value": from})
	}
	return object{"mode": "absolute", "steps": steps}
}

// organize returns the transformation that orders and names the columns of a table: first those of [panel.Columns],
// then the values that are not among them. It hides values without a name. Grafana calls the values of a table with
// one query just Value.
func organize(p panel) object {
	exclude := object{"Time": true, "Value": true}
	index := object{}
	rename := object{}
	for i, label := range p.Columns {
		index[label] = i
	}
	for i, q := range p.Queries {
		value := "Value #" + string(rune('A'+i))
		index[value] = len(p.Columns) + i
		column := slices.Index(p.Columns, q.Column)
		if column >= 0 {
			index[value] = column
		}
		if q.Column == "" {
			exclude[value] = true
		} else {
			rename[value] = q.Column
		}
	}
	return object{"id": "organize", "options": object{
		"excludeByName": exclude,
		"indexByName":   index,
		"renameByName":  rename,
	}}
}
