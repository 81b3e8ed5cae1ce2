#include "block.h"

#include <dlfcn.h>
#include <cuda.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace cuemu {
namespace {

// A fiber is a device thread: a stack, and how far it is.
enum State : uint8_t { fresh, ready, at_block, at_warp, done };
struct Fiber {
	void *sp;
	char *stack;
	State state;
	unsigned mask;  // of the warp barrier where it waits
	cuemu_thread self;
};

constexpr size_t stack_bytes = 256 << 10, page = 4096, dynamic_bytes = 256 << 10;

extern "C" void cuemu_switch(void **save, void *to);
#if defined(__x86_64__)
asm(R"(
	.text
	.globl cuemu_switch
	.hidden cuemu_switch
	.type cuemu_switch, @function
cuemu_switch:
	pushq %rbp
	pushq %rbx
	pushq %r12
	pushq %r13
	pushq %r14
	pushq %r15
	movq %rsp, (%rdi)
	movq %rsi, %rsp
	popq %r15
	popq %r14
	popq %r13
	popq %r12
	popq %rbx
	popq %rbp
	ret
	.size cuemu_switch, .-cuemu_switch
)");
constexpr int saved = 6;
#else
#error "the emulator switches stacks of x86-64 only"
#endif

// Runner runs blocks on one thread of the operating system.
struct Runner {
	const Launch *launch = nullptr;
	void *scheduler = nullptr;  // stack pointer of the scheduler while a fiber runs
	Fiber *current = nullptr;
	std::vector<Fiber> fibers;
	std::vector<uint64_t> words;
	std::vector<unsigned> order;
	std::vector<char *> stacks;  // that are free
	char *dynamic = nullptr;
	int predicates = 0, arrived = 0, count = 0, threads = 0;
	bool yielded = false, trapped = false;
	const std::atomic<int> *failed = nullptr;  // whether another block has: those that wait for it end
	sigjmp_buf escape;
	volatile bool inside = false;
	std::string fault;

