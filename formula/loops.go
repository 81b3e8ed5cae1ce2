package formula

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"sync"
	"unsafe"

	"github.com/opgen/opgen/formula/derive"
	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// loopKernel computes a task by loops that are compiled from the operator's formula.
type loopKernel struct {
	signature *task.Signature
	uses      *uses // nil if the kernel is never bound
}

// use is the compiled code of one instantiation of an operator.
type use struct {
	program   *program.Program
	gradients map[int]int // tensor -> its gradient
	between   map[int]int // tensor -> its gradient, for intermediate values of the task
	code      loops.Code  // nil if the interpreter runs the task
	why       error       // why code is nil
	notRows   error       // why shares cannot run single rows
}

// uses caches compiled code. It forgets what was not bound for long: when recent is full, it becomes older,
// and the older ones are dropped.
type uses struct {
	mu            sync.Mutex
	recent, older map[useKey]*use
}

// useKey is a task and all that its compiled code depends on.
type useKey struct {
	signature *task.Signature
	use       string
}

// mostUses is how many uses are recent. Training a large network takes some hundred.
const mostUses = 512

// compiledUses has the compiled code of all tasks that are registered.
var compiledUses uses

func (k loopKernel) bind(a *task.Accessor) ([]op.Body, error) {
	if err := complete(k.signature, a); err != nil {
		return nil, err
	}
	key, err := k.key(a)
	if err != nil {
		return nil, mistake(k.signature.Operator.FullName(), err.Error())
	}
	l := &layout{kernel: k, accessor: a, task: slices.Index(k.signature.Operator.Signatures, k.signature)}
	if a.Rows {
		tiles, err := a.Resolved.Tiles(l.task, 0, a.Grid)
		if err != nil {
			return nil, mistake(k.signature.Operator.FullName(), "want rows that are computed by themselves: "+err.Error())
		}
		l.axes = len(tiles.Rows)
	}
	u := k.uses.get(useKey{k.signature, key})
	if u == nil {
		if u, err = l.use(); err != nil {
			return nil, err
		}
		k.uses.put(useKey{k.signature, key}, u)
	} else if u.code != nil { // the interpreter needs no layout
		l.program, l.between = u.program, u.between
		l.place(maps.Clone(u.gradients))
	}
	if a.Rows {
		return l.rowBodies(u)
	}
	if u.code == nil {
		return kernel{k.signature}.bind(a)
	}
	return l.bodies(u.code), nil
}

// get returns the code of a use, or nil.
func (u *uses) get(key useKey) *use {
	u.mu.Lock()
	defer u.mu.Unlock()
	if x := u.recent[key]; x != nil {
		return x
	}
	x := u.older[key]
	if x != nil {
		u.add(key, x)
	}
	return x
}

func (u *uses) put(key useKey, x *use) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.add(key, x)
}

func (u *uses) add(key useKey, x *use) {
	if len(u.recent) >= mostUses {
		u.older, u.recent = u.recent, nil
	}
	if u.recent == nil {
		u.recent = map[useKey]*use{}
	}
	u.recent[key] = x
}

// key encodes all that compiled code depends on: attributes, seed, types, shapes, the lengths of passed
// arguments, and which tensors have memory and share it.
func (k loopKernel) key(a *task.Accessor) (string, error) {
	attrs, err := attr.Marshal(a.Attrs)
	if err != nil {
		return "", err
	}
	b := strconv.AppendBool(attrs, a.Rows)
	b = append(append(b, a.Grid...), ';')
	number := func(n int) { b = append(strconv.AppendInt(b, int64(n), 10), ' ') }
	number(a.Seed)
	for i := range k.signature.Operator.Slots {
		for _, o := range a.Resolved.Operands(i) {
			b = append(b, o.Type.String()...)
			for _, n := range o.Shape {
				number(n)
			}
			b = append(b, ',')
		}
		b = append(b, ';')
	}
	for _, p := range k.signature.Args {
		if p.From == task.FromCall {
			number(len(a.Passed.Values(p.Slot)))
		}
	}
	places := map[*byte]int{}
	for _, p := range k.signature.Params {
		for _, m := range a.Memory(p.Slot, p.Grad) {
			at := unsafe.SliceData(m.Bytes)
			if _, ok := places[at]; !ok {
				places[at] = len(places)
			}
			number(places[at])
			b = strconv.AppendBool(b, m.Bytes == nil)
			number(int(m.Mode))
			b = append(b, m.Type.String()...)
			b = append(b, ',')
		}
		b = append(b, ';')
	}
	return string(b), nil
}

