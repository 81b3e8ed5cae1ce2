// What CUDA C++ adds to C++, for device code that g++ compiles for the emulator. A thread of a block is a fiber, so that a barrier
// is a switch to another fiber. The emulator compiles each source as
//
//	g++ -x c++ -include cuemu.h source.cu -shared ...
//
// followed by a line CUEMU_KERNEL(f) for each kernel f.
#pragma once
#define OPGEN_EMULATOR 1

// The headers of C rather than of C++, whose templates take longer than most device code: a test compiles thousands of sources.
#define _GLIBCXX_INCLUDE_NEXT_C_HEADERS
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
#undef isfinite
#undef isinf
#undef isnan
#undef signbit

struct uint3 {
	unsigned x, y, z;
};
struct dim3 {
	unsigned x, y, z;
	dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
};

// cuemu_thread is what a device thread knows of itself.
struct cuemu_thread {
	uint3 thread, block;
	dim3 threads, blocks;
	unsigned lane;       // in its warp
	uint64_t *exchange;  // a word for each lane of the warp
	void *dynamic;       // shared memory
};

// cuemu_services is what the emulator offers to modules.
struct cuemu_services {
	void (*block_barrier)(int predicate, int *count, int *threads);
	void (*warp_barrier)(unsigned mask);
	unsigned (*active)();
	void (*yield)();
	void (*trap)();
};

// cuemu_kernel is a kernel of a module: how it is called, and the sizes of its parameters.
struct cuemu_kernel {
	const char *name;
	void (*call)(void **parameters);
	const size_t *sizes;
	size_t count;
	cuemu_kernel *next;
};

#define CUEMU_HIDDEN __attribute__((visibility("hidden"))) inline
#define CUEMU_EXPORTED __attribute__((visibility("default"), used)) inline
extern "C" {
CUEMU_HIDDEN const cuemu_services *cuemu_does;
CUEMU_HIDDEN cuemu_kernel *cuemu_list;
CUEMU_HIDDEN thread_local const cuemu_thread *cuemu_self;
CUEMU_EXPORTED void cuemu_module_init(const cuemu_services *s) { cuemu_does = s; }
CUEMU_EXPORTED cuemu_kernel *cuemu_module_kernels() { return cuemu_list; }
CUEMU_EXPORTED const cuemu_thread **cuemu_module_self() { return &cuemu_self; }
}

template <size_t...> struct cuemu_indexes {};
template <class F> struct cuemu_caller;
template <class... P> struct cuemu_caller<void (*)(P...)> {
	static constexpr size_t sizes[sizeof...(P) + 1] = {sizeof(P)..., 0};
	template <void (*f)(P...), size_t... I> static void spread(void **p, cuemu_indexes<I...>) {
		(void)p;
		f(*(P *)p[I]...);
	}
	template <void (*f)(P...)> static void call(void **p) { spread<f>(p, cuemu_indexes<__integer_pack(sizeof...(P))...>{}); }
};
struct cuemu_registration {
	cuemu_registration(cuemu_kernel *k) {
		k->next = cuemu_list;
		cuemu_list = k;
	}
};
#define CUEMU_KERNEL(f)                                                                                                        \
	static cuemu_kernel cuemu_kernel_##f = {#f, &cuemu_caller<decltype(&f)>::template call<&f>, cuemu_caller<decltype(&f)>::sizes, \
		sizeof(cuemu_caller<decltype(&f)>::sizes) / sizeof(size_t) - 1, nullptr};                                               \
	static cuemu_registration cuemu_registration_##f(&cuemu_kernel_##f);

#define __global__ __attribute__((noinline, visibility("hidden")))
#define __device__
#define __host__
#define __constant__ static const
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define __shared__ static thread_local
#define DYNAMIC_SHARED(T, name) T *name = (T *)cuemu_self->dynamic
#define threadIdx (cuemu_self->thread)
#define blockIdx (cuemu_self->block)
#define blockDim (cuemu_self->threads)
#define gridDim (cuemu_self->blocks)
#define warpSize 32
#define __restrict__ __restrict

// Vectors for loads and stores of 8 and 16 bytes.
#define CUEMU_VECTOR2(T, name, bytes) struct alignas(bytes) name { T x, y; }; static inline name make_##name(T x, T y) { return {x, y}; }
#define CUEMU_VECTOR4(T, name, bytes) struct alignas(bytes) name { T x, y, z, w; }; static inline name make_##name(T x, T y, T z, T w) { return {x, y, z, w}; }
CUEMU_VECTOR2(float, float2, 8)
CUEMU_VECTOR2(double, double2, 16)
CUEMU_VECTOR2(int, int2, 8)
CUEMU_VECTOR2(unsigned, uint2, 8)
CUEMU_VECTOR2(long long, longlong2, 16)
CUEMU_VECTOR2(unsigned long long, ulonglong2, 16)
CUEMU_VECTOR2(unsigned short, ushort2, 4)
CUEMU_VECTOR4(float, float4, 16)
CUEMU_VECTOR4(int, int4, 16)
CUEMU_VECTOR4(unsigned, uint4, 16)
CUEMU_VECTOR4(unsigned short, ushort4, 8)
CUEMU_VECTOR4(unsigned char, uchar4, 4)

