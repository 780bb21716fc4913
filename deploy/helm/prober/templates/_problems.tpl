{{/*
What neither values.schema.json can see nor the prober: combinations that are impossible in Kubernetes, secrets in plain values, costs.
What is wrong with targets and objectives the prober itself refuses when it starts, and says how to mend it. Each of these templates writes a sentence a line,
and validate.yaml fails with all of them at once.
*/}}

{{/* Where the prober runs, and how many there are. */}}
{{- define "prober.problemsOfShape" -}}
{{- if .Values.sidecar.enabled }}
{{- if gt (int .Values.replicas) 1 }}
sidecar.enabled with replicas {{ .Values.replicas }}: a sidecar has as many replicas as the model server it is in. Leave replicas at 1.
{{- end }}
{{- if gt (int .Values.shards) 1 }}
sidecar.enabled with shards {{ .Values.shards }}: a sidecar probes only the server of its own pod. Leave shards at 1.
{{- end }}
{{- if or .Values.targets .Values.existingConfigMap }}
sidecar.enabled with targets: a sidecar probes the server of its own pod and mounts no file. Leave targets and existingConfigMap out, or install a second release for them.
{{- end }}
{{- if not (semverCompare ">=1.29.0-0" .Capabilities.KubeVersion.Version) }}
sidecar.enabled needs Kubernetes 1.29 or later, where sidecars are native; this is {{ .Capabilities.KubeVersion.Version }}.
{{- end }}
{{- if and (or .Values.podMonitor.enabled .Values.podMonitoring.enabled) (not .Values.sidecar.selector) }}
podMonitor or podMonitoring with sidecar.enabled needs sidecar.selector: the labels of the pods that have the sidecar.
{{- end }}
{{- if or .Values.webConfig.existingSecret.name .Values.webConfig.certificateSecretName }}
webConfig with sidecar.enabled: a sidecar mounts nothing, and serves plain HTTP. Leave webConfig out.
{{- end }}
{{- if .Values.networkPolicy.enabled }}
networkPolicy.enabled with sidecar.enabled: the pods are those of model servers, and so are their policies. Leave it out, and where theirs are strict let Prometheus in to port 9464.
{{- end }}
{{- if .Values.serviceMonitor.enabled }}
serviceMonitor.enabled with sidecar.enabled: a sidecar has no Service. Enable podMonitor instead.
{{- end }}
{{- else if and (gt (int .Values.shards) 1) (gt (int .Values.replicas) 1) }}
shards {{ .Values.shards }} with replicas {{ .Values.replicas }}: shards share the targets, replicas all probe all of them. Choose one; to have both, install the release twice.
{{- end }}
{{- if and (or .Values.webConfig.certificateSecretName .Values.webConfig.authentication) (not .Values.webConfig.existingSecret.name) (not .Values.sidecar.enabled) }}
webConfig without existingSecret.name: without a web configuration everything is served in plain text and without a login. Set it to the Secret with the web configuration.
{{- end }}
{{- if and (gt (int .Values.shards) 1) .Values.strategy }}
strategy with shards {{ .Values.shards }}: strategy is for a Deployment, but shards are a StatefulSet, which replaces its pods one after another. Leave strategy out.
{{- end }}
{{- if and .Values.serviceMonitor.enabled .Values.podMonitor.enabled }}
serviceMonitor and podMonitor are both enabled: each prober would be scraped twice, and every sum would be double. Choose one.
{{- end }}
{{- end -}}

{{/* How it is scraped. */}}
{{- define "prober.problemsOfMonitoring" -}}
{{- $monitoring := .Values.monitoring }}
{{- if or .Values.serviceMonitor.enabled .Values.podMonitor.enabled .Values.podMonitoring.enabled }}
{{- if gt (include "prober.milliseconds" $monitoring.scrapeTimeout | int64) (include "prober.milliseconds" $monitoring.interval | int64) }}
monitoring.scrapeTimeout {{ $monitoring.scrapeTimeout }} is longer than monitoring.interval {{ $monitoring.interval }}, and nothing would be scraped: the operator refuses such a monitor, in its own log. Lower scrapeTimeout as well.
{{- end }}
{{- end }}
{{- if and .Values.podMonitoring.enabled .Values.webConfig.existingSecret.name .Values.webConfig.authentication }}
podMonitoring.enabled with webConfig.authentication: the PodMonitoring has no password and no certificate. Leave one of them out, or write a PodMonitoring of your own in extraManifests.
{{- end }}
{{- end -}}

