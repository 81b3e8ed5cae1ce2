//go:build cuda

package cudadriver

/*
#include <cuda.h>

static CUresult opgen_last_node(CUstream s, CUgraphNode *node) {
	CUstreamCaptureStatus status;
	const CUgraphNode *nodes = NULL;
	size_t n = 0;
	CUresult r = cuStreamGetCaptureInfo_v2(s, &status, NULL, NULL, &nodes, &n);
	if (r) return r;
	if (status != CU_STREAM_CAPTURE_STATUS_ACTIVE || n != 1) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
	*node = nodes[0];
	return CUDA_SUCCESS;
}

static CUresult opgen_set_kernel(CUgraphExec e, CUgraphNode node, CUfunction f, const unsigned *grid, const unsigned *block, unsigned shared, unsigned long long *values, int n) {
	void *parameters[n > 0 ? n : 1];
	for (int i = 0; i < n; i++) parameters[i] = &values[i];
	CUDA_KERNEL_NODE_PARAMS p = {0};
	p.func = f;
	p.gridDimX = grid[0], p.gridDimY = grid[1], p.gridDimZ = grid[2];
	p.blockDimX = block[0], p.blockDimY = block[1], p.blockDimZ = block[2];
	p.sharedMemBytes = shared;
	p.kernelParams = parameters;
	return cuGraphExecKernelNodeSetParams(e, node, &p);
}
*/
import "C"

import (
	"errors"
	"unsafe"

	"gorgonia.org/cu"
)

// Graph is what was given to streams while it was captured. A device runs all of it in one call.
type Graph struct {
	graph C.CUgraph
	exec  C.CUgraphExec
}

// Node is a launch in a graph.
type Node struct{ node C.CUgraphNode }

// BeginCapture begins to capture what this thread gives to a stream, and to streams that wait for it, in
// place of running it.
func BeginCapture(s cu.Stream) error {
	return wrapped("cuStreamBeginCapture", C.cuStreamBeginCapture_v2(stream(s), C.CU_STREAM_CAPTURE_MODE_THREAD_LOCAL))
}

// EndCapture ends to capture, and returns what was. After an error there is no graph.
func EndCapture(s cu.Stream) (*Graph, error) {
	g := &Graph{}
	if err := wrapped("cuStreamEndCapture", C.cuStreamEndCapture(stream(s), &g.graph)); err != nil {
		return nil, err
	}
	if err := wrapped("cuGraphInstantiateWithFlags", C.cuGraphInstantiateWithFlags(&g.exec, g.graph, 0)); err != nil {
		return nil, errors.Join(err, g.Close())
	}
	return g, nil
}

// LastNode returns the launch that a captured stream was given last.
func LastNode(s cu.Stream) (n Node, err error) {
	return n, wrapped("cuStreamGetCaptureInfo", C.opgen_last_node(stream(s), &n.node))
}

// Launch runs a graph on a stream.
func (g *Graph) Launch(s cu.Stream) error {
	return wrapped("cuGraphLaunch", C.cuGraphLaunch(g.exec, stream(s)))
}

// Set replaces the arguments of a launch in later runs of the graph.
func (g *Graph) Set(n Node, f cu.Function, grid, block [3]uint32, shared uint32, args []uint64) error {
	return wrapped("cuGraphExecKernelNodeSetParams", C.opgen_set_kernel(g.exec, n.node, function(f), (*C.uint)(&grid[0]), (*C.uint)(&block[0]), C.uint(shared),
		(*C.ulonglong)(unsafe.SliceData(args)), C.int(len(args))))
}

// Close frees a graph.
func (g *Graph) Close() error {
	var err error
	if g.exec != nil {
		err = wrapped("cuGraphExecDestroy", C.cuGraphExecDestroy(g.exec))
	}
	return errors.Join(err, wrapped("cuGraphDestroy", C.cuGraphDestroy(g.graph)))
}
