// Package cugen compiles statements over indices to CUDA C++: one kernel for each loop nest, whose threads
// compute one element each or share a reduction.
//
// Reductions have a fixed order that depends only on extents, so results are bit-identical in each run. No
// kernel uses floating-point atomics.
package cugen

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Code is the CUDA C++ source of statements, and the kernel launches that run it, in order. A launch argument
// of kind Tensor is the number of a tensor of the program.
type Code struct {
	Source   string
	Launches []gpu.Launch
	Scratch  []int64 // sizes of the scratch buffers, in bytes
	Faults   []Fault // the fault with code c is Faults[c-1]
}

// Fault describes the error behind a fault code. Device code records the code with three values. The error is
// an integer divisor outside of its domain, an access out of bounds, or an element of an input that violates
// the input's bound.
type Fault struct {
	Divisor bool   // an integer divisor, the first value of the record, is not allowed
	Name    string // otherwise the tensor that is accessed
	Extents []int  // its shape
	Rank    int    // the number of indices of the access, of which the record holds at most three
	Below   bool   // the record holds an element's row-major number and its value, which violates Bound; otherwise an access is out of bounds
	Bound   task.Bound
}

// Error returns the error for the three values of a fault record.
func (f *Fault) Error(values [3]int64) error {
	switch {
	case f.Divisor:
		return fmt.Errorf("an integer is divided by %d", values[0])
	case f.Below:
		at := shape.Format(shape.Index(int(values[0]), f.Extents))
		return fmt.Errorf("slot %s, element %s: want %v, got %d", f.Name, at, f.Bound, values[1])
	}
	index := make([]int, min(f.Rank, len(values)))
	for i := range index {
		index[i] = int(values[i])
	}
	return fmt.Errorf("%s%s lies outside %s%s", f.Name, shape.Format(index), f.Name, shape.Format(f.Extents))
}

// Bounded is an integer input and the bound of its elements. A kernel checks the elements before all other
// kernels run.
type Bounded struct {
	Tensor int
	Bound  task.Bound
}

// Compile translates statements of p, whose extents are all constant, into CUDA C++. It adds local tensors to
// p. tensors describes the memory of p's tensors. aligned reports whether the memory of a tensor that is not
// local is aligned to 16 bytes. bounded lists inputs whose elements are checked. folds lists outputs into
// whose old contents results are reduced. name is the prefix of kernel names. Matrix products with at least
// least rows, columns and terms are tiled. Compile returns an error if a statement has no device code.
func Compile(name string, p *program.Program, statements []*program.Statement, tensors []rewrite.Tensor, aligned func(tensor int) bool, bounded []Bounded, folds []Into, least int) (*Code, error) {
	parts, all, own, err := loops.Parts(p, statements, tensors)
	if err != nil {
		return nil, err
	}
	var nests []*loops.Nest // of all parts
	for _, part := range parts {
		nests = append(nests, part.Nests...)
	}
	g := &generator{name: name, p: p, tensors: all, own: own, exacts: map[int]bool{}, ends: map[int]program.Ends{}, scratch: map[int]int{}, code: &Code{}, least: least}
	g.aligned = func(t int) bool { return all[t].Local || aligned(t) }
	for i, t := range all {
		if t.Type != dtype.Invalid && ctypes[t.Type] == "" && (!t.Local || t.Memory != i) {
			return nil, fmt.Errorf("there is no device code for elements of type %v of %s", t.Type, p.Tensors[i].Name)
		}
	}
	g.widen(nests)
	for ends := maps.Clone(g.ends); ; {
		if err := g.extremes(nests); err != nil {
			return nil, err
		}
		if !program.Recurs(statements) || maps.Equal(ends, g.ends) {
			break
		}
		ends = maps.Clone(g.ends) // in a recurrence, a statement reads what one below it gives
	}
	if err := g.apart(folds); err != nil {
		return nil, err
	}
	for _, b := range bounded {
		g.below(b)
	}
	for _, part := range parts {
		write := g.nests
		if part.Over != nil {
			write = g.recurrence
		}
		if err := write(part); err != nil {
			return nil, err
		}
	}
	for _, x := range folds {
		g.into(x)
	}
	g.seal()
	return g.code, nil
}

// ctypes maps storage types to C types.
var ctypes = map[dtype.Type]string{dtype.Bool: "opgen_bool", dtype.I8: "signed char", dtype.I16: "short", dtype.I32: "int", dtype.I64: "long long",
	dtype.U8: "unsigned char", dtype.U16: "unsigned short", dtype.U32: "unsigned", dtype.U64: "unsigned long long",
	dtype.F16: "opgen_f16", dtype.BF16: "opgen_bf16", dtype.F32: "float", dtype.F64: "double"}

