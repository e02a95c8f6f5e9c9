//go:build tools

// Package tools pins the Gardener commands that are built for tests and for espalier dev.
package tools

import (
	_ "github.com/gardener/gardener/cmd/gardener-apiserver"
	_ "github.com/gardener/gardener/cmd/gardener-controller-manager"
	_ "github.com/gardener/gardener/cmd/gardener-scheduler"
	_ "github.com/gardener/gardener/pkg/apis/core/v1beta1"
)
