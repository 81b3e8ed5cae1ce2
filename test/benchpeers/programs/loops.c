/* Formulas as loops in C, on 4096 rows of 1024 numbers, or, of recurrences, on the sizes that stand before each: what an optimizing compiler makes of
 * them. Elementary functions are polynomials, so that loops
 * over them are vectorized. A sum has 64 parts side by side, for the same reason.
 *
 * Arguments are the name of a loop, for how many seconds it runs, the file that gets its results, and files with its inputs. The results are those of the
 * first run. It prints the nanoseconds of the fastest run. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define ROWS 4096
#define COLUMNS 1024
#define ALL ((long)ROWS * COLUMNS)
#define PARTS 64

#define EACH(i, n) _Pragma("omp simd") for (long i = 0; i < (n); i++)

static inline float power_of_e(float x)
{
	float y = x < -87.3f ? -87.3f : x;
	y = y > 88.3f ? 88.3f : y;
	float n = rintf(y * 1.44269504f);
	float r = fmaf(n, 2.12194440e-4f, fmaf(n, -0.693359375f, y));
	float p = 1.98756915e-4f;
	p = fmaf(p, r, 1.39819995e-3f);
	p = fmaf(p, r, 8.33345191e-3f);
	p = fmaf(p, r, 4.16657959e-2f);
	p = fmaf(p, r, 1.66666655e-1f);
	p = fmaf(p, r, 0.5f);
	p = fmaf(p, r * r, r + 1);
	int bits = ((int)n + 127) << 23;
	float scale;
	memcpy(&scale, &bits, sizeof scale);
	return x < -87.3f ? 0 : x > 88.3f ? INFINITY : p * scale;
}

static inline float sigmoid(float x) { return 1 / (1 + power_of_e(-x)); }

static inline float hyperbolic_tangent(float x)
{
	float a = fabsf(x), s = x * x;
	float p = -5.70498873e-3f;
	p = fmaf(p, s, 2.06390888e-2f);
	p = fmaf(p, s, -5.37397155e-2f);
	p = fmaf(p, s, 1.33314422e-1f);
	p = fmaf(p, s, -3.33332819e-1f);
	float small = fmaf(p * s, x, x), large = copysignf(1 - 2 / (power_of_e(2 * a) + 1), x);
	return a < 0.625f ? small : large;
}

/* The normal distribution function, with an error of at most 1e-7: formula 7.1.26 of Abramowitz and Stegun. */
static inline float phi(float x)
{
	float z = fabsf(x) * 0.70710678f, t = 1 / fmaf(0.3275911f, z, 1);
	float p = 1.061405429f;
	p = fmaf(p, t, -1.453152027f);
	p = fmaf(p, t, 1.421413741f);
	p = fmaf(p, t, -0.284496736f);
	p = fmaf(p, t, 0.254829592f);
	float tail = 0.5f * p * t * power_of_e(-z * z);
	return x > 0 ? 1 - tail : tail;
}

static inline float density(float x) { return power_of_e(-0.5f * x * x) * 0.398942280f; }

static inline float sum(const float *parts)
{
	float half[PARTS / 2];
	EACH(i, PARTS / 2) half[i] = parts[i] + parts[i + PARTS / 2];
	for (int n = PARTS / 4; n > 0; n /= 2)
		for (int i = 0; i < n; i++) half[i] += half[i + n];
	return half[0];
}

static void gelu(const float *restrict x, float *restrict y) { EACH(i, ALL) y[i] = x[i] * phi(x[i]); }

static void gelu_backward(const float *restrict x, const float *restrict g, float *restrict d)
{
	EACH(i, ALL) d[i] = g[i] * (phi(x[i]) + x[i] * density(x[i]));
}

static void sigmoid_forward(const float *restrict x, float *restrict y) { EACH(i, ALL) y[i] = sigmoid(x[i]); }
static void tanh_forward(const float *restrict x, float *restrict y) { EACH(i, ALL) y[i] = hyperbolic_tangent(x[i]); }
static void relu(const float *restrict x, float *restrict y) { EACH(i, ALL) y[i] = x[i] > 0 || x[i] != x[i] ? x[i] : 0; }
static void silu(const float *restrict x, float *restrict y) { EACH(i, ALL) y[i] = x[i] * sigmoid(x[i]); }

