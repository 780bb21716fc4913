{{/* How the prober is scraped. */}}

{{/* An endpoint of a ServiceMonitor or a PodMonitor: (dict "context" $ "port" "http"). */}}
{{- define "prober.endpoint" -}}
{{- $monitoring := .context.Values.monitoring -}}
- port: {{ .port }}
  path: /metrics
  {{- if eq (include "prober.scheme" .context) "https" }}
  scheme: https
  {{- end }}
  interval: {{ $monitoring.interval }}
  scrapeTimeout: {{ $monitoring.scrapeTimeout }}
  honorLabels: false
  {{- $fields := pick $monitoring "tlsConfig" "basicAuth" "relabelings" "metricRelabelings" }}
  {{- if .context.Values.sidecar.enabled }}
  {{- /* A pod whose earlier init containers still fetch the model has no prober yet: not one that is gone. */}}
  {{- $running := dict "action" "keep" "sourceLabels" (list "__meta_kubernetes_pod_phase") "regex" "Running" }}
  {{- $fields = merge (dict "relabelings" (prepend ($monitoring.relabelings | default list) $running)) $fields }}
  {{- end }}
  {{- range $key := list "tlsConfig" "basicAuth" "relabelings" "metricRelabelings" }}
  {{- with get $fields $key }}
  {{ $key }}:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- end }}
{{- end -}}

{{/* What a PodMonitoring has of the operator's form of TLS. */}}
{{- define "prober.podMonitoringTLS" -}}
{{- $tls := pick . "serverName" "insecureSkipVerify" }}
{{- with (.ca | default dict).secret }}
{{- $_ := set $tls "ca" (dict "secret" (pick . "name" "key")) }}
{{- end }}
{{- toYaml $tls }}
{{- end -}}

{{/* Metadata of a monitor or of rules. */}}
{{- define "prober.monitoringMetadata" -}}
name: {{ include "prober.fullname" . }}
namespace: {{ include "prober.monitoringNamespace" . }}
labels:
  {{- include "prober.monitoringLabels" . | nindent 2 }}
{{- with include "prober.annotations" (dict "context" . "own" .Values.monitoring.annotations) }}
{{ . }}
{{- end }}
{{- end -}}

{{/* What a ServiceMonitor and a PodMonitor have in common beside selector and endpoints. */}}
{{- define "prober.scrapeSpec" -}}
{{- with .Values.monitoring.jobLabel }}
jobLabel: {{ . }}
{{- end }}
{{- if .Values.monitoring.nativeHistograms }}
scrapeNativeHistograms: true
{{- end }}
namespaceSelector:
  matchNames:
    {{- if and .Values.sidecar.enabled .Values.sidecar.namespaces }}
    {{- toYaml .Values.sidecar.namespaces | nindent 4 }}
    {{- else }}
    - {{ include "prober.namespace" . }}
    {{- end }}
{{- end -}}

{{/* The labels and the port of the pods that are scraped: ours, or those with sidecars. */}}
{{- define "prober.scrapedLabels" -}}
{{- if .Values.sidecar.enabled }}{{ toYaml .Values.sidecar.selector }}{{ else }}{{ include "prober.selectorLabels" . }}{{ end -}}
{{- end -}}

{{- define "prober.scrapedPort" -}}
{{- ternary "prober" "http" .Values.sidecar.enabled -}}
{{- end -}}
