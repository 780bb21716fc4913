package main

import (
	"cmp"
	"fmt"
	"maps"
	"strings"
)

type builder struct {
	common
	dashboard
	y     int      // first free line of the grid
	id    int      // of the last panel
	sides []string // of the row
	where string   // what is being built
	err   error    // the first mistake in the file
}

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
	for _, name := range b.dashboard.Variables {
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
		v = b.common.Variables[name]
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

// row places panels from left to right, below what is there. Those of a collapsed row query nothing until it is opened.
func (b *builder) row(r row) []object {
	var heading, panels []object
	if r.Title != "" || r.Collapsed {
		b.id++
		place := object{"h": 1, "w": 24, "x": 0, "y": b.y}
		heading = []object{{"id": b.id, "type": "row", "title": r.Title, "collapsed": r.Collapsed, "gridPos": place}}
		b.y++
	}
	b.sides = r.Sides
	if b.sides == nil {
		b.sides = []string{""}
	}
	x, y, height := 0, b.y, 0
	for _, p := range r.Panels {
		b.where = "panel " + p.Title
		p.By, p.Legend = cmp.Or(p.By, r.By), cmp.Or(p.Legend, r.Legend)
		look := &p.Style
		look.Type, look.Size = cmp.Or(look.Type, r.Style.Type), cmp.Or(look.Size, r.Style.Size)
		look.Unit, look.Empty = cmp.Or(look.Unit, r.Style.Unit), cmp.Or(look.Empty, r.Style.Empty, "No probes")
		var w, h int
		if _, err := fmt.Sscanf(p.Style.Size, "%dx%d", &w, &h); err != nil {
			b.check(fmt.Errorf("size %q, want columns x rows, as 8x6", p.Style.Size))
		}
		if p.Expr != "" {
			p.Queries = []query{{Expr: p.Expr}}
		}
		if p.Each == nil {
			p.Each = []map[string]string{nil}
		}
		for _, words := range p.Each {
			if x+w > 24 {
				x, y, height = 0, y+height, 0
			}
			b.id++
			place := object{"id": b.id, "gridPos": object{"h": h, "w": w, "x": x, "y": y}}
			panels = append(panels, merge(b.panel(p, words), place))
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
