//go:build !linux

package sysmem

func limits() []int64 { return nil }
