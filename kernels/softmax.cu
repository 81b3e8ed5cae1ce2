// The device code of softmax. A block computes a lane: elements along the axis.

// lane is where the elements of lane i are: the first, and how far the next one is.
template <class Arguments> __device__ void lane(const Arguments &a, long long i, long long &first, long long &next) {
	next = a.B.product;
	if (next == 1) first = i * a.R; // divisions of 64 bits take as long as the elements of a short lane
	else first = i / next * a.R * next + i % next;
}

// A thread keeps its elements of a lane that is not longer than so many for each thread.
const int kept = 8;

template <class T> __device__ void softmax_forward(const softmax::forward<T> &a, long long i) {
	typedef typename opgen_value<T>::type value;
	DYNAMIC_SHARED(double, shared);
	long long first, next;
	lane(a, i, first, next);
	const bool keeps = a.R <= kept * (long long)blockDim.x;
	value own[kept], top = -OPGEN_INF;
	double sum = 0;
	if (keeps) {
#pragma unroll
		for (int k = 0; k < kept; k++) {
			const int r = threadIdx.x + k * blockDim.x;
			own[k] = r < a.R ? a.input.at(first + r * next) : -OPGEN_INF;
			top = opgen_max(top, own[k]);
		}
	} else
		for (long long r = threadIdx.x; r < a.R; r += blockDim.x) top = opgen_max(top, a.input.at(first + r * next));
	top = opgen_most(top, (value *)shared);
	if (keeps) {
#pragma unroll
		for (int k = 0; k < kept; k++) {
			const int r = threadIdx.x + k * blockDim.x;
			own[k] = r < a.R ? opgen_exp(own[k] - top) : 0;
			sum += own[k];
		}
	} else
		for (long long r = threadIdx.x; r < a.R; r += blockDim.x) sum += opgen_exp(a.input.at(first + r * next) - top);
	const double scale = 1 / opgen_sum(sum, shared);
	if (keeps) {
#pragma unroll
		for (int k = 0; k < kept; k++) {
			const int r = threadIdx.x + k * blockDim.x;
			if (r < a.R) a.output.set(first + r * next, (value)(own[k] * scale));
		}
	} else
		for (long long r = threadIdx.x; r < a.R; r += blockDim.x)
			a.output.set(first + r * next, (value)(opgen_exp(a.input.at(first + r * next) - top) * scale));
}

template <class T> __device__ void softmax_backward(const softmax::backward<T> &a, long long i) {
	typedef typename opgen_value<T>::type value;
	DYNAMIC_SHARED(double, shared);
	long long first, next;
	lane(a, i, first, next);
	double dot = 0;
	for (long long r = threadIdx.x; r < a.R; r += blockDim.x) dot += (double)a.output.at(first + r * next) * a.grad_output.at(first + r * next);
	dot = opgen_sum(dot, shared);
	for (long long r = threadIdx.x; r < a.R; r += blockDim.x)
		a.grad_input.put(first + r * next, (value)(a.output.at(first + r * next) * (a.grad_output.at(first + r * next) - dot)));
}
