package loops

import (
	"fmt"
	"slices"
	"strings"
	"unsafe"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// sequence is code with recurrences: parts that run one after the other. A part is a recurrence, which is one
// group, or the statements between two recurrences.
type sequence[T simd.Float] struct {
	parts  []Code
	groups []groupOf     // of all parts
	shared map[int]int64 // tensor -> bytes, for temporaries of recurrences and those that several parts access
}

// groupOf is a group, by the number of its part and its number in the part.
type groupOf struct{ part, group int }

// compileParts compiles statements some of which are recurrences.
func compileParts[T simd.Float](p *program.Program, statements []*program.Statement, tensors []rewrite.Tensor, o Options) (Code, error) {
	out := &sequence[T]{shared: map[int]int64{}}
	parts := partsOf(statements)
	tensors = slices.Clone(tensors)
	o.exacts, o.extremes = map[int]bool{}, map[int]program.Ends{}
	crossing, err := crossing(p, parts, tensors, dtype.Of[T](), o.exacts)
	if err != nil {
		return nil, err
	}
	for _, t := range crossing {
		out.shared[t] = int64(rewrite.Elements(p.Tensors[t]) * tensors[t].Type.Size())
	}
	for _, part := range parts {
		var code Code
		var err error
		if part[0].Recurrence == nil {
			own := *p
			own.Tensors = slices.Clone(p.Tensors)
			code, err = compile[T](&own, part, tensors, o)
		} else {
			code, err = compileRecurrence[T](p, part, tensors, o)
		}
		if err != nil {
			return nil, err
		}
		for g := range code.Groups() {
			out.groups = append(out.groups, groupOf{len(out.parts), g})
		}
		out.parts = append(out.parts, code)
		for range part { // those of a recurrence depend on each other
			for _, s := range part {
				o.extremes[s.Target] = o.extremes[s.Target].Or(program.EndsOf(s.Value, o.extremes, nil))
			}
		}
	}
	return out, nil
}

// partsOf divides statements into parts that run one after the other: recurrences, and the statements between
// them.
func partsOf(statements []*program.Statement) (parts [][]*program.Statement) {
	for i := 0; i < len(statements); {
		block := program.Together(statements, i)
		if last := len(parts) - 1; block[0].Recurrence == nil && last >= 0 && parts[last][0].Recurrence == nil {
			parts[last] = append(parts[last], block...)
		} else {
			parts = append(parts, slices.Clone(block))
		}
		i += len(block)
	}
	return parts
}

// crossing returns the temporaries that several parts access, and those that a recurrence defines, which one
// value of its index reads at another. It sets their types, and that they are not local: they exist while the
// whole code runs. If exacts is not nil, temporaries whose real values are integers become float64, and are
// added to exacts.
func crossing(p *program.Program, parts [][]*program.Statement, tensors []rewrite.Tensor, own dtype.Type, exacts map[int]bool) (out []int, err error) {
	users := make([]int, len(tensors)) // the part that accesses a tensor, and 1; -1 for several
	note := func(t, part int) {
		if users[t] == 0 {
			users[t] = part + 1
		} else if users[t] != part+1 {
			users[t] = -1
		}
	}
	for i, part := range parts {
		for _, s := range part {
			if note(s.Target, i); s.Recurrence != nil {
				users[s.Target] = -1
			}
			s.Reads(func(r *term.Read) {
				for k := range r.Count {
					note(r.Tensor+k, i)
				}
			})
		}
	}
	for i, part := range parts {
		for _, s := range part {
			t := &tensors[s.Target]
			if !t.Local || users[s.Target] >= 0 {
				continue
			}
			if t.Planned { // it has memory of its own
				t.Local = false
				continue
			}
			if t.Memory != s.Target {
				return nil, fmt.Errorf("%s: there is no code for a recurrence in shared memory", parts[i][0])
			}
			switch l := p.Tensors[s.Target]; {
			case t.Type != dtype.Invalid:
			case l.Unsigned:
				t.Type = dtype.U64
			case l.Kind == term.Integer:
				t.Type = dtype.I64
			case l.Kind == term.Boolean:
				t.Type = dtype.Bool
			case exacts != nil && OfIntegers(s.Value, exacts):
				t.Type, exacts[s.Target] = dtype.F64, true
			default:
				t.Type = own
			}
			t.Local = false
			out = append(out, s.Target)
		}
	}
	return out, nil
}

func (q *sequence[T]) Groups() int { return len(q.groups) }

func (q *sequence[T]) of(group int) (Code, int) {
	g := q.groups[group]
	return q.parts[g.part], g.group
}

func (q *sequence[T]) Work(group int) int {
	c, g := q.of(group)
	return c.Work(g)
}

func (q *sequence[T]) Total(group int) int {
	c, g := q.of(group)
	return c.Total(g)
}

func (q *sequence[T]) Parts(group int) int {
	c, g := q.of(group)
	return c.Parts(g)
}

func (q *sequence[T]) Before(int) bool { return false }

func (q *sequence[T]) ByElement(group int) bool {
	c, g := q.of(group)
	return c.ByElement(g)
}

func (q *sequence[T]) RowByRow() error { return errRows }

// errRows is why shares cannot run single rows of code with recurrences.
var errRows = fmt.Errorf("the loops of a recurrence go over all rows")

func (q *sequence[T]) Kinds() []string {
	var out []string
	for _, c := range q.parts {
		for _, k := range c.Kinds() {
			if !slices.Contains(out, k) {
				out = append(out, k)
			}
		}
	}
	return out
}

func (q *sequence[T]) List(portable bool) (string, Counts) {
	var b strings.Builder
	var n Counts
	for _, c := range q.parts {
		text, more := c.List(portable)
		b.WriteString(text)
		n.Add(more)
	}
	return b.String(), n
}

func (q *sequence[T]) Bind(memory [][]byte) Runner {
	all := slices.Clone(memory)
	for t, bytes := range q.shared {
		for len(all) <= t {
			all = append(all, nil)
		}
		words := make([]uint64, (bytes+7)/8) // aligned for all types
		all[t] = unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), bytes)
	}
	out := &sequenceRunner{groups: q.groups}
	for _, c := range q.parts {
		out.parts = append(out.parts, c.Bind(all))
	}
	return out
}

// sequenceRunner is a sequence bound to memory.
type sequenceRunner struct {
	parts  []Runner
	groups []groupOf
}

func (r *sequenceRunner) Run(first, end int, at Time, lo, hi, total int) error {
	for first < end {
		g := r.groups[first]
		n := 1
		for first+n < end && r.groups[first+n].part == g.part {
			n++
		}
		if err := r.parts[g.part].Run(g.group, g.group+n, at, lo, hi, total); err != nil {
			return err
		}
		first += n
	}
	return nil
}
