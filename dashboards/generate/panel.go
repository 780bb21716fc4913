package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// selected is a metric with its matchers.
var selected = regexp.MustCompile(`(\w[\w:]*?)(?:_bucket)?\{`)

// panel is without its place. words are one of those of [panel.Each].
func (b *builder) panel(p panel, words map[string]string) object {
	look, ok := b.Panels[p.Style.Type]
	if !ok {
		b.check(fmt.Errorf("type %q is none of common.yaml's panels", p.Style.Type))
	}
	targets, overrides := b.queries(p, words)
	defaults := object{
		"unit": p.Style.Unit, "noValue": p.Style.Empty, "thresholds": b.thresholds(p.Style.Colours), "mappings": []object{},
	}
	if p.Style.Type != "heatmap" {
		noNumber := object{"match": "null+nan", "result": object{"index": 99, "text": p.Style.Empty}}
		defaults["mappings"] = append([]object{{"type": "special", "options": noNumber}}, p.Mappings...)
	}
	if p.Style.Unit == "short" {
		defaults["decimals"] = 0 // increase() interpolates
	}
	if p.Style.Axis != nil {
		defaults["min"], defaults["max"] = p.Style.Axis[0], p.Style.Axis[1]
	}
	if p.Style.Colours != nil && look.Panel["type"] == "timeseries" {
		defaults["custom"] = object{"thresholdsStyle": object{"mode": "dashed"}}
	}
	if found := selected.FindStringSubmatch(fmt.Sprint(targets[0]["expr"])); p.Metric == "" && found != nil {
		p.Metric = found[1]
	}
	made := merge(look.Panel, object{
		"title": b.text(scope{}, p.Title, words), "description": b.text(scope{}, p.Description, words) + " Metric: " + p.Metric,
		"datasource": b.Datasource, "targets": targets,
		"fieldConfig": object{"defaults": defaults, "overrides": append(append([]object{}, p.Overrides...), overrides...)},
	})
	if p.Columns != nil {
		made["transformations"] = []object{{"id": "merge", "options": object{}}, organize(p)}
	}
	return merge(made, p.JSON)
}

// queries are those of a panel, with what they change in the looks of their series or columns.
func (b *builder) queries(p panel, words map[string]string) (targets, overrides []object) {
	for _, side := range b.sides {
		for _, q := range p.Queries {
			s := scope{matchers: b.Matchers, by: cmp.Or(q.By, p.By), side: side, forms: b.Forms}
			expr := b.text(s, q.Expr, words)
			if expr == "" {
				continue
			}
			ref := string(rune('A' + len(targets)))
			targets = append(targets, merge(object{
				"refId": ref, "datasource": b.Datasource, "editorMode": "code", "expr": expr, "format": "time_series",
				"instant": false, "range": true, "exemplar": false,
				"legendFormat": strings.TrimSpace(b.text(s, q.Name+" "+cmp.Or(q.Legend, p.Legend), words)),
			}, b.Panels[p.Style.Type].Query))
			matcher := object{"id": "byFrameRefID", "options": ref}
			if q.Column != "" {
				matcher = object{"id": "byName", "options": q.Column}
			}
			if properties := b.properties(q); properties != nil {
				overrides = append(overrides, object{"matcher": matcher, "properties": properties})
			}
		}
	}
	return targets, overrides
}

// properties are how the series or the column of a query look, where that is not as in the rest of the panel.
func (b *builder) properties(q query) []object {
	properties := slices.Clone(b.Queries[q.Look])
	if q.Unit != "" {
		properties = append(properties, object{"id": "unit", "value": q.Unit})
	}
	if q.Decimals != nil {
		properties = append(properties, object{"id": "decimals", "value": *q.Decimals})
	}
	if q.Colours != nil {
		properties = append(properties, object{"id": "thresholds", "value": b.thresholds(q.Colours)},
			object{"id": "custom.cellOptions", "value": object{"type": "color-text"}})
	}
	return properties
}

// thresholds are a colour, then a value and the colour from it on, and so forth. Values without them are blue.
func (b *builder) thresholds(colours []string) object {
	steps := []object{{"color": "blue", "value": nil}}
	for i, c := range colours {
		if i == 0 {
			steps[0]["color"] = c
			continue
		}
		var from float64
		var colour string
		if _, err := fmt.Sscan(c, &from, &colour); err != nil {
			b.check(fmt.Errorf("colour %q, want a value and a colour, as 0.95 orange", c))
		}
		steps = append(steps, object{"color": colour, "value": from})
	}
	return object{"mode": "absolute", "steps": steps}
}

// organize orders and names the columns of a table: first those of [panel.Columns], then the values that are not among
// them. Values without a name are left out. Grafana calls the values of a table with one query just Value.
func organize(p panel) object {
	exclude, index, rename := object{"Time": true, "Value": true}, object{}, object{}
	for i, label := range p.Columns {
		index[label] = i
	}
	for i, q := range p.Queries {
		value := "Value #" + string(rune('A'+i))
		index[value] = len(p.Columns) + i
		if at := slices.Index(p.Columns, q.Column); at >= 0 {
			index[value] = at
		}
		if q.Column == "" {
			exclude[value] = true
		} else {
			rename[value] = q.Column
		}
	}
	return object{"id": "organize", "options": object{"excludeByName": exclude, "indexByName": index, "renameByName": rename}}
}
