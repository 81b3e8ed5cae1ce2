// Package plan holds the types of a plan: plain data that says which tasks run in which order, on which
// memory. Package planner makes plans, package verify checks them, and engines run them.
package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tensor"
)

// Align is the alignment of every root, in bytes: a cache line.
const Align = 64

// Format is the version of the plan's data. Decode refuses others.
const Format = 1

// Plan is a program with its memory laid out. It is immutable once built, and the same program gives
// the same plan.
type Plan struct {
	Format int    `json:"format"`
	Name   string `json:"name"`
	// Target is the target of the kernels for which the program was lowered. Engines for other targets refuse
	// the plan.
	Target op.Target `json:"target"`
	// Devices is the number of devices that the plan uses; 0 stands for 1.
	Devices int `json:"devices,omitempty"`
	// Roots lists the tensors that have memory; a region.Root is an index into it.
	Roots []Root `json:"roots"`
	// Calls lists the task invocations; Tasks refers to them.
	Calls []Call `json:"calls"`
	// Tasks lists the tasks. Their sequential execution in this order defines the results of the plan.
	Tasks []Task `json:"tasks"`
	// States lists the nodes with per-device state, in the order in which it is made.
	States []State `json:"states,omitempty"`
	// ArenaBytes is the memory that the plan needs besides its variables and the workers' scratch. Each
	// device has an equal part of it, in the order of devices.
	ArenaBytes int64 `json:"arena_bytes"`
	// WorkerBytes is the scratch memory that each worker needs on each device: the most of a call.
	WorkerBytes int64 `json:"worker_bytes"`
	// Deps holds the predecessors of each task that follow from accesses, from reused memory and from
	// Task.After. Predecessors that follow from others may be omitted.
	Deps schedule.Graph `json:"deps"`
	// Schedule holds the queue of each worker.
	Schedule schedule.Schedule `json:"schedule"`
}

// Use is how the caller uses a root.
type Use uint8

const (
	Internal Use = iota
	Fed          // written by the caller before a run
	Fetched      // read by the caller after a run
	Variable     // lives from run to run
)

var uses = [...]string{"internal", "fed", "fetched", "variable"}

// String names the use.
func (u Use) String() string { return uses[u] }

// MarshalText writes the use's name.
func (u Use) MarshalText() ([]byte, error) { return []byte(u.String()), nil }

// UnmarshalText reads the use's name.
func (u *Use) UnmarshalText(text []byte) error {
	for i, n := range uses {
		if n == string(text) {
			*u = Use(i)
			return nil
		}
	}
	return fmt.Errorf("plan: unknown use %q", text)
}

// Root is a tensor with memory: an allocation.
type Root struct {
	Name  string     `json:"name"`
	Type  dtype.Type `json:"type"`
	Shape []int      `json:"shape"`
	Use   Use        `json:"use"`
	// Device is the number of the device in whose memory the root lies.
	Device int          `json:"device,omitempty"`
	Place  region.Place `json:"place"`
	// First and Last number the first and the last task that accesses the root. A fed root is live from -1
	// on, a fetched one up to len(Tasks). The inputs of the next run may be fed before results are fetched.
	// So fed and fetched roots share no memory, even if their lifetimes do not overlap.
	First int `json:"first"`
	Last  int `json:"last"`
}

// Operand returns the root's type and shape.
func (r *Root) Operand() task.Operand { return task.Operand{Type: r.Type, Shape: r.Shape} }

// Call is an invocation of a task.
type Call struct {
	Node     string          `json:"node"`
	Operator string          `json:"operator"`
	Task     string          `json:"task"`
	ID       task.ID         `json:"id"`
	Phase    string          `json:"phase"`
	Device   int             `json:"device,omitempty"` // runs the call and has its tensors
	Attrs    json.RawMessage `json:"attrs"`
	Types    []dtype.Type    `json:"types"` // of the operator's dtype variables
	// Given lists the tensors to which the operator was applied, by slot name. Requested names the outputs
	// made on request, once for each tensor. The operator's rules give all other shapes.
	Given     map[string][]task.Operand `json:"given,omitempty"`
	Requested []string                  `json:"requested,omitempty"`
	// Values says how many values the caller of the node passes for arguments, by slot name. They may be
	// those of other tasks.
	Values map[string]int `json:"values,omitempty"`
	// Places lists, by slot name, the places of the given tensors in a list of which others are absent.
	Places map[string][]int `json:"places,omitempty"`
	// Seed is the seed of the call's random numbers; 0 if the task takes none.
	Seed int `json:"seed,omitempty"`
	// Passed lists the values of each argument that the caller passes, by slot name.
	Passed map[string]json.RawMessage `json:"passed,omitempty"`
	// Added lists the constraints on how tensors are partitioned that the caller added to those of the task.
	Added []partition.Constraint `json:"added,omitempty"`
	// Wholes maps a slot name to the partitions of the whole tensors of which the call's tensors are parts;
	// nil if the call's tensors are whole.
	Wholes map[string][]partition.Partition `json:"wholes,omitempty"`
	// Params lists the tensors of each parameter of the task's signature.
	Params [][]Bound `json:"params"`
	// Slots names the slot of each parameter. That of a gradient begins with "grad of".
	Slots []string `json:"slots"`
	// WorkerBytes is the scratch memory that the call needs from each worker.
	WorkerBytes int64 `json:"worker_bytes,omitempty"`
	// InPlace lists the parameters whose tensors take the memory of others.
	InPlace []Pair `json:"in_place,omitempty"`
}