	~Runner() {
		for (char *s : stacks) munmap(s - page, stack_bytes + page);
		if (dynamic) munmap(dynamic, dynamic_bytes + page);
	}
	int block(unsigned number);
	void arrange(unsigned n);
	void prepare(Fiber &f, unsigned i, uint3 at);
	bool release();
	void recycle();
};

thread_local Runner *runner;

void to_scheduler() { cuemu_switch(&runner->current->sp, runner->scheduler); }

void fiber_main() {
	Runner *r = runner;
	r->launch->kernel->call(const_cast<void **>(r->launch->parameters.data()));
	r->current->state = done;
	to_scheduler();
	__builtin_unreachable();
}

void block_barrier(int predicate, int *count, int *threads) {
	Runner *r = runner;
	r->predicates += predicate;
	r->arrived++;
	r->current->state = at_block;
	to_scheduler();
	*count = r->count;
	*threads = r->threads;
}

void warp_barrier(unsigned mask) {
	runner->current->mask = mask;
	runner->current->state = at_warp;
	to_scheduler();
}

unsigned active() {
	Runner *r = runner;
	unsigned first = unsigned(r->current - r->fibers.data()) & ~31u, mask = 0;
	for (unsigned i = 0; i < 32 && first + i < r->fibers.size(); i++)
		if (r->fibers[first + i].state != done) mask |= 1u << i;
	return mask;
}

void yield() {
	if (*runner->failed) siglongjmp(runner->escape, *runner->failed);
	runner->yielded = true;
	to_scheduler();
}

void trap() {
	runner->trapped = true;
	runner->fault = "a trap";
	siglongjmp(runner->escape, CUDA_ERROR_LAUNCH_FAILED);
}

char *map(size_t bytes) {
	void *m = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return m == MAP_FAILED ? nullptr : (char *)m;
}

// A stack has a page before it that cannot be touched.
char *new_stack() {
	char *m = map(stack_bytes + page);
	mprotect(m, page, PROT_NONE);
	return m + page;
}

void Runner::prepare(Fiber &f, unsigned i, uint3 at) {
	const dim3 &t = launch->threads;
	f.self.thread = {i % t.x, i / t.x % t.y, i / t.x / t.y};
	f.self.block = at;
	f.self.threads = t;
	f.self.blocks = launch->blocks;
	f.self.lane = i & 31;
	f.self.exchange = &words[i & ~31u];
	f.self.dynamic = dynamic + dynamic_bytes - ((launch->dynamic + 15) & ~15u);
	if (stacks.empty()) stacks.push_back(new_stack());
	f.stack = stacks.back();
	stacks.pop_back();
	void **top = (void **)(f.stack + stack_bytes);
	*--top = nullptr;  // where fiber_main would return to
	*--top = (void *)fiber_main;
	for (int k = 0; k < saved; k++) *--top = nullptr;
	f.sp = top;
	f.state = ready;
}

// arrange sets the order in which threads run between barriers.
void Runner::arrange(unsigned n) {
	order.resize(n);
	for (unsigned i = 0; i < n; i++) order[i] = launch->order == 1 ? n - 1 - i : i;
	if (launch->order < 2) return;
	uint64_t seed = uint64_t(launch->order);
	for (unsigned i = n; i > 1; i--) {
		seed = seed * 6364136223846793005u + 1442695040888963407u;
		std::swap(order[i - 1], order[(seed >> 33) % i]);
	}
}

// release lets go the threads whose barriers all threads have reached that take part and have not ended.
bool Runner::release() {
	bool any = false;
	unsigned waiting = 0, alive = 0;
	for (unsigned w = 0; w < fibers.size(); w += 32) {
		unsigned end = std::min<unsigned>(w + 32, fibers.size()), at = 0, running = 0, want = 0;
		for (unsigned i = w; i < end; i++) {
			const Fiber &f = fibers[i];
			alive += f.state != done;
			waiting += f.state == at_block;
			if (f.state == at_warp) at |= 1u << (i - w), want |= f.mask;
			else if (f.state != done) running |= 1u << (i - w);
		}
		if (!at || (running & want)) continue;
		any = true;
		for (unsigned i = w; i < end; i++)
			if (fibers[i].state == at_warp) fibers[i].state = ready;
	}
	if (waiting && waiting == alive) {
		any = true;
		count = predicates;
		threads = arrived;
		predicates = arrived = 0;
		for (Fiber &f : fibers)
			if (f.state == at_block) f.state = ready;
	}
	return any;
}

void Runner::recycle() {
	for (Fiber &f : fibers)
		if (f.stack) stacks.push_back(f.stack), f.stack = nullptr;
}

// place formats indices.
std::string place(const uint3 &v) { return "(" + std::to_string(v.x) + "," + std::to_string(v.y) + "," + std::to_string(v.z) + ")"; }

// block runs a block. It returns 0 or the code of an error, and leaves its description in fault.
int Runner::block(unsigned number) {
	const Launch &l = *launch;
	unsigned n = l.threads.x * l.threads.y * l.threads.z, live = n;
	uint3 at = {number % l.blocks.x, number / l.blocks.x % l.blocks.y, number / l.blocks.x / l.blocks.y};
	fibers.resize(n);
	for (Fiber &f : fibers) f.state = fresh, f.stack = nullptr;
	words.assign((n + 31) & ~31u, 0);
	predicates = arrived = 0;
	const cuemu_thread **self = l.self();
	if (l.tls_bytes) { // shared variables hold nothing when a block begins
		void *tls = nullptr;
		if (dlinfo(l.tls_handle, RTLD_DI_TLS_DATA, &tls) == 0 && tls) memset(tls, 0xCD, l.tls_bytes);
	}
	if (l.dynamic) memset(dynamic + dynamic_bytes - ((l.dynamic + 15) & ~15u), 0xCD, (l.dynamic + 15) & ~15u);
	while (live) {
		bool ran = false;
		yielded = false;
		for (unsigned i : order) {
			Fiber &f = fibers[i];
			if (f.state == fresh) prepare(f, i, at);
			if (f.state != ready) continue;
			current = &f;
			*self = &f.self;
			ran = true;
			cuemu_switch(&scheduler, f.sp);
			if (f.state == done) {
				live--;
				stacks.push_back(f.stack);
				f.stack = nullptr;
			}
		}
		if (release() || !live) continue;
		if (!ran) {
			fault = "a barrier that some threads of block " + place(at) + " never reach";
			recycle();
			return CUDA_ERROR_LAUNCH_FAILED;
		}
		if (yielded) sched_yield();
	}
	return 0;
}

// ---- Faults of kernels

struct sigaction before[NSIG];

// on_fault leaves a kernel that touched what it may not. Faults of other code go where they went before.
void on_fault(int sig, siginfo_t *info, void *context) {
	Runner *r = runner;
	if (!r || !r->inside) {
		struct sigaction &b = before[sig];
		if (b.sa_flags & SA_SIGINFO) return b.sa_sigaction(sig, info, context);
		if (b.sa_handler != SIG_DFL && b.sa_handler != SIG_IGN) return b.sa_handler(sig);
		signal(sig, SIG_DFL);
		return;
	}
	r->inside = false;
	const char *what = sig == SIGFPE ? "an integer division by 0" : "an access";
	if (sig != SIGFPE) {
#if defined(__x86_64__)
		what = ((ucontext_t *)context)->uc_mcontext.gregs[REG_ERR] & 2 ? "a write" : "a read";
#endif
		char *stack = r->current->stack;
		if ((char *)info->si_addr >= stack - page && (char *)info->si_addr < stack) r->fault = "more than " + std::to_string(stack_bytes) + " bytes of local memory";
		else r->fault = std::string(what) + " at " + describe(info->si_addr);
	} else r->fault = what;
	r->fault += " by thread " + place(r->current->self.thread) + " of block " + place(r->current->self.block);
	siglongjmp(r->escape, sig == SIGFPE ? CUDA_ERROR_LAUNCH_FAILED : CUDA_ERROR_ILLEGAL_ADDRESS);
}

void catch_faults() {
	static std::once_flag once;
	std::call_once(once, [] {
		for (int sig : {SIGSEGV, SIGBUS, SIGFPE}) {
			struct sigaction a = {};
			a.sa_sigaction = on_fault;
			a.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
			sigaction(sig, &a, &before[sig]);
		}
	});
}

// own_runner returns the runner of this thread.
Runner *own_runner() {
	static thread_local struct Owner {
		Runner r;
		char *alternate;
		Owner() {
			r.dynamic = map(dynamic_bytes + page);
			mprotect(r.dynamic + dynamic_bytes, page, PROT_NONE);
			alternate = map(64 << 10);
			stack_t s = {};
			s.ss_sp = alternate;
			s.ss_size = 64 << 10;
			sigaltstack(&s, nullptr);
		}
		~Owner() {
			stack_t s = {};
			s.ss_flags = SS_DISABLE;
			sigaltstack(&s, nullptr);
			munmap(alternate, 64 << 10);
		}
	} owner;
	return &owner.r;
}

// Work is a launch whose blocks several threads take.
struct Work {
	const Launch *launch;
	unsigned blocks;
	std::atomic<unsigned> next{0};
	std::atomic<int> error{0};
	std::mutex m;
	std::string report;