// boundsOf holds the minimum and maximum of integer types below 64 bits, as C expressions.
var boundsOf = map[dtype.Type][2]string{dtype.I8: {"-128", "127"}, dtype.I16: {"-32768", "32767"},
	dtype.I32: {"-2147483647 - 1", "2147483647"}, dtype.U8: {"0", "255"}, dtype.U16: {"0", "65535"}, dtype.U32: {"0", "4294967295ll"}}

// widen changes the type of a local tensor to double if its values are integers, or if it is small and its
// values are computed in double. A later difference of such values then loses no digits to cancellation.
func (g *generator) widen(nests []*loops.Nest) {
	most := 1024
	for i, t := range g.p.Tensors {
		if t.Slot >= 0 {
			most = max(most, g.elements(i))
		}
	}
	for _, n := range nests {
		for _, s := range n.Statements {
			t := &g.tensors[s.Target]
			if t.Local && t.Memory == s.Target && t.Type == g.own && !s.Add && !s.Value.Reduces() && loops.RoundsIntegers(s.Value, g.exacts) {
				t.Type, g.exacts[s.Target] = dtype.F64, true
			}
			if t.Local && t.Memory == s.Target && t.Type == g.own && s.Value.Kind == term.Real && 4*g.elements(s.Target) <= most && g.typeOf(s.Value) == ctypes[dtype.F64] {
				t.Type = dtype.F64
			}
		}
	}
}

// extremes records in g.ends which integer tensors may hold the identity of max or min, which is the least or
// greatest int64. It returns an error if a statement computes with uint64: device code has signed integers
// only.
func (g *generator) extremes(nests []*loops.Nest) error {
	for _, n := range nests {
		for _, s := range n.Statements {
			g.ends[s.Target] = g.ends[s.Target].Or(program.EndsOf(s.Value, g.ends, nil))
			left := &term.Term{Op: term.Element, Kind: g.p.Tensors[s.Target].Kind, Read: s.Left}
			for _, part := range []*term.Term{s.Value, s.Guard, left} {
				if err := g.signed(part); err != nil {
					return err
				}
			}
			if g.p.Tensors[s.Target].Kind != term.Integer && g.p.Unsigned(s.Value) {
				return noUnsigned(s.Value)
			}
		}
	}
	return nil
}

// signed returns an error if an operation has a uint64 operand. Loads and selections of uint64 are allowed.
func (g *generator) signed(n *term.Term) error {
	var err error
	n.Walk(func(n *term.Term) {
		for i, x := range n.Args {
			if (n.Op != term.Choose || i == 0) && g.p.Unsigned(x) {
				err = noUnsigned(n)
			}
		}
		if n.Op == term.Reduce && g.p.Unsigned(n.Reduction.Body) {
			err = noUnsigned(n)
		}
	})
	return err
}

func noUnsigned(n *term.Term) error {
	return fmt.Errorf("there is no device code for integers of 64 bits without a sign: %s", oneLine(n.String()))
}

// generator compiles the statements of one program.
type generator struct {
	name    string
	p       *program.Program
	tensors []rewrite.Tensor
	own     dtype.Type           // compute type of real numbers
	exacts  map[int]bool         // local float64 tensors whose values are integers
	ends    map[int]program.Ends // identities of max and min in integer tensors
	scratch map[int]int          // tensor -> scratch buffer
	aligned func(tensor int) bool
	least   int // minimum rows, columns and terms of tiled products
	code    *Code
	text    strings.Builder
}

// real is the C type of the compute type.
func (g *generator) real() string { return ctypes[g.own] }

// seal replaces the placeholder in kernel names by a hash of the source: equal sources have equal names, and
// different sources have different names.
func (g *generator) seal() {
	text := g.text.String()
	sum := sha256.Sum256([]byte(text))
	id := hex.EncodeToString(sum[:6])
	g.code.Source = strings.ReplaceAll(text, placeholder, id)
	for i := range g.code.Launches {
		l := &g.code.Launches[i]
		for _, name := range []*string{&l.Entry, &l.Body, &l.Memory} {
			*name = strings.ReplaceAll(*name, placeholder, id)
		}
	}
}

// placeholder is the text in kernel names that seal replaces.
const placeholder = "@hash@"

// elements returns the number of elements of a tensor.
func (g *generator) elements(t int) int {
	n := 1
	for _, d := range g.p.Tensors[t].Shape {
		e, _ := d.Known()
		n *= e
	}
	return n
}

// buffer returns the scratch buffer of a local tensor, and allocates it at the first call.
func (g *generator) buffer(t int) int {
	t = g.tensors[t].Memory
	b, ok := g.scratch[t]
	if !ok {
		b = len(g.code.Scratch)
		g.scratch[t] = b
		g.code.Scratch = append(g.code.Scratch, int64(g.elements(t)*g.tensors[t].Type.Size()))
	}
	return b
}

