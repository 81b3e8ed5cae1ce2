// StarPU with explicit dependencies: its cheapest way. Tasks are made once, and submitted again in each run, which counts
// as its time; the thread that submits is not a worker.
#include <starpu.h>

#include "peer.hpp"

static void call(void**, void* arg) { peer::body(uint32_t(reinterpret_cast<uintptr_t>(arg))); }

int main(int argc, char** argv) {
    peer::Arguments args(argc, argv);
    peer::Graph g(args.graph);
    starpu_conf conf;
    starpu_conf_init(&conf);
    conf.ncpus = args.workers;
    conf.ncuda = conf.nopencl = 0;
    conf.sched_policy_name = "lws";
    if (starpu_init(&conf) != 0) peer::Graph::fail("StarPU does not start");

    static starpu_codelet codelet;
    starpu_codelet_init(&codelet);
    codelet.cpu_funcs[0] = call;
    codelet.nbuffers = 0;

    std::vector<starpu_task*> tasks;
    double build = peer::nanos([&] {
        for (uint32_t t = 0; t < g.preds.size(); t++) {
            starpu_task* k = starpu_task_create();
            k->cl = &codelet;
            k->cl_arg = reinterpret_cast<void*>(uintptr_t(t));
            k->destroy = 0;
            k->regenerate = 0;
            std::vector<starpu_task*> preds;
            for (uint32_t p : g.preds[t]) preds.push_back(tasks[p]);
            if (!preds.empty()) starpu_task_declare_deps_array(k, preds.size(), preds.data());
            tasks.push_back(k);
        }
    });
    // Successors first, so that a task has not run yet when what waits for it is submitted.
    peer::report(g, build, args.times, [&] {
        for (auto t = tasks.rbegin(); t != tasks.rend(); ++t)
            if (starpu_task_submit(*t) != 0) peer::Graph::fail("StarPU does not take a task");
        starpu_task_wait_for_all();
    });
    for (starpu_task* t : tasks) starpu_task_destroy(t);
    starpu_shutdown();
}
