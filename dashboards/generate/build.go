package main

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
)

// A builder makes the JSON of one dashboard.
type builder struct {
	common
	dashboard
	y     int      // first free line of the grid
	id    int      // of the last panel
	sides []string // of the current row
	where string   // what is being built, for errors
	err   error    // the first mistake in the file
}

// check keeps the first error, with the place where it was found.
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

// merge returns the values of two objects. If both have a key, it merges the values if they are objects, and takes the
// one from over if they are not.
func merge(under, over object) object {
	merged := object{}
	maps.Copy(merged, under)
	for key, value := range over {
		below, hasBelow := merged[key].(object)
		above, isObject := value.(object)
		if hasBelow && isObject {
			value = merge(below, above)
		}
		merged[key] = value
	}
	return merged
}

// build returns the dashboard.
func (b *builder) build(name string) object {
	var annotations, variables, panels []object
	for _, a := range b.Annotations {
		b.where = fmt.Sprintf("annotation %v", a["name"])
		expr := b.text(scope{forms: b.Forms}, fmt.Sprint(a["expr"]), b.Alerts)
		annotations = append(annotations, merge(a, object{"datasource": b.Datasource, "expr": expr}))
	}
	for _, name := range b.dashboard.Variables {
		b.where = "variable " + name
		variables = append(variables, b.variable(name))
	}
	for _, r := range b.Rows {
		panels = append(panels, b.row(r)...)
	}
	return merge(b.Frame, object{
		"uid":         "prober-" + name,
		"title":       "Prober / " + b.Title,
		"description": b.Description,
		"annotations": object{"list": annotations},
		"templating":  object{"list": variables},
		"panels":      panels,
	})
}

// variable returns a variable of this dashboard, or of common.yaml.
func (b *builder) variable(name string) object {
	v, ok := b.Define[name]
	if !ok {
		v = b.common.Variables[name]
	}
	made := merge(merge(b.Kinds[v.Kind], v.JSON), object{"name": name})
	switch {
	case v.Values != "":
		made = merge(made, variableQuery(1, "label_values("+v.Values+")"))
	case v.Results != "":
		made = merge(made, variableQuery(3, "query_result("+v.Results+")"))
	}
	if v.Choices != nil {
		var options []object
		for i, word := range v.Choices {
			options = append(options, object{"text": word, "value": word, "selected": i == 0})
		}
		made["options"] = options
		made["query"] = strings.Join(v.Choices, ",")
	}
	return made
}

// variableQuery returns how a variable asks Prometheus for its values. kind is the number that Grafana's editor has for
// the function of the query.
func variableQuery(kind int, query string) object {
	return object{
		"definition": query,
		"query":      object{"qryType": kind, "query": query, "refId": "PrometheusVariableQueryEditor-VariableQuery"},
	}
}

// row returns the heading and the panels of a row, and places them below what is there. The panels of a collapsed row
// lie inside its heading: they query nothing until it is opened.
func (b *builder) row(r row) []object {
	var heading []object
	if r.Title != "" || r.Collapsed {
		heading = []object{b.heading(r)}
	}
	b.sides = r.Sides
	if b.sides == nil {
		b.sides = []string{""}
	}
	grid := grid{y: b.y}
	var panels []object
	for _, p := range r.Panels {
		b.where = "panel " + p.Title
		p = p.withDefaults(r)
		var w, h int
		_, err := fmt.Sscanf(p.Style.Size, "%dx%d", &w, &h)
		if err != nil {
			b.check(fmt.Errorf("size %q, want columns x rows, as 8x6", p.Style.Size))
		}
		for _, words := range p.Each {
			b.id++
			place := object{"id": b.id, "gridPos": grid.place(w, h)}
			panels = append(panels, merge(b.panel(p, words), place))
		}
	}
	if r.Collapsed {
		heading[0]["panels"] = panels
		return heading
	}
	b.y = grid.y + grid.height
	return append(heading, panels...)
}

// heading returns the heading of a row, which takes one line of the grid.
func (b *builder) heading(r row) object {
	b.id++
	place := object{"h": 1, "w": gridColumns, "x": 0, "y": b.y}
	b.y++
	return object{
		"id":        b.id,
		"type":      "row",
		"title":     r.Title,
		"collapsed": r.Collapsed,
		"gridPos":   place,
		"panels":    []object{}, // unless it is collapsed, they are beside it
	}
}

// withDefaults returns the panel with what its row sets for all panels.
func (p panel) withDefaults(r row) panel {
	p.By = cmp.Or(p.By, r.By)
	p.Legend = cmp.Or(p.Legend, r.Legend)
	p.Style.Type = cmp.Or(p.Style.Type, r.Style.Type)
	p.Style.Size = cmp.Or(p.Style.Size, r.Style.Size)
	p.Style.Unit = cmp.Or(p.Style.Unit, r.Style.Unit)
	p.Style.Empty = cmp.Or(p.Style.Empty, r.Style.Empty, "No probes")
	if p.Expr != "" {
		p.Queries = []query{{Expr: p.Expr}}
	}
	if p.Each == nil {
		p.Each = []map[string]string{nil}
	}
	return p
}

// gridColumns is the width of Grafana's grid.
const gridColumns = 24

// A grid places panels from left to right, and below each other where they do not fit.
type grid struct {
	x, y   int // where the next panel goes
	height int // of the current line of panels
}

// place returns the place of the next panel.
func (g *grid) place(w, h int) object {
	if g.x+w > gridColumns {
		g.x = 0
		g.y += g.height
		g.height = 0
	}
	place := object{"h": h, "w": w, "x": g.x, "y": g.y}
	g.x += w
	g.height = max(g.height, h)
	return place
}
