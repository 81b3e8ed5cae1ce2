// Package expr reads and checks the expressions of the spec language: arithmetic over dimensions and
// attributes.
package expr

import (
	"fmt"
	"go/constant"

	"github.com/opgen/opgen/formula/reduction"
)

// Kind is the kind of a type.
type Kind uint8

const (
	Unknown Kind = iota // of something with an error that is reported elsewhere; fits everywhere
	Int
	Float
	Bool
	String
	Enum
	DType
	Dims // a list of integers: extents, axes
	Record
	Slot      // a tensor slot, as the argument of present
	OtherList // a list of values other than integers, for has only
	Argument  // an argument of tasks, which no expression can use
	Shapes    // a run of dimensions for each tensor of a variadic slot
)

// Type is the type of an expression.
type Type struct {
	Kind     Kind
	Optional bool     // an attribute that may be absent
	Values   []string // of an Enum
	Name     string   // of an Enum or a Record, for messages
	Fields   []Field  // of a Record
	Elem     Kind     // of an OtherList: the kind of its values
}

// Field is a field of a record.
type Field struct {
	Name string
	Symbol
}

// Field returns what is known of a field of a record. ok is false if there is none.
func (t Type) Field(name string) (s Symbol, ok bool) {
	for _, f := range t.Fields {
		if f.Name == name {
			return f.Symbol, true
		}
	}
	return Symbol{}, false
}

// String names the type in words.
func (t Type) String() string {
	s := [...]string{"anything", "integer", "float", "boolean", "string", "enum", "element type", "dims", "record", "slot", "list", "argument", "list of shapes"}[t.Kind]
	if t.Name != "" {
		s += " " + t.Name
	}
	if t.Optional {
		s = "optional " + s
	}
	return s
}

// Node is a node of an expression's tree. Pos and End are byte offsets in its text.
type Node interface {
	Pos() int
	End() int
	// Type returns the type that Check found.
	Type() Type
}

type base struct {
	pos, end int
	typ      Type
	value    constant.Value // of a number made of literals; nil of all others
}

func (b *base) Pos() int      { return b.pos }
func (b *base) End() int      { return b.end }
func (b *base) Type() Type    { return b.typ }
func (b *base) set(t Type)    { b.typ = t }
func (b *base) parsed() *base { return b }

type node interface {
	Node
	set(Type)
	parsed() *base
}

// Lit is a literal: int64, float64, bool or string.
type Lit struct {
	base
	Value any
}

// Ident is a name. Symbol is what it refers to.
type Ident struct {
	base
	Name   string
	Symbol Symbol
}

// NewIdent returns a name that stands at the bytes pos to end.
func NewIdent(name string, pos, end int) *Ident {
	return &Ident{base: base{pos: pos, end: end}, Name: name}
}

// Unary is -X or !X.
type Unary struct {
	base
	Op string
	X  Node
}

// Binary is X Op Y.
type Binary struct {
	base
	Op   string
	X, Y Node
}

// Cond is If ? Then : Else.
type Cond struct {
	base
	If, Then, Else Node
}

// Call is Func(Args...). That of an operator may have arguments with names behind the others.
type Call struct {
	base
	Func  string
	Args  []Node
	Named []*Named
}

// Fold returns the kind of the reduction of a list's elements that the call is: that of sum(dims),
// prod(dims), min(dims) and max(dims). It is 0 for other calls.
func (n *Call) Fold() reduction.Kind {
	if k := reduction.Of(n.Func); len(n.Args) == 1 && k.Is(reduction.Same) {
		return k
	}
	return 0
}

// Named is an argument with a name, Name = X.
type Named struct {
	base
	Name string
	X    Node
}

// Inline is an element of what another operator of the module computes: Call[At...], or Call.Output[At...].
// Tensors among the arguments of Call are an Ident, or a Call of another operator.
type Inline struct {
	base
	Call   *Call
	Output string // a slot; "" for the first
	At     []Node
}

// Index is X[I].
type Index struct {
	base
	X, I Node
}

// Slice is X[Lo:Hi]; Lo and Hi may be nil.
type Slice struct {
	base
	X, Lo, Hi Node
}

// Select is X.Field. FieldPos is the position of the field's name.
type Select struct {
	base
	X        Node
	Field    string
	FieldPos int
}

// NewSelect returns the field of a record, whose name begins at byte pos.
func NewSelect(x Node, field string, pos int) *Select {
	return &Select{base{pos: x.Pos(), end: pos + len(field)}, x, field, pos}
}

// In is X in [List...].
type In struct {
	base
	X    Node
	List []Node
}

// List is [Elems...], a Dims.
type List struct {
	base
	Elems []Node
}