	void take() {
		catch_faults();
		Runner *r = own_runner();
		runner = r;
		r->launch = launch;
		r->failed = &error;
		r->arrange(launch->threads.x * launch->threads.y * launch->threads.z);
		if (int code = sigsetjmp(r->escape, 1)) {
			r->inside = false;
			fail(code, r->fault);
			r->recycle();
			return;
		}
		r->inside = true;
		for (unsigned i; !error && (i = next++) < blocks;)
			if (int code = r->block(launch->order == 1 ? blocks - 1 - i : i)) fail(code, r->fault);
		r->inside = false;
	}
	void fail(int code, const std::string &what) {
		std::lock_guard<std::mutex> l(m);
		if (!error) report = std::string("kernel ") + launch->kernel->name + ": " + what;
		error = code;
	}
};

// Helpers are threads that take blocks of large launches.
class Helpers {
	std::mutex m;
	std::condition_variable c;
	std::deque<std::function<void()>> jobs;
	unsigned threads = 0;

public:
	unsigned most = std::min(std::max(std::thread::hardware_concurrency(), 1u), 8u) - 1;
	void add(std::function<void()> job) {
		std::lock_guard<std::mutex> l(m);
		jobs.push_back(std::move(job));
		if (threads < most) {
			threads++;
			sigset_t all, old;
			sigfillset(&all);
			for (int sig : {SIGSEGV, SIGBUS, SIGFPE}) sigdelset(&all, sig);
			pthread_sigmask(SIG_SETMASK, &all, &old);
			std::thread([this] { loop(); }).detach();
			pthread_sigmask(SIG_SETMASK, &old, nullptr);
		}
		c.notify_one();
	}
	void loop() {
		std::unique_lock<std::mutex> l(m);
		for (;;) {
			while (jobs.empty()) c.wait(l);
			auto job = std::move(jobs.front());
			jobs.pop_front();
			l.unlock();
			job();
			l.lock();
		}
	}
};

}  // namespace

const cuemu_services services = {block_barrier, warp_barrier, active, yield, trap};

int run(const Launch &launch, std::string *report) {
	static Helpers *helpers = new Helpers;  // outlives the threads
	Work w;
	w.launch = &launch;
	w.blocks = launch.blocks.x * launch.blocks.y * launch.blocks.z;
	size_t threads = size_t(w.blocks) * launch.threads.x * launch.threads.y * launch.threads.z;
	unsigned others = threads < 16384 ? 0 : std::min(helpers->most, w.blocks - 1), ended = 0;
	if (launch.together) { // each block has a thread of its own
		std::vector<std::thread> all;
		sigset_t most, old;
		sigfillset(&most);
		for (int sig : {SIGSEGV, SIGBUS, SIGFPE}) sigdelset(&most, sig);
		pthread_sigmask(SIG_SETMASK, &most, &old);
		for (unsigned i = 0; i < w.blocks; i++) all.emplace_back([&w] { w.take(); });
		pthread_sigmask(SIG_SETMASK, &old, nullptr);
		for (auto &t : all) t.join();
		*report = w.report;
		return w.error;
	}
	std::mutex m;
	std::condition_variable c;
	for (unsigned i = 0; i < others; i++)
		helpers->add([&] {
			w.take();
			std::lock_guard<std::mutex> l(m);
			ended++;
			c.notify_one();
		});
	w.take();
	std::unique_lock<std::mutex> l(m);
	while (ended < others) c.wait(l);
	*report = w.report;
	return w.error;
}

}  // namespace cuemu
