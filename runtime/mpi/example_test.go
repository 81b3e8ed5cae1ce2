//go:build !mpi || !cgo

package mpi_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/mpi"
)

// A program that is built without MPI says how to build it.
func ExampleOpen() {
	_, err := mpi.Open(mpi.Config{})
	fmt.Println(err)
	// Output:
	// mpi: want a program that is built with -tags mpi and CGO_ENABLED=1, for which MPI is installed (in Debian: apt-get install mpich libmpich-dev), got one without MPI
}
