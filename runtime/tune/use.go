package tune

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
	"github.com/opgen/opgen/runtime/tuned"
)

// use is an operator with what it is applied to.
type use struct {
	op     *graph.Operator
	attrs  task.Attrs
	shapes map[string][]int // by slot, as in examples
	counts map[string]int   // of outputs whose number the caller decides
	args   string           // of the call, as in examples
}

// parse reads a use: the name of an operator, its attributes in JSON unless they have defaults, and the
// shapes of its inputs, such as
//
//	softmax{"dim": 1} input=64x1024
//
// Without shapes, it returns the operator's examples at several sizes.
func parse(operators []*graph.Operator, text string) ([]*use, error) {
	text = strings.TrimSpace(text)
	end := strings.IndexAny(text+" ", "{ ")
	name, rest := text[:end], text[end:]
	at := slices.IndexFunc(operators, func(o *graph.Operator) bool { return o.FullName() == name || o.Name == name })
	if at < 0 {
		return nil, fmt.Errorf("use %q: there is no operator %s", text, name)
	}
	o := operators[at]
	attrs, given := json.RawMessage("{}"), strings.HasPrefix(rest, "{")
	if given {
		d := json.NewDecoder(strings.NewReader(rest))
		if err := d.Decode(&attrs); err != nil {
			return nil, fmt.Errorf("use %q: want attributes as JSON: %w", text, err)
		}
		rest = rest[d.InputOffset():]
	}
	if strings.TrimSpace(rest) == "" {
		if given {
			return nil, fmt.Errorf("use %q: want shapes of inputs behind attributes, such as input=64x1024, got none", text)
		}
		return sized(o), nil
	}
	u := &use{op: o, shapes: map[string][]int{}}
	var err error
	if u.attrs, err = o.DecodeAttrs(attrs); err != nil {
		return nil, fmt.Errorf("use %q: %w", text, err)
	}
	for word := range strings.FieldsSeq(rest) {
		slot, extents, ok := strings.Cut(word, "=")
		dims := []int{}
		for s := range strings.SplitSeq(extents, "x") {
			if s == "" && extents == "" {
				break // a scalar
			}
			n, err := strconv.Atoi(s)
			ok = ok && err == nil && n >= 0
			dims = append(dims, n)
		}
		if base, _, _ := strings.Cut(slot, "."); !ok || o.SlotNamed(base) < 0 {
			return nil, fmt.Errorf("use %q: want the shape of an input of %s, such as input=64x1024, got %q", text, o.Name, word)
		}
		u.shapes[slot] = dims
	}
	if len(o.Examples) > 0 {
		u.counts, u.args = o.Examples[0].Counts, o.Examples[0].Args
	}
	if _, err := u.node(); err != nil {
		return nil, fmt.Errorf("use %q: %w", text, err)
	}
	return []*use{u}, nil
}

// sizes are about how many elements the inputs of an example have that was made larger.
var sizes = []int{1 << 12, 1 << 16, 1 << 19}

// mostBytes is how large the tensors of an example are at most that was made larger.
const mostBytes = 64 << 20

// bytesOf returns how large the tensors of a node are.
func bytesOf(n *graph.Node) (sum int64) {
	for i := range n.Op.Slots {
		for _, o := range n.Resolved.Operands(i) {
			sum += o.Bytes()
		}
	}
	return sum
}

// sized returns the examples of an operator at several sizes: with all extents of more than 1 multiplied by a
// number, where the operator takes that.
func sized(o *graph.Operator) (out []*use) {
	seen := map[string]bool{}
	for i := range o.Examples {
		x := &o.Examples[i]
		attrs, err := o.DecodeAttrs([]byte(x.Attrs))
		if err != nil || len(x.Dims) > 0 {
			continue
		}
		u := &use{o, attrs, x.Shapes, x.Counts, x.Args}
		for _, size := range sizes {
			factor := 1
			for u.scaled(func(n int) int { return n * factor }).elements() < size && factor < size {
				factor *= 2
			}
			s := u.scaled(func(n int) int { return n * factor })
			node, err := s.node()
			if err != nil || bytesOf(node) > mostBytes {
				continue
			}
			if key := x.Attrs + tuned.Shapes(&o.Operator, node.Resolved.Given().Operands, func(n int) int { return n }); !seen[key] {
				seen[key] = true
				out = append(out, s)
			}
		}
	}
	return out
}

