//go:build cuda

package cudadriver

/*
#include <dlfcn.h>
#include <stdlib.h>

// The functions of cuBLAS, by its headers.
typedef void *opgen_handle;
typedef struct {
	int (*create)(opgen_handle *);
	int (*destroy)(opgen_handle);
	int (*stream)(opgen_handle, void *);
	int (*workspace)(opgen_handle, void *, size_t);
	int (*math)(opgen_handle, int);
	int (*atomics)(opgen_handle, int);
	int (*one)(opgen_handle, int, int, int, int, int, const void *, const void *, int, int, const void *, int, int, const void *, void *, int, int, int, int);
	int (*batch)(opgen_handle, int, int, int, int, int, const void *, const void *, int, int, long long, const void *, int, int, long long,
		const void *, void *, int, int, long long, int, int, int);
	const char *(*text)(int);
} opgen_blas;

static opgen_blas *opgen_blas_open(const char *path, const char **error) {
	static opgen_blas b;
	void *l = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!l) {
		*error = dlerror();
		return NULL;
	}
#define GET(to, name) if (!(*(void **)&b.to = dlsym(l, name))) { *error = "the library has no " name; return NULL; }
	GET(create, "cublasCreate_v2")
	GET(destroy, "cublasDestroy_v2")
	GET(stream, "cublasSetStream_v2")
	GET(workspace, "cublasSetWorkspace_v2")
	GET(math, "cublasSetMathMode")
	GET(atomics, "cublasSetAtomicsMode")
	GET(one, "cublasGemmEx")
	GET(batch, "cublasGemmStridedBatchedEx")
#undef GET
	*(void **)&b.text = dlsym(l, "cublasGetStatusString");
	opgen_blas *copy = malloc(sizeof b);
	if (copy) *copy = b;
	else *error = "there is no memory";
	return copy;
}
static int opgen_blas_create(opgen_blas *b, opgen_handle *h) { return b->create(h); }
static int opgen_blas_destroy(opgen_blas *b, opgen_handle h) { return b->destroy(h); }
static int opgen_blas_stream(opgen_blas *b, opgen_handle h, unsigned long long s) { return b->stream(h, (void *)s); }
static int opgen_blas_workspace(opgen_blas *b, opgen_handle h, unsigned long long p, size_t n) { return b->workspace(h, (void *)p, n); }
static int opgen_blas_math(opgen_blas *b, opgen_handle h, int mode) { return b->math(h, mode); }
static int opgen_blas_atomics(opgen_blas *b, opgen_handle h, int mode) { return b->atomics(h, mode); }
static const char *opgen_blas_text(opgen_blas *b, int code) { return b->text ? b->text(code) : ""; }

// opgen_factor is a matrix as cuBLAS takes it.
typedef struct {
	unsigned long long at;
	int turned, type, lead;
	long long next;
} opgen_factor;

enum { compute_32f = 68, compute_64f = 70, default_algorithm = -1, type_f64 = 1 };

static int opgen_blas_multiply(opgen_blas *b, opgen_handle h, int m, int n, int k, int batch, opgen_factor x, opgen_factor y, opgen_factor z, int add) {
	float one = 1, held = add;
	double one_double = 1, held_double = add;
	int big = z.type == type_f64;
	const void *alpha = big ? (void *)&one_double : (void *)&one, *beta = big ? (void *)&held_double : (void *)&held;
	int compute = big ? compute_64f : compute_32f;
	if (batch == 1)
		return b->one(h, x.turned, y.turned, m, n, k, alpha, (void *)x.at, x.type, x.lead, (void *)y.at, y.type, y.lead, beta, (void *)z.at, z.type, z.lead, compute, default_algorithm);
	return b->batch(h, x.turned, y.turned, m, n, k, alpha, (void *)x.at, x.type, x.lead, x.next, (void *)y.at, y.type, y.lead, y.next, beta, (void *)z.at, z.type, z.lead, z.next,
		batch, compute, default_algorithm);
}
*/
import "C"

import (
	"errors"
	"sync"
	"unsafe"

	"gorgonia.org/cu"

	"github.com/opgen/opgen/runtime/dtype"
)

// BLAS is the library cuBLAS.
type BLAS struct{ functions *C.opgen_blas }

var blasLibraries sync.Map // by path: *BLAS

