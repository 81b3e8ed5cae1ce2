//go:build cuda

// Package cudadriver makes programs that use CUDA's driver API start everywhere: it opens the driver's
// library when the process starts, instead of linking it. Without a driver there are 0 devices. The variable
// OPGEN_LIBCUDA names another library than libcuda.so.1. The package also has what package cu lacks.
package cudadriver

/*
#cgo LDFLAGS: -L/usr/lib/x86_64-linux-gnu/stubs -L/usr/local/cuda/lib64/stubs -L/usr/lib/aarch64-linux-gnu/stubs -Wl,--as-needed -ldl
#include <cuda.h>

const char *opgen_driver_reason(void);

// opgen_launch launches a kernel whose parameters have 8 bytes each.
static CUresult opgen_launch(CUfunction f, const unsigned *grid, const unsigned *block, unsigned shared, CUstream s, unsigned long long *values, int n) {
	void *parameters[n > 0 ? n : 1];
	for (int i = 0; i < n; i++) parameters[i] = &values[i];
	return cuLaunchKernel(f, grid[0], grid[1], grid[2], block[0], block[1], block[2], shared, s, parameters, NULL);
}
*/
import "C"

import (
	"fmt"
	"reflect"
	"unsafe"

	"gorgonia.org/cu"
)

// Reason says why there is no driver; "" if there is one.
func Reason() string { return C.GoString(C.opgen_driver_reason()) }

// Error is the error of a call of the driver, or of another library.
type Error struct {
	Call    string // what was called
	Library string // "" for the driver
	Code    int    // of the library
	Text    string // as the library describes the code
}

func (e *Error) Error() string {
	library := e.Library
	if library == "" {
		library = "CUDA"
	}
	return fmt.Sprintf("%s: %s (%s error %d)", e.Call, e.Text, library, e.Code)
}

// Wrap returns an error of package cu as an *Error; nil if there is none.
func Wrap(call string, err error) error {
	if err == nil {
		return nil
	}
	v := reflect.ValueOf(err) // of an integer type that package cu does not export
	if !v.CanInt() {
		return fmt.Errorf("%s: %w", call, err)
	}
	return wrapped(call, C.CUresult(v.Int()))
}

func wrapped(call string, r C.CUresult) error {
	if r == C.CUDA_SUCCESS {
		return nil
	}
	e := &Error{Call: call, Code: int(r), Text: "unknown error"}
	var text *C.char
	if C.cuGetErrorString(r, &text) == C.CUDA_SUCCESS && text != nil {
		e.Text = C.GoString(text)
	}
	return e
}

// Handles of package cu are structs of one pointer.
func function(f cu.Function) C.CUfunction { return *(*C.CUfunction)(unsafe.Pointer(&f)) }
func stream(s cu.Stream) C.CUstream       { return *(*C.CUstream)(unsafe.Pointer(&s)) }

// Launch launches a kernel. Each argument has 8 bytes. Function.Launch of package cu does the same with an
// allocation for each list of arguments.
func Launch(f cu.Function, grid, block [3]uint32, shared uint32, s cu.Stream, args []uint64) error {
	return wrapped("cuLaunchKernel", C.opgen_launch(function(f), (*C.uint)(&grid[0]), (*C.uint)(&block[0]), C.uint(shared), stream(s),
		(*C.ulonglong)(unsafe.SliceData(args)), C.int(len(args))))
}

// AllowShared permits launches of a kernel with so many bytes of dynamic shared memory: more than 48 KiB have
// to be asked for.
func AllowShared(f cu.Function, bytes int) error {
	return wrapped("cuFuncSetAttribute", C.cuFuncSetAttribute(function(f), C.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, C.int(bytes)))
}

// Pinned returns memory of the host that devices can copy from and to without the help of a processor.
// cu.MemFreeHost frees it.
func Pinned(bytes int) ([]byte, error) {
	var p unsafe.Pointer
	if err := wrapped("cuMemHostAlloc", C.cuMemHostAlloc(&p, C.size_t(bytes), C.CU_MEMHOSTALLOC_PORTABLE|C.CU_MEMHOSTALLOC_DEVICEMAP)); err != nil {
		return nil, err
	}
	return unsafe.Slice((*byte)(p), bytes), nil
}

// DeviceAddress returns the address under which the current device sees pinned memory.
func DeviceAddress(pinned []byte) (uint64, error) {
	var p C.CUdeviceptr
	err := wrapped("cuMemHostGetDevicePointer", C.cuMemHostGetDevicePointer(&p, unsafe.Pointer(unsafe.SliceData(pinned)), 0))
	return uint64(p), err
}

// Store makes a stream store a value at an address of its device, once all before it is done.
func Store(s cu.Stream, address uint64, value uint32) error {
	return wrapped("cuStreamWriteValue32", C.cuStreamWriteValue32_v2(stream(s), C.CUdeviceptr(address), C.cuuint32_t(value), 0))
}