static void silu_backward(const float *restrict x, const float *restrict g, float *restrict d)
{
	EACH(i, ALL) {
		float s = sigmoid(x[i]);
		d[i] = g[i] * s * (1 + x[i] * (1 - s));
	}
}

/* The first step, in place. */
static void adam(const float *restrict g, float *restrict w, float *restrict m, float *restrict v)
{
	const float beta1 = 0.9f, beta2 = 0.999f, size = 0.001f / (1 - beta1), bias = 1 - beta2, epsilon = 1e-8f;
	EACH(i, ALL) {
		m[i] = beta1 * m[i] + (1 - beta1) * g[i];
		v[i] = beta2 * v[i] + (1 - beta2) * (g[i] * g[i]);
		w[i] -= size * m[i] / (sqrtf(v[i] / bias) + epsilon);
	}
}

static void layer_norm(const float *restrict x, const float *restrict gamma, const float *restrict beta, float *restrict y)
{
	for (long r = 0; r < ROWS; r++, x += COLUMNS, y += COLUMNS) {
		float parts[PARTS] = {0}, squares[PARTS] = {0};
		for (long c = 0; c < COLUMNS; c += PARTS) EACH(j, PARTS) parts[j] += x[c + j];
		float mean = sum(parts) / COLUMNS;
		for (long c = 0; c < COLUMNS; c += PARTS) EACH(j, PARTS) squares[j] += (x[c + j] - mean) * (x[c + j] - mean);
		float scale = 1 / sqrtf(sum(squares) / COLUMNS + 1e-5f);
		EACH(c, COLUMNS) y[c] = (x[c] - mean) * scale * gamma[c] + beta[c];
	}
}

/* Row r of the gradient of the input of layer_norm. */
static inline void layer_norm_row(const float *restrict x, const float *restrict g, const float *restrict gamma, float mean, float scale, float *restrict d)
{
	float parts[PARTS] = {0}, products[PARTS] = {0};
	for (long c = 0; c < COLUMNS; c += PARTS)
		EACH(j, PARTS) {
			float t = g[c + j] * gamma[c + j];
			parts[j] += t;
			products[j] += t * (x[c + j] - mean);
		}
	float a = scale * scale * sum(products) / COLUMNS, b = sum(parts) / COLUMNS;
	EACH(c, COLUMNS) d[c] = scale * (g[c] * gamma[c] - b - a * (x[c] - mean));
}

/* What row r adds to the gradients of gamma and beta. */
static inline void layer_norm_weights(const float *restrict x, const float *restrict g, float mean, float scale, float *restrict d_gamma, float *restrict d_beta)
{
	EACH(c, COLUMNS) {
		d_gamma[c] += g[c] * (x[c] - mean) * scale;
		d_beta[c] += g[c];
	}
}

static void layer_norm_backward(const float *restrict x, const float *restrict g, const float *restrict gamma, const double *restrict center,
	const double *restrict scale, float *restrict d, float *restrict d_gamma, float *restrict d_beta)
{
	memset(d_gamma, 0, COLUMNS * sizeof *d_gamma);
	memset(d_beta, 0, COLUMNS * sizeof *d_beta);
	for (long r = 0; r < ROWS; r++) layer_norm_row(x + r * COLUMNS, g + r * COLUMNS, gamma, center[r], scale[r], d + r * COLUMNS);
	for (long r = 0; r < ROWS; r++) layer_norm_weights(x + r * COLUMNS, g + r * COLUMNS, center[r], scale[r], d_gamma, d_beta);
}

/* The same in one way through memory, which takes a proof that the two do not depend on each other. */
static void layer_norm_backward_joined(const float *restrict x, const float *restrict g, const float *restrict gamma, const double *restrict center,
	const double *restrict scale, float *restrict d, float *restrict d_gamma, float *restrict d_beta)
{
	memset(d_gamma, 0, COLUMNS * sizeof *d_gamma);
	memset(d_beta, 0, COLUMNS * sizeof *d_beta);
	for (long r = 0; r < ROWS; r++) {
		layer_norm_row(x + r * COLUMNS, g + r * COLUMNS, gamma, center[r], scale[r], d + r * COLUMNS);
		layer_norm_weights(x + r * COLUMNS, g + r * COLUMNS, center[r], scale[r], d_gamma, d_beta);
	}
}