static inline int cuemu_block(int predicate, int *threads) {
	int count;
	cuemu_does->block_barrier(predicate != 0, &count, threads);
	return count;
}
static inline void __syncthreads() { int n; cuemu_block(0, &n); }
static inline int __syncthreads_count(int p) { int n; return cuemu_block(p, &n); }
static inline int __syncthreads_and(int p) { int n, c = cuemu_block(p, &n); return c == n; }
static inline int __syncthreads_or(int p) { int n; return cuemu_block(p, &n) > 0; }
static inline void __syncwarp(unsigned mask = ~0u) { cuemu_does->warp_barrier(mask); }
static inline unsigned __activemask() { return cuemu_does->active(); }
static inline void __nanosleep(unsigned) { cuemu_does->yield(); }
// cuemu_now is the time in nanoseconds.
static inline uint64_t cuemu_now() {
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}
static inline void __trap() { cuemu_does->trap(); }
static inline void __threadfence() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_block() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }
static inline void __threadfence_system() { __atomic_thread_fence(__ATOMIC_SEQ_CST); }

// cuemu_from returns the value of another lane, or the own one if that lane takes no part.
template <class T> static inline T cuemu_from(unsigned mask, T v, unsigned lane) {
	static_assert(sizeof(T) <= 8, "values of lanes have at most 8 bytes");
	uint64_t word = 0, *words = cuemu_self->exchange;
	memcpy(&word, &v, sizeof v);
	words[cuemu_self->lane] = word;
	cuemu_does->warp_barrier(mask);
	if (lane < 32 && (mask >> lane & 1)) word = words[lane];
	cuemu_does->warp_barrier(mask);
	memcpy(&v, &word, sizeof v);
	return v;
}
template <class T> static inline T __shfl_sync(unsigned m, T v, int from, int width = 32) {
	unsigned own = cuemu_self->lane, base = own & ~(unsigned)(width - 1);
	return cuemu_from(m, v, base | ((unsigned)from & (unsigned)(width - 1)));
}
template <class T> static inline T __shfl_down_sync(unsigned m, T v, unsigned by, int width = 32) {
	unsigned own = cuemu_self->lane;
	return cuemu_from(m, v, (own & (unsigned)(width - 1)) + by < (unsigned)width ? own + by : own);
}
template <class T> static inline T __shfl_up_sync(unsigned m, T v, unsigned by, int width = 32) {
	unsigned own = cuemu_self->lane;
	return cuemu_from(m, v, (own & (unsigned)(width - 1)) >= by ? own - by : own);
}
template <class T> static inline T __shfl_xor_sync(unsigned m, T v, int with, int width = 32) {
	unsigned own = cuemu_self->lane, other = own ^ (unsigned)with;
	return cuemu_from(m, v, (other & ~(unsigned)(width - 1)) <= (own & ~(unsigned)(width - 1)) ? other : own);
}
static inline unsigned __ballot_sync(unsigned mask, int predicate) {
	uint64_t *words = cuemu_self->exchange;
	words[cuemu_self->lane] = predicate != 0;
	cuemu_does->warp_barrier(mask);
	unsigned votes = 0;
	for (unsigned i = 0; i < 32; i++)
		if ((mask >> i & 1) && words[i]) votes |= 1u << i;
	cuemu_does->warp_barrier(mask);
	return votes;
}
static inline int __any_sync(unsigned m, int p) { return __ballot_sync(m, p) != 0; }
static inline int __all_sync(unsigned m, int p) { return __ballot_sync(m, p) == m; }