// use compiles the use of the operator that the accessor describes.
func (l *layout) use() (*use, error) {
	o := l.kernel.signature.Operator
	u, err := useOf(o, l.accessor.Attrs, l.accessor.Resolved, l.accessor.Seed, l.accessor.Passed)
	if err != nil {
		return nil, mistake(o.FullName(), err.Error())
	}
	return l.compiled(u)
}

// compiled compiles u. If loops do not support a statement, the result has no code, but the reason.
func (l *layout) compiled(u *program.Use) (*use, error) {
	p, err := program.Build(u)
	if err != nil {
		return nil, mistake(l.kernel.signature.Operator.FullName(), err.Error())
	}
	l.program = p
	statements, gradients, err := l.statements()
	err = opened(p, err, func(p *program.Program) (err error) {
		l.program = p
		statements, gradients, err = l.statements()
		return err
	})
	out := &use{program: l.program, gradients: gradients, between: l.between}
	if err != nil {
		if _, mistaken := errors.AsType[*op.Error](err); mistaken {
			return nil, err
		}
		out.why = err
		return out, nil
	}
	options := loops.Options{Steps: len(l.steps()), Listed: l.listed}
	for i := range l.kernel.signature.Steps {
		options.ByElement = options.ByElement || l.accessor.Resolved.Elementwise(l.kernel.signature, i)
		options.Ordered = options.Ordered || l.accessor.Resolved.Cuts[[2]int{l.task, i}] != nil
	}
	all := l.withOthers(gradients, statements)
	if l.axes > 0 && len(all) > 0 { // there are none where 0 is added to gradients
		options.Rows, options.Before, out.notRows = l.divide(statements)
	}
	out.code, out.why = loops.Compile(l.program, all, l.tensors, options)
	if options.Rows > 0 && out.code != nil {
		out.notRows = out.code.RowByRow()
	}
	return out, nil
}

// complete returns an error if a tensor of the task has no memory.
func complete(s *task.Signature, a *task.Accessor) error {
	t := slices.Index(s.Operator.Signatures, s)
	for _, p := range s.Params {
		if p.Grad || !a.Resolved.Takes(t, p.Slot) {
			continue
		}
		got := len(a.Memory(p.Slot, false))
		if want := len(a.Resolved.Operands(p.Slot)); got < want {
			number := "one tensor"
			if want > 1 {
				number = fmt.Sprintf("%d tensors", want)
			}
			return &op.Error{Operator: s.Operator.FullName(), Task: s.Task, Slot: s.Operator.Slots[p.Slot].Name, Message: fmt.Sprintf("want %s, got %d", number, got)}
		}
	}
	return nil
}

// statements returns the statements that the task runs, and a map from tensors to their gradients.
func (l *layout) statements() (statements []*program.Statement, gradients map[int]int, err error) {
	k := l.kernel.signature
	all := l.program.Statements
	of := map[int]int{} // gradients, by tensor
	if k.Kind == task.KindBackward {
		var outputs []int
		for i, t := range l.program.Tensors {
			if t.Slot >= 0 && t.Given && l.program.HasGradient(i) && t.Kind == term.Real && (count(t) == 0 || len(l.buffer(t.Slot, t.Number, true).Bytes) > 0) && l.gradientIn(t.Slot) {
				outputs = append(outputs, i)
			}
		}
		g, err := derive.Gradients(l.program, outputs)
		if err != nil {
			return nil, nil, err
		}
		g.Program.Settle()
		l.program, of, l.between = g.Program, g.Of, g.Between
		all = g.Program.Statements
	}
	l.place(of)
	statements, err = l.needed(all)
	return statements, of, err
}

