// The kernel of a whole plan: see package onekernel. The table is not changed while it runs.

// opgen_item is a launch.
struct opgen_item {
	u64 body, args; // the number of the function, and of the first argument
	i64 need;       // all items up to this one must be over; -1 for none
	u32 blocks[4];  // of the grid, along x, y and z, and how many these are
};

// opgen_halted is what the first worker leaves that has waited for too long. It lies in memory of the host.
struct opgen_halted {
	i64 code, worker, item, other, other_at;
};

// How far a worker is lies in a word that it alone writes. Who reads a count with acquire sees what was written before the count was
// stored with release.
#ifdef OPGEN_EMULATOR
OPGEN_DEVICE u64 opgen_acquire(const u64 *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
OPGEN_DEVICE void opgen_release(u64 *p, u64 v) { __atomic_store_n(p, v, __ATOMIC_RELEASE); }
OPGEN_DEVICE u64 opgen_now() { return cuemu_now(); }
#else
OPGEN_DEVICE u64 opgen_acquire(const u64 *p) {
	u64 v;
	asm volatile("ld.acquire.gpu.global.u64 %0, [%1];" : "=l"(v) : "l"(p) : "memory");
	return v;
}
OPGEN_DEVICE void opgen_release(u64 *p, u64 v) { asm volatile("st.release.gpu.global.u64 [%0], %1;" ::"l"(p), "l"(v) : "memory"); }
OPGEN_DEVICE u64 opgen_now() { // nanoseconds
	u64 t;
	asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
	return t;
}
#endif

// opgen_await waits until all workers have counted up to a number. It returns false, to all threads of the block, once a worker has waited
// for a worker for longer than patience, in nanoseconds, while that one counted nothing.
OPGEN_DEVICE bool opgen_await(const u64 *progress, u64 want, u64 begin, i64 item, u64 *halt, opgen_halted *halted, u64 patience) {
	bool going = true;
	for (u32 other = threadIdx.x; going && other < gridDim.x; other += blockDim.x) {
		u64 last = 0, since = 0;
		for (u32 polls = 0;; polls++) {
			const u64 at = opgen_acquire(&progress[other]);
			if (at >= want) break;
			if (polls % 64 != 63) {
				__nanosleep(20);
				continue;
			}
			if (opgen_acquire(halt) != 0) {
				going = false;
				break;
			}
			const u64 now = opgen_now();
			if (since == 0 || at != last) {
				last = at;
				since = now;
			} else if (now - since > patience) {
				if (atomicCAS(halt, (u64)0, (u64)1) == 0) {
					halted->worker = blockIdx.x;
					halted->item = item;
					halted->other = other;
					halted->other_at = (i64)(at - begin);
					__threadfence_system();
					*(volatile i64 *)&halted->code = 1;
				}
				going = false;
				break;
			}
		}
	}
	return __syncthreads_and(going);
}

// What bodies have in shared memory: one at a time.
union opgen_memory {
	char none;
	@memories@
};

OPGEN_DEVICE void opgen_block_of(u64 body, const opgen_grid &grid, const u64 *args) {
	switch (body) {
	@bodies@
	}
}

// The workers are the blocks of the grid. Counts of this run begin behind begin.
extern "C" __global__ void __launch_bounds__(256) opgen_one_kernel(const opgen_item *items, i64 count, const u64 *args, u64 *progress, u64 begin, u64 *halt, opgen_halted *halted, u64 patience) {
	__shared__ opgen_memory memory;
	i64 over = -1; // all items up to this one are
	for (i64 k = 0; k < count; k++) {
		const opgen_item &item = items[k];
		if (item.need > over) {
			if (!opgen_await(progress, begin + item.need + 1, begin, k, halt, halted, patience)) return;
			over = item.need;
		}
		const u32 x = item.blocks[0], y = item.blocks[1];
		for (u64 b = blockIdx.x; b < item.blocks[3]; b += gridDim.x) {
			const opgen_grid grid = {{(u32)b % x, (u32)b / x % y, (u32)b / x / y}, {x, y, item.blocks[2]}, &memory};
			opgen_block_of(item.body, grid, args + item.args);
			__syncthreads(); // the next block has the same shared memory
		}
		__syncthreads();
		if (threadIdx.x == 0) {
			__threadfence();
			opgen_release(&progress[blockIdx.x], begin + k + 1);
		}
	}
}
