package expr

import (
	"slices"
	"strings"

	"github.com/opgen/opgen/formula/reduction"
)

// folds maps each reduction that specs may apply over an index, such as sum(i: prod(X[i])), to whether its
// body is a condition.
var folds = map[reduction.Kind]bool{reduction.Sum: false, reduction.Prod: false, reduction.Min: false, reduction.Max: false,
	reduction.All: true, reduction.Any: true}

// foldNames returns the sorted names of the reductions in folds.
func foldNames() []string {
	var names []string
	for n := range folds {
		names = append(names, n.String())
	}
	slices.Sort(names)
	return names
}

// fold infers the type of a reduction over an index. Without an explicit range, the range of the index is the
// length of the lists that the index subscripts.
func (c *checker) fold(n *Reduce) (Type, *Error) {
	condition, ok := folds[n.Kind]
	if !ok {
		return Type{}, &Error{Pos: n.Pos(), End: n.Pos() + len(n.Kind.String()), Code: UnknownName,
			Message: "no function " + n.Kind.String() + " goes over an index", Hint: "such functions are " + strings.Join(foldNames(), ", ")}
	}
	b := n.Binders[0]
	id, ok := b.X.(*Ident)
	switch {
	case !ok || b.Lo != nil || len(n.Binders) > 1 || n.If != nil:
		return Type{}, errorf(n, BadSyntax, "want one index, such as %s(i: ...) or %s(i < n: ...)", n.Kind, n.Kind)
	case !lower(id.Name):
		return Type{}, errorf(id, BadSyntax, "the name of an index is in lower case, not %s", id.Name)
	}
	if _, used := c.env.Lookup(id.Name); used {
		return Type{}, errorf(id, BadType, "%s is in use already, so it cannot be an index here", id.Name)
	}
	if b.Hi != nil {
		if t, err := c.check(b.Hi); err != nil {
			return Type{}, err
		} else if err := c.want(b.Hi, t, Int); err != nil {
			return Type{}, err
		}
	}
	id.Symbol = Symbol{Class: Position, Type: Type{Kind: Int}}
	id.set(id.Symbol.Type)
	inner := &checker{&indexed{c.env, id}}
	t, err := inner.check(n.X)
	if err != nil {
		return Type{}, err
	}
	want := Int
	if condition {
		want = Bool
	}
	if err := inner.want(n.X, t, want); err != nil {
		return Type{}, err
	}
	if n.Over = selected(n.X, id.Name); b.Hi == nil && len(n.Over) == 0 {
		return Type{}, &Error{Pos: b.Pos(), End: b.End(), Code: BadType, Message: "the range of " + id.Name + " is not known",
			Hint: "write " + id.Name + " < n, or select an element of a list by it"}
	}
	return Type{Kind: want}, nil
}

func lower(name string) bool { return name[0] >= 'a' && name[0] <= 'z' }

// indexed is a scope with one more name: the index of a reduction.
type indexed struct {
	Env
	id *Ident
}

func (e *indexed) Lookup(name string) (Symbol, bool) {
	if name == e.id.Name {
		return e.id.Symbol, true
	}
	return e.Env.Lookup(name)
}

// selected returns the distinct lists that an index subscripts directly, such as X in X[i].
func selected(n Node, index string) []Node {
	var lists []Node
	var names []string
	Walk(n, func(m Node) {
		x, ok := m.(*Index)
		if !ok {
			return
		}
		i, simple := x.I.(*Ident)
		list, named := x.X.(*Ident)
		if simple && named && i.Name == index && !slices.Contains(names, list.Name) {
			lists, names = append(lists, list), append(names, list.Name)
		}
	})
	return lists
}
