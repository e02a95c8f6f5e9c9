//go:build tools

// Package tools pins the machine-controller-manager command that is built for tests.
package tools

import (
	_ "github.com/gardener/machine-controller-manager/cmd/machine-controller-manager"
)
