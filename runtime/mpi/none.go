//go:build !mpi || !cgo

package mpi

import (
	"errors"

	"github.com/opgen/opgen/runtime/ranks"
)

// Open starts MPI. This program is built without it, so Open returns an error that says what is missing.
func Open(Config) (ranks.Transport, error) {
	return nil, errors.New("mpi: want a program that is built with -tags mpi and CGO_ENABLED=1, for which MPI is installed (in Debian: apt-get install mpich libmpich-dev), got one without MPI")
}
