// The driver API of CUDA on threads of this machine. A stream is a thread, so what is asynchronous on a GPU is so here.
#include <cuda.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "block.h"

#define API extern "C" __attribute__((visibility("default"))) CUresult

namespace {

long number(const char *variable, long otherwise) {
	const char *s = getenv(variable);
	return s && *s ? strtol(s, nullptr, 10) : otherwise;
}

// Control is memory that a test shares with the emulator: what it counts, and what it is told. Control of package cudaemu has its
// layout in Go.
struct Control {
	std::atomic<int64_t> calls;      // of the driver, so far
	std::atomic<int64_t> fail_at;    // number of the call that fails; 0: none
	std::atomic<int64_t> fail_code;  // of that call
	std::atomic<int64_t> order;      // of the threads of a block, plus 1; 0: as OPGEN_CUDA_ORDER says
	std::atomic<int64_t> memory, pinned, streams, events, modules, contexts;  // that are alive
	std::atomic<int64_t> launches;
	std::atomic<int64_t> busy, most_busy;  // streams that run something
	std::atomic<int64_t> fail_name;        // what fail_at says counts only calls of this hash; 0: all
	std::atomic<int64_t> handles, products;  // of cuBLAS: that are alive, and multiplications so far
	std::atomic<int64_t> graphs, replays;    // that are alive, and launches of them
	std::atomic<int64_t> together;           // launches whose blocks wait for each other
};

Control *control = [] {
	const char *path = getenv("OPGEN_EMULATOR_CONTROL");
	int fd = path ? open(path, O_RDWR) : -1;
	void *m = mmap(nullptr, sizeof(Control), PROT_READ | PROT_WRITE, fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS : MAP_SHARED, fd, 0);
	if (fd >= 0) close(fd);
	return (Control *)m;
}();

long order() {
	if (long o = control->order) return o - 1;
	static const long env = [] {
		const char *s = getenv("OPGEN_CUDA_ORDER");
		if (!s || !*s || !strcmp(s, "forward")) return 0L;
		return !strcmp(s, "backward") ? 1L : std::max(strtol(s, nullptr, 10), 2L);
	}();
	return env;
}

// Latch is a point of a stream that others wait for.
struct Latch {
	std::mutex m;
	std::condition_variable c;
	bool reached = false;
	double at = 0;  // milliseconds
	void reach() {
		std::lock_guard<std::mutex> l(m);
		timespec t;
		clock_gettime(CLOCK_MONOTONIC, &t);
		at = double(t.tv_sec) * 1e3 + double(t.tv_nsec) * 1e-6;
		reached = true;
		c.notify_all();
	}
	void await() {
		std::unique_lock<std::mutex> l(m);
		while (!reached) c.wait(l);
	}
	bool is() {
		std::lock_guard<std::mutex> l(m);
		return reached;
	}
};

struct Context;

// Node is what a stream was given while it was captured. It runs after the nodes of some numbers.
struct Node {
	std::function<void()> job;
	std::shared_ptr<cuemu::Launch> launch;  // of a kernel; otherwise null
	std::vector<int> after;
};

// Graph is the nodes of a capture. Handles of nodes are their numbers, plus 1.
struct Graph {
	std::vector<Node> nodes;
	Graph() { control->graphs++; }
	Graph(const Graph &g) : nodes(g.nodes) { control->graphs++; }
	~Graph() { control->graphs--; }
};

// Capture is a capture that goes on.
struct Capture {
	std::unique_ptr<Graph> graph{new Graph};
	class Stream *origin;
	std::set<class Stream *> streams;
	bool broken = false;
	int add(Node n) {
		graph->nodes.push_back(std::move(n));
		return int(graph->nodes.size()) - 1;
	}
};

// Stream runs functions in their order, on a thread that begins with the first.
class Stream {
	std::mutex m;
	std::condition_variable c;
	std::deque<std::function<void()>> jobs;
	bool quit = false, running = false;
	std::thread thread;

