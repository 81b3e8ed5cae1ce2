//go:build cuda

package cudadriver

/*
#include <dlfcn.h>
#include <stdlib.h>

// The functions of NVRTC, the run-time compiler of CUDA C++, by their headers. The library is opened when it is needed.
typedef struct opgen_program *opgen_program;
static int (*nvrtc_version)(int *, int *);
static int (*nvrtc_archs)(int *), (*nvrtc_list)(int *);
static int (*nvrtc_create)(opgen_program *, const char *, const char *, int, const char **, const char **);
static int (*nvrtc_compile)(opgen_program, int, const char **);
static int (*nvrtc_destroy)(opgen_program *);
static int (*nvrtc_sizes[3])(opgen_program, size_t *);
static int (*nvrtc_texts[3])(opgen_program, char *);
static const char *(*nvrtc_text)(int);

static int opgen_nvrtc_open(const char *path) {
	void *l = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!l) return 0;
#define GET(to, name) if (!(*(void **)&to = dlsym(l, name))) return 0;
	GET(nvrtc_version, "nvrtcVersion")
	GET(nvrtc_archs, "nvrtcGetNumSupportedArchs")
	GET(nvrtc_list, "nvrtcGetSupportedArchs")
	GET(nvrtc_create, "nvrtcCreateProgram")
	GET(nvrtc_compile, "nvrtcCompileProgram")
	GET(nvrtc_destroy, "nvrtcDestroyProgram")
	GET(nvrtc_sizes[0], "nvrtcGetProgramLogSize")
	GET(nvrtc_texts[0], "nvrtcGetProgramLog")
	GET(nvrtc_sizes[1], "nvrtcGetCUBINSize")
	GET(nvrtc_texts[1], "nvrtcGetCUBIN")
	GET(nvrtc_sizes[2], "nvrtcGetPTXSize")
	GET(nvrtc_texts[2], "nvrtcGetPTX")
	GET(nvrtc_text, "nvrtcGetErrorString")
	return 1;
}
static int opgen_nvrtc_version(int *major, int *minor) { return nvrtc_version(major, minor); }
static int opgen_nvrtc_archs(int *n) { return nvrtc_archs(n); }
static int opgen_nvrtc_list(int *list) { return nvrtc_list(list); }
static const char *opgen_nvrtc_text(int code) { return nvrtc_text(code); }

// opgen_nvrtc_get returns the log (0), the cubin (1) or the PTX (2) of a program; NULL if there is none.
static char *opgen_nvrtc_get(opgen_program p, int what, size_t *n) {
	char *text;
	if (nvrtc_sizes[what](p, n) || *n == 0 || !(text = malloc(*n))) return NULL;
	if (nvrtc_texts[what](p, text) == 0) return text;
	free(text);
	return NULL;
}
static int opgen_nvrtc_compile(const char *source, const char *arch, opgen_program *p) {
	const char *options[] = {arch, "--std=c++17", "--device-as-default-execution-space"};
	int code = nvrtc_create(p, source, "plan.cu", 0, NULL, NULL);
	return code ? code : nvrtc_compile(*p, 3, options);
}
static void opgen_nvrtc_destroy(opgen_program *p) { nvrtc_destroy(p); }
*/
import "C"

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// NVRTC is a library that compiles CUDA C++.
type NVRTC struct {
	Version string
	archs   []int // that it compiles for, ascending
}

// OpenNVRTC opens the library; nil if there is none.
func OpenNVRTC() *NVRTC {
	for _, path := range []string{"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so", "/usr/local/cuda/lib64/libnvrtc.so"} {
		name := C.CString(path)
		ok := C.opgen_nvrtc_open(name)
		C.free(unsafe.Pointer(name))
		if ok != 0 {
			return newNVRTC(path)
		}
	}
	return nil
}

func newNVRTC(path string) *NVRTC {
	var major, minor, n C.int
	if C.opgen_nvrtc_version(&major, &minor) != 0 || C.opgen_nvrtc_archs(&n) != 0 || n == 0 {
		return nil
	}
	list := make([]C.int, n)
	if C.opgen_nvrtc_list(&list[0]) != 0 {
		return nil
	}
	v := &NVRTC{Version: fmt.Sprintf("%s %d.%d", path, major, minor)}
	for _, a := range list {
		v.archs = append(v.archs, int(a))
	}
	slices.Sort(v.archs)
	return v
}

// Compile returns the code of a program for an architecture such as sm_90. If the library is older than the
// architecture, the code is that of the newest before it, which the driver translates.
func (v *NVRTC) Compile(source, arch string) ([]byte, error) {
	number, err := strconv.Atoi(strings.TrimPrefix(arch, "sm_"))
	if err != nil {
		return nil, fmt.Errorf("want an architecture such as sm_90, got %q", arch)
	}
	k, exact := slices.BinarySearch(v.archs, number)
	if exact {
		return v.run(source, fmt.Sprintf("--gpu-architecture=sm_%d", number), cubin)
	}
	if k == 0 {
		return nil, fmt.Errorf("%s does not compile for %s", v.Version, arch)
	}
	return v.PTX(source, v.archs[k-1])
}

// PTX returns the code of a program that drivers compile, for architectures of a number and above.
func (v *NVRTC) PTX(source string, number int) ([]byte, error) {
	return v.run(source, fmt.Sprintf("--gpu-architecture=compute_%d", number), ptx)
}

// What NVRTC gives, by the numbers of opgen_nvrtc_get.
const (
	cubin = 1
	ptx   = 2
)

func (v *NVRTC) run(source, architecture string, what C.int) ([]byte, error) {
	text, option := C.CString(source), C.CString(architecture)
	defer C.free(unsafe.Pointer(text))
	defer C.free(unsafe.Pointer(option))
	var p C.opgen_program
	code := C.opgen_nvrtc_compile(text, option, &p)
	defer C.opgen_nvrtc_destroy(&p)
	if code != 0 {
		return nil, errors.New(C.GoString(C.opgen_nvrtc_text(code)) + "\n" + strings.TrimRight(string(get(p, 0)), "\x00\n"))
	}
	image := get(p, what)
	if image == nil {
		return nil, errors.New("NVRTC gives no code")
	}
	return image, nil
}

// get returns the log, the cubin or the PTX of a program.
func get(p C.opgen_program, what C.int) []byte {
	var n C.size_t
	text := C.opgen_nvrtc_get(p, what, &n)
	if text == nil {
		return nil
	}
	defer C.free(unsafe.Pointer(text))
	return C.GoBytes(unsafe.Pointer(text), C.int(n))
}
