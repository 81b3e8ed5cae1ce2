package plan

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"slices"

	"github.com/opgen/opgen/runtime/schedule"
)

// magic begins a plan in binary form.
const magic = "opgen plan\x00"

// EncodeBinary returns the plan in binary form, which is small for plans of many tiles: tasks that differ in
// their tiles alone are written once. Equal plans give equal bytes, and Decode reads both forms.
//
// The form is the magic string, the plan as JSON without what follows (its length, then its bytes), and then
// as variable-length integers the tasks, the dependencies and the schedule. The JSON lists each task once
// whose successors differ in their tiles alone.
func (p *Plan) EncodeBinary() ([]byte, error) {
	rest := *p
	rest.Tasks, rest.Deps, rest.Schedule = nil, schedule.Graph{}, schedule.Schedule{}
	w := &writer{}
	w.count(len(p.Tasks), p.Tasks == nil)
	for t := range p.Tasks {
		if n := len(rest.Tasks); n == 0 || !sameStep(&p.Tasks[t], &rest.Tasks[n-1]) {
			rest.Tasks = append(rest.Tasks, p.Tasks[t])
		}
		w.int(len(rest.Tasks) - 1)
		w.int(p.Tasks[t].Tile)
	}
	if err := w.graph(&p.Deps); err != nil {
		return nil, fmt.Errorf("plan %s: %w", p.Name, err)
	}
	w.schedule(&p.Schedule)
	header, err := json.Marshal(&rest)
	if err != nil {
		return nil, err
	}
	out := binary.AppendUvarint([]byte(magic), uint64(len(header)))
	return append(append(out, header...), w.data...), nil
}

// sameStep reports whether two tasks differ in their tiles at most.
func sameStep(t, u *Task) bool {
	if t.Tile == 0 || u.Tile == 0 {
		return false
	}
	a, b := *t, *u
	if len(a.Access) > 0 && len(a.Access) == len(b.Access) && &a.Access[0] == &b.Access[0] {
		a.Access, b.Access = nil, nil
	}
	a.Tile, b.Tile = 0, 0
	return a.Call == b.Call && a.Step == b.Step && reflect.DeepEqual(a.Access, b.Access) && slices.Equal(a.Inner, b.Inner) &&
		slices.Equal(a.After, b.After) && reflect.DeepEqual(a.Builtin, b.Builtin) && reflect.DeepEqual(a.Group, b.Group) &&
		a.Over == b.Over && a.Grain == b.Grain && a.Device == b.Device && a.Elementwise == b.Elementwise
}

// writer appends integers.
type writer struct{ data []byte }

func (w *writer) int(n int) { w.data = binary.AppendVarint(w.data, int64(n)) }

// count appends the length of a slice, or -1 for nil.
func (w *writer) count(n int, none bool) {
	if none {
		n = -1
	}
	w.int(n)
}

// ints appends a slice, as differences.
func ints[T ~int32](w *writer, list []T) {
	w.count(len(list), list == nil)
	last := 0
	for _, n := range list {
		w.int(int(n) - last)
		last = int(n)
	}
}

// graph appends dependencies: for each task the number of its predecessors, then how far before it they
// stand.
func (w *writer) graph(g *schedule.Graph) error {
	w.count(len(g.Start), g.Start == nil)
	w.count(len(g.Pred), g.Pred == nil)
	end := int32(0)
	for i, at := range g.Start {
		if at < end || int(at) > len(g.Pred) || i == 0 && at != 0 {
			return errors.New("want predecessors at ascending positions")
		}
		if i > 0 {
			w.int(int(at - end))
			for _, p := range g.Pred[end:at] {
				w.int(i - 1 - int(p))
			}
		}
		end = at
	}
	if int(end) != len(g.Pred) {
		return errors.New("want the predecessors of all tasks, got more")
	}
	return nil
}