// fault returns the code of a fault. The first call registers the fault.
func (g *generator) fault(f Fault) int {
	same := func(o Fault) bool {
		return o.Divisor == f.Divisor && o.Name == f.Name && o.Rank == f.Rank && o.Below == f.Below && o.Bound == f.Bound && slices.Equal(o.Extents, f.Extents)
	}
	if i := slices.IndexFunc(g.code.Faults, same); i >= 0 {
		return i + 1
	}
	g.code.Faults = append(g.code.Faults, f)
	return len(g.code.Faults)
}

// threads is the number of threads of a block.
const threads = 256

// mostBlocks is the maximum number of blocks of a grid. Threads of such a grid loop over elements (grid
// stride).
const mostBlocks = 1 << 16

// blocksFor returns the number of blocks for n elements, at each elements per block.
func blocksFor(n, each int) int { return min((n+each-1)/each, mostBlocks) }

// nests compiles a part without a recurrence: its nests run once, in order.
func (g *generator) nests(part *loops.Part) error {
	for nests := part.Nests; len(nests) > 0; {
		if rows := g.rowsOf(nests); rows != nil {
			if err := g.rows(rows); err != nil {
				return err
			}
			nests = nests[len(rows):]
			continue
		}
		if err := g.nest(nests[0]); err != nil {
			return err
		}
		nests = nests[1:]
	}
	return nil
}

// nest compiles a loop nest. Each matrix product in it becomes a nest of its own.
func (g *generator) nest(n *loops.Nest) error {
	if box(n.Vars) == 0 {
		return nil
	}
	products, rest := g.separate(n)
	for _, n := range products {
		if err := g.alone(n); err != nil {
			return err
		}
	}
	if len(rest.Statements) == 0 {
		return nil
	}
	return g.alone(rest)
}

// separate splits the matrix products off a nest, each into a nest of its own. This is legal since the
// statements of a nest that reduces are independent.
func (g *generator) separate(n *loops.Nest) (products []*loops.Nest, rest *loops.Nest) {
	rest = &loops.Nest{Vars: n.Vars}
	for _, s := range n.Statements {
		one := &loops.Nest{Vars: n.Vars, Statements: []*loops.Nested{s}}
		if len(n.Statements) > 1 && s.Value.Op == term.Reduce && g.factorsOf(one) != nil {
			products = append(products, one)
		} else {
			rest.Statements = append(rest.Statements, s)
		}
	}
	return products, rest
}

// alone compiles a nest into one kernel, or into two if a reduction is spread over blocks.
func (g *generator) alone(n *loops.Nest) error {
	f := g.function(n)
	first := n.Statements[0]
	r := first.Value.Reduction
	switch {
	case first.Value.Op == term.Reduce && r.IsOrder():
		f.order(n)
	case first.Add:
		f.scatter(n)
	case first.Value.Op == term.Reduce && (f.product(n) || f.scan(n)):
	case first.Value.Op == term.Reduce && foldable(r):
		if !f.spread(n) {
			f.fold(n)
		}
	default:
		f.each(n.Vars, n.Statements)
	}
	if f.err != nil {
		return f.err
	}
	f.finish()
	return nil
}

// box returns the number of iterations of the loops over vars. It skips variables whose range depends on
// other indices.
func box(vars []*term.Variable) int {
	n := 1
	for _, v := range vars {
		if !rewrite.IsOpen(v) {
			n *= rewrite.Extent(v)
		}
	}
	return n
}

// below writes a kernel that checks the elements of an integer input against its bound.
func (g *generator) below(b Bounded) {
	n := g.elements(b.Tensor)
	if n == 0 {
		return
	}
	f := g.function(nil)
	l := g.p.Tensors[b.Tensor]
	ext := make([]int, len(l.Shape))
	for i, d := range l.Shape {
		ext[i], _ = d.Known()
	}
	code := g.fault(Fault{Name: l.Name, Extents: ext, Below: true, Bound: b.Bound})
	f.faulty = true
	f.open("for (long long i = opgen_thread(grid); i < %d; i += opgen_threads(grid)) {", n)
	f.line("const long long x = opgen_load(%s, i);", f.memory(b.Tensor, false))
	outside := fmt.Sprintf("x < 0 || x >= %d", b.Bound.Below)
	if b.Bound.HasExcept {
		outside = fmt.Sprintf("(%s) && x != %dLL", outside, b.Bound.Except)
	}
	f.line("if (%s) opgen_fault(fault, %d, i, x, 0);", outside, code)
	f.close()
	f.grid = [3]int{blocksFor(n, threads), 1, 1}
	f.checks = true
	f.finish()
}