static void rms_norm(const float *restrict x, const float *restrict gamma, float *restrict y)
{
	for (long r = 0; r < ROWS; r++, x += COLUMNS, y += COLUMNS) {
		float squares[PARTS] = {0};
		for (long c = 0; c < COLUMNS; c += PARTS) EACH(j, PARTS) squares[j] += x[c + j] * x[c + j];
		float scale = 1 / sqrtf(sum(squares) / COLUMNS + 1e-6f);
		EACH(c, COLUMNS) y[c] = x[c] * scale * gamma[c];
	}
}

static inline void rms_norm_row(const float *restrict x, const float *restrict g, const float *restrict gamma, float scale, float *restrict d)
{
	float products[PARTS] = {0};
	for (long c = 0; c < COLUMNS; c += PARTS) EACH(j, PARTS) products[j] += g[c + j] * gamma[c + j] * x[c + j];
	float a = scale * scale * sum(products) / COLUMNS;
	EACH(c, COLUMNS) d[c] = scale * (g[c] * gamma[c] - a * x[c]);
}

static inline void rms_norm_weights(const float *restrict x, const float *restrict g, float scale, float *restrict d_gamma)
{
	EACH(c, COLUMNS) d_gamma[c] += g[c] * x[c] * scale;
}

static void rms_norm_backward(const float *restrict x, const float *restrict g, const float *restrict gamma, const double *restrict scale,
	float *restrict d, float *restrict d_gamma)
{
	memset(d_gamma, 0, COLUMNS * sizeof *d_gamma);
	for (long r = 0; r < ROWS; r++) rms_norm_row(x + r * COLUMNS, g + r * COLUMNS, gamma, scale[r], d + r * COLUMNS);
	for (long r = 0; r < ROWS; r++) rms_norm_weights(x + r * COLUMNS, g + r * COLUMNS, scale[r], d_gamma);
}

static void rms_norm_backward_joined(const float *restrict x, const float *restrict g, const float *restrict gamma, const double *restrict scale,
	float *restrict d, float *restrict d_gamma)
{
	memset(d_gamma, 0, COLUMNS * sizeof *d_gamma);
	for (long r = 0; r < ROWS; r++) {
		rms_norm_row(x + r * COLUMNS, g + r * COLUMNS, gamma, scale[r], d + r * COLUMNS);
		rms_norm_weights(x + r * COLUMNS, g + r * COLUMNS, scale[r], d_gamma);
	}
}

static void softmax(const float *restrict x, float *restrict y)
{
	for (long r = 0; r < ROWS; r++, x += COLUMNS, y += COLUMNS) {
		float most[PARTS], parts[PARTS] = {0};
		EACH(j, PARTS) most[j] = x[j];
		for (long c = PARTS; c < COLUMNS; c += PARTS) EACH(j, PARTS) most[j] = most[j] > x[c + j] || most[j] != most[j] ? most[j] : x[c + j];
		float top = most[0];
		for (int j = 1; j < PARTS; j++) top = top > most[j] || top != top ? top : most[j];
		for (long c = 0; c < COLUMNS; c += PARTS) EACH(j, PARTS) parts[j] += power_of_e(x[c + j] - top);
		float all = top + logf(sum(parts));
		EACH(c, COLUMNS) y[c] = power_of_e(x[c] - all);
	}
}

static void softmax_backward(const float *restrict y, const float *restrict g, float *restrict d)
{
	for (long r = 0; r < ROWS; r++, y += COLUMNS, g += COLUMNS, d += COLUMNS) {
		float parts[PARTS] = {0};
		for (long c = 0; c < COLUMNS; c += PARTS) EACH(j, PARTS) parts[j] += g[c + j] * y[c + j];
		float s = sum(parts);
		EACH(c, COLUMNS) d[c] = y[c] * (g[c] - s);
	}
}

