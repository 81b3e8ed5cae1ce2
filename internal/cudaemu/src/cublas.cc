// The part of cuBLAS that the backend calls, for the emulator of the driver: products of matrices on its streams, one element after the other.
#include <cublas_v2.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#define API extern "C" __attribute__((visibility("default")))

// What the emulator of the driver gives.
extern "C" {
int cuemu_called(const char *name);
int cuemu_inside(unsigned long long p, size_t n);
int cuemu_enqueue(struct CUstream_st *s, void (*call)(void *), void *of, void (*release)(void *));
void cuemu_count(int handles, int products);
}

namespace {

struct Handle {
	struct CUstream_st *stream = nullptr;
	void *space = nullptr;
	int math = 0;
	bool atomics = true;
};

#define CALL if (int r = cuemu_called(__func__)) return cublasStatus_t(r);

// Sizes of elements, by type; 0 of types that the backend does not use.
size_t size(cudaDataType t) {
	switch (t) {
	case CUDA_R_64F: return 8;
	case CUDA_R_32F: return 4;
	case CUDA_R_16F:
	case CUDA_R_16BF: return 2;
	default: return 0;
	}
}

float of_bits(uint32_t b) {
	float x;
	memcpy(&x, &b, sizeof x);
	return x;
}
uint32_t bits(float x) {
	uint32_t b;
	memcpy(&b, &x, sizeof b);
	return b;
}

double load(const char *p, cudaDataType t, long long i) {
	switch (t) {
	case CUDA_R_64F: return ((const double *)p)[i];
	case CUDA_R_32F: return ((const float *)p)[i];
	case CUDA_R_16BF: return of_bits(uint32_t(((const uint16_t *)p)[i]) << 16);
	default: return (double)((const _Float16 *)p)[i];
	}
}

void store(char *p, cudaDataType t, long long i, double v) {
	switch (t) {
	case CUDA_R_64F: ((double *)p)[i] = v; break;
	case CUDA_R_32F: ((float *)p)[i] = (float)v; break;
	case CUDA_R_16BF: {
		uint32_t b = bits((float)v);
		((uint16_t *)p)[i] = (b & 0x7fffffffu) > 0x7f800000u ? uint16_t(b >> 16 | 0x40) : uint16_t((b + 0x7fff + (b >> 16 & 1)) >> 16);
		break;
	}
	default: ((_Float16 *)p)[i] = (_Float16)(float)v;
	}
}

struct Matrix {
	char *at;
	cudaDataType type;
	bool turned;
	int lead;
	long long next;
	long long place(int i, int j) const { return turned ? (long long)i * lead + j : i + (long long)j * lead; }
	// fits says whether all elements of rows x cols matrices lie in one allocation.
	bool fits(int rows, int cols, int batch) const {
		if (lead < (turned ? cols : rows)) return false;
		long long last = place(rows - 1, cols - 1) + (batch - 1) * next;
		return size(type) && cuemu_inside((unsigned long long)at, size_t(last + 1) * size(type));
	}
};

struct Product {
	int m, n, k, batch;
	Matrix x, y, z;
	double held;  // by what the elements of z are multiplied before the products are added
	static void run(void *of) {
		auto *p = (Product *)of;
		for (int b = 0; b < p->batch; b++)
			for (int j = 0; j < p->n; j++)
				for (int i = 0; i < p->m; i++) {
					const long long at = b * p->z.next + p->z.place(i, j);
					double sum = p->held == 0 ? 0 : p->held * load(p->z.at, p->z.type, at);
					for (int l = 0; l < p->k; l++)
						sum += load(p->x.at, p->x.type, b * p->x.next + p->x.place(i, l)) * load(p->y.at, p->y.type, b * p->y.next + p->y.place(l, j));
					store(p->z.at, p->z.type, at, sum);
				}
	}
};

double number(const void *p, cublasComputeType_t compute) { return compute == CUBLAS_COMPUTE_64F ? *(const double *)p : *(const float *)p; }

cublasStatus_t multiply(Handle *h, Product p, cublasComputeType_t compute) {
	// The backend asks for results that are the same in each run, and for the digits of the type.
	if (!h->space || h->atomics || h->math != CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION) return CUBLAS_STATUS_NOT_SUPPORTED;
	if (compute != (p.z.type == CUDA_R_64F ? CUBLAS_COMPUTE_64F : CUBLAS_COMPUTE_32F)) return CUBLAS_STATUS_NOT_SUPPORTED;
	if (p.m < 1 || p.n < 1 || p.k < 1 || !p.x.fits(p.m, p.k, p.batch) || !p.y.fits(p.k, p.n, p.batch) || !p.z.fits(p.m, p.n, p.batch)) return CUBLAS_STATUS_INVALID_VALUE;
	cuemu_count(0, 1);
	return cuemu_enqueue(h->stream, Product::run, new Product(p), [](void *of) { delete (Product *)of; }) ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

}  // namespace

API cublasStatus_t cublasCreate_v2(cublasHandle_t *h) {
	CALL
	*h = (cublasHandle_t)new Handle;
	cuemu_count(1, 0);
	return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasDestroy_v2(cublasHandle_t h) {
	int r = cuemu_called(__func__);
	delete (Handle *)h;
	cuemu_count(-1, 0);
	return cublasStatus_t(r);
}
API cublasStatus_t cublasSetStream_v2(cublasHandle_t h, cudaStream_t s) {
	CALL
	((Handle *)h)->stream = s;
	((Handle *)h)->space = nullptr;  // as the library does
	return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasSetWorkspace_v2(cublasHandle_t h, void *p, size_t n) {
	CALL
	if (!cuemu_inside((unsigned long long)p, n)) return CUBLAS_STATUS_INVALID_VALUE;
	((Handle *)h)->space = p;
	return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasSetMathMode(cublasHandle_t h, cublasMath_t mode) {
	CALL
	((Handle *)h)->math = mode;
	return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasSetAtomicsMode(cublasHandle_t h, cublasAtomicsMode_t mode) {
	CALL
	((Handle *)h)->atomics = mode == CUBLAS_ATOMICS_ALLOWED;
	return CUBLAS_STATUS_SUCCESS;
}
API cublasStatus_t cublasGemmEx(cublasHandle_t h, cublasOperation_t tx, cublasOperation_t ty, int m, int n, int k, const void *, const void *x, cudaDataType xt, int xl,
		const void *y, cudaDataType yt, int yl, const void *beta, void *z, cudaDataType zt, int zl, cublasComputeType_t compute, cublasGemmAlgo_t) {
	CALL
	return multiply((Handle *)h, {m, n, k, 1, {(char *)x, xt, tx != CUBLAS_OP_N, xl, 0}, {(char *)y, yt, ty != CUBLAS_OP_N, yl, 0}, {(char *)z, zt, false, zl, 0}, number(beta, compute)}, compute);
}
API cublasStatus_t cublasGemmStridedBatchedEx(cublasHandle_t h, cublasOperation_t tx, cublasOperation_t ty, int m, int n, int k, const void *, const void *x, cudaDataType xt, int xl,
		long long xn, const void *y, cudaDataType yt, int yl, long long yn, const void *beta, void *z, cudaDataType zt, int zl, long long zn, int batch, cublasComputeType_t compute, cublasGemmAlgo_t) {
	CALL
	return multiply((Handle *)h, {m, n, k, batch, {(char *)x, xt, tx != CUBLAS_OP_N, xl, xn}, {(char *)y, yt, ty != CUBLAS_OP_N, yl, yn}, {(char *)z, zt, false, zl, zn}, number(beta, compute)}, compute);
}
API const char *cublasGetStatusString(cublasStatus_t s) {
	switch (s) {
	case CUBLAS_STATUS_INVALID_VALUE: return "the function got a value that is not permitted";
	case CUBLAS_STATUS_EXECUTION_FAILED: return "the function failed to launch on the GPU";
	case CUBLAS_STATUS_NOT_SUPPORTED: return "the function is not supported";
	default: return "an error";
	}
}