// withOthers adds the statements for the gradients that the caller did not ask for. Which loops are fused
// follows from all of them, so that a gradient has the same bits whether or not others are asked for.
func (l *layout) withOthers(gradients map[int]int, statements []*program.Statement) []*program.Statement {
	if l.kernel.signature.Kind != task.KindBackward {
		return statements
	}
	wanted := l.wanted
	defer func() { l.wanted = wanted }()
	l.wanted = slices.Clone(wanted)
	more := false
	for t, g := range gradients {
		if x := l.program.Tensors[t]; x.Slot >= 0 && !x.Given && !l.given[g] && !l.wanted[g] {
			l.wanted[g], more = true, true
		}
	}
	if !more {
		return statements
	}
	all, err := l.needed(l.program.Statements)
	if err != nil {
		return statements
	}
	return all
}

// needed returns the statements on which the wanted tensors depend, without those whose results the task gets
// as inputs. It returns missing if they read a tensor that the task does not get. That may happen because
// saved tensors are inferred from the spec's examples, none of which may show this read.
func (l *layout) needed(all []*program.Statement) ([]*program.Statement, error) {
	need := slices.Clone(l.wanted)
	kept, err := program.Needed(all, need, func(t int) bool { return l.given[t] && !l.wanted[t] })
	if err != nil {
		return nil, mistake(l.program.Operator, err.Error())
	}
	for t, x := range l.program.Tensors {
		if need[t] && x.Slot >= 0 && !x.Given && x.Old < 0 && !l.given[t] && !l.wanted[t] && count(x) > 0 {
			return nil, missing{l.program.Operator, x.Name}
		}
		if need[t] && l.kernel.signature.Kind == task.KindBackward && l.program.Overwritten(x) {
			return nil, missing{l.program.Operator, x.Name}
		}
	}
	return l.apart(l.complete(kept)), nil
}

// complete prepends implicit initializations: zeros for accumulated tensors and for tensors that no statement
// defines, and copies of old values that are read after their tensor is overwritten.
func (l *layout) complete(kept []*program.Statement) []*program.Statement {
	var first []*program.Statement
	begun := make([]bool, len(l.program.Tensors))
	var out []*program.Statement
	for _, s := range kept {
		if s.Add && !begun[s.Target] && !l.tensors[s.Target].Add {
			out = append(out, l.fill(s.Target))
		}
		begun[s.Target] = true
		out = append(out, s)
	}
	for t, wanted := range l.wanted {
		if wanted && !begun[t] && !l.given[t] && !l.tensors[t].Add {
			first = append(first, l.fill(t))
		}
	}
	for t, old := range l.program.Tensors {
		if old.Old >= 0 && l.late(out, t, old.Old) {
			l.tensors[t] = rewrite.Tensor{Memory: t, Local: true, Type: l.tensors[old.Old].Type}
			s := l.fill(t)
			s.Value = &term.Term{Op: term.Element, Kind: old.Kind, Read: &term.Read{Tensor: old.Old, Count: 1, Idx: s.Left.Idx, Ext: s.Left.Ext, Text: old.Name}}
			first = append(first, s)
		}
	}
	return append(first, out...)
}

// fill returns a statement that sets all elements of a tensor to 0.
func (l *layout) fill(t int) *program.Statement {
	local := l.program.Tensors[t]
	s := &program.Statement{Target: t, Left: &term.Read{Tensor: t, Count: 1, Ext: local.Shape, Text: local.Name}, Value: term.RealNumber(0)}
	switch local.Kind {
	case term.Integer:
		s.Value = term.Number(0)
	case term.Boolean:
		s.Value = term.Condition(false)
	}
	for _, n := range local.Shape {
		v := &term.Variable{Name: "i", Lo: term.Number(0), Hi: n}
		s.Vars = append(s.Vars, v)
		s.Left.Idx = append(s.Left.Idx, v.Term())
	}
	return s
}

// late reports whether old.NAME is read after NAME may be overwritten: by a statement after the one that
// defines NAME, or by that statement at another offset.
func (l *layout) late(statements []*program.Statement, old, now int) bool {
	given, late := false, false
	for _, s := range statements {
		s.Value.Walk(func(n *term.Term) {
			if n.Op != term.Element || n.Read.Tensor != old {
				return
			}
			late = late || given
			if s.Target == now {
				late = late || !slices.EqualFunc(n.Read.Idx, s.Left.Idx, term.Identical)
			}
		})
		given = given || s.Target == now
	}
	return late
}

