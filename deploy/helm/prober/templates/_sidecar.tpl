{{/*
The prober beside a model server, in the server's pod: the last item of initContainers. For a chart that depends on this one with
deploy=false:

  initContainers:
    {{- include "prober.sidecar" (dict "context" .Subcharts.prober "name" "llama-70b-engine" "port" 8000) | nindent 4 }}

  name   of the target: the same in all pods of a workload, and not that of a target of a prober outside
  port   of the model server in the same pod
  env    map of further variables, over those of the values

Image, env, extraEnv, extraEnvFrom, resources and security contexts are those of the chart's values. It has no health checks:
they would take the model server out of rotation. preStop runs at the beginning of the pod's end, so that a server
that drains does not count as failing.
*/}}
{{- define "prober.sidecar" -}}
{{- $image := include "prober.image" .context -}}
{{- if eq $image "prober:devel" -}}
{{- fail "\n\nprober.sidecar: there is no release yet, and a pod that cannot pull its sidecar does not start its server. Push the image of make image to a registry of your cluster, and set image.registry, image.repository and image.tag." -}}
{{- end -}}
{{- $values := .context.Values -}}
{{- $env := dict "PROBER_TARGETS_0_NAME" (required "prober.sidecar needs a name" .name)
    "PROBER_TARGETS_0_URL" (required "prober.sidecar needs a port" .port | printf "http://127.0.0.1:%v")
    "PROBER_WAIT_FOR_READY" "30m" "PROBER_DRAIN_ENDPOINT" "on" -}}
- name: prober
  image: {{ $image }}
  imagePullPolicy: {{ $values.image.pullPolicy }}
  args: [run]
  restartPolicy: Always
  ports:
    - name: prober
      containerPort: 9464
  env:
    {{- mergeOverwrite $env $values.env (.env | default dict) | include "prober.variables" | trim | nindent 4 }}
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
    {{- toYaml $values.resources | nindent 4 }}
  securityContext:
    {{- omit $values.podSecurityContext "fsGroup" | merge (dict) $values.securityContext | toYaml | nindent 4 }}
{{- end -}}