/* Recurrences go over all values of their index, and keep what they give for a gradient, as formulas do. */

static void exponential_average(const float *restrict x, float *restrict y)
{
	const float kept = 0.9f, rest = (float)(1 - 0.9);
	memcpy(y, x, COLUMNS * sizeof *y);
	for (long s = 1; s < ROWS; s++) {
		const float *before = y + (s - 1) * COLUMNS, *now = x + s * COLUMNS;
		float *to = y + s * COLUMNS;
		EACH(c, COLUMNS) to[c] = kept * before[c] + rest * now[c];
	}
}

/* Steps, sequences and channels. */
#define WKV_S 256L
#define WKV_N 8L
#define WKV_C 256L
#define WKV (WKV_S * WKV_N * WKV_C)

static void wkv_step(const float *restrict top, const float *restrict sums, const float *restrict shares, const float *restrict k, const float *restrict v,
	const float *restrict decay, const float *restrict bonus, float *restrict y, float *restrict to_top, float *restrict to_sums, float *restrict to_shares)
{
	EACH(c, WKV_C) {
		float before = top[c] - decay[c], most = before > k[c] ? before : k[c], now = bonus[c] + k[c], all = top[c] > now ? top[c] : now;
		float faded = power_of_e(before - most), fresh = power_of_e(k[c] - most), past = power_of_e(top[c] - all), present = power_of_e(now - all);
		to_top[c] = most;
		to_sums[c] = faded * sums[c] + fresh * v[c];
		to_shares[c] = faded * shares[c] + fresh;
		y[c] = (past * sums[c] + present * v[c]) / (past * shares[c] + present);
	}
}

static void wkv(const float *restrict key, const float *restrict value, const float *restrict decay, const float *restrict bonus, float *restrict y,
	float *restrict sums, float *restrict shares)
{
	static float top[WKV], none[WKV_C];
	for (long s = 0; s < WKV_S; s++)
		for (long n = 0; n < WKV_N; n++) {
			long at = (s * WKV_N + n) * WKV_C, before = at - WKV_N * WKV_C;
			wkv_step(s ? top + before : key + at, s ? sums + before : none, s ? shares + before : none, key + at, value + at, decay, bonus, y + at, top + at,
				sums + at, shares + at);
		}
}

/* Sequences, steps, channels and states of each. */
#define SCAN_N 4L
#define SCAN_S 256L
#define SCAN_D 128L
#define SCAN_K 16L

static void selective_scan(const float *restrict x, const float *restrict delta, const float *restrict rate, const float *restrict enter,
	const float *restrict leave, const float *restrict skip, float *restrict y, float *restrict states)
{
	static float none[SCAN_K];
	for (long n = 0; n < SCAN_N; n++)
		for (long s = 0; s < SCAN_S; s++) {
			long row = n * SCAN_S + s;
			const float *in = enter + row * SCAN_K, *out = leave + row * SCAN_K;
			for (long d = 0; d < SCAN_D; d++) {
				long at = row * SCAN_D + d;
				float *restrict to = states + at * SCAN_K, size = delta[at], given = delta[at] * x[at], total = 0;
				const float *before = s ? to - SCAN_D * SCAN_K : none;
				_Pragma("omp simd reduction(+ : total)") for (long k = 0; k < SCAN_K; k++) {
					to[k] = power_of_e(size * rate[d * SCAN_K + k]) * before[k] + given * in[k];
					total += to[k] * out[k];
				}
				y[at] = total + skip[d] * x[at];
			}
		}
}

/* Steps, sequences and states. */
#define PATH_S 256L
#define PATH_N 32L
#define PATH_K 32L

