// Package mpi carries messages between ranks by MPI: between processes of one machine or of many, which
// mpiexec or a scheduler such as Slurm starts.
//
// It is built with the tag mpi, needs cgo, and takes MPICH, or Open MPI with the tag ompi besides. Without
// the tag, Open says what is missing. One thread calls MPI. It also exchanges a word with each other rank,
// which rises as long as a rank runs: MPI notices a process that ended, but none that is stopped, and no link
// that is cut.
package mpi

import "time"

// Config configures the transport.
type Config struct {
	// Limit is how long a rank may be silent before the other ranks end with an error that names it; 0 means
	// 5 s, and a negative limit means no limit. Time counts only while the waiting rank runs.
	Limit time.Duration
}
