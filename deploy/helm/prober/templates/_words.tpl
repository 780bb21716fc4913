{{/* Numbers as people and programs read them. */}}

{{/* A scalar as text: 1000000 stays 1000000, which Go's templates would make 1e+06. */}}
{{- define "prober.text" -}}
{{- if kindIs "string" . }}{{ . }}{{ else }}{{ toJson . }}{{ end -}}
{{- end -}}

{{/* A whole number with commas: 182,304,000. */}}
{{- define "prober.grouped" -}}
{{- $digits := int64 . | toString -}}
{{- range $i, $digit := splitList "" $digits -}}
{{- if and $i (eq (mod (sub (len $digits) $i) 3) 0) }},{{ end }}{{ $digit -}}
{{- end -}}
{{- end -}}

{{/* A duration as Prometheus writes it, 1m30s, in milliseconds. */}}
{{- define "prober.milliseconds" -}}
{{- $units := dict "ms" 1 "s" 1000 "m" 60000 "h" 3600000 "d" 86400000 "w" 604800000 "y" 31536000000 -}}
{{- $sum := 0 -}}
{{- range regexFindAll "[0-9]+(ms|[a-z])" . -1 -}}
{{- $sum = mul (regexFind "[0-9]+" .) (get $units (regexFind "[a-z]+" .)) | add $sum -}}
{{- end -}}
{{- $sum -}}
{{- end -}}

{{/* Nine tenths of a quantity of memory, as GOMEMLIMIT spells it; empty if there is no limit. */}}
{{- define "prober.goMemoryLimit" -}}
{{- $quantity := include "prober.text" . -}}
{{- $units := dict "m" 1e-3 "" 1.0 "k" 1e3 "M" 1e6 "G" 1e9 "T" 1e12 "Ki" 1024.0 "Mi" 1048576.0 "Gi" 1073741824.0 "Ti" 1099511627776.0 -}}
{{- $unit := regexFind "[A-Za-z]*$" $quantity -}}
{{- if and . (hasKey $units $unit) -}}
{{- printf "%.0fMiB" (floor (divf (mulf (trimSuffix $unit $quantity | float64) (get $units $unit) 0.9) 1048576.0)) -}}
{{- end -}}
{{- end -}}
