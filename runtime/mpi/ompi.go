//go:build mpi && cgo && ompi

package mpi

// #cgo pkg-config: ompi-c
import "C"