	void loop() {
		std::unique_lock<std::mutex> l(m);
		for (;;) {
			while (jobs.empty() && !quit) c.wait(l);
			if (jobs.empty()) return;
			auto job = std::move(jobs.front());
			jobs.pop_front();
			running = true;
			l.unlock();
			job();
			job = nullptr;
			l.lock();
			running = false;
		}
	}

public:
	Context *const context;
	std::shared_ptr<Capture> capture;  // null unless the stream is captured
	std::vector<int> tail;             // the nodes after which the next one runs
	explicit Stream(Context *x) : context(x) { control->streams++; }
	~Stream() {
		{
			std::lock_guard<std::mutex> l(m);
			quit = true;
			c.notify_one();
		}
		if (thread.joinable()) thread.join();
		control->streams--;
	}
	void put(std::function<void()> job) {
		std::lock_guard<std::mutex> l(m);
		jobs.push_back(std::move(job));
		if (!thread.joinable()) {
			sigset_t all, old;
			sigfillset(&all);
			for (int sig : {SIGSEGV, SIGBUS, SIGFPE}) sigdelset(&all, sig);
			pthread_sigmask(SIG_SETMASK, &all, &old);
			thread = std::thread([this] { loop(); });
			pthread_sigmask(SIG_SETMASK, &old, nullptr);
		}
		c.notify_one();
	}
	void sync() {
		{
			std::lock_guard<std::mutex> l(m);
			if (jobs.empty() && !running) return;
		}
		auto done = std::make_shared<Latch>();
		put([done] { done->reach(); });
		done->await();
	}
	bool idle() {
		std::lock_guard<std::mutex> l(m);
		return jobs.empty() && !running;
	}
};

struct Event {
	std::mutex m;
	std::shared_ptr<Latch> last;  // where it was recorded
	std::shared_ptr<Capture> capture;  // null unless a captured stream recorded it
	std::vector<int> nodes;
	Event() { control->events++; }
	~Event() { control->events--; }
	std::shared_ptr<Latch> get() {
		std::lock_guard<std::mutex> l(m);
		return last;
	}
};

struct Function {
	const cuemu_kernel *kernel;
	struct Module *module;
	int most_dynamic = 48 << 10;
};

struct Module {
	int fd = -1;
	void *handle = nullptr;
	size_t tls_bytes = 0;
	const cuemu_thread **(*self)() = nullptr;
	std::map<std::string, std::unique_ptr<Function>> functions;
	Module() { control->modules++; }
	~Module() {
		functions.clear();
		if (handle) dlclose(handle);
		if (fd >= 0) close(fd); // after the library, whose path it is
		control->modules--;
	}
};

struct Block {
	size_t bytes;
	char *map;
	size_t mapped;
	struct Context *context;
};

std::mutex blocks_mutex;
std::map<uintptr_t, Block> blocks;
size_t used[64];

// Context has a device's state. After a fault of a kernel, all calls return its code.
struct Context {
	int device;
	std::atomic<int> sticky{0};
	std::mutex m;
	std::set<Stream *> streams;
	std::set<Event *> events;
	std::set<Module *> modules;
	Stream *null;
	explicit Context(int d) : device(d), null(new Stream(this)) { control->contexts++; streams.insert(null); }
	void sync();
	~Context();
};

std::mutex report_mutex;
std::string last_report;  // of a fault

void fail(Context *c, int code, const std::string &what) {
	int none = 0;
	if (!c->sticky.compare_exchange_strong(none, code)) return;
	std::lock_guard<std::mutex> l(report_mutex);
	last_report = what;
}

constexpr size_t page = 4096, align = 64;
constexpr size_t large = 64 << 20;  // bytes of memory that is not filled when it is allocated
constexpr char canary = (char)0xFB;

// check_slack looks behind the blocks of a context: what lies between the end of one and the page that cannot be touched.
void check_slack(Context *c) {
	std::lock_guard<std::mutex> l(blocks_mutex);
	for (auto &b : blocks) {
		if (b.second.context != c) continue;
		char *end = (char *)b.first + b.second.bytes, *limit = b.second.map + b.second.mapped - page;
		for (char *p = end; p < limit; p++)
			if (*p != canary) {
				fail(c, CUDA_ERROR_ILLEGAL_ADDRESS, "a write " + std::to_string(p - end) + " bytes behind the end of an allocation of " + std::to_string(b.second.bytes) + " bytes");
				*p = canary;
			}
	}
}

void unmap(std::map<uintptr_t, Block>::iterator i) {
	used[i->second.context->device] -= i->second.bytes;
	munmap(i->second.map, i->second.mapped);
	blocks.erase(i);
	control->memory--;
}

void Context::sync() {
	std::vector<Stream *> all;
	{
		std::lock_guard<std::mutex> l(m);
		all.assign(streams.begin(), streams.end());
	}
	for (Stream *s : all) s->sync();
}

Context::~Context() {
	sync();
	for (Stream *s : streams) delete s;
	for (Event *e : events) delete e;
	for (Module *x : modules) delete x;
	std::lock_guard<std::mutex> l(blocks_mutex);
	for (auto i = blocks.begin(); i != blocks.end();) {
		auto at = i++;
		if (at->second.context == this) unmap(at);
	}
	control->contexts--;
}

thread_local std::vector<Context *> stack;
bool initialized;

Context *current() { return stack.empty() ? nullptr : stack.back(); }

// injected returns the code of a call that a test wants to fail.
CUresult injected(const char *name) {
	if (int64_t hash = control->fail_name) {
		int64_t h = 0;
		for (const char *p = name; *p; p++) h = h * 31 + *p;
		if (h != hash) return CUDA_SUCCESS;
	}
	int64_t n = ++control->calls;
	return n == control->fail_at ? CUresult(control->fail_code.load()) : CUDA_SUCCESS;
}

#define CALL                                                  \
	if (!initialized) return CUDA_ERROR_NOT_INITIALIZED;      \
	if (CUresult r = injected(__func__)) return r;
#define CONTEXT                                               \
	CALL                                                      \
	Context *c = current();                                   \
	if (!c) return CUDA_ERROR_INVALID_CONTEXT;                \
	if (int s = c->sticky) return CUresult(s);

// A call that gives something back does so although it fails, as the driver's calls return what failed before.
#define RELEASE                                               \
	if (!initialized) return CUDA_ERROR_NOT_INITIALIZED;      \
	CUresult result = injected(__func__);                     \
	Context *c = current();                                   \
	if (!c) return CUDA_ERROR_INVALID_CONTEXT;                \
	if (!result) result = CUresult(c->sticky.load());

bool inside(CUdeviceptr p, size_t n) {
	std::lock_guard<std::mutex> l(blocks_mutex);
	auto i = blocks.upper_bound(p);
	if (i == blocks.begin()) return false;
	--i;
	return p - i->first <= i->second.bytes && n <= i->second.bytes - (p - i->first);
}
#define DEVICE(p, n) \
	if (!inside(p, n)) return CUDA_ERROR_INVALID_VALUE;

Stream *stream_of(Context *c, CUstream s) { return s ? (Stream *)s : c->null; }

// enqueue adds a job to a stream. Jobs after a fault do nothing.
CUresult enqueue(Context *c, CUstream s, std::function<void()> job) {
	Stream *x = stream_of(c, s);
	if (x->context != c) return CUDA_ERROR_INVALID_HANDLE;
	if (x->capture) {
		x->tail = {x->capture->add({job, nullptr, x->tail})};
		return CUDA_SUCCESS;
	}
	x->put([c, job] {
		int64_t busy = ++control->busy, most = control->most_busy;
		while (most < busy && !control->most_busy.compare_exchange_weak(most, busy)) {}
		if (!c->sticky) job();
		control->busy--;
	});
	return CUDA_SUCCESS;
}

CUresult finish(Context *c, Stream *s) {
	if (s->capture) {
		s->capture->broken = true;
		return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
	}
	s->sync();
	check_slack(c);
	return CUresult(c->sticky.load());
}

}  // namespace

