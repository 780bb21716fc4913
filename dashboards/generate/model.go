package main

// The types of this file are the part of Grafana's classic dashboard model
// (schemaVersion 39) that these dashboards use, in the order of Grafana's own JSON.

// A dashboard is a dashboard. It has no id, no version and no current values of
// variables: those belong to the Grafana that it is imported into.
type dashboard struct {
	ID            *int            `json:"id"` // always null: Grafana chooses
	UID           string          `json:"uid"`
	Title         string          `json:"title"`
	Description   string          `json:"description"`
	Tags          []string        `json:"tags"`
	SchemaVersion int             `json:"schemaVersion"`
	Editable      bool            `json:"editable"`
	GraphTooltip  int             `json:"graphTooltip"` // 1: a crosshair on all panels
	Refresh       string          `json:"refresh"`
	Time          span            `json:"time"`
	Timezone      string          `json:"timezone"`
	Annotations   annotations     `json:"annotations"`
	Templating    templating      `json:"templating"`
	Links         []dashboardLink `json:"links"`
	Panels        []*panel        `json:"panels"`
}

type span struct {
	From string `json:"from"`
	To   string `json:"to"`
}

type source struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

type annotations struct {
	List []annotation `json:"list"`
}

type annotation struct {
	Name            string `json:"name"`
	Datasource      source `json:"datasource"`
	Enable          bool   `json:"enable"`
	Hide            bool   `json:"hide"`
	IconColor       string `json:"iconColor"`
	Expr            string `json:"expr"`
	Step            string `json:"step,omitempty"`
	TitleFormat     string `json:"titleFormat"`
	TextFormat      string `json:"textFormat"`
	TagKeys         string `json:"tagKeys"`
	UseValueForTime string `json:"useValueForTime,omitempty"` // "on": the value is the time, in milliseconds
}

type templating struct {
	List []variable `json:"list"`
}

// A variable is a choice at the top of a dashboard. Query is a string, or what
// Grafana's editor of Prometheus queries makes of one.
type variable struct {
	Type        string   `json:"type"`
	Name        string   `json:"name"`
	Label       string   `json:"label,omitempty"`
	Description string   `json:"description,omitempty"`
	Datasource  *source  `json:"datasource,omitempty"`
	Definition  string   `json:"definition,omitempty"`
	Query       any      `json:"query"`
	Regex       string   `json:"regex,omitempty"`
	Refresh     int      `json:"refresh,omitempty"` // 1 on load, 2 when the time range changes
	Sort        int      `json:"sort,omitempty"`    // 1 ascending, 2 descending
	Multi       bool     `json:"multi"`
	IncludeAll  bool     `json:"includeAll"`
	AllValue    string   `json:"allValue,omitempty"`
	Hide        int      `json:"hide"` // 2: not shown
	Options     []option `json:"options"`
}

type option struct {
	Text     string `json:"text"`
	Value    string `json:"value"`
	Selected bool   `json:"selected"`
}

type variableQuery struct {
	QryType int    `json:"qryType"` // 1: label_values
	Query   string `json:"query"`
	RefID   string `json:"refId"`
}

// A dashboardLink stands in the head of a dashboard.
type dashboardLink struct {
	Type        string   `json:"type"` // dashboards (by tag) or link
	Title       string   `json:"title"`
	Tags        []string `json:"tags"`
	AsDropdown  bool     `json:"asDropdown"`
	IncludeVars bool     `json:"includeVars"`
	KeepTime    bool     `json:"keepTime"`
	TargetBlank bool     `json:"targetBlank"`
	Icon        string   `json:"icon"`
	URL         string   `json:"url"`
	Tooltip     string   `json:"tooltip"`
}

// A panel is a panel, or a row that has panels beneath it.
type panel struct {
	ID              int              `json:"id"`
	Type            string           `json:"type"`
	Title           string           `json:"title"`
	Description     string           `json:"description,omitempty"`
	Datasource      *source          `json:"datasource,omitempty"`
	GridPos         rectangle        `json:"gridPos"`
	Collapsed       *bool            `json:"collapsed,omitempty"` // of a row
	Panels          []*panel         `json:"panels,omitempty"`    // of a collapsed row
	Targets         []query          `json:"targets,omitempty"`
	FieldConfig     *fieldConfig     `json:"fieldConfig,omitempty"`
	Options         map[string]any   `json:"options,omitempty"`
	Transformations []transformation `json:"transformations,omitempty"`
}

// A rectangle is where a panel is on the grid of 24 columns.
type rectangle struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

type query struct {
	RefID        string `json:"refId"`
	Datasource   source `json:"datasource"`
	EditorMode   string `json:"editorMode"`
	Expr         string `json:"expr"`
	Format       string `json:"format"` // time_series, table or heatmap
	Instant      bool   `json:"instant"`
	Range        bool   `json:"range"`
	Exemplar     bool   `json:"exemplar"`
	Interval     string `json:"interval,omitempty"` // shortest step
	LegendFormat string `json:"legendFormat"`
}

type fieldConfig struct {
	Defaults  field      `json:"defaults"`
	Overrides []override `json:"overrides"`
}

type field struct {
	Unit       string         `json:"unit"`
	Decimals   *int           `json:"decimals,omitempty"`
	Min        *float64       `json:"min,omitempty"`
	Max        *float64       `json:"max,omitempty"`
	NoValue    string         `json:"noValue"`
	Color      colour         `json:"color"`
	Thresholds thresholds     `json:"thresholds"`
	Mappings   []mapping      `json:"mappings"`
	Links      []dataLink     `json:"links,omitempty"`
	Custom     map[string]any `json:"custom,omitempty"`
}

type colour struct {
	Mode       string `json:"mode"`
	FixedColor string `json:"fixedColor,omitempty"`
}

type thresholds struct {
	Mode  string `json:"mode"`
	Steps []step `json:"steps"`
}

// A step colours values from Value on; the first has none.
type step struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

type mapping struct {
	Type    string `json:"type"` // value, range or special
	Options any    `json:"options"`
}

type dataLink struct {
	Title       string `json:"title"`
	URL         string `json:"url"`
	TargetBlank bool   `json:"targetBlank,omitempty"`
}

type override struct {
	Matcher    matcher    `json:"matcher"`
	Properties []property `json:"properties"`
}

type matcher struct {
	ID      string `json:"id"`
	Options string `json:"options"`
}

type property struct {
	ID    string `json:"id"`
	Value any    `json:"value"`
}

type transformation struct {
	ID      string         `json:"id"`
	Options map[string]any `json:"options"`
}
