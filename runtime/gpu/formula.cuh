// What device code of formulas uses.

#ifdef __CUDACC__
#pragma nv_diag_suppress 177 // a plan does not use all of these functions
#pragma nv_diag_suppress 39 // a mean of no elements is NaN
#pragma nv_diag_suppress 128 // the threads of a small team need no loop over warps
#endif

#define OPGEN_INF ((double)float_of(0x7f800000u))
#define OPGEN_NAN ((double)float_of(0x7fc00000u))
#define OPGEN_LEAST (-9223372036854775807ll - 1)
#define OPGEN_GREATEST 9223372036854775807ll
#define OPGEN_DEVICE static __device__ __forceinline__

typedef record opgen_record;

// 16-bit numbers and conditions have types of their own, so that they are told from integers.
struct opgen_f16 { u16 bits; };
struct opgen_bf16 { u16 bits; };
struct opgen_bool { u8 bits; };

// opgen_grid says which block of a grid of blocks the threads of a block compute, and where the shared memory is. Device code is a body that
// computes a block of a grid. Launches have an entry, which calls the body for its own block; a kernel that computes a whole plan calls bodies
// for the blocks of all launches.
struct opgen_grid {
	uint3 block, blocks;
	void *memory;
};
OPGEN_DEVICE opgen_grid opgen_launched(void *memory) {
	return {{blockIdx.x, blockIdx.y, blockIdx.z}, {gridDim.x, gridDim.y, gridDim.z}, memory};
}

// opgen_thread is the number of a thread among all of a grid, and opgen_threads how many there are.
OPGEN_DEVICE i64 opgen_thread(const opgen_grid &grid) { return (i64)grid.block.x * blockDim.x + threadIdx.x; }
OPGEN_DEVICE i64 opgen_threads(const opgen_grid &grid) { return (i64)grid.blocks.x * blockDim.x; }

// A task whose indices are wrong computes nothing.
OPGEN_DEVICE void opgen_fault(record *r, i64 code, i64 a, i64 b, i64 c) { fault(r, code, a, b, c); }
OPGEN_DEVICE bool opgen_faulted(const record *r) { return *(const volatile i64 *)&r->code != 0; }

// Elements in memory.
OPGEN_DEVICE float opgen_load(const float *p, i64 i) { return p[i]; }
OPGEN_DEVICE double opgen_load(const double *p, i64 i) { return p[i]; }
OPGEN_DEVICE float opgen_load(const opgen_f16 *p, i64 i) { return from_f16(p[i].bits); }
OPGEN_DEVICE float opgen_load(const opgen_bf16 *p, i64 i) { return from_bf16(p[i].bits); }
OPGEN_DEVICE bool opgen_load(const opgen_bool *p, i64 i) { return p[i].bits != 0; }
template <class T> OPGEN_DEVICE i64 opgen_load(const T *p, i64 i) { return (i64)p[i]; }

OPGEN_DEVICE void opgen_store(float *p, i64 i, double v) { p[i] = (float)v; }
OPGEN_DEVICE void opgen_store(double *p, i64 i, double v) { p[i] = v; }
OPGEN_DEVICE void opgen_store(opgen_f16 *p, i64 i, double v) { p[i].bits = to_f16((float)v); }
OPGEN_DEVICE void opgen_store(opgen_bf16 *p, i64 i, double v) { p[i].bits = to_bf16((float)v); }
OPGEN_DEVICE void opgen_store(opgen_bool *p, i64 i, bool v) { p[i].bits = v; }
template <class T> OPGEN_DEVICE void opgen_store(T *p, i64 i, i64 v) { p[i] = (T)v; }

OPGEN_DEVICE void opgen_store(float *p, i64 i, float v) { p[i] = v; }
OPGEN_DEVICE void opgen_store(opgen_f16 *p, i64 i, float v) { p[i].bits = to_f16(v); }
OPGEN_DEVICE void opgen_store(opgen_bf16 *p, i64 i, float v) { p[i].bits = to_bf16(v); }

template <class T, class V> OPGEN_DEVICE void opgen_add(T *p, i64 i, V v) { opgen_store(p, i, opgen_load(p, i) + v); }

