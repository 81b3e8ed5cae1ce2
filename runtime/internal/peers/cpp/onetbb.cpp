// oneTBB's flow graph: a continue_node for each task, which is fired by its predecessors.
#include <oneapi/tbb/flow_graph.h>
#include <oneapi/tbb/global_control.h>

#include "peer.hpp"

int main(int argc, char** argv) {
    namespace tbb = oneapi::tbb;
    using Node = tbb::flow::continue_node<tbb::flow::continue_msg>;
    peer::Arguments args(argc, argv);
    peer::Graph g(args.graph);
    tbb::global_control limit(tbb::global_control::max_allowed_parallelism, args.workers);

    tbb::flow::graph flow;
    std::vector<std::unique_ptr<Node>> nodes;
    std::vector<Node*> sources;
    double build = peer::nanos([&] {
        for (uint32_t t = 0; t < g.preds.size(); t++) {
            nodes.push_back(std::make_unique<Node>(flow, [t](const tbb::flow::continue_msg& m) {
                peer::body(t);
                return m;
            }));
            for (uint32_t p : g.preds[t]) tbb::flow::make_edge(*nodes[p], *nodes[t]);
            if (g.preds[t].empty()) sources.push_back(nodes[t].get());
        }
    });
    peer::report(g, build, args.times, [&] {
        for (Node* s : sources) s->try_put(tbb::flow::continue_msg());
        flow.wait_for_all();
    });
}
