//go:build !linux

package pages

func big([]byte) {}
