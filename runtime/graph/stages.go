package graph

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/task"
)

// Staged is a program whose steps were put on the devices of stages.
type Staged struct {
	Program *Program
	home    map[Tensor]int // by tensor of the program for one stage: the stage that has it after a run
	local   map[staged]Tensor
}

// staged is a tensor of the program for one stage, on a stage.
type staged struct {
	Tensor
	stage int
}

// Tensor returns the tensor of the staged program that corresponds to a tensor of the program for one stage:
// an input, a variable or a computed tensor.
func (s *Staged) Tensor(t Tensor) Tensor {
	if u, ok := s.local[staged{t.Root(), s.home[t.Root()]}]; ok {
		return u
	}
	return t.Root()
}

// Stages puts step i of a program on the devices of a stage, stage[i]. Device d of stage s of a program for n
// devices is device s*n+d. A tensor is copied from the stage that wrote it to those that read it, once. All
// steps stay in order, so results have the same bits.
//
// A variable is on the first stage that has it, and begins as before. A node whose tasks are on two stages is
// an error.
func Stages(p *Program, stage []int, n int) (*Staged, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	if len(stage) != len(p.Steps) {
		return nil, fmt.Errorf("graph: want a stage for each of %d steps, got %d", len(p.Steps), len(stage))
	}
	s := &staging{Staged: &Staged{Program: &Program{Name: p.Name}, home: map[Tensor]int{}, local: map[staged]Tensor{}}, devices: n, current: map[Tensor][]int{}, nodes: map[*Node]*Node{}, at: map[*Node]int{}}
	for i := range p.Steps {
		s.phase = p.Steps[i].Phase
		if err := s.step(&p.Steps[i], stage[i]); err != nil {
			return nil, fmt.Errorf("graph: program %s, step %d: %w", p.Name, i, err)
		}
	}
	for _, t := range slices.Concat(p.Variables, p.Fetched) { // a variable, or what is read, ends on the stage that has it
		s.bring(t.Root(), s.at0(t.Root(), 0))
	}
	for _, v := range p.Variables {
		if err := s.begin(v.Root()); err != nil {
			return nil, fmt.Errorf("graph: variable %s: %w", v.Name(), err)
		}
	}
	for _, t := range p.Fetched {
		s.Program.Fetched = append(s.Program.Fetched, s.Tensor(t))
	}
	for _, t := range p.Fed {
		s.Program.Fed = append(s.Program.Fed, s.Tensor(t))
	}
	for _, v := range p.Variables {
		s.Program.Variables = append(s.Program.Variables, s.Tensor(v))
	}
	return s.Staged, s.Program.Validate()
}

// staging puts steps on stages.
type staging struct {
	*Staged
	devices int
	phase   Phase
	current map[Tensor][]int // the stages that have the value of a tensor, in the order in which they got it
	nodes   map[*Node]*Node
	at      map[*Node]int // the stage of a node
}

// at0 returns the stage of a tensor, which is the given one if no step had it before.
func (s *staging) at0(t Tensor, stage int) int {
	if _, ok := s.home[t]; !ok {
		s.home[t] = stage
	}
	return s.home[t]
}

// on returns what a tensor is on a stage.
func (s *staging) on(t Tensor, stage int) Tensor {
	t = t.Root()
	home := s.at0(t, stage)
	if stage == 0 && home == 0 {
		s.local[staged{t, 0}] = t
	}
	key := staged{t, stage}
	if u, ok := s.local[key]; ok {
		return u
	}
	device := stage*s.devices + t.device
	var u Tensor
	if stage == home {
		u = t.Piece(device, s.named(t.name, t.device, device), t.operand.Shape)
	} else {
		u = t.Temporary(device, s.named(fmt.Sprintf("%s at stage %d", strings.TrimSuffix(t.name, mark(t.device)), stage), t.device, device), t.operand.Shape)
	}
	s.local[key] = u
	return u
}

// mark returns the end of the names of what is on a device.
func mark(device int) string {
	if device == 0 {
		return ""
	}
	return fmt.Sprintf("@%d", device)
}

// named returns the name on a device of what had a name on another.
func (s *staging) named(name string, from, to int) string {
	return strings.TrimSuffix(name, mark(from)) + mark(to)
}

func (s *staging) add(step Step) {
	step.Phase = s.phase
	s.Program.Steps = append(s.Program.Steps, step)
}

// bring copies a tensor to a stage that does not have its value, and returns it there.
func (s *staging) bring(t Tensor, stage int) Tensor {
	t = t.Root()
	u := s.on(t, stage)
	switch has := s.current[t]; {
	case slices.Contains(has, stage):
	case len(has) == 0:
		s.current[t] = []int{stage}
	default:
		s.add(Step{Copy: &Copy{To: u, From: s.on(t, has[0])}})
		s.current[t] = append(has, stage)
	}
	return u
}

