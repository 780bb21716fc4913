package chart_test

import (
	"fmt"
	"testing"

	"github.com/prometheus/alertmanager/config"
	"github.com/prometheus/alertmanager/pkg/labels"
	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v3"
)

// TestAlertmanagerConfigsSeeTheAlerts holds that an Alertmanager takes the chart's alerts into the route of a
// team, and inhibits them, where both come from AlertmanagerConfigs in the prober's namespace; and that it is
// the chart's label which does it.
func TestAlertmanagerConfigsSeeTheAlerts(t *testing.T) {
	t.Parallel()
	all := objects(t, render(t, "--values", sets(t)["operator"], "--set", "namespaceOverride=elsewhere"))
	inhibiting := only(t, all, "AlertmanagerConfig")
	if got := at(inhibiting, "metadata", "namespace"); got != "elsewhere" {
		t.Errorf("the inhibit rules are in the namespace %v", got)
	}
	loaded := operatorsConfig(t, inhibiting)
	route := labels.Matchers(loaded.Route.Routes[0].Matchers)

	alerts := map[model.LabelValue]model.LabelSet{}
	for _, group := range mappings(only(t, all, "PrometheusRule"), "spec", "groups") {
		for _, rule := range mappings(group, "rules") {
			name, ok := rule["alert"].(string)
			if !ok {
				continue
			}
			alert := model.LabelSet{"alertname": model.LabelValue(name), "target": "a", "prompt": "cold"}
			for label, value := range mapping(rule["labels"]) {
				alert[model.LabelName(label)] = model.LabelValue(value.(string))
			}
			alerts[alert["alertname"]] = alert
			if !route.Matches(alert) {
				t.Errorf("the team's route does not see %v", alert)
			}
		}
	}

	down, stall := alerts["ProberTargetDown"], alerts["ProberStreamStall"]
	if !inhibits(loaded, down, stall) {
		t.Errorf("%v does not inhibit %v", down, stall)
	}
	delete(stall, "namespace")
	if route.Matches(stall) || inhibits(loaded, down, stall) {
		t.Error("alerts without a namespace are seen: this test has no namespaces")
	}
}

// inhibits reports whether one alert silences another of the same target and prompt.
func inhibits(loaded *config.Config, source, target model.LabelSet) bool {
	for _, rule := range loaded.InhibitRules {
		from, to := labels.Matchers(rule.SourceMatchers), labels.Matchers(rule.TargetMatchers)
		if from.Matches(source) && to.Matches(target) {
			return true
		}
	}
	return false
}

// operatorsConfig returns the configuration that the Prometheus operator makes of the inhibit rules of an
// AlertmanagerConfig, and of the route of a team that has another one in the same namespace. By default it adds
// a matcher of the namespace to the route and to both sides of a rule (namespaceEnforcer in
// pkg/alertmanager/amcfg.go). Its own code is not used, since its module pkg/client is not available.
func operatorsConfig(t *testing.T, inhibiting object) *config.Config {
	t.Helper()
	namespace := fmt.Sprintf("namespace=%q", at(inhibiting, "metadata", "namespace"))
	var rules []any
	for _, rule := range mappings(inhibiting, "spec", "inhibitRules") {
		rules = append(rules, object{
			"source_matchers": append(matchers(rule, "sourceMatch"), namespace),
			"target_matchers": append(matchers(rule, "targetMatch"), namespace),
			"equal":           rule["equal"],
		})
	}
	team := object{"receiver": "team", "matchers": []string{namespace}, "continue": true}
	text, err := yaml.Marshal(object{
		"receivers":     []object{{"name": "default"}, {"name": "team"}},
		"route":         object{"receiver": "default", "routes": []object{team}},
		"inhibit_rules": rules,
	})
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := config.Load(string(text))
	if err != nil {
		t.Fatalf("%v of\n%s", err, text)
	}
	return loaded
}

// matchers are those of an AlertmanagerConfig below a key, in Alertmanager's own form.
func matchers(rule map[string]any, key string) (all []string) {
	for _, m := range mappings(rule, key) {
		all = append(all, fmt.Sprintf("%s%s%q", m["name"], m["matchType"], m["value"]))
	}
	return all
}