std::string cuemu::describe(const void *address) {
	char text[32];
	snprintf(text, sizeof text, "%p", address);
	std::string at = text;
	std::lock_guard<std::mutex> l(blocks_mutex);
	auto i = blocks.upper_bound((uintptr_t)address);
	if (i != blocks.begin()) {
		auto b = std::prev(i);
		char *end = (char *)b->first + b->second.bytes;
		if ((char *)address >= end && (char *)address < end + (1 << 20))
			return at + ", " + std::to_string((char *)address - end) + " bytes behind the end of an allocation of " + std::to_string(b->second.bytes) + " bytes";
	}
	if (i != blocks.end() && (char *)i->first - (char *)address < (1 << 20))
		return at + ", " + std::to_string((char *)i->first - (char *)address) + " bytes before an allocation of " + std::to_string(i->second.bytes) + " bytes";
	return at + ", which no allocation is near";
}

// ---- Devices and contexts

API cuInit(unsigned) {
	if (long code = number("OPGEN_EMULATOR_INIT", 0)) return CUresult(code);
	initialized = true;
	return CUDA_SUCCESS;
}
API cuDriverGetVersion(int *v) { *v = 11080; return CUDA_SUCCESS; }
API cuDeviceGetCount(int *n) { CALL *n = int(number("OPGEN_EMULATOR_DEVICES", 2)); return CUDA_SUCCESS; }
API cuDeviceGet(CUdevice *d, int i) {
	CALL
	if (i < 0 || i >= number("OPGEN_EMULATOR_DEVICES", 2)) return CUDA_ERROR_INVALID_DEVICE;
	*d = i;
	return CUDA_SUCCESS;
}
API cuDeviceGetName(char *name, int n, CUdevice) { CALL snprintf(name, size_t(n), "opgen emulator"); return CUDA_SUCCESS; }
static size_t total() { return size_t(number("OPGEN_EMULATOR_MEMORY", 4L << 30)); }
API cuDeviceTotalMem_v2(size_t *n, CUdevice) { CALL *n = total(); return CUDA_SUCCESS; }
constexpr int multiprocessors = 4;
API cuDeviceGetAttribute(int *v, CUdevice_attribute a, CUdevice) {
	CALL
	switch (int(a)) {
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X:
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: *v = 1024; break;
	case CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: *v = 64; break;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: *v = 0x7fffffff; break;
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y:
	case CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: *v = 65535; break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: *v = 48 << 10; break;
	case CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN: *v = 227 << 10; break;
	case CU_DEVICE_ATTRIBUTE_WARP_SIZE: *v = 32; break;
	case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: *v = multiprocessors; break;
	case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR: *v = 2048; break;
	case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: *v = 9; break;
	case CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH:
	case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
	case CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS:
	case CU_DEVICE_ATTRIBUTE_CAN_USE_STREAM_MEM_OPS: *v = 1; break;
	default: *v = 0;
	}
	return CUDA_SUCCESS;
}
API cuDeviceCanAccessPeer(int *v, CUdevice, CUdevice) { CALL *v = 1; return CUDA_SUCCESS; }
API cuCtxCreate_v2(CUcontext *c, unsigned, CUdevice d) {
	CALL
	auto *x = new Context(d);
	stack.push_back(x);
	*c = (CUcontext)x;
	return CUDA_SUCCESS;
}
API cuCtxDestroy_v2(CUcontext c) {
	if (!initialized) return CUDA_ERROR_NOT_INITIALIZED;
	CUresult r = injected(__func__);
	auto *x = (Context *)c;
	if (current() == x) stack.pop_back();
	delete x;
	return r;
}
API cuCtxSetCurrent(CUcontext c) {
	CALL
	if (!stack.empty()) stack.pop_back();
	if (c) stack.push_back((Context *)c);
	return CUDA_SUCCESS;
}
API cuCtxGetCurrent(CUcontext *c) { CALL *c = (CUcontext)current(); return CUDA_SUCCESS; }
API cuCtxPushCurrent_v2(CUcontext c) { CALL stack.push_back((Context *)c); return CUDA_SUCCESS; }
API cuCtxPopCurrent_v2(CUcontext *c) {
	if (stack.empty()) return CUDA_ERROR_INVALID_CONTEXT;
	if (c) *c = (CUcontext)current();
	stack.pop_back();
	return initialized ? injected(__func__) : CUDA_SUCCESS;
}
API cuCtxSynchronize() { CONTEXT c->sync(); return CUresult(c->sticky.load()); }
API cuCtxEnablePeerAccess(CUcontext, unsigned) { CONTEXT return CUDA_SUCCESS; }

