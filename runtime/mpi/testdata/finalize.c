// Ranks send each other words without waiting for them, wait until all are over, and end MPI one after the
// other. It shows whether an implementation of MPI ends: .ci/mpi hosts runs it.
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { words = 20, most = 8, bytes = 1024 };

int main(void) {
	int level, rank, size;
	MPI_Init_thread(0, 0, MPI_THREAD_FUNNELED, &level);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	if (size > most) {
		fprintf(stderr, "want at most %d ranks, got %d\n", most, size);
		MPI_Abort(MPI_COMM_WORLD, 2);
	}
	static char in[most][bytes], out[most][bytes];
	for (int k = 0; k < words; k++) {
		MPI_Request q[2 * most];
		MPI_Status s[2 * most];
		int n = 0;
		for (int peer = 0; peer < size; peer++)
			if (peer != rank) {
				MPI_Irecv(in[peer], bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &q[n++]);
				MPI_Isend(out[peer], bytes, MPI_BYTE, peer, 1, MPI_COMM_WORLD, &q[n++]);
			}
		for (int done = 0; !done;) {
			MPI_Testall(n, q, &done, s);
			if (!done) nanosleep(&(struct timespec){0, 1000000}, 0);
		}
	}
	nanosleep(&(struct timespec){0, 50000000 * rank}, 0);
	return MPI_Finalize();
}