template <class T> static inline T cuemu_cas(T *p, T old, T with) {
	__atomic_compare_exchange_n(p, &old, with, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
	return old;
}
// cuemu_update replaces a value by f of it, at once, and returns the old one.
template <class W, class T, class F> static inline T cuemu_update(T *p, F f) {
	W old = __atomic_load_n((W *)p, __ATOMIC_RELAXED), with;
	T value;
	do {
		memcpy(&value, &old, sizeof old);
		T next = f(value);
		memcpy(&with, &next, sizeof next);
	} while (!__atomic_compare_exchange_n((W *)p, &old, with, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
	memcpy(&value, &old, sizeof old);
	return value;
}
#define CUEMU_ATOMICS(T, W)                                                                                      \
	static inline T atomicCAS(T *p, T old, T with) { return cuemu_cas(p, old, with); }                            \
	static inline T atomicAdd(T *p, T v) { return cuemu_update<W>(p, [=](T o) { return (T)((W)o + (W)v); }); }    \
	static inline T atomicSub(T *p, T v) { return cuemu_update<W>(p, [=](T o) { return (T)((W)o - (W)v); }); }    \
	static inline T atomicExch(T *p, T v) { return cuemu_update<W>(p, [=](T) { return v; }); }                    \
	static inline T atomicMax(T *p, T v) { return cuemu_update<W>(p, [=](T o) { return o < v ? v : o; }); }       \
	static inline T atomicMin(T *p, T v) { return cuemu_update<W>(p, [=](T o) { return v < o ? v : o; }); }       \
	static inline T atomicAnd(T *p, T v) { return cuemu_update<W>(p, [=](T o) { return (T)(o & v); }); }          \
	static inline T atomicOr(T *p, T v) { return cuemu_update<W>(p, [=](T o) { return (T)(o | v); }); }           \
	static inline T atomicXor(T *p, T v) { return cuemu_update<W>(p, [=](T o) { return (T)(o ^ v); }); }
CUEMU_ATOMICS(int, unsigned)
CUEMU_ATOMICS(unsigned, unsigned)
CUEMU_ATOMICS(unsigned long long, unsigned long long)
CUEMU_ATOMICS(long long, unsigned long long)
static inline float atomicAdd(float *p, float v) { return cuemu_update<uint32_t>(p, [=](float o) { return o + v; }); }
static inline double atomicAdd(double *p, double v) { return cuemu_update<uint64_t>(p, [=](double o) { return o + v; }); }

template <class T> static inline T __ldg(const T *p) { return *p; }
template <class To, class From> static inline To cuemu_bits(From v) {
	To to;
	static_assert(sizeof to == sizeof v, "a number keeps its bits");
	memcpy(&to, &v, sizeof v);
	return to;
}
static inline unsigned __float_as_uint(float x) { return cuemu_bits<unsigned>(x); }
static inline float __uint_as_float(unsigned x) { return cuemu_bits<float>(x); }
static inline int __float_as_int(float x) { return cuemu_bits<int>(x); }
static inline float __int_as_float(int x) { return cuemu_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return cuemu_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return cuemu_bits<double>(x); }

#define CUEMU_CLASSES(T)                                                                \
	static inline bool isfinite(T x) { return __builtin_isfinite(x); }                   \
	static inline bool isinf(T x) { return __builtin_isinf(x); }                         \
	static inline bool isnan(T x) { return __builtin_isnan(x); }                         \
	static inline bool signbit(T x) { return __builtin_signbit(x); }
CUEMU_CLASSES(float)
CUEMU_CLASSES(double)
static inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / sqrt(x); }
#define __expf expf
#define __logf logf
static inline float __fdividef(float x, float y) { return x / y; }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __fadd_rn(float x, float y) { return x + y; }
static inline float __fsub_rn(float x, float y) { return x - y; }
static inline float __fmul_rn(float x, float y) { return x * y; }
static inline float __fdiv_rn(float x, float y) { return x / y; }
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline double __dadd_rn(double x, double y) { return x + y; }
static inline double __dsub_rn(double x, double y) { return x - y; }
static inline double __dmul_rn(double x, double y) { return x * y; }
static inline double __ddiv_rn(double x, double y) { return x / y; }
static inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }
static inline unsigned __umulhi(unsigned a, unsigned b) { return (unsigned)((unsigned long long)a * b >> 32); }
static inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }
static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __clz(int x) { return x ? __builtin_clz((unsigned)x) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline int __ffs(int x) { return __builtin_ffs(x); }

// CUDA C++ has min and max of all pairs of numbers, after the conversions of C++. Those of floating-point numbers leave out NaNs.
#define CUEMU_MINMAX(T)                                            \
	static inline T min(T a, T b) { return b < a ? b : a; }        \
	static inline T max(T a, T b) { return a < b ? b : a; }
CUEMU_MINMAX(int)
CUEMU_MINMAX(unsigned)
CUEMU_MINMAX(long)
CUEMU_MINMAX(unsigned long)
CUEMU_MINMAX(long long)
CUEMU_MINMAX(unsigned long long)
static inline float min(float a, float b) { return fminf(a, b); }
static inline float max(float a, float b) { return fmaxf(a, b); }
static inline double min(double a, double b) { return fmin(a, b); }
static inline double max(double a, double b) { return fmax(a, b); }
