{{/* The prober's container: also that of helm test, which reads the same configuration. */}}

{{/* Variables of the configuration: the targets file, then what the user says. */}}
{{- define "prober.env" -}}
{{- if or .Values.existingConfigMap (include "prober.hasFile" .) }}
- name: PROBER_TARGETS_FILE
  value: /etc/prober/targets/targets.yaml
{{- end }}
{{- $limit := include "prober.text" .Values.maxTokensPerDay }}
{{- if and (ne $limit "none") (not (hasKey .Values.env "PROBER_MAX_TOKENS_PER_DAY")) }}
- name: PROBER_MAX_TOKENS_PER_DAY
  value: {{ $limit | quote }}
{{- end }}
{{- range $name, $value := .Values.env }}
- name: {{ $name }}
  value: {{ include "prober.text" $value | quote }}
{{- end }}
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Variables of a prober that runs: where it listens, and which share is its own. */}}
{{- define "prober.runEnv" -}}
- name: PROBER_LISTEN_ADDRESS
  value: {{ printf ":%v" .Values.containerPort | quote }}
{{- if .Values.webConfig.existingSecret.name }}
- name: PROBER_WEB_CONFIG_FILE
  value: /etc/prober/web/{{ .Values.webConfig.existingSecret.key }}
{{- end }}
{{- if gt (int .Values.shards) 1 }}
- name: POD_NAME
  valueFrom:
    fieldRef:
      fieldPath: metadata.name
- name: PROBER_SHARD
  value: $(POD_NAME)/{{ .Values.shards }}
{{- end }}
{{- if not (hasKey .Values.env "GOMEMLIMIT") }}
{{- with include "prober.goMemoryLimit" (dig "limits" "memory" "" (.Values.resources | default dict)) }}
- name: GOMEMLIMIT
  value: {{ . }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
Mounts. The targets file is a directory and no subPath, which would never change: the prober looks at it, and no
checksum restarts it, since a restart resets counters and calibration.
*/}}
{{- define "prober.mounts" -}}
{{- if or .Values.existingConfigMap (include "prober.hasFile" .) }}
- name: targets
  mountPath: /etc/prober/targets
  readOnly: true
{{- end }}
{{- if include "prober.credentialSources" . }}
- name: credentials
  mountPath: /etc/prober/credentials
  readOnly: true
{{- end }}
{{- if .Values.webConfig.existingSecret.name }}
- name: web
  mountPath: /etc/prober/web
  readOnly: true
{{- end }}
{{- if .Values.webConfig.certificateSecretName }}
- name: tls
  mountPath: /etc/prober/tls
  readOnly: true
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Whether the prober serves HTTPS. */}}
{{- define "prober.scheme" -}}
{{- ternary "https" "http" (and (ne .Values.webConfig.existingSecret.name "") .Values.webConfig.tls) -}}
{{- end -}}

{{/*
A health check: (dict "context" $ "path" "/-/ready" "probe" map). The kubelet has neither password nor certificate,
so where clients are asked for one it can only connect.
*/}}
{{- define "prober.probe" -}}
{{- $web := .context.Values.webConfig -}}
{{- if not (or .probe.httpGet .probe.tcpSocket .probe.exec .probe.grpc) }}
{{- if and $web.existingSecret.name $web.authentication }}
tcpSocket:
  port: http
{{- else }}
httpGet:
  path: {{ .path }}
  port: http
  {{- if eq (include "prober.scheme" .context) "https" }}
  scheme: HTTPS
  {{- end }}
{{- end }}
{{- end }}
{{ toYaml .probe }}
{{- end -}}

{{- define "prober.container" -}}
- name: prober
  image: {{ include "prober.image" . }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  args: [run]
  ports:
    - name: http
      containerPort: {{ .Values.containerPort }}
      protocol: TCP
  env:
    {{- include "prober.runEnv" . | nindent 4 }}
    {{- include "prober.env" . | trim | nindent 4 }}
  {{- with .Values.extraEnvFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.livenessProbe }}
  livenessProbe:
    {{- include "prober.probe" (dict "context" $ "path" "/-/healthy" "probe" .) | trim | nindent 4 }}
  {{- end }}
  {{- with .Values.readinessProbe }}
  readinessProbe:
    {{- include "prober.probe" (dict "context" $ "path" "/-/ready" "probe" .) | trim | nindent 4 }}
  {{- end }}
  resources:
    {{- toYaml (.Values.resources | default dict) | nindent 4 }}
  securityContext:
    {{- toYaml .Values.securityContext | nindent 4 }}
  {{- with include "prober.mounts" . | trim }}
  volumeMounts:
    {{- . | nindent 4 }}
  {{- end }}
{{- end -}}
