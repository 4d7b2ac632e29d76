//go:build tools

// Package tools pins the Helm that renders the chart in tests.
package tools

import _ "helm.sh/helm/v3/cmd/helm"
