{{/* What is probed, wherever it is configured: what the checks, the notes and the NetworkPolicy need to know of it. */}}

{{/* The variables whose values stand in env or extraEnv, as JSON. */}}
{{- define "prober.variables" -}}
{{- $all := deepCopy (.Values.env | default dict) -}}
{{- range .Values.extraEnv -}}
{{- if hasKey . "value" }}{{ $_ := set $all .name .value }}{{ end -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{/*
A setting of a target as the prober finds it: (dict "context" $ "own" map "key" "qps"). Its own comes first, then
the environment, then settings, then the prober's default.
*/}}
{{- define "prober.setting" -}}
{{- $defaults := dict "qps" 0.1 "prompt" "cold" "prompt_tokens" 21000 "max_tokens" 100 "session_rounds" 20 "token_budget_per_day" "none" -}}
{{- $variable := printf "PROBER_%s" (upper .key) -}}
{{- $values := .context.Values -}}
{{- $variables := include "prober.variables" .context | fromJson -}}
{{- if hasKey .own .key -}}
{{ include "prober.text" (get .own .key) }}
{{- else if hasKey $variables $variable -}}
{{ include "prober.text" (get $variables $variable) }}
{{- else if hasKey $values.settings .key -}}
{{ include "prober.text" (get $values.settings .key) }}
{{- else -}}
{{ include "prober.text" (get $defaults .key) }}
{{- end -}}
{{- end -}}

{{/*
Host and port of a URL, or of what gRPC takes for one: c:4317, dns:///c:4317. Sprig's urlParse would print a URL that it cannot
read, with the password in it.
*/}}
{{- define "prober.authority" -}}
{{- regexReplaceAll "^.*@" (regexReplaceAll "^[^/?#]*//+" . "" | regexFind "^[^/?#]*") "" -}}
{{- end -}}

{{/* The port of a URL. */}}
{{- define "prober.port" -}}
{{- regexFind "[0-9]+$" (regexFind ":[0-9]+$" (include "prober.authority" .)) | default (ternary "443" "80" (hasPrefix "https:" (trimPrefix "dns+" .))) -}}
{{- end -}}

{{/* Host and port of a URL, by which the prober names its target. */}}
{{- define "prober.hostPort" -}}
{{ regexReplaceAll ":[0-9]+$" (include "prober.authority" .) "" }}:{{ include "prober.port" . }}
{{- end -}}

{{/* Targets of the environment as entries of a targets file. */}}
{{- define "prober.environmentTargets" -}}
{{- $targets := list -}}
{{- $env := include "prober.variables" . | fromJson -}}
{{- range $variable, $url := $env -}}
{{- if regexMatch "^PROBER_TARGETS_[0-9]+_URL$" $variable -}}
{{- $own := dict -}}
{{- range $other, $value := $env -}}
{{- if hasPrefix (trimSuffix "URL" $variable) $other -}}
{{- $_ := set $own (trimPrefix (trimSuffix "URL" $variable) $other | lower) $value -}}
{{- end -}}
{{- end -}}
{{- $targets = append $targets $own -}}
{{- end -}}
{{- end -}}
{{- toJson $targets -}}
{{- end -}}

{{/*
All targets as JSON: place, name, url, port, qps and tokens a day of each. What is unknown here is left out: the
targets of a ConfigMap that is not ours, the addresses of dns+, the lengths of a data set.
*/}}
{{- define "prober.targets" -}}
{{- $context := . -}}
{{- $all := list -}}
{{- range $i, $own := concat .Values.targets (include "prober.environmentTargets" . | fromJsonArray) -}}
{{- $url := $own.url | default "" -}}
{{- $port := include "prober.port" $url -}}
{{- $name := include "prober.hostPort" $url -}}
{{- $arguments := dict "context" $context "own" $own -}}
{{- $qps := include "prober.setting" (merge (dict "key" "qps") $arguments) | float64 -}}
{{- $answer := include "prober.setting" (merge (dict "key" "max_tokens") $arguments) | float64 -}}
{{- $prompt := include "prober.setting" (merge (dict "key" "prompt_tokens") $arguments) | float64 -}}
{{- if eq (include "prober.setting" (merge (dict "key" "prompt") $arguments)) "sessions" -}}
{{- /* The mean of a conversation: each round adds the answer before it and a question of 64 tokens. */ -}}
{{- $rounds := include "prober.setting" (merge (dict "key" "session_rounds") $arguments) | float64 -}}
{{- $prompt = addf $prompt (divf (mulf (subf $rounds 1.0) (addf $answer 64.0)) 2.0) -}}
{{- end -}}
{{- $perDay := mulf $qps 86400.0 (addf $prompt $answer) -}}
{{- $budget := include "prober.setting" (merge (dict "key" "token_budget_per_day") $arguments) -}}
{{- if ne $budget "none" -}}
{{- $perDay = minf $perDay (float64 $budget) -}}
{{- end -}}
{{- $place := printf "targets[%d]" $i -}}
{{- if ge $i (len $context.Values.targets) }}{{ $place = "env" }}{{ end -}}
{{- $all = append $all (dict "place" $place "name" ($own.name | default $name) "url" $url "port" (int $port)
    "qps" $qps "tokensPerDay" $perDay "eachAddress" (hasPrefix "dns+" $url)) -}}
{{- end -}}
{{- toJson $all -}}
{{- end -}}

{{/* The variables, as a pattern, by which a prober connects to something else than its targets. */}}
{{- define "prober.outwards" -}}
^OTEL_EXPORTER_OTLP_((METRICS|TRACES)_)?ENDPOINT$|^(HTTPS?_PROXY|https?_proxy)$
{{- end -}}

{{/* What all of them cost a day in tokens. */}}
{{- define "prober.tokensPerDay" -}}
{{- $sum := 0.0 -}}
{{- range include "prober.targets" . | fromJsonArray -}}
{{- $sum = addf $sum .tokensPerDay -}}
{{- end -}}
{{- printf "%.0f" (mulf $sum (float64 .Values.replicas)) -}}
{{- end -}}

{{/* Not empty if the prober may have targets that the chart cannot see. */}}
{{- define "prober.unseenTargets" -}}
{{- $unseen := or .Values.existingConfigMap .Values.extraEnvFrom (hasKey .Values.env "PROBER_TARGETS_FILE") -}}
{{- range .Values.extraEnv -}}
{{- if and (regexMatch "^PROBER_TARGETS_([0-9]+_URL|FILE)$" .name) (or (not (hasKey . "value")) (eq .name "PROBER_TARGETS_FILE")) }}{{ $unseen = true }}{{ end -}}
{{- end -}}
{{- if $unseen }}yes{{ end -}}
{{- end -}}
