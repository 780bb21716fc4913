{{/* Objectives, and goals that a rate cannot measure. */}}

{{/* Objectives of a map of variables as JSON: place and goal of each. */}}
{{- define "prober.environmentObjectives" -}}
{{- $all := list -}}
{{- range $name, $value := . -}}
{{- if regexMatch "^PROBER_OBJECTIVES_[0-9]+_GOAL$" $name -}}
{{- $all = append $all (dict "place" (printf "%s %s" $name (include "prober.text" $value)) "goal" (include "prober.text" $value | float64)) -}}
{{- end -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{/* Not empty if the prober may have objectives that the chart cannot see. */}}
{{- define "prober.unseenObjectives" -}}
{{- $unseen := or .Values.existingConfigMap .Values.extraEnvFrom (hasKey .Values.env "PROBER_TARGETS_FILE") -}}
{{- range .Values.extraEnv -}}
{{- if regexMatch "^PROBER_(OBJECTIVES_|TARGETS_FILE$)" .name }}{{ $unseen = true }}{{ end -}}
{{- end -}}
{{- if $unseen }}yes{{ end -}}
{{- end -}}

{{/* The objective that the prober has where there are none, as JSON in a list; none where some may be unseen. */}}
{{- define "prober.defaultObjective" -}}
{{- if include "prober.unseenObjectives" . }}[]{{ else -}}
{{- list (dict "place" "there are no objectives, and the goal of the default one, availability 0.99," "goal" 0.99) | toJson -}}
{{- end -}}
{{- end -}}

{{/* Name and rate of all targets as JSON. That of a sidecar is the server of its pod. */}}
{{- define "prober.rates" -}}
{{- $rates := include "prober.targets" . | fromJsonArray -}}
{{- if .Values.sidecar.enabled -}}
{{- $variables := include "prober.variables" . | fromJson -}}
{{- $own := dict -}}
{{- if hasKey $variables "PROBER_TARGETS_0_QPS" }}{{ $_ := set $own "qps" $variables.PROBER_TARGETS_0_QPS }}{{ end -}}
{{- $rates = append $rates (dict "name" .Values.sidecar.name "qps" (include "prober.setting" (dict "context" . "own" $own "key" "qps") | float64)) -}}
{{- end -}}
{{- toJson $rates -}}
{{- end -}}

{{/*
Goals that the slowest of some targets cannot measure, as the prober itself refuses them: a page, burn rate 14.4 over one hour, must need
three bad probes (docs/slo.md). (dict "targets" [{name, qps}] "objectives" [{place, goal}]), a sentence a line.
*/}}
{{- define "prober.problemsOfGoals" -}}
{{- $slowest := dict }}
{{- range .targets }}
{{- if le .qps 0.0 }}
target {{ .name | quote }} is probed {{ .qps }} times a second: set qps to a number above 0, or leave the target out.
{{- else if or (not $slowest) (lt .qps (get $slowest "qps" | default 1e9)) }}{{ $slowest = . }}{{ end }}
{{- end }}
{{- range .objectives }}
{{- $budget := subf 1.0 .goal }}
{{- if le $budget 0.0 }}
{{ .place }} leaves no room for a bad probe: goals are below 1.
{{- else if $slowest }}
{{- if lt (mulf $slowest.qps 51840.0 $budget) 2.999999 }}
{{- $least := include "prober.roundUp" (divf 3.0 (mulf 51840.0 $budget)) | fromJson }}
{{- $most := include "prober.roundUp" (divf 3.0 (mulf 51840.0 $slowest.qps)) | fromJson }}
{{ .place }} cannot be measured at the {{ $slowest.qps }} probes per second of target {{ $slowest.name | quote }}: want {{ if lt $most.value 1.0 }}a goal of at most {{ printf "%.*f" (int $most.decimals) (subf 1.0 $most.value) }}, or {{ end }}at least {{ printf "%.*f" (int $least.decimals) $least.value }} probes per second (qps).
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Objectives that make no sense, and goals. */}}
{{- define "prober.problemsOfObjectives" -}}
{{- $goals := include "prober.environmentObjectives" (include "prober.variables" . | fromJson) | fromJsonArray }}
{{- $names := dict }}
{{- range $i, $objective := .Values.objectives }}
{{- $name := $objective.name | default $objective.signal }}
{{- if hasKey $names $name }}
objectives[{{ $i }}] and objectives[{{ get $names $name }}] are both called {{ $name | quote }}: give each a name of its own.
{{- end }}
{{- $_ := set $names $name $i }}
{{- if and (eq $objective.signal "availability") (hasKey $objective "limit") }}
objectives[{{ $i }}].limit: availability has no limit. Leave it out.
{{- else if and (ne $objective.signal "availability") (not (hasKey $objective "limit")) }}
objectives[{{ $i }}] of {{ $objective.signal }} has no limit: set one, for example limit: 2s.
{{- end }}
{{- $goals = append $goals (dict "place" (printf "objectives[%d].goal %v" $i $objective.goal) "goal" $objective.goal) }}
{{- end }}
{{- if not $goals }}{{ $goals = include "prober.defaultObjective" . | fromJsonArray }}{{ end }}
{{ include "prober.problemsOfGoals" (dict "targets" (include "prober.rates" . | fromJsonArray) "objectives" $goals) }}
{{- end -}}

{{/* The same of a sidecar whose own variables are over those of the values; its parameters. */}}
{{- define "prober.problemsOfSidecar" -}}
{{- $variables := include "prober.sidecarEnv" . | fromYaml -}}
{{- if .context -}}
{{- $_ := merge $variables (include "prober.variables" .context | fromJson) -}}
{{- end -}}
{{- $goals := include "prober.environmentObjectives" $variables | fromJsonArray -}}
{{- if not $goals -}}
{{- $goals = include "prober.defaultObjective" (.context | default (dict "Values" (dict "env" dict))) | fromJsonArray -}}
{{- end -}}
{{- $qps := 0.1 -}}
{{- range list "PROBER_QPS" "PROBER_TARGETS_0_QPS" -}}
{{- if hasKey $variables . }}{{ $qps = include "prober.text" (get $variables .) | float64 }}{{ end -}}
{{- end -}}
{{- include "prober.problemsOfGoals" (dict "targets" (list (dict "name" .name "qps" $qps)) "objectives" $goals) -}}
{{- end -}}
