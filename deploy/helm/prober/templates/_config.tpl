{{/* The targets file, and the credentials that it names. */}}

{{/* Not empty if there is a targets file of ours. */}}
{{- define "prober.hasFile" -}}
{{- if and (not .Values.existingConfigMap) (not .Values.sidecar.enabled) (or .Values.targets .Values.objectives .Values.settings) }}yes{{ end -}}
{{- end -}}

{{- define "prober.configMapName" -}}
{{- .Values.existingConfigMap | default (include "prober.fullname" .) -}}
{{- end -}}

{{/* Where a key of a Secret or ConfigMap is, as [kind, name, key]. */}}
{{- define "prober.credentialPath" -}}
/etc/prober/credentials/{{ join "/" . }}
{{- end -}}

{{/* A target, or settings, as the prober reads it: keys of the chart become the names of files. */}}
{{- define "prober.entry" -}}
{{- $entry := omit . "apiKey" "ca" "clientCertificate" -}}
{{- with (.apiKey | default dict).existingSecret -}}
{{- $_ := set $entry "api_key_file" (include "prober.credentialPath" (list "secret" .name (.key | default "api-key"))) -}}
{{- end -}}
{{- with (.ca | default dict).existingSecret -}}
{{- $_ := set $entry "ca_file" (include "prober.credentialPath" (list "secret" .name (.key | default "ca.crt"))) -}}
{{- end -}}
{{- with (.ca | default dict).existingConfigMap -}}
{{- $_ := set $entry "ca_file" (include "prober.credentialPath" (list "configmap" .name (.key | default "ca.crt"))) -}}
{{- end -}}
{{- with (.clientCertificate | default dict).existingSecret -}}
{{- $_ := set $entry "cert_file" (include "prober.credentialPath" (list "secret" .name (.certKey | default "tls.crt"))) -}}
{{- $_ := set $entry "key_file" (include "prober.credentialPath" (list "secret" .name (.keyKey | default "tls.key"))) -}}
{{- end -}}
{{- toYaml $entry -}}
{{- end -}}

{{/* The targets file. The name and the URL of a target stand before the rest, for those who read it. */}}
{{- define "prober.file" -}}
# Made by the Helm chart from its values settings, targets and objectives.
{{- with .Values.settings }}
{{ include "prober.entry" . }}
{{- end }}
{{- with .Values.targets }}
targets:
{{- range . }}
{{- $lead := pick . "name" "url" }}
{{- $rest := omit (include "prober.entry" . | fromYaml) "name" "url" }}
{{- range $i, $key := keys $lead | sortAlpha }}
{{ ternary "  -" "   " (eq $i 0) }} {{ $key }}: {{ get $lead $key | toJson }}
{{- end }}
{{- with $rest }}
{{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}
{{- end }}
{{- with .Values.objectives }}
objectives:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* The sources of the volume with credentials, each Secret and ConfigMap once; empty if there are none. */}}
{{- define "prober.credentialSources" -}}
{{- $files := list -}}
{{- range append .Values.targets .Values.settings -}}
{{- $entry := include "prober.entry" . | fromYaml -}}
{{- range list "api_key_file" "ca_file" "cert_file" "key_file" -}}
{{- $files = append $files (get $entry .) -}}
{{- end -}}
{{- end -}}
{{- $objects := dict -}}
{{- range $files | uniq | sortAlpha -}}
{{- if hasPrefix "/etc/prober/credentials/" . -}}
{{- $parts := splitList "/" (trimPrefix "/etc/prober/credentials/" .) -}}
{{- if eq (len $parts) 3 -}}
{{- $object := printf "%s/%s" (index $parts 0) (index $parts 1) -}}
{{- $_ := set $objects $object (append (get $objects $object | default list) (index $parts 2)) -}}
{{- end -}}
{{- end -}}
{{- end -}}
{{- range $object, $keys := $objects }}
- {{ ternary "secret" "configMap" (hasPrefix "secret/" $object) }}:
    name: {{ base $object }}
    items:
      {{- range $keys }}
      - key: {{ . }}
        path: {{ $object }}/{{ . }}
      {{- end }}
{{- end }}
{{- end -}}
