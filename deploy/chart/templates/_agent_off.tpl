{{/* What an uninstallation begins with, in this order: who may switch off, and the order itself. All of it is a hook, and goes when the last hook has passed. One that did not
     pass stays, with its pod's log, until the next try. tests/cluster/test_chart.py runs the order with these rights, and holds them to be neither too few nor too many. */}}
{{- define "tidemark.agentOff" -}}
{{- $name := printf "%s-off" (include "tidemark.agent" .) -}}
{{- $labels := include "tidemark.agentOffLabels" . -}}
{{- $rights := dict "helm.sh/hook" "pre-delete" "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" "helm.sh/hook-weight" "-2" -}}
{{- $order := dict "helm.sh/hook" "pre-delete" "helm.sh/hook-delete-policy" "before-hook-creation,hook-succeeded" "helm.sh/hook-weight" "-1" "helm.sh/hook-output-log-policy" "hook-failed" -}}
apiVersion: v1
kind: ServiceAccount
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace }}
  labels: {{- $labels | nindent 4 }}
  annotations: {{- toYaml $rights | nindent 4 }}
{{- if .Values.rbac.create }}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {{ $name }}
  labels: {{- $labels | nindent 4 }}
  annotations: {{- toYaml $rights | nindent 4 }}
rules:
# The mark of each node, what it offers, and what its agent says of it.
- apiGroups: [""]
  resources: [nodes]
  verbs: [get, list, watch, patch]
- apiGroups: [""]
  resources: [nodes/status]
  verbs: [patch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata:
  name: {{ $name }}
  labels: {{- $labels | nindent 4 }}
  annotations: {{- toYaml $rights | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: {{ $name }}}
subjects:
- {kind: ServiceAccount, name: {{ $name }}, namespace: {{ .Release.Namespace }}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace }}
  labels: {{- $labels | nindent 4 }}
  annotations: {{- toYaml $rights | nindent 4 }}
rules:   # the order, stored
- apiGroups: [""]
  resources: [configmaps]
  resourceNames: [tidemark-state]
  verbs: [get, patch]
- apiGroups: [""]
  resources: [configmaps]
  verbs: [create]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace }}
  labels: {{- $labels | nindent 4 }}
  annotations: {{- toYaml $rights | nindent 4 }}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: {{ $name }}}
subjects:
- {kind: ServiceAccount, name: {{ $name }}, namespace: {{ .Release.Namespace }}}
{{- end }}
---
apiVersion: batch/v1
kind: Job
metadata:
  name: {{ $name }}
  namespace: {{ .Release.Namespace }}
  labels: {{- $labels | nindent 4 }}
  annotations: {{- toYaml $order | nindent 4 }}
spec:
  backoffLimit: 0   # it tries again by itself as long as it waits
  activeDeadlineSeconds: {{ add .Values.agent.uninstall.waitSeconds 90 }}   # also where its pod cannot start; below the five minutes of helm
  template:
    metadata:
      labels: {{- $labels | nindent 8 }}
    spec:
      serviceAccountName: {{ $name }}
      {{- with .Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      restartPolicy: Never
      securityContext:
        runAsNonRoot: true
        runAsUser: 65532
        runAsGroup: 65532
        seccompProfile: {type: RuntimeDefault}
      containers:
      - name: "off"   # in quotes: YAML reads the bare word as false
        image: {{ include "tidemark.image" . }}
        imagePullPolicy: {{ .Values.image.pullPolicy }}
        command: [/tidemark, "off"]
        args:
        - cluster
        - --now
        - --yes
        - --nothing-in-force
        - --wait={{ .Values.agent.uninstall.waitSeconds }}s
        - --reason=helm uninstall {{ .Release.Name }}
        - --by=helm
        - --config-namespace={{ .Release.Namespace }}
        resources:
          requests: {cpu: 50m, memory: 64Mi}
          limits: {memory: 256Mi}
        securityContext:
          allowPrivilegeEscalation: false
          readOnlyRootFilesystem: true
          capabilities: {drop: [ALL]}
      {{- with .Values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .Values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}