func (w *writer) schedule(s *schedule.Schedule) {
	w.int(s.Tasks)
	w.count(len(s.Queues), s.Queues == nil)
	for _, q := range s.Queues {
		ints(w, q)
	}
	w.count(len(s.Waits), s.Waits == nil)
	for _, v := range s.Waits {
		w.int(int(v.Worker))
		w.int(int(v.Position))
	}
	ints(w, s.Shared)
}

// decodeBinary reads what EncodeBinary wrote.
func decodeBinary(data []byte) (*Plan, error) {
	r := &reader{data: data[len(magic):]}
	n, k := binary.Uvarint(r.data)
	if k <= 0 || n > uint64(len(r.data)-k) {
		return nil, errors.New("want a plan in binary form, got a part of one")
	}
	header := r.data[k : k+int(n)]
	r.data = r.data[k+int(n):]
	var p Plan
	if err := json.Unmarshal(header, &p); err != nil {
		return nil, err
	}
	steps := p.Tasks
	p.Tasks = list[Task](r, 2)
	for t := range p.Tasks {
		step, tile := r.int(), r.int()
		if r.bad || step < 0 || step >= len(steps) {
			r.fail()
			break
		}
		p.Tasks[t] = steps[step]
		p.Tasks[t].Tile = tile
	}
	r.graph(&p.Deps)
	r.schedule(&p.Schedule)
	if r.bad || len(r.data) > 0 {
		return nil, errors.New("want a plan in binary form, got a part of one, or more")
	}
	return &p, nil
}

// reader reads integers. After a mistake it returns zeros.
type reader struct {
	data []byte
	bad  bool
}

func (r *reader) fail() { r.bad, r.data = true, nil }

func (r *reader) int() int {
	n, k := binary.Varint(r.data)
	if k <= 0 {
		r.fail()
		return 0
	}
	r.data = r.data[k:]
	return int(n)
}

// int32 reads an integer as a difference to another.
func (r *reader) int32(from int) int32 {
	n := from + r.int()
	if n < math.MinInt32 || n > math.MaxInt32 {
		r.fail()
		return 0
	}
	return int32(n)
}

// list reads the length of a slice and returns a slice of it. Each element takes so many bytes at least, so
// that a wrong length does not ask for more memory than the data warrants.
func list[T any](r *reader, bytes int) []T {
	n := r.int()
	switch {
	case n == -1:
		return nil
	case n < 0 || n > len(r.data)/bytes:
		r.fail()
		return nil
	}
	return make([]T, n)
}

func readInts[T ~int32](r *reader) []T {
	out := list[T](r, 1)
	last := 0
	for i := range out {
		out[i] = T(r.int32(last))
		last = int(out[i])
	}
	return out
}

func (r *reader) graph(g *schedule.Graph) {
	g.Start = list[int32](r, 1)
	g.Pred = list[int32](r, 1)
	at := 0
	for i := 1; i < len(g.Start) && !r.bad; i++ {
		n := r.int()
		if n < 0 || n > len(g.Pred)-at {
			r.fail()
			return
		}
		for k := range g.Pred[at : at+n] {
			g.Pred[at+k] = int32(i-1) - r.int32(0)
		}
		at += n
		g.Start[i] = int32(at)
	}
	if at != len(g.Pred) {
		r.fail()
	}
}

func (r *reader) schedule(s *schedule.Schedule) {
	s.Tasks = r.int()
	s.Queues = list[[]schedule.Op](r, 1)
	for w := range s.Queues {
		s.Queues[w] = readInts[schedule.Op](r)
	}
	s.Waits = list[schedule.Wait](r, 2)
	for i := range s.Waits {
		s.Waits[i] = schedule.Wait{Worker: r.int32(0), Position: r.int32(0)}
	}
	s.Shared = readInts[int32](r)
}

// isBinary reports whether data begins as a plan in binary form does.
func isBinary(data []byte) bool { return bytes.HasPrefix(data, []byte(magic)) }
