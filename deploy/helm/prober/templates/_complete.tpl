{{/*
What somebody's null took away: that of a file or of --set, that of a chart which depends on this one, or a version of the chart
before the value was there, with helm upgrade --reuse-values. Null means empty, and off. The values are changed in place, for all
templates: Helm renders those in the deepest folder first, then from Z to A, so tests/check.yaml and validate.yaml begin with it.
*/}}
{{- define "prober.complete" -}}
{{- $_ := include "prober.nothing" . | fromYaml | merge .Values -}}
{{- end -}}

{{/* Values that say nothing, for all that is no plain text or number. */}}
{{- define "prober.nothing" -}}
{{- range list "targets" "objectives" "imagePullSecrets" "tolerations" "topologySpreadConstraints" "hostAliases" "extraEnv" "extraEnvFrom" "extraVolumes" "extraVolumeMounts" "extraContainers" "extraInitContainers" "extraManifests" }}
{{ . }}: []
{{- end }}
{{- range list "settings" "env" "image" "commonLabels" "commonAnnotations" "service" "serviceMonitor" "podMonitor" "podMonitoring" "alertmanagerConfig" "resources" "podSecurityContext" "securityContext" "strategy" "podLabels" "podAnnotations" "annotations" "podDisruptionBudget" "tests" }}
{{ . }}: {}
{{- end }}
global: {imagePullSecrets: []}
maxTokensPerDay: none
webConfig: {existingSecret: {name: ""}, tls: false}
monitoring: {labels: {}, annotations: {}, tlsConfig: {}}
prometheusRule: {disabled: {}, ruleLabels: {}, extraGroups: []}
grafanaDashboards: {enabled: false, labels: {}, annotations: {}, grafanaOperator: {instanceSelector: {}, allowCrossNamespaceImport: false}}
networkPolicy: {ingress: {}, egress: {ports: []}}
serviceAccount: {create: false, automountToken: false}
sidecar: {enabled: false, selector: {}}
{{- end -}}

{{/* Values that must be there, for what is switched on. */}}
{{- define "prober.problemsOfNull" -}}
{{- $paths := list "replicas" "shards" "image.repository" "image.pullPolicy" }}
{{- if .Values.sidecar.enabled }}
{{- $paths = concat $paths (list "sidecar.name" "sidecar.port" "sidecar.waitForReady") }}
{{- else }}
{{- $paths = concat $paths (list "containerPort" "service.type" "service.port" "revisionHistoryLimit" "terminationGracePeriodSeconds") }}
{{- end }}
{{- if or .Values.serviceMonitor.enabled .Values.podMonitor.enabled .Values.podMonitoring.enabled }}
{{- $paths = concat $paths (list "monitoring.interval" "monitoring.scrapeTimeout") }}
{{- end }}
{{- $others := dict "webConfig.existingSecret.key" .Values.webConfig.existingSecret.name "tests.timeout" (and .Values.tests.enabled (not .Values.sidecar.enabled))
    "podDisruptionBudget.maxUnavailable" (and .Values.podDisruptionBudget.enabled (gt (int .Values.replicas) 1))
    "grafanaDashboards.folderAnnotation" .Values.grafanaDashboards.folder
    "grafanaDashboards.grafanaOperator.resyncPeriod" .Values.grafanaDashboards.grafanaOperator.enabled }}
{{- range $path, $on := $others }}
{{- if $on }}{{ $paths = append $paths $path }}{{ end }}
{{- end }}
{{- range $path := $paths }}
{{- $value := $.Values }}
{{- range splitList "." $path }}{{ $value = get $value . }}{{ end }}
{{- if eq (toString $value) "" }}
{{ $path }} is null, and has to be something: leave it out for its default, or say what.
{{- end }}
{{- end }}
{{- end -}}
