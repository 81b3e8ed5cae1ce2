//go:build cuda

package cuda

import (
	"errors"
	"os"

	"gorgonia.org/cu"

	"github.com/opgen/opgen/runtime/internal/cudadriver"
)

// graphsVariable is the variable of the environment that holds "none" if tasks are to be launched one by one.
const graphsVariable = "OPGEN_CUDA_GRAPHS"

// replay is a graph of all tasks of a plan. The driver launches it in one call.
type replay struct {
	graph *cudadriver.Graph
	steps []steppedLaunch // of which arguments are the number of the step
}

// steppedLaunch is a launch in a graph, one of whose arguments is the number of the training step.
type steppedLaunch struct {
	node   cudadriver.Node
	kernel *kernel
}

// capturing is what a run collects while its streams are captured.
type capturing struct{ steps []steppedLaunch }

// note notes a launch that was captured.
func (c *capturing) note(s cu.Stream, k *kernel) error {
	if len(k.steps) == 0 {
		return nil
	}
	n, err := cudadriver.LastNode(s)
	c.steps = append(c.steps, steppedLaunch{n, k})
	return err
}

// graphable reports whether a graph can run the tasks: all are on one device, none is on the host, and the
// run is not observed.
func (p *program) graphable() bool {
	if os.Getenv(graphsVariable) == "none" || p.queues.Observe != nil || len(p.lanes) == 0 {
		return false
	}
	for _, l := range p.lanes {
		if l.device != p.lanes[0].device {
			return false
		}
	}
	for _, j := range p.jobs {
		if onHost(j) {
			return false
		}
	}
	return true
}

// onHost reports whether the host has a part in a job.
func onHost(j job) bool {
	switch j := j.(type) {
	case *hostStep:
		return true
	case *sequence:
		for _, part := range j.parts {
			if onHost(part) {
				return true
			}
		}
	}
	return false
}

// capture makes the graph of a program. Its error says that there is none; the streams are then as they were.
func (r *run) capture() (_ *replay, err error) {
	first := r.lanes[0]
	if err := r.enter(first.device); err != nil {
		return nil, err
	}
	if err := cudadriver.BeginCapture(first.stream); err != nil {
		return nil, err
	}
	r.captured = &capturing{}
	defer func() { r.captured = nil }()
	err = r.fork()
	for i := range r.steps {
		if err == nil {
			err = r.command(i)
		}
	}
	graph, errEnd := cudadriver.EndCapture(first.stream)
	if err = errors.Join(err, errEnd); err != nil {
		if graph != nil {
			err = errors.Join(err, graph.Close())
		}
		return nil, err
	}
	return &replay{graph, r.captured.steps}, nil
}

// fork makes all streams wait for the first one, so that they are captured.
func (r *run) fork() error {
	if len(r.lanes) == 1 {
		return nil
	}
	if err := cudadriver.Wrap("cuEventRecord", r.forked.Record(r.lanes[0].stream)); err != nil {
		return err
	}
	for _, l := range r.lanes[1:] {
		if err := cudadriver.Wrap("cuStreamWaitEvent", l.stream.Wait(r.forked, 0)); err != nil {
			return err
		}
	}
	return nil
}

// replay runs the graph. It returns false if there is none: in the first run, which may load what a capture
// must not, and where a capture failed. The driver then launches tasks one by one.
func (r *run) replay() (bool, error) {
	if !r.graphs || r.runs == 0 {
		return false, nil
	}
	first := r.lanes[0]
	if r.graph == nil {
		g, err := r.capture()
		if err != nil {
			r.graphs = false
			return false, nil
		}
		r.graph = g
		r.onClose(first.device, "cuGraphDestroy", g.graph.Close)
	}
	if err := r.enter(first.device); err != nil {
		return true, err
	}
	for _, s := range r.graph.steps {
		for _, a := range s.kernel.steps {
			s.kernel.args[a] = r.step
		}
		if err := r.graph.graph.Set(s.node, s.kernel.function, s.kernel.grid, s.kernel.block, s.kernel.shared, s.kernel.args); err != nil {
			return true, err
		}
	}
	r.replayed = true
	return true, r.graph.graph.Launch(first.stream)
}
