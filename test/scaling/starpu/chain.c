// The chain of chain.go with StarPU and its MPI: tasks go from rank to rank, and each adds 1 to the elements of the
// one before. Usage: mpiexec -n RANKS ./starpu ELEMENTS TASKS RUNS. It prints the median time of a task.
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#include <starpu.h>
#include <starpu_mpi.h>

static void add(void *buffers[], void *unused) {
	(void)unused;
	const float *x = (const float *)STARPU_VECTOR_GET_PTR(buffers[0]);
	float *y = (float *)STARPU_VECTOR_GET_PTR(buffers[1]);
	for (unsigned i = 0, n = STARPU_VECTOR_GET_NX(buffers[0]); i < n; i++)
		y[i] = x[i] + 1;
}

static void clear(void *buffers[], void *unused) {
	(void)unused;
	float *x = (float *)STARPU_VECTOR_GET_PTR(buffers[0]);
	for (unsigned i = 0, n = STARPU_VECTOR_GET_NX(buffers[0]); i < n; i++)
		x[i] = 0;
}

static struct starpu_codelet first = {.cpu_funcs = {clear}, .nbuffers = 1, .modes = {STARPU_W}};
static struct starpu_codelet codelet = {.cpu_funcs = {add}, .nbuffers = 2, .modes = {STARPU_R, STARPU_W}};

static int compare(const void *x, const void *y) {
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
}

int main(int argc, char **argv) {
	struct starpu_conf conf;
	starpu_conf_init(&conf);
	conf.ncpus = 1;
	if (argc != 4 || starpu_init(&conf) || starpu_mpi_init(&argc, &argv, 1))
		return 1;
	int rank, ranks;
	starpu_mpi_comm_rank(MPI_COMM_WORLD, &rank);
	starpu_mpi_comm_size(MPI_COMM_WORLD, &ranks);
	unsigned n = (unsigned)atoi(argv[1]);
	int hops = atoi(argv[2]), runs = atoi(argv[3]);
	// As in chain.go, each task has memory of its own, but for that of the task so many before it.
	enum { MEMORY = 16 };
	float *data[MEMORY];
	starpu_data_handle_t handle[MEMORY];
	for (int i = 0; i < MEMORY; i++) {
		int owner = i % ranks;
		data[i] = calloc(n, sizeof(float));
		starpu_vector_data_register(&handle[i], owner == rank ? STARPU_MAIN_RAM : -1, owner == rank ? (uintptr_t)data[i] : 0, n, sizeof(float));
		starpu_mpi_data_register(handle[i], i, owner);
	}
	double *took = malloc(sizeof(double) * (size_t)runs);
	for (int run = -5; run < runs; run++) {
		starpu_mpi_task_insert(MPI_COMM_WORLD, &first, STARPU_W, handle[0], 0);
		starpu_task_wait_for_all();
		MPI_Barrier(MPI_COMM_WORLD);
		double start = MPI_Wtime();
		for (int k = 0; k < hops; k++)
			starpu_mpi_task_insert(MPI_COMM_WORLD, &codelet, STARPU_R, handle[k % MEMORY], STARPU_W, handle[(k + 1) % MEMORY], 0);
		starpu_task_wait_for_all();
		starpu_mpi_wait_for_all(MPI_COMM_WORLD);
		if (run >= 0)
			took[run] = 1e6 * (MPI_Wtime() - start) / hops;
		int last = hops % MEMORY;
		if (last % ranks == rank) {
			starpu_data_acquire(handle[last], STARPU_R);
			const float *y = (const float *)starpu_data_get_local_ptr(handle[last]);
			if (y[0] != (float)hops || y[n - 1] != (float)hops) {
				fprintf(stderr, "want %d at the end of the chain, got %g to %g\n", hops, y[0], y[n - 1]);
				MPI_Abort(MPI_COMM_WORLD, 1);
			}
			starpu_data_release(handle[last]);
		}
	}
	qsort(took, (size_t)runs, sizeof(double), compare);
	if (rank == 0)
		printf("StarPU: %d ranks, %u elements: %.1f us a task\n", ranks, n, took[runs / 2]);
	for (int i = 0; i < MEMORY; i++) {
		starpu_data_unregister(handle[i]);
		free(data[i]);
	}
	free(took);
	starpu_mpi_shutdown();
	starpu_shutdown();
	return 0;
}
