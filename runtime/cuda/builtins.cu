// The built-in operations of plans. Each thread takes every n-th element, where n is the number of threads.

#define EACH(i, n) for (i64 i = opgen_thread(grid); i < n; i += opgen_threads(grid))

// ENTRY is what a launch calls, and what a kernel of a whole plan does: see opgen_grid.
#define ENTRY(name, params, ...) \
	extern "C" __global__ void builtin_##name params { builtin_##name##_body(opgen_launched(0), __VA_ARGS__); } \
	struct builtin_##name##_memory {};

// fill stores the same bytes in every element.
#define FILL(name, T) \
	OPGEN_DEVICE void builtin_fill_##name##_body(const opgen_grid &grid, T *to, u64 value, i64 n) { EACH(i, n) to[i] = (T)value; } \
	ENTRY(fill_##name, (T *to, u64 value, i64 n), to, value, n) \
	OPGEN_DEVICE void builtin_fill_##name##_on(const opgen_grid &grid, const u64 *args) { builtin_fill_##name##_body(grid, (T *)args[0], args[1], (i64)args[2]); }
FILL(1, u8)
FILL(2, u16)
FILL(4, u32)
FILL(8, u64)

#define SAME(x) (x)

// PAIR is ENTRY for two tensors.
#define PAIR(name, T, F) \
	ENTRY(name, (T *to, const F *from, i64 n), to, from, n) \
	OPGEN_DEVICE void builtin_##name##_on(const opgen_grid &grid, const u64 *args) { builtin_##name##_body(grid, (T *)args[0], (const F *)args[1], (i64)args[2]); }

// map stores a function of each element.
#define MAP(name, T, F, f) \
	OPGEN_DEVICE void builtin_##name##_body(const opgen_grid &grid, T *to, const F *from, i64 n) { EACH(i, n) to[i] = f(from[i]); } \
	PAIR(name, T, F)
MAP(convert_f16_f32, u16, float, to_f16)
MAP(convert_bf16_f32, u16, float, to_bf16)
MAP(convert_f32_f16, float, u16, from_f16)
MAP(convert_f32_bf16, float, u16, from_bf16)

// add adds a tensor to another. Sums of types of 16 bits are those of 32 bits, rounded.
#define ADD(name, T, F, decode, encode, term) \
	OPGEN_DEVICE void builtin_add_##name##_body(const opgen_grid &grid, T *to, const F *from, i64 n) { EACH(i, n) to[i] = encode(decode(to[i]) + term(from[i])); } \
	PAIR(add_##name, T, F)
ADD(f32_f32, float, float, SAME, SAME, SAME)
ADD(f64_f64, double, double, SAME, SAME, SAME)
ADD(f16_f16, u16, u16, from_f16, to_f16, from_f16)
ADD(f16_f32, u16, float, from_f16, to_f16, SAME)
ADD(bf16_bf16, u16, u16, from_bf16, to_bf16, from_bf16)
ADD(bf16_f32, u16, float, from_bf16, to_bf16, SAME)

// sum stores, in each of the tensors at the addresses, the sum of their elements, added in their order.
#define SUM(name, T, S, decode, encode) \
	OPGEN_DEVICE void builtin_sum_##name##_body(const opgen_grid &grid, T *const *tensors, i64 count, i64 n) { \
		EACH(i, n) { \
			S s = decode(tensors[0][i]); \
			for (i64 k = 1; k < count; k++) s = s + decode(tensors[k][i]); \
			T v = encode(s); \
			for (i64 k = 0; k < count; k++) tensors[k][i] = v; \
		} \
	} \
	ENTRY(sum_##name, (T *const *tensors, i64 count, i64 n), tensors, count, n) \
	OPGEN_DEVICE void builtin_sum_##name##_on(const opgen_grid &grid, const u64 *args) { builtin_sum_##name##_body(grid, (T *const *)args[0], (i64)args[1], (i64)args[2]); }
SUM(f32, float, float, SAME, SAME)
SUM(f64, double, double, SAME, SAME)
SUM(f16, u16, float, from_f16, to_f16)
SUM(bf16, u16, float, from_bf16, to_bf16)
