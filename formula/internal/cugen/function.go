package cugen

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/internal/loops"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/cname"
	"github.com/opgen/opgen/runtime/gpu"
)

// function is a kernel under construction. Its body computes a block of a grid. Its entry, which launches
// name, calls the body for the block that runs.
type function struct {
	*generator
	entry    string
	comment  string
	params   []param
	body     []string // lines
	depth    int
	names    map[*term.Variable]string
	taken    map[string]bool
	known    []map[string]string // by open block: expression -> name of its value
	grid     [3]int
	block    [3]int
	faulty   bool                  // whether it may record a fault
	checks   bool                  // whether it checks inputs, also after a fault
	doubles  map[string]bool       // names of values of type double
	exact    bool                  // whether real numbers are computed in double at the moment: see exactly
	steps    bool                  // whether it uses the number of the training step
	lenient  bool                  // speculative: a load out of bounds is 0 and no fault
	barriers bool                  // whether all threads of a block must reach its barriers
	rooms    []room                // scratch buffers besides local tensors
	placed   map[int]string        // the address of a tensor that each thread or block holds a copy of
	holds    []string              // declarations of variables in shared memory
	wide     *wide                 // vectorized access of a thread; nil if a thread computes one element
	turned   map[*term.Read]string // reads whose elements are in a shared-memory tile
	library  *gpu.Product          // the equivalent cuBLAS call; nil if there is none
	err      error
}

// param is a kernel parameter: the address of a tensor.
type param struct {
	tensor int
	name   string
	writes bool
}

// function begins a kernel for nest n, or for no nest if n is nil. The statements are its comment.
func (g *generator) function(n *loops.Nest) *function {
	f := &function{generator: g, names: map[*term.Variable]string{}, doubles: map[string]bool{}, taken: map[string]bool{"fault": true, "step": true, "grid": true},
		known: []map[string]string{{}}, block: [3]int{threads, 1, 1}, grid: [3]int{1, 1, 1}, depth: 1}
	f.entry = fmt.Sprintf("%s_%d_%s", g.name, len(g.code.Launches), placeholder)
	if n != nil {
		var of []string
		for _, s := range n.Statements {
			left := &term.Term{Op: term.Element, Kind: s.Value.Kind, Read: s.Left}
			sign := " = "
			if s.Add || g.tensors[s.Target].Add {
				sign = " += "
			}
			of = append(of, "// "+oneLine(left.String()+sign+s.Value.String()))
			f.lenient = f.lenient || s.Lenient
		}
		f.comment = strings.Join(of, "\n") + "\n"
	}
	return f
}

// oneLine returns a text without characters that would end or escape a // comment, cut after 200 bytes.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' || r == '\\' {
			return ' '
		}
		return r
	}, s)
	if len(s) > 200 {
		s = s[:200] + " ..."
	}
	return s
}

// line writes a line at the current indentation.
func (f *function) line(format string, args ...any) {
	f.body = append(f.body, strings.Repeat("\t", f.depth)+fmt.Sprintf(format, args...))
}

// open writes a line that begins a block. close ends the block. Names that were assigned in the block are not
// reused after it.
func (f *function) open(format string, args ...any) {
	f.line(format, args...)
	f.depth++
	f.known = append(f.known, map[string]string{})
}

func (f *function) close() {
	f.depth--
	f.known = f.known[:len(f.known)-1]
	f.line("}")
}

// otherwise ends a block and begins its else branch.
func (f *function) otherwise() {
	f.depth--
	f.known[len(f.known)-1] = map[string]string{}
	f.line("} else {")
	f.depth++
}

// apart calls write as if in a block of its own. It returns the lines that write produced, which are not yet
// part of the body, and the value that write returned.
func (f *function) apart(write func() string) (lines []string, value string) {
	was := f.body
	f.body = nil
	f.depth++
	f.known = append(f.known, map[string]string{})
	value = write()
	f.known = f.known[:len(f.known)-1]
	f.depth--
	lines, f.body = f.body, was
	return lines, value
}

// unique returns a valid C identifier that is not taken, similar to name.
func (f *function) unique(name string) string {
	var b strings.Builder
	for _, r := range name {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r == '_' || r >= '0' && r <= '9' && b.Len() > 0 {
			b.WriteRune(r)
		} else if b.Len() > 0 {
			b.WriteByte('_')
		}
	}
	base := strings.Trim(b.String(), "_")
	if base == "" || reserved[base] || cname.Word(base) || strings.HasPrefix(base, "opgen") {
		base = "x_" + base
	}
	out := base
	for n := 2; f.taken[out]; n++ {
		out = base + strconv.Itoa(n)
	}
	f.taken[out] = true
	return out
}