// bodies binds the compiled loops to memory. It returns one body for each step of the task.
func (l *layout) bodies(code loops.Code) []op.Body {
	out := make([]op.Body, len(l.kernel.signature.Steps))
	for i := range out {
		out[i] = nothing{}
	}
	steps := l.steps()
	work := make([]int, code.Groups())
	parts := make([]int, code.Groups())
	for i := range work {
		work[i], parts[i] = code.Work(i), code.Parts(i)
	}
	l.follow()
	run := code.Bind(l.memory)
	starts := divided(work, len(steps))
	if at := l.matched(code, steps); at != nil {
		steps = at
	}
	for i, from := range starts[:len(starts)-1] {
		grid, to := l.accessor.Resolved.Work(l.task, steps[i]), starts[i+1]
		elementwise := l.accessor.Resolved.Elementwise(l.kernel.signature, steps[i])
		b := &loopBody{run: run, operator: l.kernel.signature.Operator.FullName(), from: from, to: to, total: grid.Over,
			boxes: grid.Rank() > 1, apart: elementwise && !(code.ByElement(from) && code.Total(from) == grid.Over)}
		if !elementwise {
			b.parts = parts[from:to]
		}
		if i == 0 {
			b.indices = l.indices()
		}
		out[steps[i]] = b
	}
	return out
}

// steps returns the steps of the task whose grids are not empty.
func (l *layout) steps() []int {
	var out []int
	for i := range l.kernel.signature.Steps {
		if grid := l.accessor.Resolved.Work(l.task, i); grid.Tiles() > 0 {
			out = append(out, i)
		}
	}
	return out
}

// matched assigns a step to each group of loops: the next step with as many iterations as the group, or else
// the next step. It returns nil if there are more groups than steps.
func (l *layout) matched(code loops.Code, steps []int) []int {
	groups := code.Groups()
	if groups > len(steps) {
		return nil
	}
	var out []int
	next := 0
	for g := range groups {
		at := next
		for i := next; i <= len(steps)-(groups-g); i++ {
			if l.accessor.Resolved.Work(l.task, steps[i]).Over == code.Total(g) {
				at = i
				break
			}
		}
		out, next = append(out, steps[at]), at+1
	}
	return out
}

// indices lists the integer tensors that the task reads and whose spec bounds their elements.
func (l *layout) indices() []indices {
	var out []indices
	for _, p := range l.kernel.signature.Params {
		bound, bounded := l.accessor.Resolved.Bound(p.Slot)
		if p.Grad || !p.Perm.Reads() || !bounded || !l.accessor.Resolved.Takes(l.task, p.Slot) {
			continue
		}
		for _, b := range l.accessor.Memory(p.Slot, false) {
			x := indices{number: p.Slot, slot: l.kernel.signature.Operator.Slots[p.Slot].Name, shape: b.Shape, bound: bound}
			switch b.Type {
			case dtype.I32:
				x.narrow = as[int32](b.Bytes)
			case dtype.I64:
				x.wide = as[int64](b.Bytes)
			}
			out = append(out, x)
		}
	}
	return out
}

// indices is an integer tensor whose elements the task checks against a bound.
type indices struct {
	number int // of the slot
	slot   string
	shape  []int
	bound  task.Bound
	narrow []int32 // the elements of a 32-bit tensor, or
	wide   []int64 // of a 64-bit tensor
}

// check returns an error for the first element out of bounds in the share [lo/total, hi/total) of the
// elements.
func (x *indices) check(lo, hi, total int) error {
	n := len(x.narrow) + len(x.wide)
	lo, hi = n*lo/total, n*hi/total
	i, v := -1, 0
	if x.narrow != nil {
		i, v = beyond(x.narrow[lo:hi], x.bound)
	} else if x.wide != nil {
		i, v = beyond(x.wide[lo:hi], x.bound)
	}
	if i >= 0 {
		return fmt.Errorf("slot %s, element %s: want %v, got %d", x.slot, shape.Format(shape.Index(lo+i, x.shape)), x.bound, v)
	}
	return nil
}

// beyond returns the position and value of the first element out of bounds, or position -1 if there is none.
func beyond[U int32 | int64](x []U, bound task.Bound) (at, v int) {
	if simd.Below(x, bound.Below) {
		return -1, 0
	}
	i := slices.IndexFunc(x, func(v U) bool { return !bound.Holds(int(v)) })
	if i < 0 {
		return -1, 0
	}
	return i, int(x[i])
}