// Read is an element of a tensor, or a part of a run: Name[...], or Name[...][...] where the first index is
// the number of a variadic slot's tensor. Formulas have it in place of Index. Items of a group may be a Slice
// without X.
type Read struct {
	base
	Name    string
	NameEnd int      // where the name ends
	Old     bool     // old.Name: the value before the task
	Groups  [][]Node // at least one
	Else    Node     // the value outside the tensor; nil if the element must lie inside
}

// Number is #(Items...), the row-major number of an index.
type Number struct {
	base
	Items []Node
}

// Reduce is Kind(Binders... if If: X), such as a sum. In expressions, which have one index, Over holds the
// lists whose length is its range if the binder gives none. X is nil for count, and If where there is no
// condition. An order, such as argsort, is Kind(Binders...: X descending)[At...].
type Reduce struct {
	base
	Kind       reduction.Kind
	Binders    []*Binder
	If, X      Node
	Descending bool
	At         []Node
	Over       []Node
}

// Binder is what a reduction, or a statement, goes over: X, or the indices named X from Lo to Hi-1. Lo is nil
// if it is left out, and so is Hi where X has a range of its own.
type Binder struct {
	base
	X, Lo, Hi Node
}

// Class says what declares a symbol.
type Class uint8

const (
	Attr Class = iota
	Dim
	TypeVar
	SlotName
	Position // an index: i, the number of a variadic slot's tensor, or that of a fold
)

// Symbol is what a name refers to.
type Symbol struct {
	Class Class
	Type  Type
	// Min is the least value of an integer, if HasMin.
	Min    int64
	HasMin bool
	// Least is the least value of the elements of Dims, and Len how many they are at least; 0 if it is not
	// known.
	Least, Len int64
	// Axis marks an axis attribute, whose value is a valid dimension of its slot.
	Axis bool
}

// Error is an error in an expression: bytes Pos to End of its text.
type Error struct {
	Pos, End int
	Code     Code
	Message  string
	Hint     string
	Name     string // of UnknownName: the name of an attribute, a dimension or the like
	Old, New string // the text at the position, and the one that was probably meant instead; both may be ""
	// Operators names the operators that a formula applies there. The error may follow from one in the spec
	// of an operator.
	Operators []string
}

// Code is a kind of error.
type Code uint8

const (
	BadSyntax   Code = iota // not an expression
	BadType                 // operands of the wrong type
	UnknownName             // a name that nothing declares
	ZeroDivisor             // a divisor that may be zero
	BadFormula              // a wrong index or statement of a formula
	Ambiguous               // a name that specs of several modules have
	Duplicate               // a name that is declared twice
	Unused                  // a declaration that nothing uses
)

func (e *Error) Error() string { return e.Message }

func errorf(n Node, code Code, format string, args ...any) *Error {
	return &Error{Pos: n.Pos(), End: n.End(), Code: code, Message: fmt.Sprintf(format, args...)}
}

// Walk calls f for n and everything below it.
func Walk(n Node, f func(Node)) {
	if n == nil {
		return
	}
	f(n)
	switch n := n.(type) {
	case *Unary:
		Walk(n.X, f)
	case *Binary:
		Walk(n.X, f)
		Walk(n.Y, f)
	case *Cond:
		Walk(n.If, f)
		Walk(n.Then, f)
		Walk(n.Else, f)
	case *Call:
		for _, a := range n.Args {
			Walk(a, f)
		}
		for _, a := range n.Named {
			Walk(a, f)
		}
	case *Named:
		Walk(n.X, f)
	case *Inline:
		Walk(n.Call, f)
		for _, e := range n.At {
			Walk(e, f)
		}
	case *Index:
		Walk(n.X, f)
		Walk(n.I, f)
	case *Slice:
		Walk(n.X, f)
		Walk(n.Lo, f)
		Walk(n.Hi, f)
	case *Select:
		Walk(n.X, f)
	case *In:
		Walk(n.X, f)
		for _, e := range n.List {
			Walk(e, f)
		}
	case *GoCall:
		for _, e := range n.Args {
			Walk(e, f)
		}
	case *List:
		for _, e := range n.Elems {
			Walk(e, f)
		}
	case *Read:
		for _, g := range n.Groups {
			for _, e := range g {
				Walk(e, f)
			}
		}
		Walk(n.Else, f)
	case *Number:
		for _, e := range n.Items {
			Walk(e, f)
		}
	case *Reduce:
		for _, b := range n.Binders {
			Walk(b, f)
		}
		Walk(n.If, f)
		Walk(n.X, f)
		for _, e := range n.At {
			Walk(e, f)
		}
	case *Binder:
		Walk(n.X, f)
		Walk(n.Lo, f)
		Walk(n.Hi, f)
	}
}

// Names returns the names that an expression uses, in order of appearance, with repetitions.
func Names(n Node) []string {
	var names []string
	Walk(n, func(n Node) {
		if id, ok := n.(*Ident); ok {
			names = append(names, id.Name)
		}
	})
	return names
}