// scaled returns a use with other extents, except those of 1 and less.
func (u *use) scaled(f func(int) int) *use {
	s := *u
	s.shapes = map[string][]int{}
	for slot, dims := range u.shapes {
		dims = slices.Clone(dims)
		for i, n := range dims {
			if n > 1 {
				dims[i] = f(n)
			}
		}
		s.shapes[slot] = dims
	}
	return &s
}

// elements returns how many elements the inputs have.
func (u *use) elements() (n int) {
	for _, dims := range u.shapes {
		n += shape.Prod(dims)
	}
	return n
}

// others returns up to two uses in the same bucket with other extents: near the top and the bottom of their
// ranges. Where the operator does not take that of all extents, those with one value change.
func (u *use) others() (out []*use) {
	values := map[int]bool{}
	for _, dims := range u.shapes {
		for _, n := range dims {
			values[n] = true
		}
	}
	low := func(n int) int { return min(n, tuned.Rounded(n)/2+max(tuned.Rounded(n)/16, 1)) }
	high := func(n int) int {
		if top := tuned.Rounded(n); n < top {
			return top
		}
		return n - max(n/8, 1)
	}
	for _, move := range []func(int) int{low, high} {
		moves := []func(int) int{move}
		for _, only := range slices.Backward(slices.Sorted(maps.Keys(values))) {
			moves = append(moves, func(n int) int {
				if n == only {
					return move(n)
				}
				return n
			})
		}
		for _, f := range moves {
			bucketed := func(n int) int {
				if m := f(n); tuned.Rounded(m) == tuned.Rounded(n) {
					return m
				}
				return n // 2 is alone in its bucket
			}
			s := u.scaled(bucketed)
			same := func(x *use) bool { return maps.EqualFunc(x.shapes, s.shapes, slices.Equal) }
			if same(u) || slices.ContainsFunc(out, same) {
				continue
			}
			if _, err := s.node(); err == nil {
				out = append(out, s)
				break
			}
		}
	}
	return out
}

// node applies the operator in a graph of its own.
func (u *use) node() (*graph.Node, error) {
	g := graph.New(0)
	in := graph.Insert[int](g, 0, u.op, u.attrs)
	for i := range u.op.Slots {
		s := &u.op.Slots[i]
		if n, ok := u.counts[s.Name]; ok {
			in.Ask(i, n)
		}
		if s.Role != task.RoleInput && !s.Provided {
			continue
		}
		dims, ok := u.shapes[s.Name]
		for k := 0; ok || k == 0; k++ {
			if ok {
				in.Bind(i, g.Input(fmt.Sprintf("%s.%d", s.Name, k), u.typeOf(s.Type), dims...))
			}
			dims, ok = u.shapes[fmt.Sprintf("%s.%d", s.Name, k)]
		}
	}
	passed, err := (&task.Example{Args: u.args}).Passed(&u.op.Operator)
	if err != nil {
		return nil, err
	}
	for slot, values := range passed {
		in.BindArg(slot, values...)
	}
	n := in.Node()
	return n, g.Err()
}

// typeOf returns the type of a slot's elements: of a variable f32, i64 where that is none of its types, or
// else the first one.
func (u *use) typeOf(name string) dtype.Type {
	for _, v := range u.op.Types {
		if v.Name != name {
			continue
		}
		for _, usual := range []dtype.Type{dtype.F32, dtype.I64} {
			if slices.Contains(v.Types, usual) {
				return usual
			}
		}
		return v.Types[0]
	}
	t, err := dtype.Parse(name)
	if err != nil {
		return dtype.F32 // which the slot refuses, with an error that says why
	}
	return t
}

// title formats the use as parse reads it, with a task.
func (u *use) title(s *task.Signature, n *graph.Node) (string, error) {
	key, err := tuned.UseOf(s, n.Resolved)
	if err != nil {
		return "", err
	}
	attrs := key.Attrs
	if attrs == "{}" {
		attrs = ""
	}
	return fmt.Sprintf("%s%s %s: %s", u.op.Name, attrs, tuned.Shapes(&u.op.Operator, n.Resolved.Given().Operands, func(n int) int { return n }), s.Task), nil
}

// uses reads uses. Without any, it returns the examples of all operators at several sizes.
func uses(operators []*graph.Operator, texts []string) (all []*use, err error) {
	if len(texts) == 0 {
		for _, o := range operators {
			all = append(all, sized(o)...)
		}
		return all, nil
	}
	var errs []error
	for _, t := range texts {
		some, err := parse(operators, t)
		all, errs = append(all, some...), append(errs, err)
	}
	return all, errors.Join(errs...)
}
