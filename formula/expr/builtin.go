package expr

import (
	"go/constant"
	"slices"
)

// function is a builtin of expressions: its usage for messages, and its typing rule.
type function struct {
	usage string
	check func(c *checker, call *Call) (Type, *Error)
}

var functions map[string]function

func init() {
	intOf := func(kind Kind) func(*checker, *Call) (Type, *Error) {
		return func(c *checker, call *Call) (Type, *Error) {
			return Type{Kind: Int}, c.args(call, kind)
		}
	}
	floatOf := func(c *checker, call *Call) (Type, *Error) {
		return Type{Kind: Float}, c.args(call, Float)
	}
	twoDims := func(c *checker, call *Call) (Type, *Error) {
		return Type{Kind: Dims}, c.args(call, Dims, Dims)
	}
	functions = map[string]function{
		"prod":      {"prod(dims)", intOf(Dims)},
		"sum":       {"sum(dims)", intOf(Dims)},
		"len":       {"len(dims)", (*checker).length},
		"ceildiv":   {"ceildiv(a, b)", (*checker).ceildiv},
		"min":       {"min(a, b, ...) or min(dims)", (*checker).minmax},
		"max":       {"max(a, b, ...) or max(dims)", (*checker).minmax},
		"all":       {"all(i: condition)", (*checker).foldOnly},
		"any":       {"any(i: condition)", (*checker).foldOnly},
		"broadcast": {"broadcast(dims, dims)", twoDims},
		"keep":      {"keep(dims, axes)", twoDims},
		"drop":      {"drop(dims, axes)", twoDims},
		"ones":      {"ones(dims, axes)", twoDims},
		"insert":    {"insert(dims, axes)", twoDims},
		"permute":   {"permute(dims, axes)", twoDims},
		"has":       {"has(attribute)", (*checker).has},
		"or":        {"or(attribute, value)", (*checker).or},
		"present":   {"present(slot)", (*checker).present},
		"count":     {"count(slot)", intOf(Slot)},
		"places":    {"places(slot)", (*checker).places},
		"ceil":      {"ceil(x)", intOf(Float)},
		"sqrt":      {"sqrt(x)", floatOf},
		"log2":      {"log2(x)", floatOf},
	}
}

