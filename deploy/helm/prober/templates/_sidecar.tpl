{{/*
The prober beside a model server, in its pod: an entry for initContainers, the last one. For other charts:

  initContainers:
    {{- if .Values.prober.enabled }}
    {{- include "prober.sidecar" (dict "context" .Subcharts.prober "name" "llama-70b-engine" "port" 8000) | nindent 4 }}
    {{- end }}

  name          of the target; the same in all pods of a workload, so that baselines survive a rollout, and not that of a
                target of a prober outside: rules would take both for one, and loopback would hide that the Service is down
  port          of the model server in the same pod
  context       this chart, as a dependency with sidecar.enabled: its image, env, settings, objectives and sidecar.* hold
  image         whole reference; needed without a context
  env           map of further variables, over those of the context
  resources, waitForReady   over those of the context

It has no probes: they would take the model server out of rotation. preStop runs at the beginning of the pod's
end, so that a server that drains is not counted as failing.
*/}}
{{- define "prober.sidecar" -}}
{{- if or (not .name) (not .port) }}{{ fail "prober.sidecar needs name and port: include \"prober.sidecar\" (dict \"context\" .Subcharts.prober \"name\" \"llama-70b-engine\" \"port\" 8000)" }}{{ end -}}
{{- if not (or .image .context) }}{{ fail "prober.sidecar needs image, or context: .Subcharts.prober" }}{{ end -}}
{{- /* What holds without env, the chart's own checks have seen. */ -}}
{{- $values := (.context | default dict).Values | default dict -}}
{{- $sidecar := $values.sidecar | default dict -}}
{{- $resources := .resources | default $sidecar.resources | default (dict "requests" (dict "cpu" "200m" "memory" "128Mi") "limits" (dict "memory" "128Mi")) -}}
- name: prober
  image: {{ if .image }}{{ .image }}{{ else }}{{ include "prober.image" .context }}{{ end }}
  {{- with ($values.image | default dict).pullPolicy }}
  imagePullPolicy: {{ . }}
  {{- end }}
  args: [run]
  # A native sidecar: it starts before the model server and ends after it.
  restartPolicy: Always
  ports:
    - name: prober
      containerPort: 9464
      protocol: TCP
  env:
    {{- range $name, $value := include "prober.sidecarEnv" . | fromYaml }}
    - name: {{ $name }}
      value: {{ include "prober.text" $value | quote }}
    {{- end }}
    {{- with $values.extraEnv }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  {{- with $values.extraEnvFrom }}
  envFrom:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  lifecycle:
    preStop:
      exec:
        command: [/prober, drain]
  resources:
    {{- toYaml $resources | nindent 4 }}
  securityContext:
    runAsNonRoot: true
    runAsUser: 65532
    runAsGroup: 65532
    readOnlyRootFilesystem: true
    allowPrivilegeEscalation: false
    capabilities:
      drop: [ALL]
    seccompProfile:
      type: RuntimeDefault
{{- end -}}

{{/* The environment of a sidecar as a map. It has no targets file: settings and objectives become variables. */}}
{{- define "prober.sidecarEnv" -}}
{{- $values := (.context | default dict).Values | default dict -}}
{{- $sidecar := $values.sidecar | default dict -}}
{{- $env := dict "PROBER_TARGETS_0_NAME" .name "PROBER_TARGETS_0_URL" (printf "http://127.0.0.1:%v" .port) -}}
{{- $_ := set $env "PROBER_DRAIN_ENDPOINT" "on" -}}
{{- $_ := set $env "PROBER_WAIT_FOR_READY" (.waitForReady | default $sidecar.waitForReady | default "30m") -}}
{{- $memory := dig "limits" "memory" "" (.resources | default $sidecar.resources | default dict) -}}
{{- with include "prober.goMemoryLimit" ($memory | default "128Mi") }}{{ $_ := set $env "GOMEMLIMIT" . }}{{ end -}}
{{- range $key, $value := $values.settings -}}
{{- $_ := set $env (printf "PROBER_%s" (upper $key)) $value -}}
{{- end -}}
{{- range $i, $objective := $values.objectives -}}
{{- range $key, $value := $objective -}}
{{- $_ := set $env (printf "PROBER_OBJECTIVES_%d_%s" $i (upper $key)) $value -}}
{{- end -}}
{{- end -}}
{{- toYaml (mergeOverwrite $env ($values.env | default dict) (.env | default dict)) -}}
{{- end -}}
