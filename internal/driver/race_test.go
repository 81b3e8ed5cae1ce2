//go:build race

package driver_test

// instrumented is the factor by which the race detector may slow a check down.
const instrumented = 10
