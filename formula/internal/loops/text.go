package loops

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/opgen/opgen/formula/internal/jit"
	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/internal/base/simd"
	"github.com/opgen/opgen/runtime/dtype"
)

// listed is what a listing shows of a unit: a line for each statement, and the named strips.
type listed[T simd.Float] struct {
	kind   string
	loops  string
	gives  []string
	strips []namedStrip[T]
	number bool // whether scalar code computes the elements
}

// namedStrip is a strip, with a name for what the unit uses it for.
type namedStrip[T simd.Float] struct {
	name string
	code *strip[T]
}

// stripped is implemented by units whose strips listings show.
type stripped[T simd.Float] interface{ strips() []namedStrip[T] }

func (u *scanRows[T]) strips() []namedStrip[T]    { return u.scan.strips() }
func (u *scanColumns[T]) strips() []namedStrip[T] { return u.scan.strips() }

func (u *scan[T]) strips() []namedStrip[T] {
	return []namedStrip[T]{{"elements", &u.in}, {"results", &u.out}}
}

func (u *chain[T]) strips() []namedStrip[T] {
	return []namedStrip[T]{{"elements", &u.in}, {"factors", &u.factors}, {"results", &u.out}}
}

func (u *order[T]) strips() []namedStrip[T] {
	if u.whole != nil {
		return nil
	}
	return []namedStrip[T]{{"keys", &u.keys}}
}

func (u *pointwise[T]) strips() []namedStrip[T] {
	var out []namedStrip[T]
	for i := range u.repeated {
		out = append(out, namedStrip[T]{"repeated", &u.repeated[i].code})
	}
	for i := range u.stretched {
		out = append(out, namedStrip[T]{"stretched", &u.stretched[i].code})
	}
	return append(out, namedStrip[T]{"", &u.code})
}

func (u *rows[T]) strips() []namedStrip[T] {
	if u.joint != nil {
		return []namedStrip[T]{{"all sums", u.joint}}
	}
	var out []namedStrip[T]
	for _, p := range u.sums {
		out = append(out, namedStrip[T]{"", &p.code})
	}
	return out
}

func (u *columns[T]) strips() []namedStrip[T] {
	if u.joint != nil {
		return []namedStrip[T]{{"all sums", u.joint}}
	}
	var out []namedStrip[T]
	for _, p := range u.sums {
		if p.before != nil {
			out = append(out, namedStrip[T]{"before", p.before})
		}
		out = append(out, namedStrip[T]{"", &p.code})
	}
	return out
}

// list returns what a listing shows of a unit.
func (k *unitCompiler[T]) list(u unit[T]) listed[T] {
	kind := fmt.Sprintf("%T", u)
	kind, _, _ = strings.Cut(kind[strings.LastIndex(kind[:strings.IndexByte(kind, '[')], ".")+1:], "[")
	out := listed[T]{kind: kind, loops: loopsText(k.bundle.vars)}
	_, out.number = u.(*plain[T])
	if p, ok := u.(*pointwise[T]); ok && (p.elements > 1 || p.to != nil) {
		out.loops += "; several rows in a strip"
	}
	if f := k.bundle.folds; f != nil {
		out.loops += "; reduced " + loopsText(f[0].Vars)
	}
	for i, s := range k.bundle.statements {
		value := s.Value
		if k.bundle.folds != nil {
			value = &term.Term{Op: term.Reduce, Kind: value.Kind, Reduction: k.bundle.folds[i]}
		}
		line := k.nameOf(s.Target) + indices(s.Left.Idx)
		sign := " = "
		if s.Add {
			sign = " += "
		}
		line += sign + value.String()
		if s.Guard != nil {
			line += " if " + s.Guard.String()
		}
		out.gives = append(out.gives, line)
	}
	if x, ok := u.(stripped[T]); ok {
		out.strips = x.strips()
	}
	return out
}

// loopsText returns indices with their ranges.
func loopsText(vars []*term.Variable) string {
	var texts []string
	for _, v := range vars {
		if v.Lo.Is(0) {
			texts = append(texts, fmt.Sprintf("%s < %s", v.Name, v.Hi))
		} else {
			texts = append(texts, fmt.Sprintf("%s in %s .. %s", v.Name, v.Lo, v.Hi))
		}
	}
	return strings.Join(texts, ", ")
}

