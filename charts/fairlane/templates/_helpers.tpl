{{- define "fairlane.name" -}}
{{- if contains "fairlane" .Release.Name }}{{ .Release.Name | trunc 53 | trimSuffix "-" }}{{ else }}{{ printf "%s-fairlane" .Release.Name | trunc 53 | trimSuffix "-" }}{{ end }}
{{- end }}

{{- define "fairlane.image" -}}
{{- .Values.image | default (printf "fairlane/fairlane:%s" .Chart.AppVersion) }}
{{- end }}

{{- define "fairlane.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "fairlane.name" .) }}
{{- end }}

{{- define "fairlane.selector" -}}
app.kubernetes.io/name: fairlane
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: operator
{{- end }}

{{- define "fairlane.labels" -}}
{{ include "fairlane.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end }}

{{- /* What the operator may do with services and everything that belongs to them, in the cluster or in a namespace. */}}
{{- define "fairlane.rules" -}}
- apiGroups: [fairlane.dev]
  resources: [llmservices]
  verbs: [get, list, watch]
- apiGroups: [fairlane.dev]
  resources: [llmservices/status]
  verbs: [update]
- apiGroups: [""]
  resources: [pods]   # it makes those that read a model on a claim, and no other
  verbs: [list, watch, create, delete]
{{- if .Values.rbac.readLogs }}
- apiGroups: [""]
  resources: [pods/log]
  verbs: [get]
{{- end }}
- apiGroups: [""]
  resources: [services, serviceaccounts]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [apps]
  resources: [deployments, controllerrevisions]
  verbs: [list, watch, create, patch, delete]
- apiGroups: [policy]
  resources: [poddisruptionbudgets]
  verbs: [list, create, patch, delete]
- apiGroups: [networking.k8s.io]
  resources: [networkpolicies]
  verbs: [list, create, patch, delete]
- apiGroups: [rbac.authorization.k8s.io]
  resources: [roles, rolebindings]
  verbs: [list, create, patch, delete]
- apiGroups: [monitoring.coreos.com]
  resources: [podmonitors, prometheusrules]
  verbs: [list, create, patch, delete]
- apiGroups: [""]
  resources: [events]
  verbs: [create]
# The router's Role grants its agents a part of the next three; the API server lets nobody grant what they do not have.
- apiGroups: [""]
  resources: [configmaps]
  verbs: [get, list, watch, create, patch, delete]
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [get, list, watch, create, update, patch, delete]
- apiGroups: [discovery.k8s.io]
  resources: [endpointslices]
  verbs: [get, list, watch]
{{- if .Values.rbac.readSecrets }}
- apiGroups: [""]
  resources: [secrets]
  verbs: [get]
{{- end }}
{{- end }}