// divided partitions groups of loops into at most steps contiguous ranges, and returns the first group of
// each range and, at the end, the number of groups. Only a range of one group runs in parallel, since a group
// depends on the groups before it. Dynamic programming maximizes the work in such ranges.
func divided(work []int, steps int) []int {
	n := len(work)
	type best struct{ alone, from int } // parallel work, and the first group of the last range
	table := make([][]best, steps+1)    // by numbers of ranges and groups
	for s := range table {
		table[s] = make([]best, n+1)
		for g := 1; g <= n; g++ {
			table[s][g] = best{alone: -1}
			for from := 0; s > 0 && from < g; from++ {
				v := table[s-1][from].alone
				if v < 0 || s == 1 && from > 0 {
					continue
				}
				if from == g-1 {
					v += work[from]
				}
				if v > table[s][g].alone {
					table[s][g] = best{v, from}
				}
			}
		}
	}
	used := 0
	for s := range table {
		if table[s][n].alone > table[used][n].alone {
			used = s
		}
	}
	starts := []int{n}
	for g := n; used > 0 && g > 0; used-- {
		g = table[used][g].from
		starts = append(starts, g)
	}
	slices.Reverse(starts)
	return starts
}

// loopBody is a step of a task. Each of its groups of loops is a phase.
type loopBody struct {
	run      loops.Runner
	operator string
	from, to int       // the groups of the step: from to to-1
	total    int       // extent of the step's first dimension
	boxes    bool      // whether the step has further dimensions
	apart    bool      // whether the step is declared elementwise, but its group is not
	parts    []int     // by group: maximum number of shares; 0 for any number
	indices  []indices // index tensors that the step checks
}

var (
	_ op.Phased    = (*loopBody)(nil)
	_ op.Contained = (*loopBody)(nil)
)

// Contained reports true: loops call no foreign code.
func (b *loopBody) Contained() bool { return true }

func (b *loopBody) Run(ctx *op.Ctx, r op.Range) error {
	if !b.Whole() {
		return b.runGroups(ctx, b.from, b.to, r.Lo, r.Hi, b.total)
	}
	if !first(r) {
		return nil
	}
	return b.runGroups(ctx, b.from, b.to, 0, 1, 1)
}

// first reports whether a range contains the origin of the iteration space.
func first(r op.Range) bool {
	for d := range op.MaxRank {
		if lo, _ := r.Dim(d); lo > 0 {
			return false
		}
	}
	return true
}

// Whole reports whether the first range must run the whole step, and the others nothing: the step has several
// groups, its ranges are boxes, or it is declared elementwise and its group is not.
func (b *loopBody) Whole() bool { return b.boxes || b.apart || b.to > b.from+1 }

// Phases returns the number of groups.
func (b *loopBody) Phases() int { return b.to - b.from }

// RunPhase runs a share of one group. If ranges are boxes, only those at the origin of all dimensions but
// the first one do work.
func (b *loopBody) RunPhase(ctx *op.Ctx, phase int, r op.Range) error {
	if across := r; b.boxes {
		if across.Lo = 0; !first(across) {
			return nil
		}
	}
	return b.runGroups(ctx, b.from+phase, b.from+phase+1, r.Lo, r.Hi, b.total)
}

// runGroups runs the share [lo/total, hi/total) of the groups from start to end-1. The first group also
// checks this share of the integer inputs against their bounds.
func (b *loopBody) runGroups(ctx *op.Ctx, start, end, lo, hi, total int) error {
	if start == b.from {
		for i := range b.indices {
			if err := b.indices[i].check(lo, hi, total); err != nil {
				return err
			}
		}
	}
	if start+1 == end && b.parts != nil {
		if n := b.parts[start-b.from]; n > 0 && n < total { // whole parts, so that some shares have none
			lo, hi, total = part(n, lo, total), part(n, hi, total), n
			if lo == hi {
				return nil
			}
		}
	}
	if err := b.run.Run(start, end, loops.Time{Step: ctx.Step, Run: ctx.Run, Stop: ctx.Stop}, lo, hi, total); err != nil {
		return mistake(b.operator, err.Error())
	}
	return nil
}

// part returns the first of n parts of share i.
func part(n, i, total int) int { return int((int64(n)*int64(i) + int64(total) - 1) / int64(total)) }