// write returns a tensor on the stage that writes it.
func (s *staging) write(t Tensor, stage int) Tensor {
	u := s.on(t, stage)
	s.current[t.Root()] = []int{stage}
	return u
}

// step puts a step on a stage.
func (s *staging) step(p *Step, stage int) error {
	switch {
	case p.Fill != nil:
		s.add(Step{Fill: &Fill{Tensor: s.write(p.Fill.Tensor, stage), Value: p.Fill.Value, Identity: p.Fill.Identity}})
	case p.Add != nil:
		from := s.bring(p.Add.From, stage)
		s.bring(p.Add.To, stage)
		s.add(Step{Add: &Add{To: s.write(p.Add.To, stage), From: from}})
	case p.Copy != nil:
		from := s.bring(p.Copy.From, stage)
		s.add(Step{Copy: &Copy{To: s.write(p.Copy.To, stage), From: from}})
	case p.AllReduce != nil:
		var all []Tensor
		for _, t := range p.AllReduce.Tensors {
			s.bring(t, stage)
			all = append(all, s.write(t, stage))
		}
		s.add(Step{AllReduce: &AllReduce{Tensors: all}})
	default:
		return s.invoke(p.Invocation, stage)
	}
	return nil
}

// invoke puts an invocation on a stage: first it brings what the task reads.
func (s *staging) invoke(inv *Invocation, stage int) error {
	for i, p := range inv.Signature.Params {
		for _, t := range inv.Operands[i] {
			own := !p.Grad && inv.Node.Op.Slots[p.Slot].Role == task.RoleSaved
			if t.Valid() && !own && (p.Perm.Reads() || p.Perm == perm.Reduce || p.Grad && t.add) {
				s.bring(t, stage)
			}
		}
	}
	n, err := s.node(inv.Node, stage)
	if err != nil {
		return err
	}
	out := &Invocation{Node: n, Signature: inv.Signature, Operands: make([][]Tensor, len(inv.Operands)), Passed: inv.Passed, Added: inv.Added}
	for i, p := range inv.Signature.Params {
		for k, t := range inv.Operands[i] {
			if !p.Grad && inv.Node.Op.Slots[p.Slot].Role == task.RoleSaved {
				out.Operands[i] = append(out.Operands[i], n.Tensors(p.Slot)[k])
				continue
			}
			if t.Valid() {
				u := s.on(t, stage)
				if p.Perm.Writes() {
					u = s.write(t, stage)
				}
				u.add = t.add
				t = u
			}
			out.Operands[i] = append(out.Operands[i], t)
		}
	}
	s.add(Step{Invocation: out})
	return nil
}

// node returns what a node is on a stage.
func (s *staging) node(n *Node, stage int) (*Node, error) {
	if m, ok := s.nodes[n]; ok {
		if s.at[n] != stage {
			return nil, fmt.Errorf("want the tasks of node %s on one stage, got %d and %d", n.Name, s.at[n], stage)
		}
		return m, nil
	}
	tensors, same := map[int][]Tensor{}, stage == 0
	for slot := range n.Op.Slots {
		if n.Op.Slots[slot].Role == task.RoleSaved {
			continue
		}
		for _, t := range n.slots[slot] {
			u := s.on(t, stage)
			tensors[slot], same = append(tensors[slot], u), same && u == t
		}
	}
	m := n
	if !same {
		var err error
		device := stage*s.devices + n.Device
		if m, err = n.Piece(device, s.named(n.Name, n.Device, device), n.Attrs, tensors, n.wholes); err != nil {
			return nil, err
		}
	}
	s.nodes[n], s.at[n] = m, stage
	return m, nil
}

// begin makes a variable on a stage begin as it would without stages.
func (s *staging) begin(v Tensor) error {
	u := s.Tensor(v)
	if u == v {
		return nil
	}
	switch {
	case v.source.Valid():
		u.BeginAs(s.Tensor(v.source))
	case v.begin == nil:
		u.init = v.init
	default:
		b := v.begin
		moved := map[Tensor]Tensor{v: u}
		here := func(t Tensor) Tensor {
			if _, ok := moved[t.Root()]; !ok {
				moved[t.Root()] = t.Temporary(u.device, s.named(t.name, t.device, u.device), t.operand.Shape)
			}
			return moved[t.Root()]
		}
		from := here(b.from)
		var nodes []*Node
		for _, n := range b.nodes {
			tensors := map[int][]Tensor{}
			for slot := range n.Op.Slots {
				if n.Op.Slots[slot].Role == task.RoleSaved {
					continue
				}
				for _, t := range n.slots[slot] {
					tensors[slot] = append(tensors[slot], here(t))
				}
			}
			m, err := n.Piece(u.device, s.named(n.Name, n.Device, u.device), n.Attrs, tensors, n.wholes)
			if err != nil {
				return err
			}
			nodes = append(nodes, m)
		}
		u.BeginBy(v, from, nodes...)
	}
	return nil
}
