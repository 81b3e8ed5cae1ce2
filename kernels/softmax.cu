// The device code of softmax. A block computes a lane: elements along the axis.

// Elements of a lane that lie side by side are read and written so many at a time.
const int many = 4;
// A thread keeps its elements of a lane that is not longer than so many groups for each thread.
const int kept = 4;

// groups returns how many groups a lane has; 0 if its elements lie apart, or are too many to keep.
template <class Arguments> __device__ int groups(const Arguments &a) {
	return a.B.product == 1 && a.R % many == 0 && a.R <= kept * many * (long long)blockDim.x ? (int)a.R / many : 0;
}

// lane is where the elements of lane i are: the first, and how far the next one is.
template <class Arguments> __device__ void lane(const Arguments &a, long long i, long long &first, long long &next) {
	next = a.B.product;
	if (next == 1) first = i * a.R; // divisions of 64 bits take as long as the elements of a short lane
	else first = i / next * a.R * next + i % next;
}

// side_by_side computes a lane that has so many groups.
template <class T> __device__ void side_by_side(const softmax::forward<T> &a, long long first, int count, double *shared) {
	typedef typename opgen_value<T>::type value;
	value x[kept][many], top = -OPGEN_INF;
#pragma unroll
	for (int k = 0; k < kept; k++) {
		const int g = threadIdx.x + k * blockDim.x;
		if (g >= count) break;
		a.input.at(first + g * many, x[k]);
#pragma unroll
		for (int j = 0; j < many; j++) top = opgen_max(top, x[k][j]);
	}
	top = opgen_most(top, (value *)shared);
	double sum = 0;
#pragma unroll
	for (int k = 0; k < kept; k++) {
		if (threadIdx.x + k * blockDim.x >= count) break;
		value of_group = 0; // conversions to double take as long as the exponentials
#pragma unroll
		for (int j = 0; j < many; j++) of_group += x[k][j] = opgen_exp(x[k][j] - top);
		sum += of_group;
	}
	const value scale = (value)(1 / opgen_sum(sum, shared));
#pragma unroll
	for (int k = 0; k < kept; k++) {
		const int g = threadIdx.x + k * blockDim.x;
		if (g >= count) break;
#pragma unroll
		for (int j = 0; j < many; j++) x[k][j] *= scale;
		a.output.set(first + g * many, x[k]);
	}
}

template <class T> __device__ void softmax_forward(const softmax::forward<T> &a, long long i) {
	typedef typename opgen_value<T>::type value;
	DYNAMIC_SHARED(double, shared);
	long long first, next;
	lane(a, i, first, next);
	const int count = groups(a);
	if (count > 0 && a.input.template wide<many>() && a.output.template wide<many>()) {
		side_by_side(a, first, count, shared);
		return;
	}
	value top = -OPGEN_INF;
	for (long long r = threadIdx.x; r < a.R; r += blockDim.x) top = opgen_max(top, a.input.at(first + r * next));
	top = opgen_most(top, (value *)shared);
	double sum = 0;
	for (long long r = threadIdx.x; r < a.R; r += blockDim.x) sum += opgen_exp(a.input.at(first + r * next) - top);
	const double scale = 1 / opgen_sum(sum, shared);
	for (long long r = threadIdx.x; r < a.R; r += blockDim.x)
		a.output.set(first + r * next, (value)(opgen_exp(a.input.at(first + r * next) - top) * scale));
}

// side_by_side computes the gradient of a lane that has so many groups.
template <class T> __device__ void side_by_side(const softmax::backward<T> &a, long long first, int count, double *shared) {
	typedef typename opgen_value<T>::type value;
	value y[kept][many], g[kept][many];
	double dot = 0;
#pragma unroll
	for (int k = 0; k < kept; k++) {
		const int group = threadIdx.x + k * blockDim.x;
		if (group >= count) break;
		a.output.at(first + group * many, y[k]);
		a.grad_output.at(first + group * many, g[k]);
		value of_group = 0;
#pragma unroll
		for (int j = 0; j < many; j++) of_group += y[k][j] * g[k][j];
		dot += of_group;
	}
	const value all = (value)opgen_sum(dot, shared);
#pragma unroll
	for (int k = 0; k < kept; k++) {
		const int group = threadIdx.x + k * blockDim.x;
		if (group >= count) break;
#pragma unroll
		for (int j = 0; j < many; j++) g[k][j] = y[k][j] * (g[k][j] - all);
		a.grad_input.put(first + group * many, g[k]);
	}
}

template <class T> __device__ void softmax_backward(const softmax::backward<T> &a, long long i) {
	typedef typename opgen_value<T>::type value;
	DYNAMIC_SHARED(double, shared);
	long long first, next;
	lane(a, i, first, next);
	const int count = groups(a);
	if (count > 0 && a.output.template wide<many>() && a.grad_output.template wide<many>() && a.grad_input.template wide<many>()) {
		side_by_side(a, first, count, shared);
		return;
	}
	double dot = 0;
	for (long long r = threadIdx.x; r < a.R; r += blockDim.x) dot += (double)a.output.at(first + r * next) * a.grad_output.at(first + r * next);
	dot = opgen_sum(dot, shared);
	for (long long r = threadIdx.x; r < a.R; r += blockDim.x)
		a.grad_input.put(first + r * next, (value)(a.output.at(first + r * next) * (a.grad_output.at(first + r * next) - dot)));
}
