{{/* The pod, of a Deployment and of a StatefulSet. */}}

{{/* Pull secrets. Those of all charts may be names alone, as other charts have them. */}}
{{- define "prober.pullSecrets" -}}
{{- $all := list }}
{{- range concat .Values.global.imagePullSecrets .Values.imagePullSecrets }}
{{- $all = append $all (kindIs "string" . | ternary (dict "name" .) .) }}
{{- end }}
{{- with uniq $all }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Volumes. Files belong to the group of the prober alone. */}}
{{- define "prober.volumes" -}}
{{- if or .Values.existingConfigMap (include "prober.hasFile" .) }}
- name: targets
  configMap:
    name: {{ include "prober.configMapName" . }}
{{- end }}
{{- with include "prober.credentialSources" . | trim }}
- name: credentials
  projected:
    defaultMode: 0440
    sources:
      {{- . | nindent 6 }}
{{- end }}
{{- with .Values.webConfig.existingSecret.name }}
- name: web
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- with .Values.webConfig.certificateSecretName }}
- name: tls
  secret:
    secretName: {{ . }}
    defaultMode: 0440
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Where a pod runs: also that of helm test. */}}
{{- define "prober.placement" -}}
{{- range $key := list "nodeSelector" "tolerations" "affinity" "priorityClassName" "runtimeClassName" "hostAliases" "dnsPolicy" "dnsConfig" }}
{{- with get $.Values $key }}
{{ dict $key . | toYaml }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Spread constraints, with the labels of the pods where none are given. */}}
{{- define "prober.spread" -}}
{{- range .Values.topologySpreadConstraints }}
- {{ merge (deepCopy .) (dict "labelSelector" (dict "matchLabels" (include "prober.selectorLabels" $ | fromYaml))) | toYaml | nindent 2 | trim }}
{{- end }}
{{- end -}}

{{- define "prober.podTemplate" -}}
metadata:
  labels:
    {{- include "prober.selectorLabels" . | nindent 4 }}
    {{- with merge (deepCopy .Values.podLabels) .Values.commonLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with .Values.podAnnotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
spec:
  {{- with include "prober.pullSecrets" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  serviceAccountName: {{ include "prober.serviceAccountName" . }}
  automountServiceAccountToken: {{ .Values.serviceAccount.automountToken }}
  # A Service called prober would add variables that look like the prober's own.
  enableServiceLinks: false
  securityContext:
    {{- toYaml .Values.podSecurityContext | nindent 4 }}
  terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
  {{- with include "prober.placement" . | trim }}
  {{- . | nindent 2 }}
  {{- end }}
  {{- with include "prober.spread" . | trim }}
  topologySpreadConstraints:
    {{- . | nindent 4 }}
  {{- end }}
  {{- with .Values.extraInitContainers }}
  initContainers:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    {{- include "prober.container" . | nindent 4 }}
    {{- with .Values.extraContainers }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with include "prober.volumes" . | trim }}
  volumes:
    {{- . | nindent 4 }}
  {{- end }}
{{- end -}}
