/* The training step of the MLP of this benchmark, written for its sizes: what the step takes without a runtime. It runs for as many seconds
 * as the argument says, and prints the nanoseconds of the fastest step and the losses that steps 1 and 2 compute. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define LAYERS 50
#define WIDTH 32
#define BATCH 8

typedef float matrix[WIDTH][WIDTH];
typedef float rows[BATCH][WIDTH];

static matrix weight[LAYERS]; /* by input, then by output */
static float bias[LAYERS][WIDTH];
static rows value[LAYERS + 1], target, grad, before;

static void draw(uint64_t k, float *to, int n, double a) {
	for (int i = 0; i < n; i++) {
		k += 0x9e3779b97f4a7c15u;
		uint64_t z = k;
		z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
		z = (z ^ z >> 27) * 0x94d049bb133111ebu;
		z ^= z >> 31;
		to[i] = ((float)(z >> 40) * 0x1p-23f - 1) * (float)a;
	}
}

static double step(void) {
	for (int l = 0; l < LAYERS; l++)
		for (int b = 0; b < BATCH; b++) {
			float *out = value[l + 1][b];
			for (int o = 0; o < WIDTH; o++) out[o] = bias[l][o];
			for (int i = 0; i < WIDTH; i++)
				for (int o = 0; o < WIDTH; o++) out[o] += value[l][b][i] * weight[l][i][o];
			if (l < LAYERS - 1)
				for (int o = 0; o < WIDTH; o++) out[o] = out[o] > 0 ? out[o] : 0;
		}
	double loss = 0;
	for (int b = 0; b < BATCH; b++)
		for (int o = 0; o < WIDTH; o++) {
			float d = value[LAYERS][b][o] - target[b][o];
			loss += d * d;
			grad[b][o] = d * 2 / (BATCH * WIDTH);
		}
	for (int l = LAYERS - 1; l >= 0; l--) {
		if (l < LAYERS - 1)
			for (int b = 0; b < BATCH; b++)
				for (int o = 0; o < WIDTH; o++) grad[b][o] = value[l + 1][b][o] > 0 ? grad[b][o] : 0;
		for (int b = 0; b < BATCH; b++)
			for (int i = 0; i < WIDTH; i++) {
				float sum = 0;
				for (int o = 0; o < WIDTH; o++) sum += grad[b][o] * weight[l][i][o];
				before[b][i] = sum;
			}
		for (int i = 0; i < WIDTH; i++)
			for (int o = 0; o < WIDTH; o++) {
				float sum = 0;
				for (int b = 0; b < BATCH; b++) sum += value[l][b][i] * grad[b][o];
				weight[l][i][o] -= 0.001f * sum;
			}
		for (int o = 0; o < WIDTH; o++) {
			float sum = 0;
			for (int b = 0; b < BATCH; b++) sum += grad[b][o];
			bias[l][o] -= 0.001f * sum;
		}
		for (int b = 0; b < BATCH; b++)
			for (int i = 0; i < WIDTH; i++) grad[b][i] = before[b][i];
	}
	return loss / (BATCH * WIDTH);
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv) {
	double budget = argc > 1 ? atof(argv[1]) * 1e9 : 0, best = INFINITY, losses[2] = {0, 0};
	for (int l = 0; l < LAYERS; l++) {
		matrix w;
		draw((uint64_t)l + 1, &w[0][0], WIDTH * WIDTH, sqrt(6.0 / 32));
		for (int o = 0; o < WIDTH; o++)
			for (int i = 0; i < WIDTH; i++) weight[l][i][o] = w[o][i];
	}
	draw(100, &value[0][0][0], BATCH * WIDTH, 1);
	draw(200, &target[0][0], BATCH * WIDTH, 1);
	double begin = now();
	for (int k = 0; k < 10 || now() - begin < budget; k++) {
		double start = now(), loss = step(), took = now() - start;
		if (k < 2) losses[k] = loss;
		if (took < best) best = took;
	}
	printf("%.0f %.6f %.6f\n", best, losses[0], losses[1]);
	return 0;
}