// Pair says that a tensor of parameter Param uses the memory of the tensor of the same number of parameter
// Of.
type Pair struct {
	Param  int `json:"param"`
	Of     int `json:"of"`
	Tensor int `json:"tensor,omitempty"` // the number, other than 0 only of a variadic slot
}

// NoRoot stands for an unused gradient of a tensor of a variadic slot.
const NoRoot region.Root = -1

// GradOf begins the name of a parameter that is the gradient of a slot.
const GradOf = "grad of "

// Asked returns which gradients a call computes, of those that its task may write.
func (c *Call) Asked(s *task.Signature) task.Asked {
	return s.AskedOf(func(param int, f func(bool, tensor.Mode)) {
		if param < len(c.Params) {
			for _, b := range c.Params[param] {
				f(b.Root != NoRoot, b.Mode)
			}
		}
	})
}

// State is a node with per-device state. Its calls are those in Calls that have its name. Init makes the
// state when the plan is loaded, and Cleanup frees it when the plan is unloaded.
type State struct {
	Node    string `json:"node"`
	Init    Call   `json:"init"`
	Cleanup *Call  `json:"cleanup,omitempty"`
}

// Bound is a tensor bound to a parameter.
type Bound struct {
	Root region.Root `json:"root"`
	Mode tensor.Mode `json:"mode,omitempty"` // for gradients that the task computes
	// Shape is the shape of the tensor if it differs from the root's. The tensor is then a view of the root's
	// elements.
	Shape []int `json:"shape,omitzero"`
}

// Operand returns the type and shape of a bound tensor.
func (p *Plan) Operand(b Bound) task.Operand {
	o := p.Roots[b.Root].Operand()
	if b.Shape != nil {
		o.Shape = b.Shape
	}
	return o
}

// Builtin is an operation that every engine implements. "fill" and "identity" write one tensor. "add" adds a
// second to a first tensor, and "convert" and "copy" write to the first what is in the second. "all_reduce"
// replaces tensors by their sum, which it adds in their order; elements of 16 bits are added in f32 and
// rounded once. Tensors of "copy" and "all_reduce" may lie on several devices. "send" sends the elements of a
// tensor to another rank, where a "receive" writes them to a tensor.
type Builtin struct {
	Op    string     `json:"op"`
	Value float64    `json:"value,omitempty"`
	Redop perm.Redop `json:"redop,omitempty"` // whose neutral element "identity" writes
	// Peer is the rank to which a message goes or from which it comes, and Message its number among those of
	// all ranks in a run, counted from 1.
	Peer    int `json:"peer,omitempty"`
	Message int `json:"message,omitempty"`
}

// Task is a step of a call, or a built-in operation. It runs over a grid, whose tiles may run side by side.
type Task struct {
	Call    int      `json:"call"` // -1 for a built-in or a group
	Step    int      `json:"step"`
	Device  int      `json:"device,omitempty"` // that runs the task
	Builtin *Builtin `json:"builtin,omitempty"`
	Group   *Group   `json:"group,omitempty"`
	// Over and Grain are the extents of dimension 0 of the grid and of its tiles. Inner holds the other
	// dimensions; most grids have none.
	Over  int       `json:"over"`
	Grain int       `json:"grain"`
	Inner []op.Axis `json:"inner,omitempty"`
	// Tile is the number of the only tile that the task runs, counted from 1; 0 stands for all tiles.
	Tile   int             `json:"tile,omitempty"`
	Access []region.Access `json:"access"`
	// After lists earlier tasks that must be complete before this one begins, whatever they access.
	After []int `json:"after,omitempty"`
	// Elementwise says that index i accesses only element i of every tensor that has as many elements as
	// there are indices, and that the task only reads other tensors.
	Elementwise bool `json:"elementwise,omitempty"`
}

