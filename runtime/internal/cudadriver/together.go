//go:build cuda

package cudadriver

/*
#include <cuda.h>

// opgen_launch_together launches a kernel whose parameters have 8 bytes each, and whose blocks are resident
// at the same time.
static CUresult opgen_launch_together(CUfunction f, unsigned blocks, unsigned threads, unsigned shared, CUstream s, unsigned long long *values, int n) {
	void *parameters[n > 0 ? n : 1];
	for (int i = 0; i < n; i++) parameters[i] = &values[i];
	return cuLaunchCooperativeKernel(f, blocks, 1, 1, threads, 1, 1, shared, s, parameters);
}
*/
import "C"

import (
	"unsafe"

	"gorgonia.org/cu"
)

// Resident returns how many blocks of a kernel, of so many threads and bytes of dynamic shared memory, a
// multiprocessor holds at the same time.
func Resident(f cu.Function, threads, shared int) (int, error) {
	var n C.int
	err := wrapped("cuOccupancyMaxActiveBlocksPerMultiprocessor", C.cuOccupancyMaxActiveBlocksPerMultiprocessor(&n, function(f), C.int(threads), C.size_t(shared)))
	return int(n), err
}

// LaunchTogether is Launch for a kernel whose blocks wait for each other. The driver refuses it if they
// cannot all be resident.
func LaunchTogether(f cu.Function, blocks, threads, shared uint32, s cu.Stream, args []uint64) error {
	return wrapped("cuLaunchCooperativeKernel", C.opgen_launch_together(function(f), C.uint(blocks), C.uint(threads), C.uint(shared), stream(s),
		(*C.ulonglong)(unsafe.SliceData(args)), C.int(len(args))))
}

// Idle reports whether a stream has nothing left to do. The error is that of what it did.
func Idle(s cu.Stream) (bool, error) {
	r := C.cuStreamQuery(stream(s))
	if r == C.CUDA_ERROR_NOT_READY {
		return false, nil
	}
	return true, wrapped("cuStreamQuery", r)
}
