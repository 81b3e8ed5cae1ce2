//go:build cuda

// The driver's library is opened when the process starts, so that the program also starts where there is none. Package cu ends the
// process if cuInit fails, so cuInit succeeds here in any case, and the number of devices is 0 after a failure.

#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define X(s) extern void *opgen_slot_##s __attribute__((visibility("hidden")));
#include "symbols.h"
#undef X

enum { stub_library = 34 }; // CUDA_ERROR_STUB_LIBRARY

static char reason[512] = "the driver was not opened";
static int (*driver_init)(unsigned), (*driver_count)(int *);
static int ready;

// opgen_missing takes the place of a function that the driver does not have.
__attribute__((visibility("hidden"))) int opgen_missing(void) { return stub_library; }

static int init(unsigned flags) {
	int (*name)(int, const char **) = (int (*)(int, const char **))opgen_slot_cuGetErrorName;
	const char *text = NULL;
	if (ready || !driver_init) return 0;
	int code = driver_init(flags);
	if (code == 0) {
		ready = 1;
		reason[0] = 0;
	} else if (name(code, &text) == 0 && text) {
		snprintf(reason, sizeof reason, "cuInit failed: %s (%d)", text, code);
	} else {
		snprintf(reason, sizeof reason, "cuInit failed: error %d", code);
	}
	return 0;
}

static int count(int *n) {
	*n = 0;
	return ready && driver_count ? driver_count(n) : 0;
}

__attribute__((constructor)) static void open_driver(void) {
	const char *path = getenv("OPGEN_LIBCUDA");
	void *library = dlopen(path && *path ? path : "libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	void *p;
	if (!library) {
		snprintf(reason, sizeof reason, "%s", dlerror());
	} else {
#define X(s) if ((p = dlsym(library, #s))) opgen_slot_##s = p;
#include "symbols.h"
#undef X
		driver_init = (int (*)(unsigned))dlsym(library, "cuInit");
		driver_count = (int (*)(int *))dlsym(library, "cuDeviceGetCount");
		if (!driver_init) snprintf(reason, sizeof reason, "%s has no cuInit", path ? path : "libcuda.so.1");
	}
	opgen_slot_cuInit = (void *)init;
	opgen_slot_cuDeviceGetCount = (void *)count;
}

const char *opgen_driver_reason(void) { return reason; }
