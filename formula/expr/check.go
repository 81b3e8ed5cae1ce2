package expr

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/base/nearest"
	"github.com/opgen/opgen/runtime/dtype"
)

// Env is a scope: it resolves names to symbols.
type Env interface {
	// Lookup returns the symbol of a name.
	Lookup(name string) (Symbol, bool)
	// Names lists the names in scope, for suggestions.
	Names() []string
}

// Check infers the types of all nodes. It returns an error unless the expression has the type want; an Int
// converts to a Float.
func Check(n Node, env Env, want Kind) *Error {
	c := &checker{env}
	t, err := c.check(n)
	if err != nil {
		return err
	}
	return c.want(n, t, want)
}

type checker struct{ env Env }

func (c *checker) want(n Node, t Type, want Kind) *Error {
	if t.Kind == Unknown || !t.Optional && (t.Kind == want || want == Float && t.Kind == Int) {
		return nil
	}
	e := errorf(n, BadType, "want %s, got %s", article(Type{Kind: want}), article(t))
	switch {
	case t.Optional && (t.Kind == Int || t.Kind == Float || t.Kind == Bool):
		e.Hint = "it may be absent: test it with has(...), or give a value for that case with or(..., value)"
	case t.Optional:
		e.Hint = "it may be absent: test it with has(...)"
	case t.Kind == Argument:
		e.Hint = "the values of arguments are known only when a task runs"
	case t.Kind == DType && want == Int:
		if id, ok := n.(*Ident); ok {
			e.Hint = fmt.Sprintf("%s is the element type of tensors here: a dimension needs another name, such as S", id.Name)
		}
	case t.Kind == Dims && (want == Int || want == Float):
		e.Hint = "the number of its elements is prod(...)"
		if id, ok := n.(*Ident); ok {
			e.Hint = fmt.Sprintf("the number of its elements is prod(%s), that of its dimensions len(%[1]s)", id.Name)
		}
	case t.Kind == Slot && want != Slot:
		e.Hint = "expressions refer to the dimensions of slots, or to present(slot)"
	}
	return e
}

func article(t Type) string {
	s := t.String()
	switch {
	case t.Name != "":
		return "the " + s
	case t.Kind == Dims || t.Kind == Unknown:
		return s
	}
	return english.Article(s)
}

// nearest sets the suggested fix of e to the candidate with the least edit distance to name, and reports
// whether one is near enough.
func (e *Error) nearest(name string, candidates []string) bool {
	if n := nearest.Name(name, candidates); n != "" {
		e.Old, e.New = name, n
	}
	return e.New != ""
}

// nearestString is nearest for a string literal: the fix has quotes.
func (e *Error) nearestString(text string, candidates []string) bool {
	if e.nearest(text, candidates) {
		e.Old, e.New = "'"+e.Old+"'", "'"+e.New+"'"
	}
	return e.New != ""
}

func (c *checker) check(n Node) (Type, *Error) {
	t, err := c.typeOf(n)
	if err == nil {
		n.(node).set(t)
		err = foldConstant(n, t)
	}
	return t, err
}

