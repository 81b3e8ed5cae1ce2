// Blocks of threads: how the emulator runs a kernel.
#pragma once
#include <string>
#include <vector>

#include "cuemu.h"
#undef __noinline__ // which headers of the library use
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim
#undef warpSize

namespace cuemu {

// Launch is a kernel with its parameters.
struct Launch {
	const cuemu_kernel *kernel;
	const cuemu_thread **(*self)();
	void *tls_handle;   // of the module, whose shared variables are thread-local
	size_t tls_bytes;
	dim3 blocks, threads;
	unsigned dynamic;                       // bytes of shared memory
	std::vector<std::vector<char>> values;  // of the parameters
	std::vector<void *> parameters;
	long order;  // of threads: 0 forward, 1 backward, others a seed
	bool together = false;  // whether all blocks are resident at the same time
};

// run runs all blocks of a launch. It returns 0, or the code of an error, and describes the error.
int run(const Launch &launch, std::string *report);

extern const cuemu_services services;

// describe says where an address lies among allocations. The module of the driver has it.
std::string describe(const void *address);

}  // namespace cuemu
