package main

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// ours is a metric of ours, or a record that is made of some.
var ours = regexp.MustCompile(`([a-z]+:)?llm_prober?_[a-z0-9_:]+`)

// queries are those of a panel, with what they change in the looks of their series or columns, and the names of columns.
func (b *builder) queries(p panel, words map[string]string) (targets, overrides []object, names []string) {
	look := b.Panels[p.Type]
	kind := merge(b.Panels[look.Like].Query, look.Query)
	if p.Expr != "" {
		p.Queries = []query{{Expr: p.Expr}}
	}
	for i := range max(len(p.Sides), 1) {
		s := scope{matchers: b.Matchers, forms: b.Forms}
		if p.Sides != nil {
			s.side = p.Sides[i]
		}
		for _, q := range p.Queries {
			s.by = cmp.Or(q.By, p.By)
			expr := b.text(s, q.Expr, words)
			if expr == "" {
				continue
			}
			ref := string(rune('A' + len(targets)))
			targets = append(targets, merge(object{
				"refId": ref, "datasource": b.Datasource, "editorMode": "code", "expr": expr, "format": "time_series",
				"instant": false, "range": true, "exemplar": false,
				"legendFormat": strings.TrimSpace(b.text(s, q.Name+" "+cmp.Or(q.Legend, p.Legend), words)),
			}, kind))
			names = append(names, q.Column)
			matcher := object{"id": "byFrameRefID", "options": ref}
			if q.Column != "" {
				matcher = object{"id": "byName", "options": q.Column}
			}
			if properties := b.properties(q); properties != nil {
				overrides = append(overrides, object{"matcher": matcher, "properties": properties})
			}
		}
	}
	return targets, overrides, names
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
		var step struct {
			from   float64
			colour string
		}
		if _, err := fmt.Sscan(c, &step.from, &step.colour); err != nil {
			b.check(fmt.Errorf("colour %q, want a value and a colour, as 0.95 orange", c))
		}
		steps = append(steps, object{"color": step.colour, "value": step.from})
	}
	return object{"mode": "absolute", "steps": steps}
}

// organize orders and names the columns of a table. Labels keep their names; hidden labels and values without a name
// are left out. Grafana calls the values of a table with one query just Value.
func organize(p panel, names []string) object {
	exclude, index, rename := object{"Time": true, "Value": true}, object{}, object{}
	for _, label := range p.Hidden {
		exclude[label] = true
	}
	for i, label := range p.Columns {
		index[label] = i
	}
	for i, name := range names {
		value := "Value #" + string(rune('A'+i))
		index[value] = len(p.Columns) + i
		if name == "" {
			exclude[value] = true
		} else {
			rename[value] = name
		}
	}
	return object{"id": "organize", "options": object{"excludeByName": exclude, "indexByName": index, "renameByName": rename}}
}