func (c *checker) typeOf(n Node) (Type, *Error) {
	switch n := n.(type) {
	case *Lit:
		switch n.Value.(type) {
		case int64:
			return Type{Kind: Int}, nil
		case float64:
			return Type{Kind: Float}, nil
		case bool:
			return Type{Kind: Bool}, nil
		}
		return Type{Kind: String}, nil
	case *Ident:
		s, ok := c.env.Lookup(n.Name)
		if !ok {
			e := errorf(n, UnknownName, "%s is not defined", n.Name)
			e.Name = n.Name
			e.nearest(n.Name, c.env.Names())
			return Type{}, e
		}
		n.Symbol = s
		return s.Type, nil
	case *Unary:
		t, err := c.check(n.X)
		if err != nil {
			return Type{}, err
		}
		if n.Op == "!" {
			return Type{Kind: Bool}, c.want(n.X, t, Bool)
		}
		if t.Kind == Unknown {
			t.Kind = Int
		}
		return t, c.number(n.X, t)
	case *Binary:
		return c.binary(n)
	case *Cond:
		return c.cond(n)
	case *Call:
		f, ok := functions[n.Func]
		if !ok {
			e := &Error{Pos: n.Pos(), End: n.Pos() + len(n.Func), Code: UnknownName, Message: "there is no function " + n.Func}
			if !e.nearest(n.Func, functionNames()) {
				e.Hint = "functions are " + strings.Join(functionNames(), ", ")
			}
			return Type{}, e
		}
		return f.check(c, n)
	case *GoCall:
		return c.goCall(n)
	case *Reduce:
		return c.fold(n)
	case *Index:
		x, err := c.check(n.X)
		if err != nil {
			return Type{}, err
		}
		elem := Type{Kind: Int}
		if x.Kind == Shapes {
			elem.Kind = Dims
		} else if err := c.want(n.X, x, Dims); err != nil {
			return Type{}, err
		}
		i, err := c.check(n.I)
		if err != nil {
			return Type{}, err
		}
		return elem, c.want(n.I, i, Int)
	case *Slice:
		x, err := c.check(n.X)
		if err != nil {
			return Type{}, err
		}
		if err := c.want(n.X, x, Dims); err != nil {
			return Type{}, err
		}
		for _, b := range []Node{n.Lo, n.Hi} {
			if b == nil {
				continue
			}
			t, err := c.check(b)
			if err != nil {
				return Type{}, err
			}
			if err := c.want(b, t, Int); err != nil {
				return Type{}, err
			}
		}
		return Type{Kind: Dims}, nil
	case *Select:
		x, err := c.check(n.X)
		if err != nil {
			return Type{}, err
		}
		if x.Kind == Unknown {
			return x, nil
		}
		if f, ok := x.Field(n.Field); ok {
			return f.Type, nil
		}
		var names []string
		for _, f := range x.Fields {
			names = append(names, f.Name)
		}
		e := &Error{Pos: n.FieldPos, End: n.FieldPos + len(n.Field), Code: UnknownName, Message: fmt.Sprintf("%s has no field %s", article(x), n.Field)}
		e.nearest(n.Field, names)
		return Type{}, e
	case *In:
		x, err := c.check(n.X)
		if err != nil {
			return Type{}, err
		}
		if len(n.List) == 0 {
			return Type{}, errorf(n, BadType, "nothing is in an empty list")
		}
		for _, e := range n.List {
			y, err := c.check(e)
			if err != nil {
				return Type{}, err
			}
			if err := c.comparable(n.X, x, e, y); err != nil {
				return Type{}, err
			}
		}
		return Type{Kind: Bool}, nil
	case *List:
		for _, e := range n.Elems {
			t, err := c.check(e)
			if err != nil {
				return Type{}, err
			}
			if err := c.want(e, t, Int); err != nil {
				return Type{}, err
			}
		}
		return Type{Kind: Dims}, nil
	}
	return Type{}, errorf(n, BadSyntax, "unknown expression")
}

func (c *checker) binary(n *Binary) (Type, *Error) {
	x, err := c.check(n.X)
	if err != nil {
		return Type{}, err
	}
	y, err := c.check(n.Y)
	if err != nil {
		return Type{}, err
	}
	switch n.Op {
	case "||", "&&":
		if err := c.want(n.X, x, Bool); err != nil {
			return Type{}, err
		}
		return Type{Kind: Bool}, c.want(n.Y, y, Bool)
	case "==", "!=":
		return Type{Kind: Bool}, c.comparable(n.X, x, n.Y, y)
	case "<", "<=", ">", ">=":
		if err := c.number(n.X, x); err != nil {
			return Type{}, err
		}
		return Type{Kind: Bool}, c.number(n.Y, y)
	}
	if err := c.number(n.X, x); err != nil {
		return Type{}, err
	}
	if err := c.number(n.Y, y); err != nil {
		return Type{}, err
	}
	t := Type{Kind: Int}
	if x.Kind == Float || y.Kind == Float {
		t.Kind = Float
	}
	switch {
	case n.Op == "%" && t.Kind == Float:
		return Type{}, errorf(n, BadType, "want integers for %%, got %s and %s", article(x), article(y))
	case (n.Op == "/" || n.Op == "%") && t.Kind == Int:
		return t, nonzero(n.Y)
	case n.Op == "/" && zero(n.Y):
		return t, &Error{Pos: n.Y.Pos(), End: n.Y.End(), Code: ZeroDivisor, Message: "this divisor is zero"}
	}
	return t, nil
}