// opgen_wide is neighboring elements that one access reads or writes. The address is a multiple of its size.
template <class T, int n> struct alignas(sizeof(T) * n) opgen_wide { T v[n]; };
template <int n, class T> OPGEN_DEVICE opgen_wide<T, n> opgen_wide_load(const T *p, i64 i) { return *(const opgen_wide<T, n> *)(p + i); }
template <int n, class T> OPGEN_DEVICE void opgen_wide_store(T *p, i64 i, const opgen_wide<T, n> &x) { *(opgen_wide<T, n> *)(p + i) = x; }

// opgen_convert rounds a number to an element type. Integers end at the bounds of their type, and NaN becomes 0.
template <class T> struct opgen_number {
	static __device__ __forceinline__ i64 of(double x) {
		const bool is_signed = (T)-1 < (T)0;
		const double end = is_signed ? (double)((T)1 << (8 * sizeof(T) - 2)) * 2 : (double)((T)1 << (8 * sizeof(T) - 1)) * 2;
		const double least = is_signed ? -end : 0;
		if (x >= end) return (i64)(is_signed ? ~((T)1 << (8 * sizeof(T) - 1)) : (T)-1);
		if (x >= least) return (i64)(T)x;
		if (x < least) return is_signed ? (i64)((T)1 << (8 * sizeof(T) - 1)) : 0;
		return 0;
	}
};
template <> struct opgen_number<float> { static __device__ __forceinline__ float of(double x) { return (float)x; } };
template <> struct opgen_number<double> { static __device__ __forceinline__ double of(double x) { return x; } };
template <> struct opgen_number<opgen_f16> { static __device__ __forceinline__ float of(double x) { return from_f16(to_f16((float)x)); } };
template <> struct opgen_number<opgen_bf16> { static __device__ __forceinline__ float of(double x) { return from_bf16(to_bf16((float)x)); } };
template <class T> OPGEN_DEVICE auto opgen_convert(double x) -> decltype(opgen_number<T>::of(x)) { return opgen_number<T>::of(x); }
OPGEN_DEVICE i64 opgen_whole(double x) { return (i64)x; }

// Integers.
OPGEN_DEVICE i64 opgen_div(i64 x, i64 y) { return x / y; }
OPGEN_DEVICE i64 opgen_floordiv(i64 x, i64 y) { return x / y - (x % y != 0 && (x < 0) != (y < 0)); }
OPGEN_DEVICE i64 opgen_mod(i64 x, i64 y) { return x - opgen_floordiv(x, y) * y; }
OPGEN_DEVICE i64 opgen_greater(i64 x, i64 y) { return x > y ? x : y; }
OPGEN_DEVICE i64 opgen_smaller(i64 x, i64 y) { return x < y ? x : y; }
// opgen_bounded returns an integer. The extremes of no integers, which are the bounds of 64 bits, become those of another type.
OPGEN_DEVICE i64 opgen_bounded(i64 x, i64 least, i64 greatest) {
	return x == OPGEN_LEAST ? least : x == OPGEN_GREATEST ? greatest : x;
}
OPGEN_DEVICE i64 opgen_power(i64 x, i64 y) {
	if (y < 0) {
		if (x != 1 && x != -1) return 0;
		y = -y % 2;
	}
	i64 out = 1;
	for (; y > 0; y >>= 1, x *= x)
		if (y & 1) out *= x;
	return out;
}

// Functions of real numbers, in both types. NaN is passed on.
#define OPGEN_FUNCTION(name, f32, f64) \
	OPGEN_DEVICE float opgen_##name(float x) { return f32; } \
	OPGEN_DEVICE double opgen_##name(double x) { return f64; }
