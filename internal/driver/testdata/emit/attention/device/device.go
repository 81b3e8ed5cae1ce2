// Package device holds the per-device state of attention.
package device

import "math"

// MHAPerDeviceState is the per-device state of a multi-head attention: the sizes of its projections, and the factor of
// the products of query and key.
type MHAPerDeviceState struct {
	Device                 int
	QSize, KSize, VSize    int
	QProj, KProj, VProj, O int
	Heads                  int
	Scale                  float64
	Freed                  bool
}

// ScaleOf returns the factor for projections of a size.
func ScaleOf(size int) float64 { return 1 / math.Sqrt(float64(size)) }
