// What precedes all device code of a plan. nvcc, NVRTC and, for the emulator, g++ compile it. NVRTC has no headers, so nothing is
// included. For the emulator, cuemu.h comes first and defines what CUDA C++ adds to C++.

// DYNAMIC_SHARED declares the dynamic shared memory of a launch, as an array. It is aligned to 16 bytes.
#ifndef OPGEN_EMULATOR
#define DYNAMIC_SHARED(T, name) \
	extern __shared__ __align__(16) unsigned char opgen_dynamic[]; \
	T *name = (T *)opgen_dynamic
#endif

typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// record is what device code leaves of its first fault. It has the layout of gpu.Record.
struct record {
	i64 code;
	i64 values[3];
};

// fault leaves a record, unless there is one.
static __device__ __forceinline__ void fault(record *r, i64 code, i64 a, i64 b, i64 c) {
	if (atomicCAS((u64 *)&r->code, (u64)0, (u64)code) == 0) {
		r->values[0] = a;
		r->values[1] = b;
		r->values[2] = c;
	}
}

// bits_of and float_of are the bits of a number, and back.
static __device__ __forceinline__ u32 bits_of(float x) { return __float_as_uint(x); }
static __device__ __forceinline__ float float_of(u32 b) { return __uint_as_float(b); }

// bf16 numbers are stored as u16. A NaN stays one; other numbers are rounded to the nearest, and to even.
static __device__ __forceinline__ float from_bf16(u16 v) { return float_of((u32)v << 16); }
static __device__ __forceinline__ u16 to_bf16(float x) {
	u32 b = bits_of(x);
	if ((b & 0x7fffffffu) > 0x7f800000u) return (u16)(b >> 16 | 0x40u);
	return (u16)((b + 0x7fffu + (b >> 16 & 1u)) >> 16);
}

// f16 numbers are stored as u16, and rounded likewise.
static __device__ __forceinline__ float from_f16(u16 v) {
	u32 sign = (u32)(v & 0x8000u) << 16, rest = v & 0x7fffu;
	if (rest >= 0x7c00u) return float_of(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
	if (rest < 0x400u) { // subnormal: a multiple of 2^-24
		float x = (float)rest * 5.9604644775390625e-8f;
		return float_of(sign | bits_of(x));
	}
	return float_of(sign | ((rest << 13) + (112u << 23)));
}
static __device__ __forceinline__ u16 to_f16(float x) {
	u32 b = bits_of(x), sign = b >> 16 & 0x8000u, rest = b & 0x7fffffffu;
	if (rest > 0x7f800000u) return (u16)(sign | 0x7e00u | (rest >> 13 & 0x3ffu));
	if (rest >= 0x47800000u) return (u16)(sign | 0x7c00u); // 2^16 and more
	if (rest < 0x38800000u) { // less than 2^-14: the sum has a unit of 2^-24 in its last place
		u32 sum = bits_of(float_of(rest) + 0.5f);
		return (u16)(sign | (sum - 0x3f000000u));
	}
	u32 v = rest - (112u << 23);
	return (u16)(sign | (v + 0xfffu + (v >> 13 & 1u)) >> 13);
}
