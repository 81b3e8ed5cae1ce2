// Package loops compiles statements over indices into vectorized loops. A loop runs in strips, blocks of some
// hundred consecutive iterations: each operation of package simd computes one intermediate value for a whole
// strip. Strips stay in the L1 cache, so a chain of operations costs one pass over memory. This is vectorized
// interpretation, as in MonetDB/X100 and numexpr.
//
// Statements over the same indices are fused. The order of a sum depends on extents only: not on the number
// of workers, nor on the instruction set.
package loops

import (
	"fmt"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/reduction"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// Code is compiled statements: groups of fused loops. A group may read what earlier groups write.
type Code interface {
	// Groups returns the number of groups.
	Groups() int
	// Work returns the approximate number of operations on elements in a group.
	Work(group int) int
	// Total returns the number of iterations of the loops that a group's statements share. Shares are ranges
	// of them.
	Total(group int) int
	// Parts returns the maximum number of shares of a group, or 0 for any number. In more shares, its loops
	// would be so short that a share takes almost as long as the group.
	Parts(group int) int
	// Before reports whether a group runs once, before all rows. It applies to code that runs row by row.
	Before(group int) bool
	// ByElement reports whether a group is elementwise: a share accesses only the elements of its iterations,
	// of every tensor with as many elements as the group has iterations, and writes no other tensor. Ranges
	// of such groups may interleave with ranges of other elementwise code.
	ByElement(group int) bool
	// RowByRow returns nil if a share may run all groups for some of Options.Rows rows, while other shares
	// run other rows. Otherwise the error says why not.
	RowByRow() error
	// Kinds names the kinds of loop nests, each once, in the order in which they first run: "elements"
	// (pointwise), "copies", "reductions", "sums by index" (scatter-add), "products of matrices", "scans"
	// and "sorting".
	Kinds() []string
	// List returns a listing of the code, and counts of its parts. The code must have been compiled with
	// Options.Listed. If portable is true, the listing is the same for all processors; otherwise it shows
	// which loops this processor runs as machine code.
	List(portable bool) (string, Counts)
	// Bind binds the code to memory. memory holds the elements of tensors, little endian, by number of the
	// tensor; nil for local tensors.
	Bind(memory [][]byte) Runner
}

// Runner is code bound to memory.
type Runner interface {
	// Run runs the share [lo/total, hi/total) of groups first to end-1. Shares of one group may run
	// concurrently. A range of several groups must run as one share, since groups depend on earlier ones. The
	// error reports an access out of bounds, or an integer division by 0.
	Run(first, end int, at Time, lo, hi, total int) error
}

// Time identifies a run: by the number of the training step, and by the number of the run in the process, or
// 0. All shares of a run read the same inputs. Unless it is nil, Stop reports whether Run may return before
// it has computed its results.
type Time struct {
	Step, Run uint64
	Stop      func() bool
}

// Options restricts how statements are fused.
type Options struct {
	// Steps is the number of steps of the task, or 0 for any number. With several steps, each tensor that is
	// not local is computed by a group of its own. Exceptions are sums that are reduced in one pass, and
	// groups beyond the number of steps.
	Steps int
	// ByElement says that a step is declared elementwise. Matrix products are then not used and, with
	// several steps, no elementwise group is fused into one that is not.
	ByElement bool
	// Ordered says that the shared loops must run in the order of the results' indices, since other code
	// knows from that order what a share accesses.
	Ordered bool
	// Rows is the number of rows of the results, if shares are to run some rows each; otherwise 0.
	Rows int
	// Before holds the temporaries that are computed before all rows.
	Before map[int]bool
	// Listed says that Code.List will be called.
	Listed bool

	over     *term.Variable       // the index of a recurrence, whose value is set when the code runs; nil if there is none
	row      string               // the name of the index of a recurrence's rows
	exacts   map[int]bool         // float64 temporaries of other code whose values are integers
	extremes map[int]program.Ends // identities of max and min that other code may store in tensors
}

// Compile compiles statements of p, whose extents are all constant. tensors describes the memory of p's
// tensors. Compile adds temporaries to p. It returns an error if a scan cannot run in one pass, if a sort or
// a scan is nested in a reduction, or if the range of an index of a result depends on other indices and the
// statement does not accumulate.
func Compile(p *program.Program, statements []*program.Statement, tensors []rewrite.Tensor, o Options) (Code, error) {
	if err := unsigned(p, statements, o.extremes); err != nil {
		return nil, err
	}
	for _, s := range statements {
		if err := rewrite.Scoped(p, s.Target, s.Left, s.Vars, s.Value, s.Guard); err != nil {
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

// typeOf returns the compute type of loops: float64 if at least half of the elements of real tensors that are
// not local are float64, and otherwise float32. Tensors that share memory count separately, so that results
// do not depend on sharing.
func typeOf(p *program.Program, tensors []rewrite.Tensor) dtype.Type {
	narrow, wide := 0, 0
	for i, t := range tensors {
		if l := p.Tensors[i]; !t.Local && l.Old < 0 && l.Kind == term.Real && l.Passed == nil {
			switch n := rewrite.Elements(l); t.Type {
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

// compiler compiles statements into loops with compute type T.
type compiler[T simd.Float] struct {
	p       *program.Program
	tensors []rewrite.Tensor
	own     dtype.Type
	places  map[*term.Variable]int // index -> slot of its value in a state
	lenient bool                   // speculative: loads out of bounds are 0
	options Options

	users    map[int]map[*bundle]bool // tensor -> the bundles that access it
	extremes map[int]program.Ends     // tensor -> identities of integer max and min that it may hold
	given    map[int]bool             // owners of memory that statements write

	steps   map[int]int                    // of a recurrence: tensor -> by how many elements its accesses move from one value of the index to the next
	touched map[*rewrite.Statement][]touch // statement -> its accesses, cached while statements are fused

	constants map[int]block[T] // tensor -> its elements, if they are constant
	exacts    map[int]bool     // float64 temporaries whose values are integers

	narrow map[int]bool // float64 temporaries whose values need no more digits than T has

	kept map[int]bool // temporaries that stay in registers, or of which each share keeps a block
	past map[int]bool // tensors of the current group to which stores may be non-temporal

	// ahead is the index along which the current code prefetches the elements that units of the next block
	// access first; nil if it prefetches none.
	ahead *term.Variable

	registers    int         // number of registers
	buffers      int         // number of strips that registers share
	wide         int         // number of float64 strips
	integers     int         // number of integer strips
	apart        int         // number of integer strips with a buffer of their own
	numbers      int         // number of arguments of scalar functions
	words        bool        // whether random words are drawn
	fails        bool        // whether code may return an error
	accumulators []int       // registers with a buffer of their own
	compiled     []*strip[T] // the code of all strips
	loops        []*jit.Code // the machine code of strips

	double *compiler[float64] // compiler of nested float64 strips; nil if there are none
}

func compile[T simd.Float](p *program.Program, statements []*program.Statement, tensors []rewrite.Tensor, o Options) (Code, error) {
	c := &compiler[T]{p: p, options: o, own: dtype.Of[T](), places: map[*term.Variable]int{}, kept: map[int]bool{}, narrow: map[int]bool{}}
	options := rewrite.Options{Compute: c.own, Ordered: o.ByElement || o.Ordered, Exact: o.exacts}
	if o.over != nil { // all statements of a recurrence need each other
		options.Outer, options.Unused = []*term.Variable{o.over}, true
	}
	z, err := rewrite.Normalize(p, statements, tensors, options)
	if err != nil {
		return nil, err
	}
	c.tensors = z.Tensors
	c.constants, c.exacts = map[int]block[T]{}, z.Exact
	for _, s := range z.Constants {
		if c.tensors[s.Target].Type == c.own {
			c.constants[s.Target] = constant[T](p, c.tensors, o, s)
		} else {
			c.constants[s.Target] = block[T]{f64: constant[float64](p, c.tensors, o, s).f64}
		}
	}
	c.noteExact(z.Statements)
	c.complete(z.Statements)
	c.given, c.extremes = map[int]bool{}, extremes(z.Statements, o.extremes)
	for _, s := range z.Statements {
		c.given[c.tensors[s.Target].Memory] = true
	}
	for i, t := range c.tensors {
		if storageOf[T](t.Type) == nil {
			return nil, fmt.Errorf("there are no loops for elements of type %v, such as those of %s", t.Type, p.Tensors[i].Name)
		}
	}
	out := &code[T]{compiler: c}
	if o.over != nil {
		c.noteSteps(z.Statements)
		out.byRow = byRow(z.Statements, o.row)
	}
	groups := c.grouped(z.Statements)
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
				note(s.Target, b)
				s.Walk(func(n *term.Term) {
					for i := 0; n.Op == term.Element && i < n.Read.Count; i++ {
						note(n.Read.Tensor+i, b)
					}
				})
			}
		}
	}
}

// complete chooses the types of temporaries. Results of reductions, if few, become float64.
func (c *compiler[T]) complete(statements []*rewrite.Statement) {
	most := 0
	for i, t := range c.p.Tensors { // also tensors that the task does not write
		if t.Slot >= 0 {
			most = max(most, rewrite.Elements(c.p.Tensors[i]))
		}
	}
	multiplied := map[int]bool{} // operands and results of matrix products, which have one type
	for _, s := range statements {
		if x, y := factors(s); x != nil {
			multiplied[x.Tensor], multiplied[y.Tensor], multiplied[s.Target] = true, true, true
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
			case rewrite.Elements(l)*16 <= most || rewrite.Elements(l) == 1:
				t.Type = dtype.F64
			default:
				t.Type = c.own
			}
		}
	}
	for _, s := range statements {
		if t := &c.tensors[s.Target]; t.Local && !t.Planned && !typed[s.Target] && s.Reduction() != nil && s.Value.Kind == term.Real && c.product(s) == nil &&
			rewrite.Elements(c.p.Tensors[s.Target])*4 <= max(most, 1024) { // is small
			t.Type = dtype.F64
			// Extremes equal one of their elements, and a logsumexp is relative to the maximum: neither
			// needs more digits than T.
			kind := s.Reduction().Kind
			c.narrow[s.Target] = kind.Is(reduction.Extreme) || kind == reduction.LogSumExp
		}
	}
}

// code implements Code.
type code[T simd.Float] struct {
	*compiler[T]
	groups    []*loopGroup[T]
	rowByRow  error  // why the groups cannot run row by row; nil if they can
	before    []bool // by group: whether it runs once, before all rows
	transient bool   // whether shares keep blocks of some temporaries
	byRow     bool   // of a recurrence: whether the outermost index of all statements enumerates rows
	stored    []bool // by tensor: whether it is a temporary with memory for all elements
	local     localMemory
}

func (c *code[T]) Groups() int { return len(c.groups) }

func (c *code[T]) Work(group int) int { return c.groups[group].work }

func (c *code[T]) Total(group int) int { return c.groups[group].total }

func (c *code[T]) Parts(group int) int { return c.groups[group].parts }

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
			r.mem[i] = allocated[T](t.Type, rewrite.Elements(c.p.Tensors[i]))
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