OPGEN_FUNCTION(exp, expf(x), exp(x))
OPGEN_FUNCTION(log, logf(x), log(x))
OPGEN_FUNCTION(sqrt, sqrtf(x), sqrt(x))
OPGEN_FUNCTION(rsqrt, 1 / sqrtf(x), 1 / sqrt(x))
OPGEN_FUNCTION(sin, sinf(x), sin(x))
OPGEN_FUNCTION(cos, cosf(x), cos(x))
OPGEN_FUNCTION(tanh, tanhf(x), tanh(x))
OPGEN_FUNCTION(expm1, expm1f(x), expm1(x))
OPGEN_FUNCTION(log1p, log1pf(x), log1p(x))
OPGEN_FUNCTION(abs, fabsf(x), fabs(x))
OPGEN_FUNCTION(ceil, ceilf(x), ceil(x))
OPGEN_FUNCTION(floor, floorf(x), floor(x))
OPGEN_FUNCTION(round, rintf(x), rint(x))
OPGEN_FUNCTION(sign, (float)((x > 0) - (x < 0)), (double)((x > 0) - (x < 0)))
OPGEN_FUNCTION(tan, tanf(x), tan(x))
OPGEN_FUNCTION(asin, asinf(x), asin(x))
OPGEN_FUNCTION(acos, acosf(x), acos(x))
OPGEN_FUNCTION(atan, atanf(x), atan(x))
OPGEN_FUNCTION(sinh, sinhf(x), sinh(x))
OPGEN_FUNCTION(cosh, coshf(x), cosh(x))
OPGEN_FUNCTION(asinh, asinhf(x), asinh(x))
OPGEN_FUNCTION(atanh, atanhf(x), atanh(x))
OPGEN_FUNCTION(softplus, (x > 0 || x != x ? x : 0) + log1pf(expf(-fabsf(x))), (x > 0 || x != x ? x : 0) + log1p(exp(-fabs(x))))
OPGEN_FUNCTION(lgamma, lgammaf(x), lgamma(x))
OPGEN_FUNCTION(erf, erff(x), erf(x))
OPGEN_FUNCTION(erfc, erfcf(x), erfc(x))
OPGEN_FUNCTION(Phi, erfcf(x * -0.70710678118654752f) / 2, erfc(x * -0.70710678118654752) / 2)
OPGEN_FUNCTION(density, expf(-x * x / 2) * 0.3989422804014327f, exp(-x * x / 2) * 0.3989422804014327)
OPGEN_DEVICE bool opgen_isnan(double x) { return x != x; }
OPGEN_DEVICE bool opgen_finite(double x) { return x - x == 0; }
OPGEN_DEVICE float opgen_pow(float x, float y) { return powf(x, y); }
OPGEN_DEVICE double opgen_pow(double x, double y) { return pow(x, y); }
OPGEN_DEVICE float opgen_atan2(float y, float x) { return atan2f(y, x); }
OPGEN_DEVICE double opgen_atan2(double y, double x) { return atan2(y, x); }
OPGEN_DEVICE float opgen_hypot(float x, float y) { return hypotf(x, y); }
OPGEN_DEVICE double opgen_hypot(double x, double y) { return hypot(x, y); }
OPGEN_DEVICE float opgen_fmod(float x, float y) { return fmodf(x, y); }
OPGEN_DEVICE double opgen_fmod(double x, double y) { return fmod(x, y); }
// opgen_root is x^0.5: the root but for -0, whose power is 0, and the least number, whose power is infinite.
template <class T> OPGEN_DEVICE T opgen_root(T x) { return x == (T)-OPGEN_INF ? (T)OPGEN_INF : opgen_abs(opgen_sqrt(x)); }
// opgen_binade is the greatest power of 2 that is not above |x|, and 1 for 0, infinity and NaN.
template <class T> OPGEN_DEVICE T opgen_binade(T x) {
	int e = 1;
	if (x != 0 && x - x == 0) frexp(x, &e);
	return (T)ldexp(0.5, e);
}
template <class T> OPGEN_DEVICE T opgen_length(T scale, T squares) { return scale * opgen_sqrt(squares); }
template <class T> OPGEN_DEVICE T opgen_sigmoid(T x) {
	const T e = opgen_exp(x < 0 ? x : -x);
	return x < 0 ? e / (1 + e) : 1 / (1 + e);
}
template <class T> OPGEN_DEVICE T opgen_max(T x, T y) { return x != x || x > y ? x : y; }
template <class T> OPGEN_DEVICE T opgen_min(T x, T y) { return x != x || x < y ? x : y; }