static void viterbi(const float *restrict x, const float *restrict transition, float *restrict score, float *restrict best)
{
	static int from[PATH_S * PATH_N * PATH_K];
	static long path[PATH_S * PATH_N];
	for (long n = 0; n < PATH_N; n++) {
		memcpy(best + n * PATH_K, x + n * PATH_K, PATH_K * sizeof *best);
		for (long s = 1; s < PATH_S; s++) {
			long at = (s * PATH_N + n) * PATH_K;
			const float *before = best + at - PATH_N * PATH_K;
			float most[PATH_K];
			int places[PATH_K];
			EACH(k, PATH_K) most[k] = before[0] + transition[k], places[k] = 0;
			for (int j = 1; j < PATH_K; j++)
				EACH(k, PATH_K) {
					float other = before[j] + transition[j * PATH_K + k];
					places[k] = other > most[k] ? j : places[k];
					most[k] = other > most[k] ? other : most[k];
				}
			EACH(k, PATH_K) best[at + k] = x[at + k] + most[k], from[at + k] = places[k];
		}
		const float *last = best + ((PATH_S - 1) * PATH_N + n) * PATH_K;
		long end = 0;
		for (long k = 1; k < PATH_K; k++) end = last[k] > last[end] ? k : end;
		score[n] = last[end];
		for (long s = PATH_S - 1; s >= 0; s--) {
			path[s * PATH_N + n] = end;
			end = from[(s * PATH_N + n) * PATH_K + end];
		}
	}
	__asm__ volatile("" : : "r"(path) : "memory"); /* the path counts, though it is no result of numbers */
}

/* Steps, sequences, and features of input and of state. */
#define CELL_S 64L
#define CELL_N 32L
#define CELL_K 128L

static inline float product(const float *restrict a, const float *restrict b)
{
	float total = 0;
	_Pragma("omp simd reduction(+ : total)") for (long k = 0; k < CELL_K; k++) total += a[k] * b[k];
	return total;
}