// Grid returns the grid of the task's step.
func (t *Task) Grid() op.Grid {
	return op.Grid{Axis: op.Axis{Over: t.Over, Grain: t.Grain}, Inner: t.Inner}
}

// On sets box to the elements of a root that the task touches through its access i: those of its tile, or of
// all tiles. It reuses the memory of box.
func (t *Task) On(i int, box *region.Box) {
	if t.Tile == 0 {
		box.Lo, box.Hi = append(box.Lo[:0], t.Access[i].Lo...), append(box.Hi[:0], t.Access[i].Hi...)
		return
	}
	g := t.Grid()
	t.Access[i].On(g.Tile(t.Tile-1), box)
}

// Ranges returns the number of ranges of the task.
func (t *Task) Ranges() int {
	if t.Tile > 0 {
		return 1
	}
	g := t.Grid()
	return g.Tiles()
}

// Label returns a name for the task, such as "fc1: linear.backward". It also names tasks of plans that
// package verify refuses.
func (p *Plan) Label(i int) string {
	if s := p.LabelOf(&p.Tasks[i]); s != "" {
		return s
	}
	return fmt.Sprintf("task %d", i)
}

// LabelOf returns the name of a task of the plan or of a part of one, or "" if it has none.
func (p *Plan) LabelOf(t *Task) string {
	switch {
	case t.Group != nil:
		return p.groupLabel(t.Group)
	case t.Builtin != nil && len(t.Access) > 0 && t.Access[0].Root >= 0 && int(t.Access[0].Root) < len(p.Roots):
		return fmt.Sprintf("%s %s", t.Builtin.Op, p.Roots[t.Access[0].Root].Name)
	case t.Builtin == nil && t.Call >= 0 && t.Call < len(p.Calls):
		c := &p.Calls[t.Call]
		return fmt.Sprintf("%s: %s.%s", c.Node, c.Operator, c.Task)
	}
	return ""
}

// Encode returns the plan as JSON. Equal plans give equal bytes.
func (p *Plan) Encode() ([]byte, error) { return json.Marshal(p) }

// Decode reads what Encode or EncodeBinary wrote.
func Decode(data []byte) (*Plan, error) {
	p := &Plan{}
	var err error
	if isBinary(data) {
		p, err = decodeBinary(data)
	} else {
		err = json.Unmarshal(data, p)
	}
	if err != nil {
		return nil, fmt.Errorf("plan: %w", err)
	}
	if p.Format != Format {
		return nil, fmt.Errorf("plan: want format %d, got %d", Format, p.Format)
	}
	return p, nil
}

// Hash returns a hash of the plan's content, as hexadecimal digits.
func (p *Plan) Hash() (string, error) {
	data, err := p.Encode()
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}

// LowerBound returns the least possible size of the arena, in bytes: the maximum of bytes that are live at
// the same time. Results are fetched and the next inputs are fed between the last task and the first. That
// counts as one more step, in which fetched and fed roots are live together.
func (p *Plan) LowerBound() int64 {
	between := len(p.Tasks)
	change := make([]int64, between+2) // of the live bytes, per step
	live := func(first, last int, bytes int64) {
		if last = min(last, between); first <= last {
			change[first] += bytes
			change[last+1] -= bytes
		}
	}
	for i := range p.Roots {
		r := &p.Roots[i]
		switch {
		case r.Use == Variable || r.First > r.Last:
		case r.First < 0:
			live(0, min(r.Last, between-1), r.Place.Bytes)
			live(between, between, r.Place.Bytes)
		default:
			live(r.First, r.Last, r.Place.Bytes)
		}
	}
	var now, most int64
	for _, n := range change {
		now += n
		most = max(most, now)
	}
	return most
}

// DeviceCount returns the number of devices that the plan uses.
func (p *Plan) DeviceCount() int { return max(p.Devices, 1) }

// DeviceBytes returns the part of the arena that each device has.
func (p *Plan) DeviceBytes() int64 { return p.ArenaBytes / int64(p.DeviceCount()) }

// Crosses reports whether a task may access tensors on other devices than its own.
func (t *Task) Crosses() bool {
	return t.Builtin != nil && (t.Builtin.Op == "copy" || t.Builtin.Op == "all_reduce")
}

// Talks reports whether a task sends or receives a message.
func (t *Task) Talks() bool {
	return t.Builtin != nil && (t.Builtin.Op == "send" || t.Builtin.Op == "receive")
}

// VariableBytes returns the memory of the plan's variables.
func (p *Plan) VariableBytes() int64 {
	var n int64
	for i := range p.Roots {
		if p.Roots[i].Use == Variable {
			n += p.Roots[i].Place.Bytes
		}
	}
	return n
}