// functionNames returns the sorted names of the builtins.
func functionNames() []string {
	var names []string
	for n := range functions {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// Builtins maps the name of each function of expressions to its usage, such as "ceildiv(a, b)".
func Builtins() map[string]string {
	out := map[string]string{}
	for name, f := range functions {
		out[name] = f.usage
	}
	return out
}

func (c *checker) args(call *Call, kinds ...Kind) *Error {
	if err := arity(call, len(kinds)); err != nil {
		return err
	}
	for i, a := range call.Args {
		t, err := c.check(a)
		if err != nil {
			return err
		}
		if err := c.want(a, t, kinds[i]); err != nil {
			return err
		}
	}
	return nil
}

// arity returns an error unless a call has n arguments.
func arity(call *Call, n int) *Error {
	if len(call.Args) == n {
		return nil
	}
	return wrongArity(call)
}

func wrongArity(call *Call) *Error {
	s := "s"
	if len(call.Args) == 1 {
		s = ""
	}
	return errorf(call, BadType, "want %s, got %d argument%s", functions[call.Func].usage, len(call.Args), s)
}

func (c *checker) ceildiv(call *Call) (Type, *Error) {
	if err := c.args(call, Int, Int); err != nil {
		return Type{}, err
	}
	return Type{Kind: Int}, nonzero(call.Args[1])
}

// length checks len(x), where x is dims, the shapes of a variadic slot, or a list of any values.
func (c *checker) length(call *Call) (Type, *Error) {
	if err := arity(call, 1); err != nil {
		return Type{}, err
	}
	t, err := c.check(call.Args[0])
	if err != nil {
		return Type{}, err
	}
	if t.Kind == Shapes || t.Kind == OtherList && !t.Optional {
		return Type{Kind: Int}, nil
	}
	return Type{Kind: Int}, c.want(call.Args[0], t, Dims)
}

// foldOnly rejects a call of all or any without an index.
func (c *checker) foldOnly(call *Call) (Type, *Error) {
	return Type{}, errorf(call, BadType, "want %s", functions[call.Func].usage)
}

// minmax checks min and max, of several numbers or of one list.
func (c *checker) minmax(call *Call) (Type, *Error) {
	switch len(call.Args) {
	case 0:
		return Type{}, wrongArity(call)
	case 1:
		t, err := c.check(call.Args[0])
		if err == nil && c.want(call.Args[0], t, Dims) != nil {
			err = wrongArity(call)
		}
		return Type{Kind: Int}, err
	}
	t := Type{Kind: Int}
	for _, a := range call.Args {
		at, err := c.check(a)
		if err != nil {
			return Type{}, err
		}
		if err := c.number(a, at); err != nil {
			return Type{}, err
		}
		if at.Kind == Float {
			t.Kind = Float
		}
	}
	return t, nil
}

func (c *checker) has(call *Call) (Type, *Error) {
	if err := arity(call, 1); err != nil {
		return Type{}, err
	}
	t, err := c.check(call.Args[0])
	if err != nil {
		return Type{}, err
	}
	if !t.Optional && t.Kind != Unknown {
		return Type{}, errorf(call.Args[0], BadType, "want an optional attribute, got %s", article(t))
	}
	return Type{Kind: Bool}, nil
}

func (c *checker) or(call *Call) (Type, *Error) {
	if err := arity(call, 2); err != nil {
		return Type{}, err
	}
	t, err := c.check(call.Args[0])
	if err != nil {
		return Type{}, err
	}
	if t.Kind != Unknown && (!t.Optional || t.Kind != Int && t.Kind != Float && t.Kind != Bool) {
		return Type{}, errorf(call.Args[0], BadType, "want an optional number or boolean, got %s", article(t))
	}
	u, err := c.check(call.Args[1])
	if err != nil {
		return Type{}, err
	}
	if t.Kind == Unknown {
		return u, nil
	}
	t.Optional = false
	return t, c.want(call.Args[1], u, t.Kind)
}

func (c *checker) present(call *Call) (Type, *Error) {
	return Type{Kind: Bool}, c.args(call, Slot)
}

// places checks places(slot), the places of the tensors that are there in the list that the caller passes.
func (c *checker) places(call *Call) (Type, *Error) {
	if err := c.args(call, Slot); err != nil {
		return Type{}, err
	}
	if s, ok := symbolOf(call.Args[0]); ok && !s.Gaps && s.Type.Kind != Unknown {
		return Type{}, &Error{Pos: call.Args[0].Pos(), End: call.Args[0].End(), Code: BadType, Message: "want an input in which single tensors may be absent",
			Hint: "variadic = { optional = true } says so of the tensors of an input; those of others have their places"}
	}
	return Type{Kind: Dims}, nil
}

// nonzero checks that a divisor is provably positive for all values of attributes and dimensions.
func nonzero(n Node) *Error {
	if positive(n) {
		return nil
	}
	return &Error{Pos: n.Pos(), End: n.End(), Code: ZeroDivisor, Message: "this divisor may be zero or negative",
		Hint: "give the attribute min = 1, and a list also len, or divide by max(..., 1)"}
}

func positive(n Node) bool {
	switch n := n.(type) {
	case *Lit:
		v, ok := n.Value.(int64)
		return ok && v > 0
	case *Ident:
		return n.Symbol.Type.Kind == Unknown || n.Symbol.HasMin && n.Symbol.Min >= 1
	case *Select:
		s, ok := symbolOf(n)
		return ok && s.HasMin && s.Min >= 1
	case *Index:
		list, ok := symbolOf(n.X)
		i, literal := n.I.(*Lit)
		if !ok || !literal || list.Least < 1 {
			return false
		}
		at, _ := i.Value.(int64)
		return at < list.Len
	case *Binary:
		return n.Op == "*" && positive(n.X) && positive(n.Y)
	case *Call:
		switch n.Func {
		case "count":
			return len(n.Args) == 1 && positive(n.Args[0])
		case "max":
			return slices.ContainsFunc(n.Args, positive)
		case "min":
			return !slices.ContainsFunc(n.Args, func(a Node) bool { return !positive(a) })
		}
	}
	return false
}

// symbolOf returns the symbol of an attribute, or of a field of a record that cannot be absent.
func symbolOf(n Node) (Symbol, bool) {
	switch n := n.(type) {
	case *Ident:
		return n.Symbol, true
	case *Select:
		if t := n.X.Type(); !t.Optional { // the fields of an absent record are zero
			return t.Field(n.Field)
		}
	}
	return Symbol{}, false
}

// zero reports whether a checked number is the constant 0.
func zero(n Node) bool {
	v := n.(node).parsed().value
	return v != nil && constant.Sign(v) == 0
}
