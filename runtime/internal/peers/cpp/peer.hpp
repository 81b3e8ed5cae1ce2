// What the peers' programs have in common: the graph, the body of a task, timing and the report.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <functional>
#include <memory>
#include <vector>

namespace peer {

// The graph: for each task the numbers of those that it waits for.
struct Graph {
    std::vector<std::vector<uint32_t>> preds;

    explicit Graph(const char* path) {
        std::unique_ptr<FILE, int (*)(FILE*)> f(std::fopen(path, "rb"), std::fclose);
        if (!f) fail(path);
        preds.resize(word(f.get()));
        for (auto& p : preds) {
            p.resize(word(f.get()));
            for (auto& x : p) x = word(f.get());
        }
    }

    static uint32_t word(FILE* f) {
        uint32_t x;
        if (std::fread(&x, sizeof x, 1, f) != 1) fail("the graph ends too early");
        return x;
    }

    [[noreturn]] static void fail(const char* what) {
        std::fprintf(stderr, "%s\n", what);
        std::exit(2);
    }
};

inline uint64_t turns = 0;             // of a body's loop
inline std::vector<uint32_t> runs;     // of each task, while runs are checked
inline const Graph* checked = nullptr; // whether they are

// body does a number of multiplications, each of which needs the one before.
__attribute__((noinline)) inline void body(uint32_t task) {
    uint64_t x = task;
    for (uint64_t i = 0; i < turns; i++) {
        x = x * 0x5851f42d4c957f2d + 1;
        asm volatile("" : "+r"(x));
    }
    if (!checked) return;
    for (uint32_t p : checked->preds[task])
        if (__atomic_load_n(&runs[p], __ATOMIC_ACQUIRE) != 1) Graph::fail("a task ran before one that it waits for");
    if (__atomic_add_fetch(&runs[task], 1, __ATOMIC_RELEASE) != 1) Graph::fail("a task ran twice");
}

inline double nanos(const std::function<void()>& f) {
    auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

// cpu returns the CPU time that this process has taken, of all its threads.
inline double cpu() {
    timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return t.tv_sec * 1e9 + t.tv_nsec;
}

// report runs the graph twice with checks, and then a number of times, and prints nanoseconds a task: of building, of the
// fastest run, of CPU time of the run that took least, and of the body by itself.
inline void report(const Graph& g, double build, int times, const std::function<void()>& run) {
    const double n = g.preds.size();
    for (int i = 0; i < 2; i++) {
        runs.assign(g.preds.size(), 0);
        checked = &g;
        run();
        checked = nullptr;
        for (uint32_t r : runs)
            if (r != 1) Graph::fail("a task did not run");
    }
    double best = 1e300, least = 1e300, alone = 1e300;
    for (int i = 0; i < times; i++) {
        double before = cpu();
        best = std::min(best, nanos(run));
        least = std::min(least, cpu() - before);
        alone = std::min(alone, nanos([&] { for (uint32_t t = 0; t < g.preds.size(); t++) body(t); }));
    }
    std::printf("%g %g %g %g\n", build / n, best / n, least / n, alone / n);
}

// Arguments: the graph's file, workers, how often to run it, turns of the body.
struct Arguments {
    const char* graph;
    int workers, times;

    Arguments(int argc, char** argv) {
        if (argc != 5) Graph::fail("want: GRAPH WORKERS TIMES TURNS");
        graph = argv[1];
        workers = std::atoi(argv[2]);
        times = std::atoi(argv[3]);
        turns = std::strtoull(argv[4], nullptr, 10);
    }
};

} // namespace peer