// opgen_erfinv refines an approximation in three steps of Newton's method, where erfc has the digits that erf lacks.
OPGEN_DEVICE double opgen_erfinv(double v) {
	const double x = fabs(v);
	if (!(x < 1)) return x == 1 ? copysign(OPGEN_INF, v) : OPGEN_NAN;
	const double l = log1p(-x * x), t = 4.330746750799873 + l / 2; // 2 / (pi * 0.147)
	double y = sqrt(sqrt(t * t - l / 0.147) - t);
	for (int i = 0; i < 3; i++) {
		const double miss = x < 0.5 ? x - erf(y) : erfc(y) - (1 - x);
		y += miss * exp(y * y) * 0.886226925452758; // sqrt(pi) / 2
	}
	return copysign(y, v);
}
OPGEN_DEVICE float opgen_erfinv(float v) { return (float)opgen_erfinv((double)v); }

// opgen_alternating is c[0] - z c[1] + z^2 c[2] - ...
OPGEN_DEVICE double opgen_alternating(double z, const double (&c)[7]) {
	double sum = 0;
	for (int i = 6; i >= 0; i--) sum = c[i] - z * sum;
	return sum;
}
// opgen_digamma and opgen_trigamma are what package term computes: reflection below 0, the recurrence up to 10, and the asymptotic series.
OPGEN_DEVICE double opgen_digamma(double x) {
	if (x == 0) return copysign(OPGEN_INF, -x);
	if (x < 0 && x == floor(x)) return OPGEN_NAN;
	double sum = 0;
	if (x < 0) {
		sum = -3.141592653589793 / tan(3.141592653589793 * (x - trunc(x)));
		x = 1 - x;
	}
	for (; x < 10; x++) sum -= 1 / x;
	const double z = 1 / (x * x);
	const double c[7] = {1. / 12, 1. / 120, 1. / 252, 1. / 240, 1. / 132, 691. / 32760, 1. / 12};
	return sum + log(x) - 0.5 / x - z * opgen_alternating(z, c);
}
OPGEN_DEVICE double opgen_trigamma(double x) {
	if (x <= 0 && x == floor(x)) return OPGEN_INF;
	double sum = 0, sign = 1;
	if (x < 0) {
		const double s = 3.141592653589793 / sin(3.141592653589793 * (x - trunc(x)));
		sum = s * s;
		sign = -1;
		x = 1 - x;
	}
	for (; x < 10; x++) sum += sign / (x * x);
	const double z = 1 / (x * x);
	const double c[7] = {1. / 6, 1. / 30, 1. / 42, 1. / 30, 5. / 66, 691. / 2730, 7. / 6};
	return sum + sign * (1 / x + z / 2 + z / x * opgen_alternating(z, c));
}
OPGEN_DEVICE float opgen_digamma(float x) { return (float)opgen_digamma((double)x); }
OPGEN_DEVICE float opgen_trigamma(float x) { return (float)opgen_trigamma((double)x); }

// Random numbers: Philox4x32-10, as package rng draws them.
struct opgen_words { u32 w[4]; };
OPGEN_DEVICE opgen_words opgen_random(u64 seed, u64 stream, u64 index) {
	opgen_words c = {{(u32)index, (u32)(index >> 32), (u32)stream, (u32)(stream >> 32)}};
	u32 k0 = (u32)seed, k1 = (u32)(seed >> 32);
	for (int i = 0; i < 10; i++) {
		const u64 p0 = (u64)0xD2511F53u * c.w[0], p1 = (u64)0xCD9E8D57u * c.w[2];
		c = {{(u32)(p1 >> 32) ^ c.w[1] ^ k0, (u32)p1, (u32)(p0 >> 32) ^ c.w[3] ^ k1, (u32)p0}};
		k0 += 0x9E3779B9u;
		k1 += 0xBB67AE85u;
	}
	return c;
}
OPGEN_DEVICE double opgen_unit(u32 high, u32 low) { return (double)(((u64)high << 32 | low) >> 11) * 1.1102230246251565e-16; }
OPGEN_DEVICE double opgen_uniform(u64 seed, u64 stream, u64 index) {
	const opgen_words r = opgen_random(seed, stream, index);
	return opgen_unit(r.w[0], r.w[1]);
}
OPGEN_DEVICE double opgen_normal(u64 seed, u64 stream, u64 index) {
	const opgen_words r = opgen_random(seed, stream, index);
	return sqrt(-2 * log(1 - opgen_unit(r.w[0], r.w[1]))) * cos(6.283185307179586 * opgen_unit(r.w[2], r.w[3]));
}