// reserved holds predefined identifiers of CUDA C++.
var reserved = map[string]bool{}

func init() {
	for _, w := range strings.Fields(`half min max abs exp log sqrt sin cos tanh pow floor ceil round isnan threadIdx blockIdx blockDim gridDim warpSize
		linux unix main`) {
		reserved[w] = true
	}
}

// name assigns a value to a constant, and returns its name. Equal expressions share a name (common
// subexpressions).
func (f *function) name(typ, hint, value string) string {
	key := typ + " " + value
	for _, m := range slices.Backward(f.known) {
		if n := m[key]; n != "" {
			return n
		}
	}
	n := f.unique(hint)
	f.typed(n, typ)
	f.line("const %s %s = %s;", typ, n, value)
	f.known[len(f.known)-1][key] = n
	return n
}

// typed records the type of a value.
func (f *function) typed(name, typ string) {
	f.doubles[name] = typ == "double" && f.generator.real() != typ
}

// forget makes later code load values again, since a store may have changed them: no name of a value is
// reused.
func (f *function) forget() {
	for i := range f.known {
		f.known[i] = map[string]string{}
	}
}

// memory returns the parameter that is the address of a tensor.
func (f *function) memory(t int, writes bool) string {
	if name := f.placed[t]; name != "" {
		return name
	}
	for i := range f.params {
		if f.params[i].tensor == t {
			f.params[i].writes = f.params[i].writes || writes
			return f.params[i].name
		}
	}
	f.params = append(f.params, param{t, f.unique(f.p.Tensors[t].Name), writes})
	return f.params[len(f.params)-1].name
}

// shared reports whether another parameter may alias p.
func (f *function) shared(p param) bool {
	return slices.ContainsFunc(f.params, func(q param) bool {
		return q.tensor != p.tensor && f.tensors[q.tensor].Memory == f.tensors[p.tensor].Memory
	})
}

// hold declares a variable in shared memory, and a reference to it in the body.
func (f *function) hold(name, declaration string) {
	f.holds = append(f.holds, declaration)
	f.line("auto &%s = ((%s_memory *)grid.memory)->%s;", name, f.entry, name)
}

// parameter is a parameter of a body and of its entry.
type parameter struct {
	typ, name string
	arg       gpu.Arg
}

// parameters returns the parameters of the kernel. guarded says that this kernel or an earlier one may record
// a fault.
func (f *function) parameters(guarded bool) (all []parameter) {
	for _, p := range f.params {
		typ := ctypes[f.tensors[p.tensor].Type] + " *"
		if !p.writes {
			typ = "const " + typ
		}
		if !f.shared(p) {
			typ += "__restrict__ "
		}
		a := gpu.Arg{Kind: gpu.Tensor, Index: p.tensor}
		if f.tensors[p.tensor].Local {
			a = gpu.Arg{Kind: gpu.Scratch, Index: f.buffer(p.tensor)}
		}
		all = append(all, parameter{typ, p.name, a})
	}
	for _, r := range f.rooms {
		all = append(all, parameter{r.typ, r.name, r.arg})
	}
	if f.steps {
		all = append(all, parameter{"unsigned long long ", "step", gpu.Arg{Kind: gpu.Step}})
	}
	if guarded {
		all = append(all, parameter{"opgen_record *", "fault", gpu.Arg{Kind: gpu.Fault}})
	}
	return all
}