// number returns an error unless the type of an operand is Int or Float.
func (c *checker) number(n Node, t Type) *Error {
	err := c.want(n, t, Float)
	if err != nil {
		err.Message = "want a number, got " + article(t)
	}
	return err
}

// comparableKinds lists the kinds that == can compare. Enums can be compared, too, if they have the same
// name.
var comparableKinds = []Kind{Int, Float, Bool, String, DType, Dims}

// comparable checks the operand types of ==, != and in. A string literal takes the type of the enum or the
// element type on the other side.
func (c *checker) comparable(nx Node, x Type, ny Node, y Type) *Error {
	if x.Kind == String && y.Kind != String {
		nx, x, ny, y = ny, y, nx, x
	}
	switch {
	case x.Kind == Unknown || y.Kind == Unknown:
		return nil
	case x.Kind == Argument || x.Kind == Slot:
		return c.want(nx, x, Int)
	case y.Kind == Argument || y.Kind == Slot:
		return c.want(ny, y, x.Kind)
	case x.Kind == Enum && y.Kind == String:
		l, ok := ny.(*Lit)
		if !ok {
			break
		}
		v := l.Value.(string)
		if !slices.Contains(x.Values, v) {
			e := errorf(ny, BadType, "%s has no value '%s'", article(x), v)
			if !e.nearestString(v, x.Values) {
				e.Hint = "values are " + strings.Join(x.Values, ", ")
			}
			return e
		}
		l.typ = Type{Kind: Enum, Values: x.Values, Name: x.Name}
		return nil
	case x.Kind == DType && y.Kind == String:
		l, ok := ny.(*Lit)
		if !ok {
			break
		}
		if _, err := dtype.Parse(l.Value.(string)); err != nil {
			e := errorf(ny, BadType, "there is no element type '%s'", l.Value)
			e.nearestString(l.Value.(string), dtype.Names())
			return e
		}
		l.typ = Type{Kind: DType}
		return nil
	case x.Kind == Enum && y.Kind == Enum && x.Name == y.Name && slices.Equal(x.Values, y.Values):
		return nil
	case x.Optional || y.Optional:
		if x.Kind == DType && y.Kind == DType {
			return nil
		}
		if x.Optional {
			return c.want(nx, x, y.Kind)
		}
		return c.want(ny, y, x.Kind)
	case x.Kind == y.Kind && slices.Contains(comparableKinds, x.Kind),
		x.Kind == Int && y.Kind == Float, x.Kind == Float && y.Kind == Int:
		return nil
	}
	return errorf(ny, BadType, "cannot compare %s with %s", article(x), article(y))
}

func (c *checker) cond(n *Cond) (Type, *Error) {
	i, err := c.check(n.If)
	if err != nil {
		return Type{}, err
	}
	if err := c.want(n.If, i, Bool); err != nil {
		return Type{}, err
	}
	x, err := c.check(n.Then)
	if err != nil {
		return Type{}, err
	}
	y, err := c.check(n.Else)
	if err != nil {
		return Type{}, err
	}
	switch {
	case x.Kind == Unknown:
		return y, nil
	case y.Kind == Unknown:
		return x, nil
	case x.Optional:
		return Type{}, c.want(n.Then, x, y.Kind)
	case y.Optional:
		return Type{}, c.want(n.Else, y, x.Kind)
	case x.Kind == Int && y.Kind == Float:
		return y, nil
	case x.Kind == Float && y.Kind == Int:
		return x, nil
	case x.Kind == y.Kind && (x.Kind == Int || x.Kind == Float || x.Kind == Bool || x.Kind == Dims):
		return x, nil
	}
	return Type{}, errorf(n, BadType, "want two numbers, booleans or dims around ':', got %s and %s", article(x), article(y))
}
