// What device code by hand sees of tensors. As in Go, a view for reading has no way to write, and one for writing none to read.
// Elements are found by their row-major numbers. Those of 16 bits are float in computations, and integers i64.
// One access reads or writes n neighboring elements, if the number of the first is a multiple of n and the tensor lies wide<n>.

template <class T> struct opgen_value { typedef i64 type; };
template <> struct opgen_value<float> { typedef float type; };
template <> struct opgen_value<double> { typedef double type; };
template <> struct opgen_value<opgen_f16> { typedef float type; };
template <> struct opgen_value<opgen_bf16> { typedef float type; };
template <> struct opgen_value<opgen_bool> { typedef bool type; };

#define OPGEN_METHOD __device__ __forceinline__

template <int n, class T> OPGEN_METHOD bool opgen_lies_wide(const T *p) { return ((u64)p & (sizeof(opgen_wide<T, n>) - 1)) == 0; }
template <int n, class T, class V> OPGEN_METHOD void opgen_get(const T *p, i64 i, V (&v)[n]) {
	const opgen_wide<T, n> w = opgen_wide_load<n>(p, i);
#pragma unroll
	for (int k = 0; k < n; k++) v[k] = (V)opgen_load(w.v, k);
}
template <int n, class T, class V> OPGEN_METHOD void opgen_put(T *p, i64 i, const V (&v)[n]) {
	opgen_wide<T, n> w;
#pragma unroll
	for (int k = 0; k < n; k++) opgen_store(w.v, k, v[k]);
	opgen_wide_store<n>(p, i, w);
}

// opgen_ro reads a tensor.
template <class T> class opgen_ro {
	const T *p;
public:
	typedef typename opgen_value<T>::type value;
	opgen_ro() = default;
	OPGEN_METHOD opgen_ro(const T *p) : p(p) {}
	OPGEN_METHOD bool given() const { return p != nullptr; }
	OPGEN_METHOD value at(i64 i) const { return (value)opgen_load(p, i); }
	template <int n> OPGEN_METHOD bool wide() const { return opgen_lies_wide<n>(p); }
	template <int n> OPGEN_METHOD void at(i64 i, value (&v)[n]) const { opgen_get(p, i, v); }
};

// opgen_wo writes a tensor.
template <class T> class opgen_wo {
	T *p;
public:
	typedef typename opgen_value<T>::type value;
	opgen_wo() = default;
	OPGEN_METHOD opgen_wo(T *p) : p(p) {}
	OPGEN_METHOD bool given() const { return p != nullptr; }
	OPGEN_METHOD void set(i64 i, value v) const { opgen_store(p, i, v); }
	template <int n> OPGEN_METHOD bool wide() const { return opgen_lies_wide<n>(p); }
	template <int n> OPGEN_METHOD void set(i64 i, const value (&v)[n]) const { opgen_put(p, i, v); }
};

// opgen_rw reads and writes a tensor.
template <class T> class opgen_rw {
	T *p;
public:
	typedef typename opgen_value<T>::type value;
	opgen_rw() = default;
	OPGEN_METHOD opgen_rw(T *p) : p(p) {}
	OPGEN_METHOD bool given() const { return p != nullptr; }
	OPGEN_METHOD value at(i64 i) const { return (value)opgen_load((const T *)p, i); }
	OPGEN_METHOD void set(i64 i, value v) const { opgen_store(p, i, v); }
	template <int n> OPGEN_METHOD bool wide() const { return opgen_lies_wide<n>(p); }
	template <int n> OPGEN_METHOD void at(i64 i, value (&v)[n]) const { opgen_get(p, i, v); }
	template <int n> OPGEN_METHOD void set(i64 i, const value (&v)[n]) const { opgen_put(p, i, v); }
};

// opgen_grad takes each element of a gradient once. It is stored, added to what is there, or dropped.
template <class T> class opgen_grad {
	T *p;
	i64 mode;
public:
	typedef typename opgen_value<T>::type value;
	opgen_grad() = default;
	OPGEN_METHOD opgen_grad(T *p, i64 mode) : p(p), mode(mode) {}
	OPGEN_METHOD bool wanted() const { return p != nullptr; }
	OPGEN_METHOD void put(i64 i, value v) const {
		if (p == nullptr) return;
		if (mode == 2) opgen_add(p, i, v);
		else opgen_store(p, i, v);
	}
	template <int n> OPGEN_METHOD bool wide() const { return opgen_lies_wide<n>(p); }
	template <int n> OPGEN_METHOD void put(i64 i, const value (&v)[n]) const {
		if (p == nullptr) return;
		if (mode != 2) {
			opgen_put(p, i, v);
			return;
		}
		value all[n];
		opgen_get((const T *)p, i, all);
#pragma unroll
		for (int k = 0; k < n; k++) all[k] += v[k];
		opgen_put(p, i, all);
	}
};

// opgen_extents are the dimensions of a run, such as A... .
struct opgen_extents {
	i64 rank, product, at[8];
};

// opgen_fold folds what the threads of a block have, in a fixed order, and returns the result to all of them. shared has room for as many
// values as the block has threads. All threads of the block call it.
template <class T, class F> OPGEN_DEVICE T opgen_fold(T x, T *shared, F fold) {
	__syncthreads();
	if (blockDim.x % 32 != 0) { // so a warp has threads missing
		shared[threadIdx.x] = x;
		__syncthreads();
		for (unsigned have = blockDim.x; have > 1;) {
			const unsigned half = (have + 1) / 2;
			if (threadIdx.x + half < have) shared[threadIdx.x] = fold(shared[threadIdx.x], shared[threadIdx.x + half]);
			__syncthreads();
			have = half;
		}
		return shared[0];
	}
	x = opgen_lanes(x, 32, fold);
	const unsigned warps = blockDim.x / 32;
	if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = x;
	__syncthreads();
	if ((warps & (warps - 1)) == 0) return opgen_lanes(shared[threadIdx.x & (warps - 1)], warps, fold);
	T all = shared[0];
	for (unsigned i = 1; i < warps; i++) all = fold(all, shared[i]);
	return all;
}

// opgen_sum returns the sum of what the threads of a block have, and opgen_most the greatest number.
template <class T> OPGEN_DEVICE T opgen_sum(T x, T *shared) {
	return opgen_fold(x, shared, [](T a, T b) -> T { return a + b; });
}
template <class T> OPGEN_DEVICE T opgen_most(T x, T *shared) {
	return opgen_fold(x, shared, [](T a, T b) -> T { return opgen_max(a, b); });
}

// opgen_block is state in memory of the device, which init allocated. All tasks of a node share it.
struct opgen_block {
	void *memory;
	i64 bytes;
	template <class T> OPGEN_METHOD T *as() const { return (T *)memory; }
	template <class T> OPGEN_METHOD i64 count() const { return bytes / (i64)sizeof(T); }
};
