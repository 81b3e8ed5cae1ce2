//go:build !race

package driver_test

// instrumented is 1: nothing slows a check down.
const instrumented = 1