// finish appends the kernel to the source, and its launch to the launches.
func (f *function) finish() {
	guarded := len(f.code.Faults) > 0
	var list, names, casts []string
	var args []gpu.Arg
	for i, p := range f.parameters(guarded) {
		list, names, args = append(list, p.typ+p.name), append(names, p.name), append(args, p.arg)
		casts = append(casts, fmt.Sprintf("(%s)args[%d]", strings.TrimSpace(strings.ReplaceAll(p.typ, "__restrict__", "")), i))
	}
	w := func(format string, args ...any) { fmt.Fprintf(&f.text, format, args...) }
	w("struct %s_memory {", f.entry)
	for _, h := range f.holds {
		w(" %s;", h)
	}
	w(" };\n%sOPGEN_DEVICE void %s_body(%s) {\n", f.comment, f.entry, strings.Join(append([]string{"const opgen_grid &grid"}, list...), ", "))
	switch {
	case guarded && f.barriers: // all threads of a block must decide alike
		w("\tif (__syncthreads_or(opgen_faulted(fault))) return;\n")
	case guarded && !f.checks:
		w("\tif (opgen_faulted(fault)) return;\n")
	}
	for _, l := range f.body {
		w("%s\n", l)
	}
	w("}\n")
	memory := "0"
	w("extern \"C\" __global__ void __launch_bounds__(%d) %s(%s) {\n", f.block[0]*f.block[1]*f.block[2], f.entry, strings.Join(list, ", "))
	if len(f.holds) > 0 {
		w("\t__shared__ %s_memory opgen_memory;\n", f.entry)
		memory = "&opgen_memory"
	}
	w("\t%s_body(%s);\n}\n", f.entry, strings.Join(append([]string{"opgen_launched(" + memory + ")"}, names...), ", "))
	w("OPGEN_DEVICE void %s_on(const opgen_grid &grid, const u64 *args) { %s_body(%s); }\n\n", f.entry, f.entry, strings.Join(append([]string{"grid"}, casts...), ", "))
	if guarded {
		f.library = nil // it does not check for faults
	}
	f.code.Launches = append(f.code.Launches, gpu.Launch{Entry: f.entry, Body: f.entry + "_on", Memory: f.entry + "_memory", Grid: f.grid, Block: f.block, Args: args, Product: f.library})
}

// indices declares the loop indices vars, and computes them from their row-major iteration number, the
// variable from.
func (f *function) indices(vars []*term.Variable, from string) {
	n := box(vars)
	typ := "long long"
	if n <= math.MaxInt32 {
		typ = "int"
	}
	rest := from
	for i := len(vars) - 1; i >= 0; i-- {
		v := vars[i]
		name := f.unique(v.Name)
		f.names[v] = name
		switch {
		case i == 0 && len(vars) == 1:
			f.line("const %s %s = (%s)%s;", typ, name, typ, rest)
		case i == 0:
			f.line("const %s %s = %s;", typ, name, rest)
		default:
			if rest == from {
				rest = f.unique("rest")
				f.line("%s %s = (%s)%s;", typ, rest, typ, from)
			}
			f.line("const %s %s = %s %% %d;", typ, name, rest, max(rewrite.Extent(v), 1))
			f.line("%s /= %d;", rest, max(rewrite.Extent(v), 1))
		}
	}
}

// each writes statements of which a thread computes one element, one vector of elements, or an element of a
// tile that is transposed.
func (f *function) each(vars []*term.Variable, statements []*loops.Nested) {
	if t := turned(vars, statements); t != nil {
		f.byTiles(vars, statements[0], t)
		return
	}
	n, w := box(vars), f.wideOf(vars, statements)
	if w != nil {
		n, vars = n/w.lanes, w.groups(vars)
	}
	f.grid = [3]int{blocksFor(n, threads), 1, 1}
	i := f.unique("thread")
	f.open("for (long long %s = opgen_thread(grid); %s < %d; %s += opgen_threads(grid)) {", i, i, n, i)
	f.indices(vars, i)
	f.statements(w, statements)
	f.close()
}

// statements writes statements whose indices are declared. If w is not nil, it writes them for a vector of
// elements.
func (f *function) statements(w *wide, statements []*loops.Nested) {
	if w != nil {
		f.grouped(w, statements)
		return
	}
	for _, s := range statements {
		f.statement(s)
	}
}

// statement writes the computation and the store of one element.
func (f *function) statement(s *loops.Nested) {
	if s.Guard != nil {
		f.open("if (%s) {", f.condition(s.Guard))
		defer f.close()
	}
	switch f.p.Tensors[s.Target].Kind {
	case term.Integer:
		f.give(s, f.integer(s.Value))
	case term.Boolean:
		f.give(s, f.condition(s.Value))
	default:
		if s.Value.Op == term.Reduce && s.Value.Kind == term.Real {
			f.give(s, f.reduce(s.Value)) // keeps the precision of the reduction
			return
		}
		f.give(s, f.number(s.Value))
	}
}