// OpenBLAS opens a library by its path.
func OpenBLAS(path string) (*BLAS, error) {
	if v, ok := blasLibraries.Load(path); ok {
		return v.(*BLAS), nil
	}
	blasMutex.Lock()
	defer blasMutex.Unlock()
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	var text *C.char
	f := C.opgen_blas_open(name, &text)
	if f == nil {
		return nil, errors.New(C.GoString(text))
	}
	v, _ := blasLibraries.LoadOrStore(path, &BLAS{f})
	return v.(*BLAS), nil
}

var blasMutex sync.Mutex // of dlerror

// Products multiplies matrices on a stream. The library gives the same bits in each run: it adds nothing to
// memory atomically, and its workspace is that of the stream alone. Numbers of 32 bits are not rounded before
// they are multiplied.
type Products struct {
	blas   *BLAS
	handle C.opgen_handle
	space  cu.DevicePtr
}

// workspace is the bytes that the library recommends for the newest devices.
const workspace = 32 << 20

// Modes of the library.
const (
	noAtomics    = 0
	exactNumbers = 16 // sums of 16-bit numbers are not rounded to 16 bits before their end
)

// NewProducts returns what multiplies matrices on a stream of the current device. After an error, nothing is
// left behind.
func (b *BLAS) NewProducts(s cu.Stream) (_ *Products, err error) {
	p := &Products{blas: b}
	if err := b.check("cublasCreate", C.opgen_blas_create(b.functions, &p.handle)); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, p.Close())
		}
	}()
	if p.space, err = cu.MemAlloc(workspace); err != nil {
		return nil, Wrap("cuMemAlloc", err)
	}
	f, h := b.functions, p.handle
	if err := b.check("cublasSetStream", C.opgen_blas_stream(f, h, C.ulonglong(uintptr(unsafe.Pointer(stream(s)))))); err != nil {
		return nil, err
	}
	if err := b.check("cublasSetWorkspace", C.opgen_blas_workspace(f, h, C.ulonglong(p.space), workspace)); err != nil {
		return nil, err
	}
	if err := b.check("cublasSetMathMode", C.opgen_blas_math(f, h, exactNumbers)); err != nil {
		return nil, err
	}
	return p, b.check("cublasSetAtomicsMode", C.opgen_blas_atomics(f, h, noAtomics))
}

// Close frees the workspace and the library's state. The device must be current.
func (p *Products) Close() error {
	err := p.blas.check("cublasDestroy", C.opgen_blas_destroy(p.blas.functions, p.handle))
	if p.space != 0 {
		err = errors.Join(err, Wrap("cuMemFree", cu.MemFree(p.space)))
	}
	return err
}

// Factor is matrices as the library takes them: by columns, unless they are turned, with Lead elements from a
// column to the next, and Next from a matrix to the next.
type Factor struct {
	At     uint64
	Type   dtype.Type
	Turned bool
	Lead   int
	Next   int
}

// realTypes are the library's numbers of types.
var realTypes = map[dtype.Type]C.int{dtype.F32: 0, dtype.F64: 1, dtype.F16: 2, dtype.BF16: 14}

func (f *Factor) c() C.opgen_factor {
	x := C.opgen_factor{at: C.ulonglong(f.At), _type: realTypes[f.Type], lead: C.int(f.Lead), next: C.longlong(f.Next)}
	if f.Turned {
		x.turned = 1
	}
	return x
}

// Multiply gives the m x n matrices z the products of the m x k matrices x and the k x n matrices y, as many
// as the batch has. With add, it adds them to what z holds.
func (p *Products) Multiply(m, n, k, batch int, x, y, z *Factor, add bool) error {
	name := "cublasGemmEx"
	if batch > 1 {
		name = "cublasGemmStridedBatchedEx"
	}
	var held C.int
	if add {
		held = 1
	}
	return p.blas.check(name, C.opgen_blas_multiply(p.blas.functions, p.handle, C.int(m), C.int(n), C.int(k), C.int(batch), x.c(), y.c(), z.c(), held))
}

func (b *BLAS) check(call string, code C.int) error {
	if code == 0 {
		return nil
	}
	text := C.GoString(C.opgen_blas_text(b.functions, code))
	if text == "" {
		text = "unknown error"
	}
	return &Error{Call: call, Library: "cuBLAS", Code: int(code), Text: text}
}
