// Package cost measures what operators cost on this machine: the time of forward and backward, memory by
// kind, and an estimate of the time to synchronize weights. It compares the times with what the operators'
// specs say they must compute and move, and with what the machine could do.
package cost

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/opgen/opgen/runtime/cpu"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/profile"
	"github.com/opgen/opgen/runtime/task"
)

// Config says how a Meter measures.
type Config struct {
	// Backend makes the backend on which operators are measured, one for each operator. Without it, the CPUs
	// of this machine run them, with the given number of workers.
	Backend func() engine.Backend
	Workers int
	// Warmup is the number of runs before measurement begins. Runs is the number of measured runs; 0 means 5.
	Warmup, Runs int
	// MemoryLimit bounds the bytes of tensors of a measurement; 0 means no bound.
	MemoryLimit int64
	// Machine holds the peak rates of the machine. Without it, there are no roofline shares.
	Machine Machine
	// Devices is the number of devices that would train together, each on a part of the batch. Bandwidth is
	// the number of bytes a second that each sends and receives at the same time. With fewer than 2 devices,
	// or without a bandwidth, Metrics.Sync is 0.
	Devices   int
	Bandwidth float64
}

// Metrics holds the measured cost of an operator.
type Metrics struct {
	Forward  Phase // the operator's first task: of an optimizer, update
	Backward Phase // without runs if the operator has no gradient
	// Init is how long it took to make the per-device state, once for a node; 0 if the operator keeps none.
	Init time.Duration
	// Sync is about how long it takes to sum the gradients of the operator's weights over all devices,
	// in a ring: each device sends and receives 2 * (n-1) / n of the bytes.
	Sync   time.Duration
	Memory Memory
}

// Phase is the cost of a task.
type Phase struct {
	Time profile.Time
	// Flops and Bytes are the operations and the moved bytes that the spec states; Known reports whether it
	// does. If it states no bytes, Bytes is the size of the tensors that the task reads and writes.
	Known        bool
	Flops, Bytes float64
	// Roofline is the shortest time that the machine allows, with tensors in memory. Share is Roofline
	// divided by the mean time, which may exceed 1 if caches hold the tensors. Both are 0 if the cost or the
	// machine is unknown.
	Roofline time.Duration
	Share    float64
}

// Memory is bytes of tensors, by kind.
type Memory struct {
	Inputs, Weights, Outputs int64
	Saved                    int64 // kept by forward for backward
	Scratch                  int64 // of the largest task, that of all workers included
	Gradients                int64 // of inputs, weights and outputs
	State                    int64 // of the per-device state: what init allocated
}

// Meter measures operators, and keeps the results. It is safe for concurrent use; it measures one operator at
// a time.
type Meter struct {
	registry *task.Registry
	config   Config

	mu    sync.Mutex
	known map[key]Metrics
}

// key holds everything that the cost of an operator depends on.
type key struct {
	op    *graph.Operator
	attrs task.Attrs
	given string // shapes and types of what the operator is applied to, and what its caller passes
}

// NewMeter returns a meter that runs the tasks of a registry.
func NewMeter(r *task.Registry, c Config) *Meter {
	c.Warmup = max(c.Warmup, 0)
	if c.Runs <= 0 {
		c.Runs = 5
	}
	if c.Backend == nil {
		c.Backend = func() engine.Backend { return cpu.New(cpu.Config{Workers: c.Workers}) }
	}
	return &Meter{registry: r, config: c, known: map[key]Metrics{}}
}

// MeasureCost measures the operator of a node with the node's attributes, shapes and types, unless it did so
// before. It runs on memory of its own: variables and gradients of the graph's engines are never touched.
func (m *Meter) MeasureCost(ctx context.Context, n *graph.Node) (Metrics, error) {
	if n == nil {
		return Metrics{}, fmt.Errorf("cost: want a node, got none")
	}
	k := key{n.Op, n.Attrs, given(n)}
	m.mu.Lock()
	defer m.mu.Unlock()
	if got, ok := m.known[k]; ok {
		return got, nil
	}
	got, err := m.measure(ctx, n)
	if err != nil {
		return Metrics{}, fmt.Errorf("cost of operator %s: %w", n.Op.FullName(), err)
	}
	m.known[k] = got
	return got, nil
}

// given formats what a node's operator is applied to and what its caller passes.
func given(n *graph.Node) string {
	g := n.Resolved.Given()
	var b strings.Builder
	for i := range n.Op.Slots {
		fmt.Fprintf(&b, "%v%v%v%#v;", g.Operands[i], g.Places[i], g.Requested[i], n.Passed(i))
	}
	return b.String()
}

// memory adds up the tensors of a node.
func memory(n *graph.Node, workers int) Memory {
	var m Memory
	bytes := func(slot int) int64 {
		var sum int64
		for _, o := range n.Resolved.Operands(slot) {
			sum += o.Bytes()
		}
		return sum
	}
	for i := range n.Op.Slots {
		switch n.Op.Slots[i].Role {
		case task.RoleInput:
			m.Inputs += bytes(i)
		case task.RoleWeight:
			m.Weights += bytes(i)
		case task.RoleOutput:
			m.Outputs += bytes(i)
		case task.RoleSaved:
			m.Saved += bytes(i)
		}
	}
	for _, sig := range n.Op.Signatures {
		var scratch int64
		for _, p := range sig.Params {
			slot := &n.Op.Slots[p.Slot]
			switch {
			case p.Grad:
				m.Gradients += bytes(p.Slot)
			case slot.Role == task.RoleScratch && slot.PerWorker:
				scratch += bytes(p.Slot) * int64(workers)
			case slot.Role == task.RoleScratch:
				scratch += bytes(p.Slot)
			}
		}
		m.Scratch = max(m.Scratch, scratch)
	}
	return m
}

// sync estimates how long it takes to sum the gradients of a node's weights over all devices.
func (c *Config) sync(n *graph.Node) time.Duration {
	sig := n.Op.Signature(task.KindBackward)
	if sig == nil || c.Devices < 2 || c.Bandwidth <= 0 {
		return 0
	}
	var bytes float64
	for _, p := range sig.Params {
		if p.Grad && n.Op.Slots[p.Slot].Role == task.RoleWeight {
			for _, o := range n.Resolved.Operands(p.Slot) {
				bytes += float64(o.Bytes())
			}
		}
	}
	devices := float64(c.Devices)
	return seconds(2 * (devices - 1) / devices * bytes / c.Bandwidth)
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// compare fills in what a phase costs according to the spec, and how near to the roofline it is. moved is how
// many bytes of tensors the task reads and writes.
func (c *Config) compare(p *Phase, n *graph.Node, kind task.Kind, moved int64) {
	number := slices.Index(n.Op.Signatures, n.Op.Signature(kind))
	spec := n.Resolved.Cost(number)
	if !spec.Known {
		return
	}
	p.Known, p.Flops, p.Bytes = true, spec.Flops, spec.Bytes
	if p.Bytes == 0 {
		p.Bytes = float64(moved)
	}
	flops := c.Machine.F32
	if slices.Contains(n.Resolved.Types, dtype.F64) {
		flops = c.Machine.F64
	}
	if flops <= 0 || c.Machine.Bandwidth <= 0 {
		return
	}
	p.Roofline = seconds(max(p.Flops/flops, p.Bytes/c.Machine.Bandwidth))
	if p.Time.Mean > 0 {
		p.Share = p.Roofline.Seconds() / p.Time.Mean.Seconds()
	}
}
