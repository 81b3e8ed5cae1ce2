// Package loops compiles statements over indices into vectorized loops. A loop runs in strips, blocks of
// some hundred consecutive iterations: the operations of package simd compute one intermediate value after
// the other for a whole strip. Strips stay in the L1 cache, so a chain of operations costs one pass over
// memory. This is vectorized interpretation, as in MonetDB/X100 and numexpr.
//
// Statements over the same indices are fused. The order of a sum depends on extents only: not on the number
// of workers, nor on the instruction set.
package loops

import (
	"fmt"
	"maps"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// Tensor describes the memory of a tensor of the program.
type Tensor struct {
	Type    dtype.Type
	Memory  int  // the tensor that owns the memory: another one if they share it
	Add     bool // whether statements accumulate into the tensor
	Local   bool // whether the tensor is a temporary of the loops
	Planned bool // whether a temporary has memory from the plan
	Below   int  // exclusive upper bound of non-negative integers, which every gather checks; 0 if unknown
}

// Code is compiled statements: groups of loops, each of which depends on earlier ones.
type Code interface {
	// Groups returns the number of groups.
	Groups() int
	// Work returns the approximate number of operations on elements in a group.
	Work(group int) int
	// Total returns the number of iterations of a group's shared loops.
	Total(group int) int
	// Before reports whether a group comes before all rows, and runs once. It is about code that goes row by
	// row.
	Before(group int) bool
	// ByElement reports whether a group is elementwise: a share accesses only the elements of its
	// iterations, of every tensor with as many elements as the shared loops have iterations, and writes no
	// other tensor. Ranges of such groups may interleave with ranges of other elementwise code.
	ByElement(group int) bool
	// RowByRow returns nil if shares of Options.Rows run whole rows: all groups may run on some rows, while
	// other rows run elsewhere.
	RowByRow() error
	// Kinds names the kinds of loop nests, each once, in the order in which they first run: "elements"
	// (pointwise), "copies", "reductions", "sums by index" (scatter-add), "products of matrices", "scans"
	// and "sorting".
	Kinds() []string
	// List returns a listing of the code, which was compiled to be listed, and counts. If portable is true,
	// the listing is the same for all processors; otherwise it shows what this one runs as machine code.
	List(portable bool) (string, Counts)
	// Bind binds the code to memory: the elements of the tensors that are not local, little endian, by
	// tensor.
	Bind(memory [][]byte) Runner
}

// Runner is bound code.
type Runner interface {
	// Run runs the share [lo/total, hi/total) of the groups from first to end-1. Shares of one group may run
	// concurrently. Several groups must run as a whole, since each depends on earlier ones. The error
	// reports an access out of bounds, or an integer division by 0.
	Run(first, end int, at Time, lo, hi, total int) error
}

// Time identifies a run: the number of the training step, and the number of the run in the process, or 0.
// All shares of a run read the same inputs.
type Time struct{ Step, Run uint64 }

// Options restricts how statements are fused.
type Options struct {
	// Steps is the number of the task's steps. With several steps, tensors that are not local get groups of
	// their own, unless they are sums that are reduced together, or there would be more groups than steps. 0
	// means any number of steps.
	Steps int
	// ByElement says that a step is declared elementwise. Matrix products are then not used and, with
	// several steps, no elementwise group is fused into one that is not.
	ByElement bool
	// Ordered says that the shared loops must run in the order of the results' indices, since other code
	// relies on what a share accesses.
	Ordered bool
	// Rows is the number of rows of the results, of which shares are to run some; or 0.
	Rows int
	// Before holds the temporaries that are computed before all rows.
	Before map[int]bool
	// Listed says that there is to be a listing of the code.
	Listed bool

	over     *term.Variable       // the index of a recurrence, which has a value when the code runs; or nil
	row      string               // the name of the index of rows of a recurrence
	exacts   map[int]bool         // temporaries of other code whose values are integers, in float64
	extremes map[int]program.Ends // identities of extremes that other code may give tensors
}

// Compile compiles statements of a program whose extents are all constant. tensors describes the memory of
// the program's tensors. Compile adds temporaries to the program. It is an error if a scan cannot run in one
// pass, if a sort or a scan is nested in a reduction, or if the range of an index on the left side depends
// on other indices and the statement does not accumulate.
func Compile(p *program.Program, statements []*program.Statement, tensors []Tensor, o Options) (Code, error) {
	if err := unsigned(p, statements, o.extremes); err != nil {
		return nil, err
	}
	for _, s := range statements {
		if err := scoped(p, s.Target, s.Left, s.Vars, s.Value, s.Guard); err != nil {
			return nil, err
		}
	}
	wide, recurs := typeOf(p, tensors) == dtype.F64 || wideProducts(statements, tensors), program.Recurs(statements)
	switch {
	case wide && recurs:
		return compileParts[float64](p, statements, tensors, o)
	case wide:
		return compile[float64](p, statements, tensors, o)
	case recurs:
		return compileParts[float32](p, statements, tensors, o)
	}
	return compile[float32](p, statements, tensors, o)
}

// typeOf returns the compute type of the loops: float64 if most elements of the real tensors that are not
// local have it. Tensors that share memory count separately, so that the compute type, and the bits of
// results, do not depend on sharing.
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

// elements returns the number of elements of a tensor.
func elements(l *program.Local) int {
	n := 1
	for _, d := range l.Shape {
		e, _ := d.Known()
		n *= e
	}
	return n
}

// compiler compiles statements into loops with compute type T.
type compiler[T simd.Float] struct {
	p       *program.Program
	tensors []Tensor
	own     dtype.Type
	places  map[*term.Variable]int // slots of variables in a state
	lenient bool                   // speculative: loads out of bounds are 0
	options Options

	users    map[int]map[*bundle]bool // tensor -> the bundles that access it
	extremes map[int]program.Ends     // tensor -> identities of integer max and min that it may hold
	given    map[int]bool             // owners of memory that statements write

	steps   map[int]int            // of a recurrence: by how much accesses to memory move with its index
	touched map[*statement][]touch // accesses of each statement, cached while statements are fused

	constants map[int]block[T] // elements of tensors of constants
	exacts    map[int]bool     // float64 temporaries whose values are integers

	narrow map[int]bool // float64 temporaries that need no more digits than T

	kept map[int]bool // temporaries that stay in registers, or in blocks of shares
	past map[int]bool // tensors of the current group that may be stored non-temporally

	// ahead is the index along which the current code prefetches the elements that the next block's units
	// access first.
	ahead *term.Variable

	registers    int         // number of registers
	buffers      int         // number of strips that registers share
	wide         int         // number of float64 strips
	integers     int         // number of integer strips
	apart        int         // number of integer strips that are not shared
	numbers      int         // number of arguments of scalar functions
	words        bool        // whether random words are drawn
	fails        bool        // whether code may fail
	accumulators []int       // registers with a strip of their own
	compiled     []*strip[T] // the code of all strips
	loops        []*jit.Code // the machine code of strips

	double *compiler[float64] // compiler of nested float64 strips; nil if there are none
}

func compile[T simd.Float](p *program.Program, statements []*program.Statement, tensors []Tensor, o Options) (Code, error) {
	c := &compiler[T]{p: p, options: o, own: dtype.Of[T](), places: map[*term.Variable]int{}, kept: map[int]bool{}, narrow: map[int]bool{}}
	z := newNormalizer(p, tensors, c.own)
	z.ordered = o.ByElement || o.Ordered
	if o.over != nil {
		z.outer = []*term.Variable{o.over}
	}
	if o.exacts != nil {
		z.exacts = maps.Clone(o.exacts)
	}
	if err := z.normalize(statements); err != nil {
		return nil, err
	}
	if o.over == nil { // all statements of a recurrence need each other
		z.prune()
	}
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
	c.given, c.extremes = map[int]bool{}, extremes(z.out, o.extremes)
	for _, s := range z.out {
		c.given[c.tensors[s.target].Memory] = true
	}
	for i, t := range c.tensors {
		if storageOf[T](t.Type) == nil {
			return nil, fmt.Errorf("there are no loops for elements of type %v, such as those of %s", t.Type, p.Tensors[i].Name)
		}
	}
	out := &code[T]{compiler: c}
	if o.over != nil {
		c.noteSteps(z.out)
		out.byRow = byRow(z.out, o.row)
	}
	groups := c.grouped(z.out)
	c.noteUsers(groups)
	if o.Rows > 0 {
		out.before, out.rowByRow = c.rowByRow(groups, o.Rows, len(tensors))
	}
	for _, g := range groups {
		out.groups = append(out.groups, c.group(g))
		out.transient = out.transient || len(out.groups[len(out.groups)-1].transients) > 0
	}
	if out.rowByRow == nil && o.Rows > 0 {
		out.rowByRow = out.inTiles(o.Rows)
	}
	out.placeLocals(groups)
	if o.over != nil { // their memory is that of all values of the index
		out.local = localMemory{}
		return out, nil
	}
	for _, g := range out.groups {
		if out.local.bytes == 0 && !out.transient {
			g.noteFlat()
		}
	}
	return out, nil
}

// noteUsers computes which bundles access each tensor.
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

// complete chooses the types of temporaries. The results of reductions are few, and become float64.
func (c *compiler[T]) complete(statements []*statement) {
	most := 0
	for i, t := range c.p.Tensors { // also tensors that the task does not write
		if t.Slot >= 0 {
			most = max(most, elements(c.p.Tensors[i]))
		}
	}
	multiplied := map[int]bool{} // operands of matrix products, which have one type
	for _, s := range statements {
		if x, y := factors(s); x != nil {
			multiplied[x.Tensor], multiplied[y.Tensor] = true, true
		}
	}
	typed := map[int]bool{} // temporaries with a given type
	for i := range c.tensors {
		t := &c.tensors[i]
		typed[i] = t.Type != dtype.Invalid
		if t.Local && !typed[i] {
			switch l := c.p.Tensors[i]; {
			case l.Unsigned:
				t.Type = dtype.U64
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
			elements(c.p.Tensors[s.target])*4 <= max(most, 1024) { // is small
			t.Type = dtype.F64
			// Extremes equal one of their elements, and a logsumexp is relative to the maximum: neither
			// needs more digits than T.
			kind := s.reduction().Kind
			c.narrow[s.target] = kind.Is(reduction.Extreme) || kind == reduction.LogSumExp
		}
	}
}

// code is compiled statements.
type code[T simd.Float] struct {
	*compiler[T]
	groups    []*loopGroup[T]
	rowByRow  error  // why the groups do not go row by row
	before    []bool // by group: whether it comes before all rows
	transient bool   // whether shares have memory for some temporaries
	byRow     bool   // of a recurrence: whether the outermost index of all statements is that of rows
	stored    []bool // by tensor: whether it is a temporary with memory for all elements
	local     localMemory
}

func (c *code[T]) Groups() int { return len(c.groups) }

func (c *code[T]) Work(group int) int { return c.groups[group].work }

func (c *code[T]) Total(group int) int { return c.groups[group].total }

func (c *code[T]) RowByRow() error { return c.rowByRow }

func (c *code[T]) Before(group int) bool { return c.before[group] }

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
		case t.Local && !t.Planned && (r.locals.bytes > 0 || !c.stored[i]): // its memory is in an arena, if any
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

// box returns the number of iterations of the loops over vars.
func box(vars []*term.Variable) int {
	n := 1
	for _, v := range vars {
		hi, _ := v.Hi.Known()
		n *= hi
	}
	return n
}

// extent returns the number of values of an index that starts at 0.
func extent(v *term.Variable) int {
	hi, _ := v.Hi.Known()
	return max(hi, 0)
}
