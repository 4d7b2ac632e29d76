{{- define "slicewise.labels" -}}
app.kubernetes.io/name: slicewise
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- end }}

{{- define "slicewise.selector" -}}
app.kubernetes.io/name: slicewise
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "slicewise.image" -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- define "slicewise.container" -}}
image: {{ include "slicewise.image" . }}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: {drop: [ALL]}
volumeMounts:
  - {name: run, mountPath: /run/slicewise}
  - {name: state, mountPath: /var/lib/slicewise}
  - {name: tmp, mountPath: /tmp}
{{- end }}

{{- define "slicewise.env" -}}
envFrom:
  - secretRef: {name: {{ .Values.existingSecret }}}
env:
  - {name: SLICEWISE_PRODUCTION, value: "true"}
  - {name: ALLOWED_HOSTS, value: {{ join "," .Values.hosts | quote }}}
  - name: CSRF_TRUSTED_ORIGINS
    value: {{ printf "https://%s" (join ",https://" .Values.hosts) | quote }}
  - {name: SLICEWISE_PUBLIC_URL, value: {{ printf "https://%s" (first .Values.hosts) | quote }}}
  - {name: TRUST_PROXY, value: "true"}
  - {name: FORWARDED_ALLOW_IPS, value: {{ join "," .Values.trustedProxies | quote }}}
  {{- if .Values.admission.enabled }}
  - {name: SLICEWISE_ADMISSION, value: "true"}
  - name: SLICEWISE_ADMISSION_HOSTS
    value: {{ printf "slicewise-admission.%s.svc,slicewise-admission.%s.svc.cluster.local" .Release.Namespace .Release.Namespace | quote }}
  {{- end }}
  {{- range $name, $value := .Values.env }}
  - {name: {{ $name }}, value: {{ $value | quote }}}
  {{- end }}
{{- end }}

{{- /* Sidecars: they start before the process that asks them, and end after it. */ -}}
{{- define "slicewise.engines" -}}
{{- range .Values.engine.minors }}
- name: engine-{{ . | replace "." "-" }}
  restartPolicy: Always
  command: [/app/engine/bin/engine-{{ . }}, -socket, /run/slicewise/engine-{{ . }}.sock]
  livenessProbe:
    exec: {command: [python, -m, portal.alive, engine-{{ . }}]}
    initialDelaySeconds: 10
    periodSeconds: 20
    timeoutSeconds: 5
  resources: {{- toYaml $.Values.engine.resources | nindent 4 }}
  {{- include "slicewise.container" $ | nindent 2 }}
{{- end }}
{{- end }}

{{- define "slicewise.pod" -}}
securityContext:
  runAsNonRoot: true
  runAsUser: 10001
  runAsGroup: 10001
  fsGroup: 10001
  seccompProfile: {type: RuntimeDefault}
volumes:
  - {name: run, emptyDir: {medium: Memory, sizeLimit: 64Mi}}
  - {name: state, emptyDir: {sizeLimit: 64Mi}}
  - {name: tmp, emptyDir: {sizeLimit: 256Mi}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector: {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations: {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{- /* root, component, values, command, engines, probes, port, clientCA → a Deployment */ -}}
{{- define "slicewise.deployment" -}}
{{- $pod := include "slicewise.pod" .root | fromYaml }}
{{- with .clientCA }}
{{- $volume := dict "name" "client-ca" "secret" (dict "secretName" .) }}
{{- $_ := set $pod "volumes" (append $pod.volumes $volume) }}
{{- end }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: slicewise-{{ .component }}
  namespace: {{ .root.Release.Namespace }}
  labels:
    {{- include "slicewise.labels" .root | nindent 4 }}
    app.kubernetes.io/component: {{ .component }}
spec:
  replicas: {{ .values.replicas | default 1 }}
  strategy:
    rollingUpdate: {maxUnavailable: 0, maxSurge: 1}
  selector:
    matchLabels: {{- include "slicewise.selector" . | nindent 6 }}
  template:
    metadata:
      labels: {{- include "slicewise.selector" . | nindent 8 }}
    spec:
      serviceAccountName: slicewise
      automountServiceAccountToken: false
      # An engine that hangs is ended by whoever asked it.
      shareProcessNamespace: {{ .engines }}
      {{- $drain := ternary (int .root.Values.drainSeconds) 0 (hasKey . "port") }}
      terminationGracePeriodSeconds: {{ add 30 $drain }}
      {{- toYaml $pod | nindent 6 }}
      {{- if gt (int (.values.replicas | default 1)) 1 }}
      topologySpreadConstraints:
        - maxSkew: 1
          topologyKey: kubernetes.io/hostname
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "slicewise.selector" . | nindent 14 }}
      {{- end }}
      {{- if .engines }}
      initContainers:
        {{- include "slicewise.engines" .root | nindent 8 }}
      {{- end }}
      containers:
        - name: {{ .component }}
          command: {{- toYaml .command | nindent 12 }}
          {{- if $drain }}
          lifecycle:
            preStop: {sleep: {seconds: {{ $drain }}}}
          {{- end }}
          {{- include "slicewise.env" .root | nindent 10 }}
            {{- if .values.databasePool }}
            - {name: SLICEWISE_DATABASE_POOL, value: {{ .values.databasePool | quote }}}
            {{- end }}
            {{- if .engines }}
            - {name: SLICEWISE_ENGINES_EXTERNAL, value: "true"}
            {{- end }}
          {{- include "slicewise.container" .root | nindent 10 }}
            {{- if .clientCA }}
            - {name: client-ca, mountPath: /etc/slicewise/client-ca, readOnly: true}
            {{- end }}
          resources: {{- toYaml .values.resources | nindent 12 }}
          {{- with .port }}
          ports:
            - {name: {{ $.component }}, containerPort: {{ . }}}
          {{- end }}
          {{- toYaml .probes | nindent 10 }}
{{- end }}

{{- define "slicewise.http" -}}
{{- $headers := list (dict "name" "Host" "value" (first .Values.hosts)) (dict "name" "X-Forwarded-Proto" "value" "https") -}}
startupProbe:
  httpGet: {path: /healthz, port: web, httpHeaders: {{ toJson $headers }}}
  periodSeconds: 2
  failureThreshold: 30
livenessProbe:
  httpGet: {path: /healthz, port: web, httpHeaders: {{ toJson $headers }}}
  periodSeconds: 10
  timeoutSeconds: 3
readinessProbe:
  httpGet: {path: /readyz, port: web, httpHeaders: {{ toJson $headers }}}
  periodSeconds: 5
  timeoutSeconds: 3
{{- end }}

{{- define "slicewise.alive" -}}
{{- $exec := dict "command" (list "python" "-m" "portal.alive" .) -}}
startupProbe:
  exec: {{ toJson $exec }}
  periodSeconds: 5
  timeoutSeconds: 5
  failureThreshold: 24
livenessProbe:
  exec: {{ toJson $exec }}
  periodSeconds: 20
  timeoutSeconds: 5
readinessProbe:
  exec: {{ toJson $exec }}
  periodSeconds: 20
  timeoutSeconds: 5
{{- end }}
