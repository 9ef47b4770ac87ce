{{- define "tidemark.name" -}}
{{- default (ternary "tidemark" (printf "%s-tidemark" .Release.Name) (contains "tidemark" .Release.Name)) .Values.nameOverride | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "tidemark.manager" -}}
{{ include "tidemark.name" . }}-manager
{{- end -}}

{{- define "tidemark.serviceAccount" -}}
{{- if .Values.serviceAccount.create -}}
{{ default (include "tidemark.manager" .) .Values.serviceAccount.name }}
{{- else -}}
{{ required "serviceAccount.name must say whose account it is while serviceAccount.create is false" .Values.serviceAccount.name }}
{{- end -}}
{{- end -}}

{{- define "tidemark.selector" -}}
app.kubernetes.io/name: tidemark
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: manager
{{- end -}}

{{- define "tidemark.labels" -}}
{{ include "tidemark.selector" . }}
{{ include "tidemark.commonLabels" . }}
{{- end -}}

{{- define "tidemark.commonLabels" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "tidemark.agent" -}}
{{ include "tidemark.name" . }}-agent
{{- end -}}

{{- /* What the condition TidemarkIsolation says while a strategy has files of the kernel in force: strategies come first, each with its stance, and what stands behind
       them may be anybody's words (agent/protect/status.cc asks the same). */}}
{{- define "tidemark.agentFilesInForce" -}}
^([A-Za-z]+: [A-Za-z]+( [(][^;]*[)])?; )*[A-Za-z]+: [A-Za-z]+ [(][0-9]+ files?[)]
{{- end }}

{{- define "tidemark.agentUser" -}}
system:serviceaccount:{{ .Release.Namespace }}:{{ include "tidemark.agent" . }}
{{- end -}}

{{- define "tidemark.agentSelector" -}}
app.kubernetes.io/name: tidemark
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: agent
{{- end -}}

{{- define "tidemark.agentLabels" -}}
{{ include "tidemark.agentSelector" . }}
{{ include "tidemark.commonLabels" . }}
{{- end -}}

{{/* Of what an uninstallation runs: no agent, so that no selector takes its pod for one. */}}
{{- define "tidemark.agentOffLabels" -}}
app.kubernetes.io/name: tidemark
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: agent-off
{{ include "tidemark.commonLabels" . }}
{{- end -}}

{{- define "tidemark.console" -}}
{{ include "tidemark.name" . }}-console
{{- end -}}

{{- define "tidemark.consoleSelector" -}}
app.kubernetes.io/name: tidemark
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: console
{{- end -}}

{{- define "tidemark.consoleLabels" -}}
{{ include "tidemark.consoleSelector" . }}
{{ include "tidemark.commonLabels" . }}
{{- end -}}

{{- define "tidemark.gateway" -}}
{{ include "tidemark.name" . }}-gateway
{{- end -}}

{{- define "tidemark.gatewaySelector" -}}
app.kubernetes.io/name: tidemark
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: gateway
{{- end -}}

{{- define "tidemark.gatewayLabels" -}}
{{ include "tidemark.gatewaySelector" . }}
{{ include "tidemark.commonLabels" . }}
{{- end -}}

{{- define "tidemark.yarnOperator" -}}
{{ include "tidemark.name" . }}-yarn-operator
{{- end -}}

{{- define "tidemark.yarnOperatorSelector" -}}
app.kubernetes.io/name: tidemark
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: yarn-operator
{{- end -}}

{{- define "tidemark.yarnOperatorLabels" -}}
{{ include "tidemark.yarnOperatorSelector" . }}
{{ include "tidemark.commonLabels" . }}
{{- end -}}

{{- define "tidemark.yarnCopilot" -}}
{{ include "tidemark.name" . }}-yarn-copilot
{{- end -}}

{{- define "tidemark.yarnCopilotSelector" -}}
app.kubernetes.io/name: tidemark
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: yarn-copilot
{{- end -}}

{{- define "tidemark.yarnCopilotLabels" -}}
{{ include "tidemark.yarnCopilotSelector" . }}
{{ include "tidemark.commonLabels" . }}
{{- end -}}

{{- define "tidemark.nodeManager" -}}
{{ include "tidemark.name" . }}-node-manager
{{- end -}}

{{/* The component is the word by which an operator of YARN, Koordinator's too, knows the pod of a NodeManager. */}}
{{- define "tidemark.nodeManagerSelector" -}}
app.kubernetes.io/name: tidemark
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: node-manager
{{- end -}}

{{- define "tidemark.nodeManagerLabels" -}}
{{ include "tidemark.nodeManagerSelector" . }}
{{ include "tidemark.commonLabels" . }}
{{- end -}}

{{- define "tidemark.nodeManagerImage" -}}
{{- with .Values.nodeManager.image -}}
{{- if .digest -}}
{{ .repository }}@{{ .digest }}
{{- else -}}
{{ .repository }}:{{ .tag }}
{{- end -}}
{{- end -}}
{{- end -}}

{{- define "tidemark.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{/* Flags of what is sent to a collector. */}}
{{- define "tidemark.streamArgs" -}}
{{- with .Values.stream -}}
{{- if .url }}
- --stream-url={{ .url }}
{{- if and .secret .caKey }}
- --stream-ca-file=/stream/{{ .caKey }}
{{- end }}
{{- if and .secret .tokenKey }}
- --stream-token-file=/stream/{{ .tokenKey }}
{{- end }}
{{- end }}
{{- end -}}
{{- end -}}
