// Package cugen compiles statements over indices to CUDA C++: a function for each nest of loops, whose
// threads compute an element each, or share a reduction.
//
// Sums have one order, which depends on extents only, so results have the same bits in each run. No function
// adds to memory atomically.
package cugen

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/gpu"
	"github.com/opgen/opgen/runtime/shape"
	"github.com/opgen/opgen/runtime/task"
)

// Code is compiled statements. Arguments of kind Tensor are the tensors of the program, by their numbers.
type Code struct {
	Source   string
	Launches []gpu.Launch
	Scratch  []int64 // the bytes of local tensors
	Faults   []Fault // by the code of a record, counted from 1
}

// Fault says what a record of a code means.
type Fault struct {
	Divisor bool   // an integer was divided by the first value
	Name    string // otherwise: an element of this tensor
	Extents []int  // of this shape
	Rank    int    // lies outside; so many values of the record are its index
	Below   bool   // otherwise: the element of this number is not within the bound
	Bound   task.Bound
}

// Error describes a fault with the values of its record.
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

// Bounded is a tensor of integers that must lie within a bound. They are tested before anything is computed.
type Bounded struct {
	Tensor int
	Bound  task.Bound
}

// Compile compiles statements of a program, which has no open extents. tensors says how those of the program
// are kept, and aligned which of those that are not local begin at a multiple of 16 bytes. The program gets
// further tensors. What statements give for tensors of folds is folded into what these hold. name begins the
// names of functions. Products of matrices with least rows, columns and terms are computed by tiles.
func Compile(name string, p *program.Program, statements []*program.Statement, tensors []loops.Tensor, aligned func(tensor int) bool, bounded []Bounded, folds []Into, least int) (*Code, error) {
	nests, all, own, err := loops.Nests(p, statements, tensors)
	if err != nil {
		return nil, err
	}
	g := &generator{name: name, p: p, tensors: all, own: own, exacts: map[int]bool{}, scratch: map[int]int{}, code: &Code{}, least: least}
	g.aligned = func(t int) bool { return all[t].Local || aligned(t) }
	for i, t := range all {
		if t.Type != dtype.Invalid && ctypes[t.Type] == "" && (!t.Local || t.Memory != i) {
			return nil, fmt.Errorf("there is no device code for elements of type %v of %s", t.Type, p.Tensors[i].Name)
		}
	}
	g.widen(nests)
	if err := g.extremes(nests); err != nil {
		return nil, err
	}
	if err := g.apart(folds); err != nil {
		return nil, err
	}
	for _, b := range bounded {
		g.below(b)
	}
	for len(nests) > 0 {
		if rows := g.rowsOf(nests); rows != nil {
			if err := g.rows(rows); err != nil {
				return nil, err
			}
			nests = nests[len(rows):]
			continue
		}
		if err := g.nest(nests[0]); err != nil {
			return nil, err
		}
		nests = nests[1:]
	}
	for _, x := range folds {
		g.into(x)
	}
	g.seal()
	return g.code, nil
}

// ctypes are the types of elements in memory.
var ctypes = map[dtype.Type]string{dtype.Bool: "opgen_bool", dtype.I8: "signed char", dtype.I16: "short", dtype.I32: "int", dtype.I64: "long long",
	dtype.U8: "unsigned char", dtype.U16: "unsigned short", dtype.U32: "unsigned", dtype.U64: "unsigned long long",
	dtype.F16: "opgen_f16", dtype.BF16: "opgen_bf16", dtype.F32: "float", dtype.F64: "double"}

// boundsOf holds the least and the greatest integer of types of fewer than 64 bits.
var boundsOf = map[dtype.Type][2]string{dtype.I8: {"-128", "127"}, dtype.I16: {"-32768", "32767"},
	dtype.I32: {"-2147483647 - 1", "2147483647"}, dtype.U8: {"0", "255"}, dtype.U16: {"0", "65535"}, dtype.U32: {"0", "4294967295ll"}}

// widen gives local tensors of few elements that are computed of numbers of type double that type, so that
// terms which cancel each other have the same digits. Local tensors of values of integers get it, too.
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
			if t.Local && t.Memory == s.Target && t.Type == g.own && !s.Add && !s.Value.Reduces() && loops.OfIntegers(s.Value, g.exacts) {
				t.Type, g.exacts[s.Target] = dtype.F64, true
			}
			if t.Local && t.Memory == s.Target && t.Type == g.own && s.Value.Kind == term.Real && 4*g.elements(s.Target) <= most && g.typeOf(s.Value) == ctypes[dtype.F64] {
				t.Type = dtype.F64
			}
		}
	}
}

// extremes finds the tensors of integers that hold extremes. It refuses what is computed with integers of 64
// bits without a sign: device code computes with a sign.
func (g *generator) extremes(nests []*loops.Nest) error {
	g.ends = map[int]program.Ends{}
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

// signed returns an error if an operation has an operand of 64 bits without a sign. A choice of them, as of
// elements of tensors, is none.
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
	tensors []loops.Tensor
	own     dtype.Type           // of real numbers
	exacts  map[int]bool         // local tensors of float64 that hold values of integers
	ends    map[int]program.Ends // the extremes of nothing that tensors of integers may hold
	scratch map[int]int          // the buffers of local tensors
	aligned func(tensor int) bool
	least   int // rows, columns and terms of products
	code    *Code
	text    strings.Builder
}

// real is the C type of real numbers.
func (g *generator) real() string { return ctypes[g.own] }

// seal puts a hash of the source in the place of names, so that equal sources have equal names and others do
// not.
func (g *generator) seal() {
	text := g.text.String()
	sum := sha256.Sum256([]byte(text))
	id := hex.EncodeToString(sum[:6])
	g.code.Source = strings.ReplaceAll(text, placeholder, id)
	for i := range g.code.Launches {
		g.code.Launches[i].Entry = strings.ReplaceAll(g.code.Launches[i].Entry, placeholder, id)
	}
}

// placeholder stands for the hash in names.
const placeholder = "@hash@"

// elements returns how many elements a tensor has.
func (g *generator) elements(t int) int {
	n := 1
	for _, d := range g.p.Tensors[t].Shape {
		e, _ := d.Known()
		n *= e
	}
	return n
}

// buffer returns the number of the buffer of a local tensor.
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

// fault returns the code of a fault.
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

// threads is how many threads a block has.
const threads = 256

// mostBlocks is how many blocks a grid has at most; threads take further elements in turn.
const mostBlocks = 1 << 16

// blocksFor returns how many blocks compute n elements, of which each computes so many at a time.
func blocksFor(n, each int) int { return min((n+each-1)/each, mostBlocks) }

// nest compiles a nest of loops.
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

// separate returns the products of matrices of a nest as nests of their own, and the rest. None of the
// reductions that share a nest needs another.
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

// alone compiles a nest of loops by one function, or by two.
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

// box is the number of values of indices of known ranges.
func box(vars []*term.Variable) int {
	n := 1
	for _, v := range vars {
		if !loops.IsOpen(v) {
			n *= loops.Extent(v)
		}
	}
	return n
}

// below tests the elements of a tensor of integers.
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
	f.open("for (long long i = opgen_thread(); i < %d; i += opgen_threads()) {", n)
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
