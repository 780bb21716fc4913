package main

// An object is Grafana's own JSON.
type object = map[string]any

// common is common.yaml: what all dashboards share.
type common struct {
	Forms       map[string]string   // PromQL of one argument, by name
	Kinds       map[string]object   // of variables
	Variables   map[string]variable // by name
	Frame       object              // of a dashboard
	Datasource  object
	Annotations []object
	Panels      map[string]looks    // by type
	Queries     map[string][]object // properties of series, by name
}

// looks are what all panels of a type, and their queries, have in common.
type looks struct {
	Panel, Query object
	Mappings     []object // texts shown for values
}

// A dashboard is one of the other files.
type dashboard struct {
	Title, Description string
	Matchers           string              // of every selector
	Alerts             string              // matchers of the alerts that are shown
	Variables          []string            // names of variables, in Define or in common.yaml
	Define             map[string]variable // variables that only this dashboard has
	Rows               []row
}

// A variable is a choice at the top of a dashboard.
type variable struct {
	Kind    string
	Values  string   // a selector and a label, as label_values takes them
	Results string   // an expression, as query_result takes it
	Choices []string // the first is the default
	JSON    object   `yaml:",inline"` // all else
}

// A row is panels, below a heading if it has a title. Panels that set no style, labels or legend take those of the row.
type row struct {
	Title      string
	Collapsed  bool
	Style      style
	By, Legend string
	Sides      []string // each query is asked once for each
	Panels     []panel
}

// A style is how a panel looks.
type style struct {
	Type    string      // of common.yaml's panels
	Size    string      // columns (of 24) x rows
	Unit    string      // Grafana's name
	Empty   string      // text that is shown where there is no data
	Axis    *[2]float64 // least and most
	Colours []string    // a colour, then values and the colours from them on
}

// A panel has one query, expr, or several.
type panel struct {
	Title, Description string
	Style              style
	By, Legend         string              // the labels that queries are grouped by; the text for each series
	Metric             string              // named at the end of the description; the first that is queried if empty
	Each               []map[string]string // makes a panel for each of these; its texts use the words as <<.word>>
	Mappings           []object            // more texts shown for values, in Grafana's own JSON
	Columns            []string            // of a table: the first ones, labels or columns of queries
	Expr               string
	Queries            []query
	Overrides          []object // in Grafana's own JSON
	JSON               object   `yaml:"json"` // what else Grafana's panel has
}

// A query is left out if its expression turns out empty.
type query struct {
	Expr, By string
	Name     string   // stands before the panel's legend
	Legend   string   // instead of the panel's
	Look     string   // of common.yaml's queries
	Column   string   // in a table: its name; without one the values are not shown
	Unit     string   // of the column
	Decimals *int     // of the column
	Colours  []string // of the column
}
