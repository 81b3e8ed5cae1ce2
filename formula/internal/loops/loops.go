// Package loops compiles statements over indices into loops over strips: some hundred consecutive elements,
// for which operations of package simd compute one intermediate value after the other. The strips stay in the
// nearest cache, so a chain of operations costs one pass over memory. This is vectorized interpretation, as
// in MonetDB/X100 and numexpr.
//
// Statements that go over the same indices share their loops. Sums have one order, which depends on extents
// only: not on the number of workers, nor on the instructions that the machine has.
package loops

import (
	"fmt"
	"slices"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// Tensor says how the elements of a program's tensor are kept.
type Tensor struct {
	Type    dtype.Type
	Memory  int  // the tensor whose memory this one has: another one's if they share it
	Add     bool // whether statements add to the elements instead of giving them
	Local   bool // whether the loops keep the tensor themselves: nothing else uses what it holds
	Planned bool // whether a local tensor has memory all the same
	Below   int  // what the integers are below, none of which is negative; 0 if that is not known. Code that uses one as an index tests it
}

// Code is compiled statements: groups of loops, of which each needs what earlier ones give.
type Code interface {
	// Groups returns how many groups there are.
	Groups() int
	// Work returns about how many operations on elements a group takes.
	Work(group int) int
	// Total returns over how many values the outermost loops of a group go.
	Total(group int) int
	// ByElement reports whether a part of a group touches only the elements of its values, of every tensor
	// that has as many elements as the outermost loops have values, and only reads others. Parts may then run
	// between parts of other code that does the same.
	ByElement(group int) bool
	// Kinds names the kinds of loops, each once, in the order in which they first run: "elements", where each
	// value is computed of elements of tensors, "copies", "reductions", "sums by index", where values are
	// added to elements, "products of matrices", "scans" and "sorting".
	Kinds() []string
	// List returns a listing of the code, which was compiled to be listed, and counts. If portable is true,
	// the listing is the same for all processors; otherwise it shows what this one runs as machine code.
	List(portable bool) (string, Counts)
	// Bind returns the code with memory: the elements of the tensors that are not local, little endian, by
	// tensor.
	Bind(memory [][]byte) Runner
}

// Runner is code that can be run.
type Runner interface {
	// Run runs a part of the groups from first to end-1: the share from lo to hi of total parts of equal
	// size. Parts may run at the same time, if there is more than one, but several groups run as a whole,
	// since each of them needs what earlier ones give. The error tells of an element that lies outside its
	// tensor, or of a division of an integer by 0.
	Run(first, end int, at Time, lo, hi, total int) error
}

// Time says when a part of a group runs: the number of the training step, and that of the run within the
// process, or 0. The parts of one run read the same inputs.
type Time struct{ Step, Run uint64 }

// Options say how statements are grouped.
type Options struct {
	// Steps is how many steps the task has: with several, tensors that are not local are given by groups of
	// their own, unless they are sums that are computed at once, or there would be more groups than steps. 0
	// stands for any number of steps.
	Steps int
	// ByElement says that a step is meant to touch the elements of its indices only, so products of matrices
	// are not used, and with several steps no group that does so becomes a part of one that does not.
	ByElement bool
	// Ordered says that the outermost loops go over the indices of the results in their order, since others
	// rely on what a part of them uses.
	Ordered bool
	// Listed says that there is to be a listing of the code.
	Listed bool
}

// Compile compiles statements of a program, which has no open extents. tensors says how those of the program
// are kept. The program gets further tensors. It is an error if one pass does not give a scan, if an order or
// a scan is a part of what a reduction goes over, or if the range of an index on the left side depends on
// other indices and the statement does not add.
func Compile(p *program.Program, statements []*program.Statement, tensors []Tensor, o Options) (Code, error) {
	for _, s := range statements {
		if err := unsigned(s); err != nil {
			return nil, err
		}
		if err := scoped(p, s.Target, s.Left, s.Vars, s.Value, s.Guard); err != nil {
			return nil, err
		}
	}
	if typeOf(p, tensors) == dtype.F64 || wideProducts(statements, tensors) {
		return compile[float64](p, statements, tensors, o)
	}
	return compile[float32](p, statements, tensors, o)
}

// types are the element types of tensors.
var types = []dtype.Type{dtype.F32, dtype.F64, dtype.I8, dtype.U8, dtype.I32, dtype.I64, dtype.Bool}

// unsigned returns an error if a statement has an integer of 64 bits without sign.
func unsigned(s *program.Statement) error {
	var err error
	s.Value.Walk(func(n *term.Term) {
		if n.Op == term.Apply && n.Func.Has(term.Conversion) && n.Func.To == dtype.U64 {
			err = fmt.Errorf("%s: there are no loops for integers of type %v", s, n.Func.To)
		}
	})
	return err
}

// typeOf returns the type in which loops compute: float64 if most tensors of real numbers that are not local
// have it. Tensors that share memory count each, so that the type, and with it the bits of results, does not
// depend on which of them do.
func typeOf(p *program.Program, tensors []Tensor) dtype.Type {
	narrow, wide := 0, 0
	for i, t := range tensors {
		if l := p.Tensors[i]; !t.Local && l.Old < 0 && l.Kind == term.Real && l.Passed == nil {
			switch n := elements(l); t.Type {
			case dtype.F32:
				narrow += n
			case dtype.F64:
				wide += n
			}
		}
	}
	if wide > narrow || wide > 0 && wide == narrow {
		return dtype.F64
	}
	return dtype.F32
}

// elements returns how many elements a tensor has.
func elements(l *program.Local) int {
	n := 1
	for _, d := range l.Shape {
		e, _ := d.Known()
		n *= e
	}
	return n
}

// compiler compiles statements for loops that compute in T.
type compiler[T simd.Float] struct {
	p       *program.Program
	tensors []Tensor
	own     dtype.Type
	places  map[*term.Variable]int // where a state keeps variables
	lenient bool                   // whether elements outside tensors are 0
	options Options

	users    map[int]map[*bundle]bool // the bundles that use a tensor
	extremes map[int]program.Ends     // the extremes of nothing that tensors of integers may hold
	given    map[int]bool             // the tensors whose memory statements write

	touched map[*statement][]touch // the uses of memory by statements, while groups are made; nil otherwise

	constants map[int]block[T] // the elements of tensors of constants
	exacts    map[int]bool     // the tensors of float64 that keep all digits of values of integers

	narrow map[int]bool // the tensors of float64 that have few digits beyond those of strips

	kept map[int]bool // the local tensors whose elements stay in registers or in the blocks of parts
	past map[int]bool // the tensors of the group that is compiled which may be written past the caches

	// ahead is an index of which the code that is compiled asks for later elements: those that units of its
	// group use first when it is done.
	ahead *term.Variable

	registers    int         // how many registers there are
	buffers      int         // how many strips serve them
	wide         int         // how many strips of float64 there are
	integers     int         // how many strips of integers there are
	apart        int         // how many others, each of which one code uses
	numbers      int         // how many arguments functions of single numbers have together
	words        bool        // whether random words are drawn
	fails        bool        // whether code may fail
	accumulators []int       // registers that have a strip of their own
	compiled     []*strip[T] // all code of strips
	loops        []*jit.Code // loops of them that are compiled to machine code

	double *compiler[float64] // of the strips of float64 beside; nil if there are none
}

func compile[T simd.Float](p *program.Program, statements []*program.Statement, tensors []Tensor, o Options) (Code, error) {
	c := &compiler[T]{p: p, options: o, own: dtype.Of[T](), places: map[*term.Variable]int{}, kept: map[int]bool{}, narrow: map[int]bool{}}
	z := newNormalizer(p, tensors, c.own)
	z.ordered = o.ByElement || o.Ordered
	if err := z.normalize(statements); err != nil {
		return nil, err
	}
	z.prune()
	c.tensors = z.tensors
	c.constants, c.exacts = map[int]block[T]{}, z.exacts
	for _, s := range z.constants {
		if c.tensors[s.target].Type == c.own {
			c.constants[s.target] = constant[T](p, c.tensors, o, s)
		} else {
			c.constants[s.target] = block[T]{f64: constant[float64](p, c.tensors, o, s).f64}
		}
	}
	c.noteExact(z.out)
	c.complete(z.out)
	c.given, c.extremes = map[int]bool{}, extremes(z.out)
	for _, s := range z.out {
		c.given[c.tensors[s.target].Memory] = true
	}
	for i, t := range c.tensors {
		if !slices.Contains(types, t.Type) {
			return nil, fmt.Errorf("want elements of one of the types %v, got %v of %s", types, t.Type, p.Tensors[i].Name)
		}
	}
	out := &code[T]{compiler: c}
	groups := c.grouped(z.out)
	c.noteUsers(groups)
	for _, g := range groups {
		out.groups = append(out.groups, c.group(g))
		out.transient = out.transient || len(out.groups[len(out.groups)-1].transients) > 0
	}
	out.placeLocals(groups)
	for _, g := range out.groups {
		if out.local.bytes == 0 && !out.transient {
			g.noteFlat()
		}
	}
	return out, nil
}

// noteUsers notes which bundles use a tensor.
func (c *compiler[T]) noteUsers(groups []*bundleGroup) {
	c.users = map[int]map[*bundle]bool{}
	note := func(t int, b *bundle) {
		if c.users[t] == nil {
			c.users[t] = map[*bundle]bool{}
		}
		c.users[t][b] = true
	}
	for _, g := range groups {
		for _, b := range g.bundles {
			for _, s := range b.statements {
				note(s.target, b)
				s.walk(func(n *term.Term) {
					for i := 0; n.Op == term.Element && i < n.Read.Count; i++ {
						note(n.Read.Tensor+i, b)
					}
				})
			}
		}
	}
}

// complete chooses the types of local tensors. Results of reductions, which are few, are kept in float64.
func (c *compiler[T]) complete(statements []*statement) {
	most := 0
	for i, t := range c.p.Tensors { // whether or not the task gives them
		if t.Slot >= 0 {
			most = max(most, elements(c.p.Tensors[i]))
		}
	}
	multiplied := map[int]bool{} // tensors that products of matrices may take, which are of one type
	for _, s := range statements {
		if x, y := factors(s); x != nil {
			multiplied[x.Tensor], multiplied[y.Tensor] = true, true
		}
	}
	typed := map[int]bool{} // the local tensors whose types are given
	for i := range c.tensors {
		t := &c.tensors[i]
		typed[i] = t.Type != dtype.Invalid
		if t.Local && !typed[i] {
			switch l := c.p.Tensors[i]; {
			case l.Kind == term.Integer:
				t.Type = dtype.I64
			case l.Kind == term.Boolean:
				t.Type = dtype.Bool
			case multiplied[i]:
				t.Type = c.own
			case elements(l)*16 <= most || elements(l) == 1:
				t.Type = dtype.F64
			default:
				t.Type = c.own
			}
		}
	}
	for _, s := range statements {
		if t := &c.tensors[s.target]; t.Local && !t.Planned && !typed[s.target] && s.reduction() != nil && s.value.Kind == term.Real && c.product(s) == nil &&
			elements(c.p.Tensors[s.target])*4 <= max(most, 1024) { // few
			t.Type = dtype.F64
			// Strips hold an extreme, which is one of their elements, and the logarithm of a logsumexp, which
			// is smaller than the digits of its exponentials, as well as float64 does.
			kind := s.reduction().Kind
			c.narrow[s.target] = kind.Is(reduction.Extreme) || kind == reduction.LogSumExp
		}
	}
}

// code is compiled statements.
type code[T simd.Float] struct {
	*compiler[T]
	groups    []*loopGroup[T]
	transient bool   // whether parts have memory for some tensors
	stored    []bool // by tensor: whether it is a local one that has memory beyond a block
	local     localMemory
}

func (c *code[T]) Groups() int { return len(c.groups) }

func (c *code[T]) Work(group int) int { return c.groups[group].work }

func (c *code[T]) Total(group int) int { return c.groups[group].total }

func (c *code[T]) ByElement(group int) bool { return c.groups[group].byElement }

func (c *code[T]) Bind(memory [][]byte) Runner {
	r := &runner[T]{code: c, mem: make([]block[T], len(c.tensors)), number: runners.Add(1)}
	c.findLocals(&r.locals, memory)
	for i, t := range c.tensors {
		constant, ok := c.constants[i]
		switch {
		case t.Memory != i:
		case ok:
			r.mem[i] = constant
		case t.Local && !t.Planned && (r.locals.bytes > 0 || !c.stored[i]): // it has memory while the task runs, or none
		case t.Local && !t.Planned:
			r.mem[i] = allocated[T](t.Type, elements(c.p.Tensors[i]))
		default:
			r.mem[i] = blockOf[T](t.Type, memory[i])
		}
	}
	for i, t := range c.tensors {
		if t.Memory != i {
			r.mem[i] = r.mem[t.Memory]
			if i < len(memory) && memory[i] != nil {
				r.mem[i] = blockOf[T](t.Type, memory[i])
			}
		}
	}
	return r
}

// box is the number of values of the indices of loops.
func box(vars []*term.Variable) int {
	n := 1
	for _, v := range vars {
		hi, _ := v.Hi.Known()
		n *= hi
	}
	return n
}

// extent returns how many values an index that starts at 0 has.
func extent(v *term.Variable) int {
	hi, _ := v.Hi.Known()
	return max(hi, 0)
}
