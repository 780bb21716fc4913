{{/*
The rules of files/rules.yaml, which is alerts/rules.yaml. They are read and never templated: {{ $labels.target }} in
them is for Prometheus.
*/}}

{{/* An alert as the values want it: (dict "context" $ "alert" map). Recording rules keep their labels, which others match. */}}
{{- define "prober.alert" -}}
{{- $values := .context.Values.prometheusRule -}}
{{- $alert := deepCopy .alert -}}
{{- $_ := set $alert "labels" (merge (deepCopy $values.ruleLabels) ($alert.labels | default dict)) -}}
{{- with $values.runbookUrl -}}
{{- $address := ternary . (printf "%s/{alert}.md" (trimSuffix "/" .)) (contains "{alert}" .) -}}
{{- $_ := set $alert.annotations "runbook_url" (replace "{alert}" $alert.alert $address) -}}
{{- end -}}
{{- if and $values.grafanaUrl (hasKey $alert.annotations "dashboard_url") -}}
{{- $_ := set $alert.annotations "dashboard_url" (printf "%s%s" (trimSuffix "/" $values.grafanaUrl) $alert.annotations.dashboard_url) -}}
{{- end -}}
{{- toYaml $alert -}}
{{- end -}}

{{/* All groups, without what is disabled. */}}
{{- define "prober.ruleGroups" -}}
{{- $context := . -}}
{{- range $group := (.Files.Get "files/rules.yaml" | fromYaml).groups -}}
{{- $rules := list -}}
{{- range $rule := $group.rules -}}
{{- if not $rule.alert -}}
{{- $rules = append $rules $rule -}}
{{- else if not (get $context.Values.prometheusRule.disabled $rule.alert) -}}
{{- $rules = append $rules (include "prober.alert" (dict "context" $context "alert" $rule) | fromYaml) -}}
{{- end -}}
{{- end -}}
{{- if $rules }}
- {{ merge (dict "rules" $rules) $group | toYaml | nindent 2 | trim }}
{{- end -}}
{{- end -}}
{{- with .Values.prometheusRule.extraGroups }}
{{ toYaml . }}
{{- end -}}
{{- end -}}

{{/* The names of all alerts, as JSON. */}}
{{- define "prober.alerts" -}}
{{- $names := list -}}
{{- range (.Files.Get "files/rules.yaml" | fromYaml).groups -}}
{{- range .rules -}}
{{- with .alert }}{{ $names = append $names . }}{{ end -}}
{{- end -}}
{{- end -}}
{{- $names | uniq | toJson -}}
{{- end -}}

{{/* Matchers as Alertmanager writes them, name=~"value", in the operator's form. */}}
{{- define "prober.matchers" -}}
{{- range . }}
- name: {{ regexFind "^[a-z_]+" . }}
  matchType: {{ regexFind "=~|=" . | quote }}
  value: {{ regexReplaceAll "^[a-z_]+=~?" . "" }}
{{- end }}
{{- end -}}
