{{/* Names, labels and metadata of all objects. */}}

{{- define "prober.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/*
Name of all objects. A Service cannot have dots. The pods of a StatefulSet have it with a revision in a label, so it has at most
52 characters.
*/}}
{{- define "prober.fullname" -}}
{{- $name := include "prober.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- $name = .Values.fullnameOverride -}}
{{- else if contains $name .Release.Name -}}
{{- $name = .Release.Name -}}
{{- else -}}
{{- $name = printf "%s-%s" .Release.Name $name -}}
{{- end -}}
{{- $name | replace "." "-" | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "prober.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "prober.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "prober.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{/* Labels of all pods of a release, including the pod of helm test. */}}
{{- define "prober.releaseLabels" -}}
app.kubernetes.io/name: {{ include "prober.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* Labels that select the probers, and not the pod of helm test. */}}
{{- define "prober.selectorLabels" -}}
{{ include "prober.releaseLabels" . }}
app.kubernetes.io/component: prober
{{- end -}}

{{/*
Metadata of an object: (dict "root" $), and its own parts: "name" or its "suffix", "namespace", "labels", "annotations".
No value can change the labels that select objects.
*/}}
{{- define "prober.metadata" -}}
{{- $chart := dict "helm.sh/chart" (printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_")
    "app.kubernetes.io/version" .root.Chart.AppVersion "app.kubernetes.io/managed-by" .root.Release.Service -}}
{{- $labels := include "prober.releaseLabels" .root | fromYaml -}}
metadata:
  name: {{ .name | default (printf "%s%s" (include "prober.fullname" .root) (.suffix | default "")) }}
  namespace: {{ .namespace | default (include "prober.namespace" .root) }}
  labels:
    {{- merge $labels (.labels | default dict) .root.Values.commonLabels $chart | toYaml | nindent 4 }}
  {{- with .annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end -}}

{{- define "prober.image" -}}
{{- with .Values.global.imageRegistry | default .Values.image.registry }}{{ . }}/{{ end -}}
{{ .Values.image.repository }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end -}}
{{- end -}}

{{/* "yes" if there is a targets file, else empty. */}}
{{- define "prober.hasFile" -}}
{{- if or .Values.config .Values.existingConfigMap .Values.existingSecret }}yes{{ end -}}
{{- end -}}

{{/* The scheme of the page and the metrics. */}}
{{- define "prober.scheme" -}}
{{- ternary "https" "http" (and (ne .Values.webConfig.existingSecret "") .Values.webConfig.tls) -}}
{{- end -}}

{{/* The fields of a mapping that are not empty: (list mapping "interval" "scrapeTimeout"). */}}
{{- define "prober.fields" -}}
{{- $fields := dict -}}
{{- range $key := rest . -}}
{{- with get (first $) $key }}{{ $_ := set $fields $key . }}{{ end -}}
{{- end -}}
{{- with $fields }}{{ toYaml . }}{{ end -}}
{{- end -}}

{{/* An endpoint of a ServiceMonitor or a PodMonitor, without its port: (dict "root" $ "monitor" values). */}}
{{- define "prober.endpoint" -}}
path: /metrics
scheme: {{ include "prober.scheme" .root }}
{{ include "prober.fields" (list .monitor "interval" "scrapeTimeout" "tlsConfig" "basicAuth" "relabelings") }}
{{- $dropped := dict "sourceLabels" (list "__name__") "regex" "llm_.+_(bucket|count|sum)" "action" "drop" -}}
{{- $first := ternary (list $dropped) list (and .monitor.scrapeNativeHistograms .monitor.exemplars) -}}
{{- with concat $first (.monitor.metricRelabelings | default list) }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}