func indices(idx []*term.Term) string {
	var texts []string
	for _, x := range idx {
		texts = append(texts, x.String())
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// nameOf returns the name of a tensor. A temporary that loops added has a number.
func (c *compiler[T]) nameOf(t int) string {
	if name := c.p.Tensors[t].Name; name != "" {
		return name
	}
	return "t" + strconv.Itoa(t)
}

// List returns a listing of the code, and counts. A unit has a line with its kind and loops, lines with its
// statements, and the instructions of its strips. A ! marks instructions that no fused loop can contain. If
// portable is true, the listing is the same for all processors: that of AVX-512. Otherwise a | marks what
// this processor runs as machine code.
func (c *code[T]) List(portable bool) (string, Counts) {
	p := &lister[T]{c: c, portable: portable}
	for i, g := range c.groups {
		fmt.Fprintf(&p.b, "group %d: %d values\n", i, g.total)
		for _, u := range g.listed {
			p.unit(&u)
		}
	}
	return p.b.String(), p.n
}

// Counts says how much code there is, and how much of it does not run in fused loops.
type Counts struct {
	Units        int // loop nests
	Numbers      int // units and instructions that compute elements one by one
	Instructions int // all but views and branches
	Outside      int // instructions that no fused loop can contain
}

// Add adds the counts of other code.
func (n *Counts) Add(m Counts) {
	n.Units += m.Units
	n.Numbers += m.Numbers
	n.Instructions += m.Instructions
	n.Outside += m.Outside
}

// lister writes the listing of code, and counts.
type lister[T simd.Float] struct {
	c        *code[T]
	portable bool
	b        strings.Builder
	n        Counts
	names    map[int]int // register -> its number in the unit
}

func (p *lister[T]) unit(u *listed[T]) {
	p.n.Units++
	fmt.Fprintf(&p.b, "  %s", u.kind)
	if u.loops != "" {
		fmt.Fprintf(&p.b, ": %s", u.loops)
	}
	if u.number {
		p.n.Numbers++
		p.b.WriteString(" (one by one)")
	}
	p.b.WriteByte('\n')
	for _, s := range u.gives {
		fmt.Fprintf(&p.b, "    %s\n", s)
	}
	p.names = map[int]int{}
	for _, s := range u.strips {
		if s.name != "" {
			fmt.Fprintf(&p.b, "      %s:\n", s.name)
		}
		code := s.code.code
		if p.portable {
			code = s.code.listed
		}
		p.code(code, " ")
	}
}

// code writes instructions, each on a line that begins with a mark.
func (p *lister[T]) code(code []instruction[T], mark string) {
	can := jit.NewBuilder(p.c.own == dtype.F64, p.portable || simd.Vector() == 64)
	for i := range code {
		in := &code[i]
		if in.op == opLoop {
			p.b.WriteString("      machine code:\n")
			p.code(in.loop.listed, "|")
			continue
		}
		m := mark
		if in.op != opView && in.op != opBranch {
			p.n.Instructions++
			if !in.fusable(can) {
				p.n.Outside++
				m = "!"
			}
		}
		text := p.text(in)
		if strings.Contains(text, "one by one") {
			p.n.Numbers++
		}
		fmt.Fprintf(&p.b, "      %s %s\n", m, text)
	}
}

// register returns the name of a register: its number in the order of the unit's listing.
func (p *lister[T]) register(r int) string {
	if _, ok := p.names[r]; !ok {
		p.names[r] = len(p.names)
	}
	return "r" + strconv.Itoa(p.names[r])
}

var unaryNames = [...]string{simd.Neg: "-", simd.Abs: "abs", simd.Square: "square", simd.Sqrt: "sqrt", simd.Rsqrt: "rsqrt",
	simd.Recip: "1 / ", simd.Exp: "exp", simd.Log: "log", simd.Expm1: "expm1", simd.Log1p: "log1p", simd.Sin: "sin",
	simd.Cos: "cos", simd.Tanh: "tanh", simd.Sigmoid: "sigmoid", simd.Phi: "Phi", simd.Density: "density",
	simd.Floor: "floor", simd.Ceil: "ceil", simd.Round: "round", simd.Sign: "sign", simd.IsNaN: "isnan", simd.Not: "!"}

var binaryNames = [...]string{simd.Add: "+", simd.Sub: "-", simd.Mul: "*", simd.Div: "/", simd.Max: "max", simd.Min: "min",
	simd.Pow: "^", simd.Less: "<", simd.AtMost: "<=", simd.Equal: "==", simd.Unequal: "!=", simd.And: "&&", simd.Or: "||"}

var relationNames = map[term.Op]string{term.Equal: "==", term.Unequal: "!=", term.Less: "<", term.AtMost: "<="}

// text returns an instruction in a notation similar to that of formulas.
func (p *lister[T]) text(in *instruction[T]) string {
	var x, k []string
	for _, r := range in.uses {
		x = append(x, p.register(r))
	}
	for i := range in.numbers {
		k = append(k, numberText(&in.numbers[i]))
	}
	value := p.value(in, x, k)
	var to []string
	if in.def >= 0 {
		to = append(to, p.register(in.def))
	}
	if in.to != nil {
		to = append(to, p.address(in.to))
	}
	if len(to) == 0 {
		return value
	}
	sign := " = "
	if in.add {
		sign = " += "
	}
	if in.past {
		value += " (past the caches)"
	}
	return strings.Join(to, " = ") + sign + value
}

// value returns what an instruction computes. x are the names of its registers, and k its scalars.
func (p *lister[T]) value(in *instruction[T], x, k []string) string {
	switch in.op {
	case opOther:
		return in.other.text(p, x)
	case opBranch:
		test := "unless " + in.test.String()
		if in.not {
			test = "if " + in.test.String()
		}
		return fmt.Sprintf("skip %d %s", in.skip, test)
	case opView, opLoad, opMove:
		return p.address(in.from)
	case opKeep:
		return "copy of " + x[0]
	case opFill, opStoreNumber:
		return k[0]
	case opCopy, opStore:
		return x[0]
	case opUnary:
		if name := unaryNames[in.unary]; len(name) > 1 && name[0] >= 'A' {
			return name + "(" + x[0] + ")"
		}
		return unaryNames[in.unary] + x[0]
	case opBinary:
		return infix(in.binary, x[0], x[1])
	case opBinaryNumber:
		return infix(in.binary, x[0], k[0])
	case opNumberBinary:
		return infix(in.binary, k[0], x[0])
	case opMulAdd:
		return fmt.Sprintf("%s * %s + %s", x[0], x[1], x[2])
	case opMulAddNumber:
		return fmt.Sprintf("%s * %s + %s", x[0], k[0], x[1])
	case opMulSub:
		return fmt.Sprintf("%s * %s - %s", x[0], x[1], x[2])
	case opMulSubFrom:
		return fmt.Sprintf("%s - %s * %s", x[2], x[0], x[1])
	case opSelect:
		return fmt.Sprintf("%s ? %s : %s", x[0], x[1], x[2])
	case opSelectPositive:
		return fmt.Sprintf("%s > 0 ? %s : %s", x[0], x[1], x[2])
	case opNarrow:
		return "f32(" + x[0] + ")"
	case opCount:
		return p.address(in.from)
	case opStretch:
		if x, y := in.sides[0].offset, in.sides[1].offset; len(in.from.offset.Rest) < len(x.Rest)+len(y.Rest) { // their difference tells less
			return fmt.Sprintf("%s %s %s ? %s : %s", p.form(x), relationNames[in.relation], p.form(y), k[0], k[1])
		}
		return fmt.Sprintf("%s %s 0 ? %s : %s", p.form(in.from.offset), relationNames[in.relation], k[0], k[1])
	case opRests:
		return "rest of " + p.address(in.from)
	case opFunction:
		return fmt.Sprintf("%s(%s), one by one", in.of.Name, strings.Join(x, ", "))
	case opNumbers:
		return k[0] + ", one by one"
	case opSumLanes:
		return fmt.Sprintf("lanes %d += %s", in.lane, x[0])
	case opDotLanes:
		return fmt.Sprintf("lanes %d += %s * %s", in.lane, x[0], x[1])
	case opExpLanes:
		return fmt.Sprintf("lanes %d += exp(%s - %s)", in.lane, x[0], k[0])
	case opFoldLanes:
		lanes := fmt.Sprintf("lanes %d", in.lane)
		return lanes + " = " + infix(in.binary, lanes, x[0])
	case opFoldRows:
		return infix(in.binary, p.register(in.def), "rows of "+x[0])
	}
	out, signs := x[0], [affineNumbers]string{"-", "-", "*", "+"} // opAffine
	for i := range in.numbers {
		if in.numbers[i].there() {
			out = fmt.Sprintf("(%s %s %s)", out, signs[i], k[i])
		}
	}
	return out[1 : len(out)-1]
}

func infix(op simd.Binary, x, y string) string {
	if name := binaryNames[op]; op == simd.Max || op == simd.Min {
		return fmt.Sprintf("%s(%s, %s)", name, x, y)
	}
	return fmt.Sprintf("%s %s %s", x, binaryNames[op], y)
}

func numberText[T simd.Float](n *number[T]) string {
	switch {
	case n.low:
		return "its rest"
	case n.term == nil:
		return "a number"
	}
	switch n.term.Op {
	case term.Element, term.Apply, term.Constant, term.Index, term.Reduce:
		return n.term.String()
	}
	return "(" + n.term.String() + ")"
}

// address returns the elements that an address denotes: the tensor, the offset of the first one, and their
// distance.
func (p *lister[T]) address(a *address[T]) string {
	step := ""
	if a.step != 1 {
		step = fmt.Sprintf(", by %d", a.step)
	}
	if a.tensor < 0 {
		return "integers from " + p.form(a.offset) + step
	}
	typ := ""
	if a.typ != p.c.own {
		typ = a.typ.String() + " "
	}
	return typ + p.c.nameOf(a.tensor) + "@" + p.form(a.offset) + step
}

// form returns an affine form as a sum.
func (p *lister[T]) form(f rewrite.Form) string {
	var texts []string
	product := func(factor int, of string) {
		if factor != 1 {
			of = fmt.Sprintf("%d*%s", factor, of)
		}
		texts = append(texts, of)
	}
	for _, m := range f.Vars {
		product(m.Factor, m.Of.Name)
	}
	for _, r := range f.Rest {
		product(r.Factor, "("+r.Of.String()+")")
	}
	slices.Sort(texts)
	if f.Base != 0 || len(texts) == 0 {
		texts = append(texts, strconv.Itoa(f.Base))
	}
	if len(texts) == 1 {
		return texts[0]
	}
	return "(" + strings.Join(texts, " + ") + ")"
}