static void lstm(const float *restrict x, const float *restrict hidden, const float *restrict cell, const float *restrict of_input,
	const float *restrict of_hidden, float *restrict y, float *restrict states)
{
	for (long s = 0; s < CELL_S; s++)
		for (long n = 0; n < CELL_N; n++) {
			long at = (s * CELL_N + n) * CELL_K, before = at - CELL_N * CELL_K;
			const float *from = s ? y + before : hidden + n * CELL_K, *kept = s ? states + before : cell + n * CELL_K;
			float gates[4 * CELL_K];
			for (long g = 0; g < 4 * CELL_K; g++) gates[g] = product(x + at, of_input + g * CELL_K) + product(from, of_hidden + g * CELL_K);
			EACH(h, CELL_K) {
				float c = sigmoid(gates[CELL_K + h]) * kept[h] + sigmoid(gates[h]) * hyperbolic_tangent(gates[2 * CELL_K + h]);
				states[at + h] = c;
				y[at + h] = sigmoid(gates[3 * CELL_K + h]) * hyperbolic_tangent(c);
			}
		}
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void *memory(size_t bytes)
{
	void *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
	if (!p) {
		perror("aligned_alloc");
		exit(1);
	}
	memset(p, 0, bytes);
	return p;
}

/* read_file returns the content of a file. */
static void *read_file(const char *name, size_t *bytes)
{
	FILE *f = fopen(name, "rb");
	if (!f || fseek(f, 0, SEEK_END) || (*bytes = (size_t)ftell(f)) == 0) {
		perror(name);
		exit(1);
	}
	rewind(f);
	void *p = memory(*bytes);
	if (fread(p, 1, *bytes, f) != *bytes) {
		perror(name);
		exit(1);
	}
	fclose(f);
	return p;
}

/* The inputs and the results of a loop. */
static void *in[6], *out[3];
static size_t in_bytes[6], out_bytes[3];

#define LOOP(name, inputs, first, second, third, call) \
	if (!strcmp(loop, #name)) { \
		if (!run) { \
			out_bytes[0] = first; \
			out_bytes[1] = second; \
			out_bytes[2] = third; \
			return inputs; \
		} \
		call; \
		return inputs; \
	}

/* go runs a loop, or says only how many inputs it has and how large its results are. Results of 0 bytes are not there. */
static int go(const char *loop, int run)
{
	const size_t all = ALL * sizeof(float), columns = COLUMNS * sizeof(float);
	LOOP(gelu, 1, all, 0, 0, gelu(in[0], out[0]))
	LOOP(gelu_backward, 2, all, 0, 0, gelu_backward(in[0], in[1], out[0]))
	LOOP(sigmoid, 1, all, 0, 0, sigmoid_forward(in[0], out[0]))
	LOOP(tanh, 1, all, 0, 0, tanh_forward(in[0], out[0]))
	LOOP(relu, 1, all, 0, 0, relu(in[0], out[0]))
	LOOP(silu, 1, all, 0, 0, silu(in[0], out[0]))
	LOOP(silu_backward, 2, all, 0, 0, silu_backward(in[0], in[1], out[0]))
	LOOP(adam, 4, 0, 0, 0, adam(in[0], in[1], in[2], in[3]))
	LOOP(layer_norm, 3, all, 0, 0, layer_norm(in[0], in[1], in[2], out[0]))
	LOOP(layer_norm_backward, 5, all, columns, columns, layer_norm_backward(in[0], in[1], in[2], in[3], in[4], out[0], out[1], out[2]))
	LOOP(layer_norm_backward_joined, 5, all, columns, columns,
		layer_norm_backward_joined(in[0], in[1], in[2], in[3], in[4], out[0], out[1], out[2]))
	LOOP(rms_norm, 2, all, 0, 0, rms_norm(in[0], in[1], out[0]))
	LOOP(rms_norm_backward, 4, all, columns, 0, rms_norm_backward(in[0], in[1], in[2], in[3], out[0], out[1]))
	LOOP(rms_norm_backward_joined, 4, all, columns, 0, rms_norm_backward_joined(in[0], in[1], in[2], in[3], out[0], out[1]))
	LOOP(softmax, 1, all, 0, 0, softmax(in[0], out[0]))
	LOOP(softmax_backward, 2, all, 0, 0, softmax_backward(in[0], in[1], out[0]))
	const size_t averages = WKV * sizeof(float), scanned = SCAN_N * SCAN_S * SCAN_D * sizeof(float), cells = CELL_S * CELL_N * CELL_K * sizeof(float);
	LOOP(exponential_average, 1, all, 0, 0, exponential_average(in[0], out[0]))
	LOOP(wkv, 4, averages, averages, averages, wkv(in[0], in[1], in[2], in[3], out[0], out[1], out[2]))
	LOOP(selective_scan, 6, scanned, scanned * SCAN_K, 0, selective_scan(in[0], in[1], in[2], in[3], in[4], in[5], out[0], out[1]))
	LOOP(viterbi, 2, PATH_N * sizeof(float), PATH_S * PATH_N * PATH_K * sizeof(float), 0, viterbi(in[0], in[1], out[0], out[1]))
	LOOP(lstm, 5, cells, cells, 0, lstm(in[0], in[1], in[2], in[3], in[4], out[0], out[1]))
	fprintf(stderr, "there is no loop %s\n", loop);
	exit(2);
}

int main(int n, char **arguments)
{
	if (n < 4 || go(arguments[1], 0) != n - 4) {
		fprintf(stderr, "usage: loops NAME SECONDS RESULTS INPUT...\n");
		return 2;
	}
	for (int i = 4; i < n; i++) in[i - 4] = read_file(arguments[i], &in_bytes[i - 4]);
	for (int i = 0; i < 3; i++)
		if (out_bytes[i]) out[i] = memory(out_bytes[i]);
	go(arguments[1], 1);
	FILE *f = fopen(arguments[3], "wb");
	size_t written = 0, want = 0;
	for (int i = 0; f && i < 6; i++) /* a loop without results of its own changes its inputs */
		if (!out_bytes[0]) want += in_bytes[i], written += fwrite(in[i], 1, in_bytes[i], f);
	for (int i = 0; f && i < 3; i++) want += out_bytes[i], written += fwrite(out[i], 1, out_bytes[i], f);
	if (!f || written != want || fclose(f)) {
		perror(arguments[3]);
		return 1;
	}
	double best = INFINITY, end = now() + 1e9 * atof(arguments[2]);
	do {
		double before = now();
		go(arguments[1], 1);
		double ns = now() - before;
		if (ns < best) best = ns;
	} while (now() < end);
	printf("%.0f\n", best);
	return 0;
}