// ---- Memory

API cuMemGetInfo_v2(size_t *free, size_t *all) {
	CONTEXT
	std::lock_guard<std::mutex> l(blocks_mutex);
	*all = total();
	*free = total() - used[c->device];
	return CUDA_SUCCESS;
}
API cuMemAlloc_v2(CUdeviceptr *p, size_t n) {
	CONTEXT
	if (!n) return CUDA_ERROR_INVALID_VALUE;
	std::lock_guard<std::mutex> l(blocks_mutex);
	if (n > total() - used[c->device]) return CUDA_ERROR_OUT_OF_MEMORY;
	size_t body = (n + page - 1) / page * page, mapped = body + 2 * page;
	char *m = (char *)mmap(nullptr, mapped, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (m == MAP_FAILED) return CUDA_ERROR_OUT_OF_MEMORY;
	mprotect(m + page, body, PROT_READ | PROT_WRITE);
	char *at = m + page + body - (n + align - 1) / align * align;
	if (n < large) memset(at, 0xCB, n); // reads of what was not written stand out
	memset(at + n, canary, size_t(m + page + body - (at + n)));
	blocks[(uintptr_t)at] = {n, m, mapped, c};
	used[c->device] += n;
	control->memory++;
	*p = (CUdeviceptr)at;
	return CUDA_SUCCESS;
}
API cuMemFree_v2(CUdeviceptr p) {
	RELEASE
	c->sync();
	check_slack(c);
	std::lock_guard<std::mutex> l(blocks_mutex);
	auto i = blocks.find(p);
	if (i == blocks.end()) return CUDA_ERROR_INVALID_VALUE;
	unmap(i);
	return result ? result : CUresult(c->sticky.load());
}
API cuMemHostAlloc(void **p, size_t n, unsigned) {
	CONTEXT
	*p = aligned_alloc(page, (n + page - 1) / page * page);
	if (!*p) return CUDA_ERROR_OUT_OF_MEMORY;
	memset(*p, 0xCB, n);
	control->pinned++;
	return CUDA_SUCCESS;
}
API cuMemFreeHost(void *p) {
	RELEASE
	c->sync();
	free(p);
	control->pinned--;
	return result;
}
API cuMemHostGetDevicePointer_v2(CUdeviceptr *d, void *p, unsigned) { CONTEXT *d = (CUdeviceptr)p; return CUDA_SUCCESS; }
API cuMemcpyHtoDAsync_v2(CUdeviceptr d, const void *s, size_t n, CUstream st) { CONTEXT DEVICE(d, n) return enqueue(c, st, [=] { memcpy((void *)d, s, n); }); }
API cuMemcpyDtoHAsync_v2(void *d, CUdeviceptr s, size_t n, CUstream st) { CONTEXT DEVICE(s, n) return enqueue(c, st, [=] { memcpy(d, (void *)s, n); }); }
API cuMemcpyDtoDAsync_v2(CUdeviceptr d, CUdeviceptr s, size_t n, CUstream st) { CONTEXT DEVICE(d, n) DEVICE(s, n) return enqueue(c, st, [=] { memmove((void *)d, (void *)s, n); }); }
API cuMemcpyPeerAsync(CUdeviceptr d, CUcontext, CUdeviceptr s, CUcontext, size_t n, CUstream st) { CONTEXT DEVICE(d, n) DEVICE(s, n) return enqueue(c, st, [=] { memmove((void *)d, (void *)s, n); }); }
API cuMemcpyHtoD_v2(CUdeviceptr d, const void *s, size_t n) {
	CONTEXT DEVICE(d, n)
	CUresult r = enqueue(c, nullptr, [=] { memcpy((void *)d, s, n); });
	return r ? r : finish(c, c->null);
}
API cuMemcpyDtoH_v2(void *d, CUdeviceptr s, size_t n) {
	CONTEXT DEVICE(s, n)
	CUresult r = enqueue(c, nullptr, [=] { memcpy(d, (void *)s, n); });
	return r ? r : finish(c, c->null);
}
// fill fills memory. Pages of large zeros are given back, so that memory that a program never uses takes none of this machine.
static void fill(char *p, unsigned char v, size_t n) {
	if (n >= large && v == 0) {
		char *first = (char *)(((uintptr_t)p + page - 1) / page * page);
		size_t whole = size_t(p + n - first) / page * page;
		if (madvise(first, whole, MADV_DONTNEED) == 0) {
			memset(p, 0, size_t(first - p));
			n -= size_t(first - p) + whole;
			p = first + whole;
		}
	}
	memset(p, v, n);
}
API cuMemsetD8Async(CUdeviceptr d, unsigned char v, size_t n, CUstream s) { CONTEXT DEVICE(d, n) return enqueue(c, s, [=] { fill((char *)d, v, n); }); }

// ---- Streams and events

API cuStreamCreate(CUstream *s, unsigned) {
	CONTEXT
	auto *x = new Stream(c);
	std::lock_guard<std::mutex> l(c->m);
	c->streams.insert(x);
	*s = (CUstream)x;
	return CUDA_SUCCESS;
}
API cuStreamCreateWithPriority(CUstream *s, unsigned flags, int) { return cuStreamCreate(s, flags); }
API cuStreamDestroy_v2(CUstream s) {
	RELEASE
	{
		std::lock_guard<std::mutex> l(c->m);
		if (!c->streams.erase((Stream *)s)) return CUDA_ERROR_INVALID_HANDLE;
	}
	delete (Stream *)s;
	return result;
}
API cuStreamSynchronize(CUstream s) { CONTEXT return finish(c, stream_of(c, s)); }
API cuStreamQuery(CUstream s) { CONTEXT return stream_of(c, s)->idle() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY; }
API cuEventCreate(CUevent *e, unsigned) {
	CONTEXT
	auto *x = new Event;
	std::lock_guard<std::mutex> l(c->m);
	c->events.insert(x);
	*e = (CUevent)x;
	return CUDA_SUCCESS;
}
API cuEventDestroy_v2(CUevent e) {
	RELEASE
	{
		std::lock_guard<std::mutex> l(c->m);
		if (!c->events.erase((Event *)e)) return CUDA_ERROR_INVALID_HANDLE;
	}
	delete (Event *)e;
	return result;
}
API cuEventRecord(CUevent e, CUstream s) {
	CONTEXT
	Stream *x = stream_of(c, s);
	if (x->context != c) return CUDA_ERROR_INVALID_HANDLE;
	auto latch = std::make_shared<Latch>();
	auto *event = (Event *)e;
	{
		std::lock_guard<std::mutex> l(event->m);
		event->capture = x->capture;
		event->nodes = x->tail;
		if (!x->capture) event->last = latch;
	}
	if (x->capture) return CUDA_SUCCESS;
	x->put([latch] { latch->reach(); }); // also after a fault
	return CUDA_SUCCESS;
}
API cuStreamWaitEvent(CUstream s, CUevent e, unsigned) {
	CONTEXT
	auto *event = (Event *)e;
	Stream *x = stream_of(c, s);
	if (x->context != c) return CUDA_ERROR_INVALID_HANDLE;
	{
		std::lock_guard<std::mutex> l(event->m);
		if (event->capture) { // the stream is captured from now on
			if (x->capture && x->capture != event->capture) return CUDA_ERROR_STREAM_CAPTURE_MERGE;
			if (!event->capture->graph) return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
			if (!x->capture) x->tail.clear();
			x->capture = event->capture;
			x->capture->streams.insert(x);
			x->tail.insert(x->tail.end(), event->nodes.begin(), event->nodes.end());
			return CUDA_SUCCESS;
		}
		if (x->capture) { // what comes from outside of a capture cannot be waited for in it
			x->capture->broken = true;
			return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
		}
	}
	auto latch = event->get();
	if (!latch) return CUDA_SUCCESS; // as the driver does with an event that was never recorded
	x->put([latch] { latch->await(); });
	return CUDA_SUCCESS;
}
API cuEventQuery(CUevent e) {
	CONTEXT
	auto latch = ((Event *)e)->get();
	return !latch || latch->is() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}
API cuEventSynchronize(CUevent e) {
	CONTEXT
	if (auto latch = ((Event *)e)->get()) latch->await();
	return CUresult(c->sticky.load());
}
API cuEventElapsedTime(float *ms, CUevent a, CUevent b) {
	CONTEXT
	auto from = ((Event *)a)->get(), to = ((Event *)b)->get();
	if (!from || !to) return CUDA_ERROR_INVALID_HANDLE;
	if (!from->is() || !to->is()) return CUDA_ERROR_NOT_READY;
	*ms = float(to->at - from->at);
	return CUDA_SUCCESS;
}
static CUresult write_value(CUstream s, CUdeviceptr p, cuuint32_t v) {
	Context *c = current();
	return enqueue(c, s, [=] { __atomic_store_n((uint32_t *)p, v, __ATOMIC_SEQ_CST); });
}
API cuStreamWriteValue32(CUstream s, CUdeviceptr p, cuuint32_t v, unsigned) { CONTEXT (void)c; return write_value(s, p, v); }
API cuStreamWriteValue32_v2(CUstream s, CUdeviceptr p, cuuint32_t v, unsigned) { CONTEXT (void)c; return write_value(s, p, v); }

// ---- Modules and launches

static size_t tls_bytes(void *handle) {
	struct Query {
		ElfW(Addr) base;
		size_t bytes;
	} q = {((link_map *)handle)->l_addr, 0};
	dl_iterate_phdr([](dl_phdr_info *info, size_t, void *p) {
		auto *q = (Query *)p;
		if (info->dlpi_addr != q->base) return 0;
		for (int i = 0; i < info->dlpi_phnum; i++)
			if (info->dlpi_phdr[i].p_type == PT_TLS) q->bytes = info->dlpi_phdr[i].p_memsz;
		return 1;
	}, &q);
	return q.bytes;
}

// The image of a module is a library that g++ made of the source of the device code.
API cuModuleLoadData(CUmodule *out, const void *image) {
	CONTEXT
	auto *e = (const Elf64_Ehdr *)image;
	if (memcmp(image, ELFMAG, 4) || e->e_machine != EM_X86_64) return CUDA_ERROR_INVALID_IMAGE;
	auto m = std::make_unique<Module>();
	size_t n = e->e_shoff + size_t(e->e_shentsize) * e->e_shnum;
	m->fd = memfd_create("cuemu", MFD_CLOEXEC);
	if (m->fd < 0 || write(m->fd, image, n) != ssize_t(n)) return CUDA_ERROR_OUT_OF_MEMORY;
	// The file stays open, so that the path is of no other module.
	m->handle = dlopen(("/proc/self/fd/" + std::to_string(m->fd)).c_str(), RTLD_NOW | RTLD_LOCAL);
	if (!m->handle) {
		fprintf(stderr, "cuemu: %s\n", dlerror());
		return CUDA_ERROR_INVALID_IMAGE;
	}
	auto init = (void (*)(const cuemu_services *))dlsym(m->handle, "cuemu_module_init");
	auto kernels = (cuemu_kernel * (*)()) dlsym(m->handle, "cuemu_module_kernels");
	m->self = (const cuemu_thread **(*)())dlsym(m->handle, "cuemu_module_self");
	if (!init || !kernels || !m->self) return CUDA_ERROR_INVALID_IMAGE;
	init(&cuemu::services);
	m->tls_bytes = tls_bytes(m->handle);
	for (auto *k = kernels(); k; k = k->next) {
		auto f = std::make_unique<Function>();
		f->kernel = k;
		f->module = m.get();
		m->functions[k->name] = std::move(f);
	}
	std::lock_guard<std::mutex> l(c->m);
	c->modules.insert(m.get());
	*out = (CUmodule)m.release();
	return CUDA_SUCCESS;
}
API cuModuleUnload(CUmodule m) {
	RELEASE
	c->sync();
	std::lock_guard<std::mutex> l(c->m);
	if (!c->modules.erase((Module *)m)) return CUDA_ERROR_INVALID_HANDLE;
	delete (Module *)m;
	return result;
}
API cuModuleGetFunction(CUfunction *f, CUmodule m, const char *name) {
	CONTEXT
	auto &all = ((Module *)m)->functions;
	auto i = all.find(name);
	if (i == all.end()) return CUDA_ERROR_NOT_FOUND;
	*f = (CUfunction)i->second.get();
	return CUDA_SUCCESS;
}
API cuFuncSetAttribute(CUfunction f, CUfunction_attribute a, int v) {
	CONTEXT
	if (a != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) return CUDA_ERROR_NOT_SUPPORTED;
	if (v < 0 || v > 227 << 10) return CUDA_ERROR_INVALID_VALUE;
	((Function *)f)->most_dynamic = v;
	return CUDA_SUCCESS;
}
API cuFuncGetAttribute(int *v, CUfunction_attribute a, CUfunction f) {
	CONTEXT
	*v = a == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? 1024 : a == CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES ? ((Function *)f)->most_dynamic : 0;
	return CUDA_SUCCESS;
}
static void run_kernel(Context *c, const cuemu::Launch &l) {
	std::string report;
	if (int code = cuemu::run(l, &report)) fail(c, code, report);
}
// A multiprocessor has one block of a kernel whose blocks are resident.
API cuOccupancyMaxActiveBlocksPerMultiprocessor(int *n, CUfunction, int threads, size_t dynamic) {
	CONTEXT
	(void)c;
	*n = threads <= 1024 && dynamic <= 227 << 10;
	return CUDA_SUCCESS;
}
static CUresult launch(Context *c, Function *f, dim3 blocks, dim3 threads, unsigned dynamic, CUstream s, void **parameters, bool together) {
	size_t block = size_t(threads.x) * threads.y * threads.z, grid = size_t(blocks.x) * blocks.y * blocks.z;
	if (!block || block > 1024 || threads.z > 64 || !grid || blocks.x > 0x7fffffff || blocks.y > 65535 || blocks.z > 65535 || grid > 0x7fffffff || dynamic > unsigned(f->most_dynamic))
		return CUDA_ERROR_INVALID_VALUE;
	auto l = std::make_shared<cuemu::Launch>();
	l->kernel = f->kernel;
	l->self = f->module->self;
	l->tls_handle = f->module->handle;
	l->tls_bytes = f->module->tls_bytes;
	l->blocks = blocks;
	l->threads = threads;
	l->dynamic = dynamic;
	l->order = order();
	l->together = together;
	control->together += together;
	for (size_t i = 0; i < f->kernel->count; i++) l->values.emplace_back((char *)parameters[i], (char *)parameters[i] + f->kernel->sizes[i]);
	for (auto &v : l->values) l->parameters.push_back(v.data());
	control->launches++;
	if (Stream *x = stream_of(c, s); x->capture) {
		x->tail = {x->capture->add({nullptr, l, x->tail})};
		return CUDA_SUCCESS;
	}
	return enqueue(c, s, [=] { run_kernel(c, *l); });
}
API cuLaunchKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned dynamic, CUstream s, void **parameters, void **) {
	CONTEXT
	return launch(c, (Function *)f, dim3(gx, gy, gz), dim3(bx, by, bz), dynamic, s, parameters, false);
}
API cuLaunchCooperativeKernel(CUfunction f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned dynamic, CUstream s, void **parameters) {
	CONTEXT
	if (size_t(gx) * gy * gz > size_t(multiprocessors)) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
	return launch(c, (Function *)f, dim3(gx, gy, gz), dim3(bx, by, bz), dynamic, s, parameters, true);
}