// give writes the store of v to the target element of s. v is a C expression of the target's kind.
func (f *function) give(s *loops.Nested, v string) {
	if s.Left.Which != nil {
		f.fail("one of several tensors that is given", s.Value)
	}
	bounds, ok := boundsOf[f.tensors[s.Target].Type]
	if ends := program.EndsOf(s.Value, f.ends, nil); ok && ends.Any() {
		if !ends.Least { // this bound of int64 is an ordinary value
			bounds[0] = "OPGEN_LEAST"
		}
		if !ends.Most {
			bounds[1] = "OPGEN_GREATEST"
		}
		v = fmt.Sprintf("opgen_bounded(%s, %s, %s)", v, bounds[0], bounds[1])
	}
	put, adds := "opgen_store", s.Add || f.tensors[s.Target].Add
	if adds {
		put = "opgen_add"
	}
	left := *s.Left
	left.Tensor = s.Target
	array, at, held := f.held(&left, true, adds)
	if !held {
		var inside string
		if at, inside = f.place(s.Left); inside != "" {
			f.open("if (%s) {", inside)
			defer f.close()
		}
		array = f.memory(s.Target, true)
	}
	f.line("%s(%s, %s, %s);", put, array, at, v)
	f.forget()
}

// scatter writes a scatter-add. Threads parallelize over the indices that are subscripts of the target. The
// other indices are sequential loops, so that additions to an element have a fixed order. If this leaves few
// threads, several threads run the same loops, and each adds only to the target elements of its own residue
// class.
func (f *function) scatter(n *loops.Nest) {
	s := n.Statements[0]
	var own, inner []*term.Variable
	for _, v := range n.Vars {
		if !rewrite.IsOpen(v) && slices.ContainsFunc(s.Left.Idx, func(x *term.Term) bool { return x.Op == term.Index && x.Var == v }) {
			own = append(own, v)
		} else {
			inner = append(inner, v)
		}
	}
	if len(inner) == 0 {
		f.each(n.Vars, n.Statements)
		return
	}
	parts := min(f.elements(s.Target), fewThreads/max(box(own), 1), turns(inner)/threads)
	total := box(own) * max(parts, 1)
	f.grid = [3]int{blocksFor(total, threads), 1, 1}
	i := f.unique("thread")
	f.open("for (long long %s = opgen_thread(grid); %s < %d; %s += opgen_threads(grid)) {", i, i, total, i)
	from, part := i, ""
	if parts > 1 { // neighboring threads read the same elements
		part = f.name("int", "part", fmt.Sprintf("(int)(%s %% %d)", i, parts))
		from = f.name("long long", "rest", fmt.Sprintf("%s / %d", i, parts))
	}
	f.indices(own, from)
	for _, v := range inner {
		f.loop(v)
	}
	for _, s := range n.Statements {
		if parts > 1 {
			f.owned(s, part, parts)
		} else {
			f.statement(s)
		}
	}
	for range inner {
		f.close()
	}
	f.close()
}

// fewThreads is how many threads a scatter-add should have. With fewer, it divides target elements by residue
// classes.
const fewThreads = 1 << 12

// turns returns an upper bound of the number of iterations of loops over vars, at most fewThreads * threads.
// A range without a constant bound counts as fewThreads.
func turns(vars []*term.Variable) int {
	n := 1
	for _, v := range vars {
		_, most, known := rewrite.Bounds(v.Hi)
		if !known {
			most = fewThreads
		}
		n = min(n*max(min(most, fewThreads), 0), fewThreads*threads)
	}
	return n
}

// owned writes a scatter-add statement that runs only if the target element belongs to residue class part of
// parts.
func (f *function) owned(s *loops.Nested, part string, parts int) {
	rest := *s
	if rest.Guard != nil {
		f.open("if (%s) {", f.condition(rest.Guard))
		defer f.close()
		rest.Guard = nil
	}
	at, inside := f.place(s.Left)
	own := fmt.Sprintf("(%s) %% %d == %s", at, parts, part)
	if inside != "" {
		own = inside + " && " + own
	}
	f.open("if (%s) {", own)
	f.statement(&rest)
	f.close()
}

// loop begins a sequential loop over index v. The caller closes it.
func (f *function) loop(v *term.Variable) {
	lo, hi := f.integer(v.Lo), f.integer(v.Hi)
	name := f.unique(v.Name)
	f.names[v] = name
	typ := "long long"
	if _, most, known := rewrite.Bounds(v.Hi); known && most <= math.MaxInt32 {
		if least, _, known := rewrite.Bounds(v.Lo); known && least > math.MinInt32 {
			typ = "int"
		}
	}
	f.open("for (%s %s = %s, %s_end = %s; %s < %s_end; %s++) {", typ, name, lo, name, hi, name, name, name)
}