// opgen_better says that a number is more extreme than another: NaN is more so than all others.
template <class T> OPGEN_DEVICE bool opgen_better(T x, T y) { return x > y || (x != x && y == y); }

// opgen_before says whether a key comes before another one. NaN is the greatest number. Equal keys keep their order.
template <class T> OPGEN_DEVICE bool opgen_before(T x, T y, bool first) {
	if (x != x || y != y) return x == x || (y != y && first);
	return x < y || (x == y && first);
}
template <class T> OPGEN_DEVICE bool opgen_behind(T x, T y, bool first) { // for orders that begin with the greatest
	if (x != x || y != y) return y == y || (x != x && first);
	return x > y || (x == y && first);
}

// opgen_extreme is the greatest of the elements seen so far: its place in the order of loops, and what it is called. The place is
// negative if there was none.
template <class T> struct opgen_extreme {
	T value;
	i64 place, at;
};
template <class T> OPGEN_DEVICE opgen_extreme<T> opgen_more(opgen_extreme<T> x, opgen_extreme<T> y) {
	if (x.place < 0) return y;
	if (y.place < 0 || opgen_better(x.value, y.value)) return x;
	if (opgen_better(y.value, x.value)) return y;
	return x.place < y.place ? x : y;
}

// opgen_space is shared memory for what a thread has.
template <class T> struct opgen_space { i64 words[3]; };

// opgen_across returns what the thread of a warp has whose number differs in the bits of a mask. All threads of the warp call it.
template <class T> OPGEN_DEVICE T opgen_across(T x, int mask) { return __shfl_xor_sync(0xffffffffu, x, mask); }
OPGEN_DEVICE bool opgen_across(bool x, int mask) { return __shfl_xor_sync(0xffffffffu, (int)x, mask) != 0; }
template <class T> OPGEN_DEVICE opgen_extreme<T> opgen_across(opgen_extreme<T> x, int mask) {
	return {opgen_across(x.value, mask), opgen_across(x.place, mask), opgen_across(x.at, mask)};
}

// opgen_lanes folds what neighboring lanes of a warp have, as many as a power of 2, and returns the result to all of them. All threads of the warp call it.
template <class T, class F> OPGEN_DEVICE T opgen_lanes(T x, int lanes, F fold) {
	for (int mask = lanes / 2; mask > 0; mask /= 2) {
		const T other = opgen_across(x, mask);
		x = (threadIdx.x & mask) != 0 ? fold(other, x) : fold(x, other); // in the same order for both
	}
	return x;
}

// opgen_together folds what the members of a team have, and returns the result to all of them. The members, as many as a power of 2, are so many
// threads from each other. All threads of the block call it.
template <int members, int stride, class T, class R, class F> OPGEN_DEVICE T opgen_together(opgen_space<R> *space, T x, int member, F fold) {
	T *all = (T *)space;
	if (stride > 1) { // each thread folds what the others have
		__syncthreads();
		all[threadIdx.x] = x;
		__syncthreads();
		const int first = (int)threadIdx.x - member * stride;
		T sum = all[first];
		for (int i = 1; i < members; i++) sum = fold(sum, all[first + i * stride]);
		return sum;
	}
	x = opgen_lanes(x, members < 32 ? members : 32, fold);
	if (members <= 32) return x;
	__syncthreads();
	if (threadIdx.x % 32 == 0) all[threadIdx.x / 32] = x;
	__syncthreads();
	const int first = (int)(threadIdx.x / members) * (members / 32);
	T sum = all[first];
	for (int i = 1; i < members / 32; i++) sum = fold(sum, all[first + i]);
	return sum;
}