// ---- Graphs

API cuStreamBeginCapture_v2(CUstream s, CUstreamCaptureMode) {
	CONTEXT
	Stream *x = stream_of(c, s);
	if (x == c->null || x->capture) return CUDA_ERROR_ILLEGAL_STATE;
	x->capture = std::make_shared<Capture>();
	x->capture->origin = x;
	x->capture->streams = {x};
	x->tail.clear();
	return CUDA_SUCCESS;
}
// joined reports whether the last nodes of a stream come after all nodes.
static bool joined(const Graph &g, const std::vector<int> &tail) {
	std::vector<bool> seen(g.nodes.size());
	std::vector<int> todo = tail;
	while (!todo.empty()) {
		int i = todo.back();
		todo.pop_back();
		if (seen[i]) continue;
		seen[i] = true;
		todo.insert(todo.end(), g.nodes[i].after.begin(), g.nodes[i].after.end());
	}
	for (bool b : seen)
		if (!b) return false;
	return true;
}
// The capture ends also if the call fails.
API cuStreamEndCapture(CUstream s, CUgraph *g) {
	if (!initialized) return CUDA_ERROR_NOT_INITIALIZED;
	CUresult result = injected(__func__);
	Context *c = current();
	if (!c) return CUDA_ERROR_INVALID_CONTEXT;
	Stream *x = stream_of(c, s);
	auto capture = x->capture;
	if (!capture || capture->origin != x) return CUDA_ERROR_ILLEGAL_STATE;
	bool whole = joined(*capture->graph, x->tail);
	for (Stream *y : capture->streams) {
		y->capture = nullptr;
		y->tail.clear();
	}
	*g = nullptr;
	auto graph = std::move(capture->graph);
	if (result) return result;
	if (capture->broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	if (!whole) return CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
	*g = (CUgraph)graph.release();
	return CUDA_SUCCESS;
}
API cuStreamGetCaptureInfo_v2(CUstream s, CUstreamCaptureStatus *status, cuuint64_t *, CUgraph *, const CUgraphNode **nodes, size_t *n) {
	CONTEXT
	static thread_local std::vector<CUgraphNode> handles;
	Stream *x = stream_of(c, s);
	handles.clear();
	for (int i : x->tail) handles.push_back((CUgraphNode)(uintptr_t)(i + 1));
	*status = x->capture ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
	*nodes = handles.data();
	*n = handles.size();
	return CUDA_SUCCESS;
}
API cuGraphInstantiateWithFlags(CUgraphExec *e, CUgraph g, unsigned long long) {
	CONTEXT
	(void)c;
	*e = (CUgraphExec) new Graph(*(Graph *)g);
	return CUDA_SUCCESS;
}
API cuGraphDestroy(CUgraph g) {
	RELEASE
	(void)c;
	delete (Graph *)g;
	return result;
}
API cuGraphExecDestroy(CUgraphExec e) {
	RELEASE
	c->sync();
	delete (Graph *)e;
	return result;
}
// What a launch has copied stays as it was.
API cuGraphExecKernelNodeSetParams(CUgraphExec e, CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p) {
	CONTEXT
	(void)c;
	auto *g = (Graph *)e;
	size_t i = (uintptr_t)node - 1;
	if (i >= g->nodes.size() || !g->nodes[i].launch || ((Function *)p->func)->kernel != g->nodes[i].launch->kernel) return CUDA_ERROR_INVALID_VALUE;
	auto l = std::make_shared<cuemu::Launch>(*g->nodes[i].launch);
	l->blocks = dim3(p->gridDimX, p->gridDimY, p->gridDimZ);
	l->threads = dim3(p->blockDimX, p->blockDimY, p->blockDimZ);
	l->dynamic = p->sharedMemBytes;
	l->parameters.clear();
	for (size_t k = 0; k < l->values.size(); k++) {
		memcpy(l->values[k].data(), p->kernelParams[k], l->values[k].size());
		l->parameters.push_back(l->values[k].data());
	}
	g->nodes[i].launch = l;
	return CUDA_SUCCESS;
}
// The nodes run in an order that their edges permit: that of the capture, or another one if threads of a block run in another order.
API cuGraphLaunch(CUgraphExec e, CUstream s) {
	CONTEXT
	auto nodes = ((Graph *)e)->nodes;
	long way = order();
	control->replays++;
	return enqueue(c, s, [=] {
		std::vector<int> open(nodes.size()), ready;
		std::vector<std::vector<int>> next(nodes.size());
		for (size_t i = 0; i < nodes.size(); i++) {
			std::set<int> after(nodes[i].after.begin(), nodes[i].after.end());
			open[i] = int(after.size());
			for (int k : after) next[k].push_back(int(i));
			if (after.empty()) ready.push_back(int(i));
		}
		uint64_t seed = uint64_t(way);
		while (!ready.empty() && !c->sticky) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			auto at = way == 0 ? std::min_element(ready.begin(), ready.end()) : way == 1 ? std::max_element(ready.begin(), ready.end()) : ready.begin() + (seed >> 33) % ready.size();
			int i = *at;
			ready.erase(at);
			if (nodes[i].launch) {
				auto l = std::make_shared<cuemu::Launch>(*nodes[i].launch);
				l->parameters.clear();
				for (auto &v : l->values) l->parameters.push_back(v.data());
				l->order = way;
				run_kernel(c, *l);
			} else nodes[i].job();
			for (int k : next[i])
				if (--open[k] == 0) ready.push_back(k);
		}
	});
}