{{/* What is probed. */}}
{{- define "prober.problemsOfTargets" -}}
{{- $targets := include "prober.targets" . | fromJsonArray }}
{{- if not (or $targets .Values.sidecar.enabled (include "prober.unseenTargets" .)) }}
no targets: set targets, for example --set targets[0].name=vllm --set targets[0].url=http://vllm:8000, or existingConfigMap.
{{- end }}
{{- if and .Values.existingConfigMap (or .Values.targets .Values.objectives .Values.settings) }}
existingConfigMap with targets, objectives or settings: they belong into that ConfigMap. Set only one of them.
{{- end }}
{{- if and .Values.networkPolicy.enabled (not .Values.sidecar.enabled) (not $targets) (not .Values.networkPolicy.egress.ports) (not .Values.networkPolicy.egress.extra) }}
networkPolicy.enabled with targets that the chart does not see (of existingConfigMap or extraEnv): set networkPolicy.egress.ports to the ports of their pods.
{{- end }}
{{- if and .Values.networkPolicy.enabled (not .Values.sidecar.enabled) (not .Values.networkPolicy.egress.extra) }}
{{- range .Values.extraEnv }}
{{- if and (regexMatch (include "prober.outwards" $) .name) (not (hasKey . "value")) }}
networkPolicy.enabled with {{ .name }} in extraEnv, without a plain value: the policy cannot open its port. Give it a value, or set networkPolicy.egress.extra.
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/* What the chart adds to all its objects, and to their selectors: a second one is no YAML, or selects nothing. */}}
{{- define "prober.problemsOfLabels" -}}
{{- $selectors := list "app.kubernetes.io/name" "app.kubernetes.io/instance" "app.kubernetes.io/component" }}
{{- $all := concat $selectors (list "app.kubernetes.io/version" "app.kubernetes.io/managed-by" "helm.sh/chart") }}
{{- $places := dict "commonLabels" .Values.commonLabels "service.labels" .Values.service.labels "grafanaDashboards.labels" .Values.grafanaDashboards.labels "podLabels" .Values.podLabels }}
{{- range $place, $labels := $places }}
{{- range ternary $selectors $all (eq $place "podLabels") }}
{{- if hasKey ($labels | default dict) . }}
{{ $place }} has {{ . }}, which the chart sets itself: leave it out; nameOverride changes the name.
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
Credentials in a URL, which would stand in a ConfigMap: (dict "place" "targets[0].url" "url" URL "key" where keys belong).
The URL itself is not said: Helm's output ends up in logs.
*/}}
{{- define "prober.problemsOfURL" -}}
{{- if regexMatch "^[^/]*//[^/?#]*@|[?#]|^[^/]*//[^/?#[]*:[0-9]*[^0-9/?#]" (.url | default "") }}
{{ .place }} has credentials, a query, a fragment or no number as its port, in plain values: put a key into a Secret and set {{ .key }}.
{{- end }}
{{- end -}}

{{/* Secrets in plain values, and keys given twice. */}}
{{- define "prober.problemsOfSecrets" -}}
{{- range $i, $own := append .Values.targets .Values.settings }}
{{- $place := ternary (printf "targets[%d]" $i) "settings" (lt $i (len $.Values.targets)) }}
{{- include "prober.problemsOfURL" (dict "place" (printf "%s.url" $place) "url" $own.url "key" (printf "%s.apiKey.existingSecret" $place)) }}
{{- if hasKey $own "api_key" }}
{{ $place }}.api_key is a secret in plain values: put it into a Secret and set {{ $place }}.apiKey.existingSecret to its name and key.
{{- end }}
{{- range $pair := list (list "apiKey" "api_key_file") (list "ca" "ca_file") (list "clientCertificate" "cert_file") }}
{{- if and (hasKey $own (first $pair)) (hasKey $own (last $pair)) }}
{{ $place }} has {{ first $pair }} and {{ last $pair }}: set only one of them.
{{- end }}
{{- end }}
{{- range list "api_key_file" "ca_file" "cert_file" "key_file" }}
{{- if hasPrefix "/etc/prober/credentials" (get $own . | default "") }}
{{ $place }}.{{ . }} is in /etc/prober/credentials, where the chart mounts its own: name the Secret in apiKey, ca or clientCertificate, or mount the file elsewhere by extraVolumes and extraVolumeMounts.
{{- end }}
{{- end }}
{{- with $own.ca }}
{{- if and .existingSecret .existingConfigMap }}
{{ $place }}.ca has existingSecret and existingConfigMap: set only one of them.
{{- end }}
{{- end }}
{{- if and $.Values.sidecar.enabled (or $own.apiKey $own.api_key_file) }}
{{ $place }}.apiKey with sidecar.enabled: a sidecar mounts nothing. Set PROBER_API_KEY in extraEnv with a secretKeyRef.
{{- end }}
{{- range $name, $_ := $own.headers }}
{{- if regexMatch "(?i)^(proxy-)?authorization$|cookie|token|secret|password|api-?key" $name }}
{{ $place }}.headers.{{ $name }} is a secret in plain values: use {{ $place }}.apiKey.existingSecret, or configure this target by extraEnv, with PROBER_TARGETS_0_HEADERS from a secretKeyRef.
{{- end }}
{{- end }}
{{- end }}
{{- range $name, $value := include "prober.variables" . | fromJson }}
{{- if regexMatch "^PROBER_TARGETS_[0-9]+_URL$" $name }}
{{- include "prober.problemsOfURL" (dict "place" $name "url" (include "prober.text" $value) "key" (printf "%s in extraEnv, with a secretKeyRef" (replace "_URL" "_API_KEY" $name))) }}
{{- end }}
{{- end }}
{{- range $name, $_ := .Values.env }}
{{- if regexMatch "^PROBER_(TARGETS_[0-9]+_)?API_KEY$|^PROBER_TARGETS_[0-9]+_HEADERS$|^OTEL_EXPORTER_OTLP_([A-Z]+_)?HEADERS$" $name }}
env.{{ $name }} is a secret in plain values: put it into a Secret and give it in extraEnv, with a secretKeyRef.
{{- end }}
{{- end }}
{{- end -}}

