//go:build mpi && cgo && !ompi

package mpi

// #cgo pkg-config: mpich
import "C"