// ---- What the emulator of cuBLAS needs

extern "C" {
__attribute__((visibility("default"))) int cuemu_called(const char *name) { return injected(name); }
__attribute__((visibility("default"))) int cuemu_inside(unsigned long long p, size_t n) { return inside(p, n); }
__attribute__((visibility("default"))) int cuemu_enqueue(CUstream s, void (*call)(void *), void *of, void (*release)(void *)) {
	std::shared_ptr<void> held(of, release); // graphs call several times
	Context *c = current();
	if (!c) return CUDA_ERROR_INVALID_CONTEXT;
	return enqueue(c, s, [=] { call(held.get()); });
}
__attribute__((visibility("default"))) void cuemu_count(int handles, int products) {
	control->handles += handles;
	control->products += products;
}
}

// ---- Errors

API cuGetErrorName(CUresult e, const char **s) {
	switch (int(e)) {
	case 0: *s = "CUDA_SUCCESS"; break;
	case 1: *s = "CUDA_ERROR_INVALID_VALUE"; break;
	case 2: *s = "CUDA_ERROR_OUT_OF_MEMORY"; break;
	case 3: *s = "CUDA_ERROR_NOT_INITIALIZED"; break;
	case 100: *s = "CUDA_ERROR_NO_DEVICE"; break;
	case 200: *s = "CUDA_ERROR_INVALID_IMAGE"; break;
	case 201: *s = "CUDA_ERROR_INVALID_CONTEXT"; break;
	case 400: *s = "CUDA_ERROR_INVALID_HANDLE"; break;
	case 500: *s = "CUDA_ERROR_NOT_FOUND"; break;
	case 600: *s = "CUDA_ERROR_NOT_READY"; break;
	case 700: *s = "CUDA_ERROR_ILLEGAL_ADDRESS"; break;
	case 719: *s = "CUDA_ERROR_LAUNCH_FAILED"; break;
	case 801: *s = "CUDA_ERROR_NOT_SUPPORTED"; break;
	case 999: *s = "CUDA_ERROR_UNKNOWN"; break;
	default: *s = "CUDA_ERROR"; break;
	}
	return CUDA_SUCCESS;
}
// The text of a fault is what the kernel did.
API cuGetErrorString(CUresult e, const char **s) {
	static thread_local std::string text;
	if (e == CUDA_ERROR_ILLEGAL_ADDRESS || e == CUDA_ERROR_LAUNCH_FAILED) {
		std::lock_guard<std::mutex> l(report_mutex);
		text = last_report;
		*s = text.c_str();
		return CUDA_SUCCESS;
	}
	return cuGetErrorName(e, s);
}
