{{/* Names, labels and images. */}}

{{- define "prober.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* No dots, which a Service cannot have, and at most 52 characters: the pods of a StatefulSet add theirs, and their name becomes a label. */}}
{{- define "prober.fullname" -}}
{{- $name := include "prober.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | replace "." "-" | trunc 52 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | replace "." "-" | trunc 52 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | replace "." "-" | trunc 52 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "prober.namespace" -}}
{{- .Values.namespaceOverride | default .Release.Namespace -}}
{{- end -}}

{{- define "prober.monitoringNamespace" -}}
{{- .Values.monitoring.namespace | default (include "prober.namespace" .) -}}
{{- end -}}

{{- define "prober.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (ternary (include "prober.fullname" .) "default" .Values.serviceAccount.create) -}}
{{- end -}}

{{- define "prober.releaseLabels" -}}
app.kubernetes.io/name: {{ include "prober.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{/* What a prober's pod has, and the pod of helm test has not. */}}
{{- define "prober.selectorLabels" -}}
{{ include "prober.releaseLabels" . }}
app.kubernetes.io/component: prober
{{- end -}}

{{/* Labels of an object. Pods do not have them: a new version of the chart alone restarts nothing. */}}
{{- define "prober.labels" -}}
{{ include "prober.releaseLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels of an object that may have its own, which win: (dict "context" $ "own" map). */}}
{{- define "prober.labelsWith" -}}
{{- merge (deepCopy (.own | default dict)) (include "prober.labels" .context | fromYaml) | toYaml -}}
{{- end -}}

{{/* Labels of a monitor or of rules. */}}
{{- define "prober.monitoringLabels" -}}
{{- include "prober.labelsWith" (dict "context" . "own" .Values.monitoring.labels) -}}
{{- end -}}

{{/* Annotations of an object, the key included: (dict "context" $ "own" map). */}}
{{- define "prober.annotations" -}}
{{- with merge (deepCopy (.own | default dict)) .context.Values.commonAnnotations -}}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end -}}
{{- end -}}

{{- define "prober.image" -}}
{{- $registry := .Values.global.imageRegistry | default .Values.image.registry -}}
{{- if $registry }}{{ $registry }}/{{ end -}}
{{ .Values.image.repository }}
{{- if .Values.image.digest }}@{{ .Values.image.digest }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end -}}
{{- end -}}
