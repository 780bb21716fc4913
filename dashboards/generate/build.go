package main

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
)

// A builder makes Grafana's JSON of one dashboard.
type builder struct {
	common
	dashboard
	y     int    // first free line of the grid
	id    int    // of the last panel
	where string // what is being built
	err   error  // the first mistake in the file
}

// check keeps the first error.
func (b *builder) check(err error) {
	if b.err == nil && err != nil {
		b.err = fmt.Errorf("%s: %w", b.where, err)
	}
}

// text expands a text; dot is what <<.>> stands for.
func (b *builder) text(s scope, text string, dot any) string {
	expanded, err := s.expand(text, dot)
	b.check(err)
	return expanded
}

// merge is the JSON under with the values of over, object by object.
func merge(under, over object) object {
	merged := object{}
	maps.Copy(merged, under)
	for key, value := range over {
		below, isObject := merged[key].(object)
		if above, ok := value.(object); ok && isObject {
			value = merge(below, above)
		}
		merged[key] = value
	}
	return merged
}

func (b *builder) build(name string) object {
	var annotations, variables, panels []object
	for _, a := range b.Annotations {
		b.where = fmt.Sprintf("annotation %v", a["name"])
		expr := b.text(scope{forms: b.Forms}, fmt.Sprint(a["expr"]), b.Targets)
		annotations = append(annotations, merge(a, object{"datasource": b.Datasource, "expr": expr}))
	}
	for _, name := range b.Order {
		b.where = "variable " + name
		variables = append(variables, b.variable(name))
	}
	for _, r := range b.Rows {
		panels = append(panels, b.row(r)...)
	}
	return merge(b.Frame, object{
		"uid": "prober-" + name, "title": "Prober / " + b.Title, "description": b.Description,
		"annotations": object{"list": annotations}, "templating": object{"list": variables}, "panels": panels,
	})
}

func (b *builder) variable(name string) object {
	v, ok := b.Define[name]
	if !ok {
		v = b.Variables[name]
	}
	if b.Kinds[v.Kind] == nil {
		b.check(fmt.Errorf("kind %q is none of common.yaml", v.Kind))
	}
	made := merge(merge(b.Kinds[v.Kind], v.JSON), object{"name": name})
	if v.Values != "" {
		query := "label_values(" + v.Values + ")"
		made["datasource"], made["definition"] = b.Datasource, query
		made["query"] = object{"qryType": 1, "query": query, "refId": "PrometheusVariableQueryEditor-VariableQuery"}
	}
	if v.Choices != nil {
		var options []object
		for i, word := range v.Choices {
			options = append(options, object{"text": word, "value": word, "selected": i == 0})
		}
		made["options"], made["query"] = options, strings.Join(v.Choices, ",")
	}
	return made
}

// row places panels from left to right, in lines of 24 columns, below what is there. Panels of a collapsed row stand in
// it, take no space and query nothing until it is opened.
func (b *builder) row(r row) []object {
	var heading, panels []object
	if r.Title != "" {
		b.id++
		place := object{"h": 1, "w": 24, "x": 0, "y": b.y}
		heading = []object{{"id": b.id, "type": "row", "title": r.Title, "collapsed": r.Collapsed, "gridPos": place}}
		b.y++
	}
	x, y, height := 0, b.y, 0
	for _, p := range r.Panels {
		b.where = "panel " + p.Title
		p.style = p.or(r.style)
		var w, h int
		if _, err := fmt.Sscanf(p.Size, "%dx%d", &w, &h); err != nil {
			b.check(fmt.Errorf("size %q, want columns x rows, as 8x6", p.Size))
		}
		for i := range max(len(p.Each), 1) {
			var words map[string]string
			if p.Each != nil {
				words = p.Each[i]
			}
			if x+w > 24 {
				x, y, height = 0, y+height, 0
			}
			b.id++
			panels = append(panels, merge(b.panel(p, words), object{"id": b.id, "gridPos": object{"h": h, "w": w, "x": x, "y": y}}))
			x, height = x+w, max(height, h)
		}
	}
	if r.Collapsed {
		heading[0]["panels"] = panels
		return heading
	}
	b.y = y + height
	return append(heading, panels...)
}

// panel is without its place. words are one of those of [panel.Each].
func (b *builder) panel(p panel, words map[string]string) object {
	look, ok := b.Panels[p.Type]
	if !ok {
		b.check(fmt.Errorf("type %q is none of common.yaml's panels", p.Type))
	}
	frame := merge(b.Panels[look.Like].Panel, look.Panel)
	targets, overrides, names := b.queries(p, words)
	s, empty := scope{}, cmp.Or(p.Empty, "No probes")
	defaults := object{"unit": p.Unit, "noValue": empty, "thresholds": b.thresholds(p.Colours), "mappings": []object{}}
	if p.Type != "heatmap" {
		noNumber := object{"match": "null+nan", "result": object{"index": 99, "text": empty}}
		defaults["mappings"] = append([]object{{"type": "special", "options": noNumber}}, p.Mappings...)
	}
	if p.Unit == "short" {
		defaults["decimals"] = 0 // increase() interpolates
	}
	if p.Axis != nil {
		defaults["min"], defaults["max"] = p.Axis[0], p.Axis[1]
	}
	if p.Colours != nil && frame["type"] == "timeseries" {
		defaults["custom"] = object{"thresholdsStyle": object{"mode": "dashed"}}
	}
	metric := cmp.Or(p.Metric, ours.FindString(fmt.Sprint(targets[0]["expr"])))
	made := merge(frame, object{
		"title": b.text(s, p.Title, words), "description": b.text(s, p.Description, words) + " Metric: " + metric,
		"datasource": b.Datasource, "targets": targets,
		"fieldConfig": object{"defaults": defaults, "overrides": append(append([]object{}, p.Overrides...), overrides...)},
	})
	if p.Columns != nil {
		made["transformations"] = []object{{"id": "merge", "options": object{}}, organize(p, names)}
	}
	return merge(made, p.JSON)
}