{{/* Variables that the chart sets itself, and variables that are there twice. */}}
{{- define "prober.problemsOfEnv" -}}
{{- $instead := dict "PROBER_LISTEN_ADDRESS" "containerPort" "PROBER_WEB_CONFIG_FILE" "webConfig.existingSecret" "PROBER_SHARD" "shards" }}
{{- if or .Values.existingConfigMap (include "prober.hasFile" .) }}
{{- $_ := set $instead "PROBER_TARGETS_FILE" "targets or existingConfigMap" }}
{{- end }}
{{- $extra := list }}
{{- range .Values.extraEnv }}{{ $extra = append $extra .name }}{{ end }}
{{- range $name, $value := $instead }}
{{- if hasKey $.Values.env $name }}
env.{{ $name }} is set by the chart: use {{ $value }}.
{{- end }}
{{- if has $name $extra }}
extraEnv has {{ $name }}, which is set by the chart: use {{ $value }}.
{{- end }}
{{- end }}
{{- /* Helm applies on the server, which refuses a list of variables that has a name twice. */ -}}
{{- $names := list }}
{{- if .Values.sidecar.enabled }}
{{- $names = include "prober.sidecarEnv" (dict "context" . "name" "name" "port" 1) | fromYaml | keys }}
{{- $names = concat $names $extra }}
{{- else }}
{{- range concat (include "prober.runEnv" . | fromYamlArray) (include "prober.env" . | fromYamlArray) }}{{ $names = append $names .name }}{{ end }}
{{- end }}
{{- range $name := $names | uniq | sortAlpha }}
{{- $times := 0 }}
{{- range $names }}{{ if eq . $name }}{{ $times = add1 $times }}{{ end }}{{ end }}
{{- if and (gt $times 1) (not (hasKey $instead $name)) }}
the variable {{ $name }} is given {{ $times }} times: by env, extraEnv or the chart itself. Give it once; env may replace GOMEMLIMIT.
{{- end }}
{{- end }}
{{- end -}}

{{/* Tokens a day above the limit. */}}
{{- define "prober.problemsOfCost" -}}
{{- $limit := include "prober.text" .Values.maxTokensPerDay }}
{{- $cost := include "prober.tokensPerDay" . }}
{{- if ne $limit "none" }}
{{- if .Values.sidecar.enabled }}
maxTokensPerDay with sidecar.enabled: the chart does not know how many pods have the sidecar. Leave it at none, and set settings.token_budget_per_day, which is for each pod.
{{- else if include "prober.unseenTargets" . }}
maxTokensPerDay with targets that the chart does not see (of existingConfigMap, extraEnvFrom, extraEnv with a valueFrom, or PROBER_TARGETS_FILE): they would not be counted. Leave it at none, and give targets a token_budget_per_day.
{{- end }}
{{- range include "prober.targets" . | fromJsonArray }}
{{- if .eachAddress }}
maxTokensPerDay with dns+ of target {{ .name | quote }}: the chart does not know how many addresses there are, and each costs the same again. Leave it at none, and give the target a token_budget_per_day, which is for each address.
{{- end }}
{{- end }}
{{- if gt ($cost | float64) ($limit | float64) }}
the targets cost {{ include "prober.grouped" $cost }} tokens a day (qps × 86400 × (prompt_tokens + max_tokens){{ if gt (int .Values.replicas) 1 }} × {{ .Values.replicas }} replicas{{ end }}), and maxTokensPerDay is {{ include "prober.grouped" $limit }}: lower qps or prompt_tokens, or give targets a token_budget_per_day.
{{- end }}
{{- end }}
{{- end -}}

{{/* Alerts that are not there, and groups that are there twice. */}}
{{- define "prober.problemsOfRules" -}}
{{- $groups := dict }}
{{- range (.Files.Get "files/rules.yaml" | fromYaml).groups }}{{ $_ := set $groups .name true }}{{ end }}
{{- range $i, $group := .Values.prometheusRule.extraGroups }}
{{- if hasKey $groups $group.name }}
prometheusRule.extraGroups[{{ $i }}] is called {{ $group.name | quote }}, as another group is, and no rule at all would be loaded: the operator refuses that, in its own log. Give it a name of its own.
{{- end }}
{{- $_ := set $groups $group.name true }}
{{- end }}
{{- range $name, $_ := .Values.prometheusRule.disabled }}
{{- if not (has $name (include "prober.alerts" $ | fromJsonArray)) }}
prometheusRule.disabled.{{ $name }}: there is no such alert. There are {{ include "prober.alerts" $ | fromJsonArray | sortAlpha | join ", " }}.
{{- end }}
{{- end }}
{{- end -}}
