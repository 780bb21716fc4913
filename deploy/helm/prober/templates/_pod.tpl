{{/*
The pod of a prober. The pod of helm test reads the same configuration and uses this as well:
(dict "root" $ "command" "run"), or "check".
*/}}
{{- define "prober.podSpec" -}}
{{- $values := .root.Values -}}
{{- $runs := eq .command "run" -}}
{{- $volumes := include "prober.volumes" .root | fromYamlArray -}}
{{- with concat $values.global.imagePullSecrets $values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - {{ kindIs "string" . | ternary (dict "name" .) . | toYaml }}
  {{- end }}
{{- end }}
serviceAccountName: {{ include "prober.serviceAccountName" .root }}
automountServiceAccountToken: {{ $values.serviceAccount.automountServiceAccountToken }}
# A Service called prober would add variables that look like the prober's own.
enableServiceLinks: false
{{- with include "prober.fields" (list $values "nodeSelector" "tolerations" "affinity" "topologySpreadConstraints"
    "priorityClassName" "runtimeClassName" "hostAliases" "dnsPolicy" "dnsConfig") }}
{{ . }}
{{- end }}
securityContext:
  {{- toYaml $values.podSecurityContext | nindent 2 }}
{{- with $values.extraInitContainers }}
initContainers:
  {{- toYaml . | nindent 2 }}
{{- end }}
containers:
  - name: prober
    image: {{ include "prober.image" .root }}
    imagePullPolicy: {{ $values.image.pullPolicy }}
    args: [{{ .command }}]
    {{- with include "prober.env" . | trim }}
    env:
      {{- . | nindent 6 }}
    {{- end }}
    {{- with $values.extraEnvFrom }}
    envFrom:
      {{- toYaml . | nindent 6 }}
    {{- end }}
    {{- if $runs }}
    ports:
      - name: http
        containerPort: 9464
    {{- with include "prober.probes" .root }}
    {{- . | trim | nindent 4 }}
    {{- end }}
    {{- end }}
    resources:
      {{- toYaml $values.resources | nindent 6 }}
    securityContext:
      {{- toYaml $values.securityContext | nindent 6 }}
    {{- if or $volumes $values.extraVolumeMounts }}
    volumeMounts:
      {{- range $volumes }}
      - name: {{ .name }}
        mountPath: {{ .path }}
        readOnly: true
      {{- end }}
      {{- with $values.extraVolumeMounts }}
      {{- toYaml . | nindent 6 }}
      {{- end }}
    {{- end }}
  {{- if and $runs $values.extraContainers }}
  {{- toYaml $values.extraContainers | nindent 2 }}
  {{- end }}
{{- if or $volumes $values.extraVolumes }}
volumes:
  {{- range $volumes }}
  - {{ omit . "path" | toYaml | nindent 4 | trim }}
  {{- end }}
  {{- with $values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}
{{- end -}}

{{/* Environment variables: first the chart's own, then the ones in values. */}}
{{- define "prober.env" -}}
{{- $values := .root.Values -}}
{{- if include "prober.hasFile" .root }}
- name: PROBER_TARGETS_FILE
  value: /etc/prober/targets/targets.yaml
{{- end }}
{{- if and (eq .command "run") $values.webConfig.existingSecret }}
- name: PROBER_WEB_CONFIG_FILE
  value: /etc/prober/web/web-config.yaml
{{- end }}
{{- if and (eq .command "run") (gt (int $values.shards) 1) }}
- name: POD_NAME
  valueFrom: {fieldRef: {fieldPath: metadata.name}}
- name: PROBER_SHARD
  value: $(POD_NAME)/{{ $values.shards }}
{{- end }}
{{- $addresses := ternary (include "prober.addresses" .root | fromYaml) dict (eq .command "run") }}
{{- include "prober.variables" (merge dict $values.env $addresses) }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/*
The addresses of the page and of Grafana from other values, as a map of variables. With shards there is no address of the page:
the shard that answers there may not have the target of a link.
*/}}
{{- define "prober.addresses" -}}
{{- with include "prober.externalUrl" . }}
{{- if le (int $.Values.shards) 1 }}
PROBER_EXTERNAL_URL: {{ . | quote }}
{{- end }}
{{- end }}
{{- with .Values.prometheusRule.grafanaUrl }}
PROBER_GRAFANA_URL: {{ . | quote }}
{{- end }}
{{- end -}}

{{/*
The address of the page, from the first host of the Ingress or the HTTPRoute. It is empty if there is no host, or if the host has
a wildcard. The path belongs to it unless it is an expression. A gateway is assumed to have TLS, because a route does not tell.
*/}}
{{- define "prober.externalUrl" -}}
{{- if and .Values.ingress.enabled .Values.ingress.hosts -}}
{{- $first := first .Values.ingress.hosts -}}
{{- $host := $first.host | default "" -}}
{{- $path := "" -}}
{{- with $first.paths }}{{ $path = (first .).path | trimSuffix "/" }}{{ end -}}
{{- if and $host (not (contains "*" $host)) -}}
{{- ternary "https" "http" (gt (len .Values.ingress.tls) 0) }}://{{ $host }}
{{- if regexMatch "^[-/._~0-9A-Za-z]*$" $path }}{{ $path }}{{ end -}}
{{- end -}}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}
{{- $host := first .Values.httpRoute.hostnames -}}
{{- if not (contains "*" $host) }}https://{{ $host }}{{ end -}}
{{- end -}}
{{- end -}}

{{/* A map of variables as a list. 1000000 stays 1000000, which a template would print as 1e+06. */}}
{{- define "prober.variables" -}}
{{- range $name, $value := . }}
- name: {{ $name }}
  value: {{ kindIs "string" $value | ternary $value (toJson $value) | quote }}
{{- end }}
{{- end -}}

{{/* The health checks of the values, with HTTPS if the prober serves that. */}}
{{- define "prober.probes" -}}
{{- $https := eq (include "prober.scheme" .) "https" -}}
{{- range $name, $probe := pick .Values "livenessProbe" "readinessProbe" }}
{{- if $probe }}
{{- if and $https $probe.httpGet }}
{{- $probe = merge (dict "httpGet" (dict "scheme" "HTTPS")) $probe }}
{{- end }}
{{ dict $name $probe | toYaml }}
{{- end }}
{{- end }}
{{- end -}}

{{/*
The name of a volume of a Secret or a ConfigMap: (list "secret" name). It has at most 63 characters and no dots. A name that
had to be changed for that gets a hash of the whole name, so that no two volumes have one name.
*/}}
{{- define "prober.volumeName" -}}
{{- $whole := join "-" . -}}
{{- $name := $whole | replace "." "-" | trunc 63 -}}
{{- if ne $name $whole -}}
{{- $name = printf "%s-%s" ($name | trunc 54 | trimSuffix "-") (last . | sha256sum | trunc 8) -}}
{{- end -}}
{{- $name -}}
{{- end -}}

{{/*
The volumes, each with the path of its mount. They are folders: a file that is mounted by subPath never changes. Secrets are
for the prober's group alone. If one is missing, only its targets have a problem, and all others are probed.
*/}}
{{- define "prober.volumes" -}}
{{- if .Values.existingSecret }}
- name: targets
  path: /etc/prober/targets
  secret: {secretName: {{ .Values.existingSecret }}, defaultMode: 0440}
{{- else if include "prober.hasFile" . }}
- name: targets
  path: /etc/prober/targets
  configMap: {name: {{ .Values.existingConfigMap | default (include "prober.fullname" .) }}}
{{- end }}
{{- with .Values.webConfig.existingSecret }}
- name: web
  path: /etc/prober/web
  secret: {secretName: {{ . }}, defaultMode: 0440}
{{- end }}
{{- range uniq .Values.secrets }}
- name: {{ include "prober.volumeName" (list "secret" .) }}
  path: /etc/prober/secrets/{{ . }}
  secret: {secretName: {{ . }}, defaultMode: 0440, optional: true}
{{- end }}
{{- range uniq .Values.configMaps }}
- name: {{ include "prober.volumeName" (list "configmap" .) }}
  path: /etc/prober/configmaps/{{ . }}
  configMap: {name: {{ . }}, optional: true}
{{- end }}
{{- end -}}
