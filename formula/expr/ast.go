// Package expr parses the expressions and the formulas of the spec language, and checks expressions:
// arithmetic over dimensions and attributes.
package expr

import (
	"fmt"
	"go/constant"

	"github.com/opgen/opgen/formula/reduction"
)

// Kind classifies the types of expressions.
type Kind uint8

const (
	Unknown Kind = iota // an expression with an error that is reported elsewhere; fits every type
	Int
	Float
	Bool
	String
	Enum
	DType
	Dims // a list of integers, such as extents or axes
	Record
	Slot      // a tensor slot, as the argument of present
	OtherList // a list of other values than integers, which only has and len take
	Argument  // an argument of tasks, which no expression can use
	Shapes    // a run of dimensions for each tensor of a variadic slot
)

// Type is the type that the checker infers for an expression.
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

// Field returns the symbol of a field of a record. ok is false if the record has no such field.
func (t Type) Field(name string) (s Symbol, ok bool) {
	for _, f := range t.Fields {
		if f.Name == name {
			return f.Symbol, true
		}
	}
	return Symbol{}, false
}

// String describes the type, for messages.
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

// Node is a node of the abstract syntax tree. Pos and End are byte offsets in the source text.
type Node interface {
	Pos() int
	End() int
	// Type returns the type that Check inferred.
	Type() Type
}

type base struct {
	pos, end int
	typ      Type
	value    constant.Value // value of a constant numeric expression; otherwise nil
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

// Ident is a name. Symbol is the symbol that Check resolved it to.
type Ident struct {
	base
	Name   string
	Symbol Symbol
}

// NewIdent returns a name at bytes [pos, end) of the source.
func NewIdent(name string, pos, end int) *Ident {
	return &Ident{base: base{pos: pos, end: end}, Name: name}
}

// Unary is the operation -X or !X.
type Unary struct {
	base
	Op string
	X  Node
}

// Binary is the operation X Op Y, such as X + Y.
type Binary struct {
	base
	Op   string
	X, Y Node
}

// Cond is the conditional If ? Then : Else.
type Cond struct {
	base
	If, Then, Else Node
}

// Call is Func(Args..., Named...). Only the call of an operator has named arguments.
type Call struct {
	base
	Func  string
	Args  []Node
	Named []*Named
}

// Fold returns the kind of the reduction if the call reduces the elements of a list, as sum(dims),
// prod(dims), min(dims) and max(dims) do. It returns 0 for other calls.
func (n *Call) Fold() reduction.Kind {
	if k := reduction.Of(n.Func); len(n.Args) == 1 && k.Is(reduction.Same) {
		return k
	}
	return 0
}

// Named is a named argument, Name = X.
type Named struct {
	base
	Name string
	X    Node
}

// Inline is an element of the output of another operator: Call[At...], or Call.Output[At...]. A tensor
// argument of Call is an Ident, or a nested Call of an operator.
type Inline struct {
	base
	Call   *Call
	Output string // name of the output slot; "" for the first output
	At     []Node
}

// Index is the element X[I] of a list.
type Index struct {
	base
	X, I Node
}

// Slice is the part X[Lo:Hi] of a list. A nil Lo or Hi means the beginning or the end.
type Slice struct {
	base
	X, Lo, Hi Node
}

// Select is the field X.Field of a record. FieldPos is the position of the field's name.
type Select struct {
	base
	X        Node
	Field    string
	FieldPos int
}

// NewSelect returns x.field, where field begins at byte pos.
func NewSelect(x Node, field string, pos int) *Select {
	return &Select{base{pos: x.Pos(), end: pos + len(field)}, x, field, pos}
}

// In is the membership test X in [List...].
type In struct {
	base
	X    Node
	List []Node
	Word string // the word for element types, such as floating, in place of the list; "" if the list is written out
	At   int    // byte offset of the word
}

// List is a list [Elems...] of integers, of type Dims.
type List struct {
	base
	Elems []Node
}

// Read is an element of a tensor or a part of a run: Name[...], or Name[...][...] for a variadic slot, where
// the first index selects the tensor. Formulas have Read in place of Index. An item of a group may be a
// Slice without X.
type Read struct {
	base
	Name    string
	NameEnd int      // byte offset of the end of the name
	Old     bool     // whether it is old.NAME: the value before the task
	Groups  [][]Node // one or two lists of subscripts
	Else    Node     // the default out of bounds; nil if the element must be in bounds
}

// Number is #(Items...), the row-major flat index of several indices, as in x[#(i, j)].
type Number struct {
	base
	Items []Node
}

// Reduce is a reduction Kind(Binders... if If: X), such as sum(k if c[k]: x[k]), or an order Kind(Binders...:
// X descending)[At...], such as argsort(k: x[k])[i]. X is nil for count. If is nil if there is no condition.
// Outside of formulas there is one binder. If it has no range, Over holds the lists that its index
// subscripts, whose length is the range.
type Reduce struct {
	base
	Kind       reduction.Kind
	Binders    []*Binder
	If, X      Node
	Descending bool
	At         []Node
	Over       []Node
}

// Binder declares an index of a reduction or a statement: k, k < Hi or k in Lo .. Hi, where X is k. Lo is nil
// for 0. Hi is nil if the name of the index implies the range.
type Binder struct {
	base
	X, Lo, Hi Node
}

// Class says what kind of declaration introduces a symbol.
type Class uint8

const (
	Attr Class = iota
	Dim
	TypeVar
	SlotName
	Position // the index of a reduction; or i, the number of a tensor in a variadic slot
)

// Symbol is the declaration that a name refers to.
type Symbol struct {
	Class Class
	Type  Type
	// Min is the lower bound of an integer, if HasMin.
	Min    int64
	HasMin bool
	// Least is a lower bound of the elements of a list, and Len the number of its elements; 0 if unknown.
	Least, Len int64
	// Gaps marks an input of which single tensors may be absent.
	Gaps bool
	// Axis marks an axis attribute. Its value is a valid dimension of its slot.
	Axis bool
}

// Error is an error at bytes [Pos, End) of an expression.
type Error struct {
	Pos, End int
	Code     Code
	Message  string
	Hint     string
	Name     string // the unknown name, if the code is UnknownName
	Old, New string // suggested edit: replace Old at Pos by New; both "" if there is none
	// Operators names the operators that the formula inlines at this position. The cause may be in their
	// specs.
	Operators []string
}

// Code classifies errors.
type Code uint8

const (
	BadSyntax   Code = iota // a syntax error
	BadType                 // operands of the wrong type
	UnknownName             // an undeclared name
	ZeroDivisor             // a divisor that may be zero
	BadFormula              // a wrong index or statement of a formula
	Ambiguous               // a name that several modules declare
	Duplicate               // a name that is declared twice
	Unused                  // a declaration that nothing uses
)

func (e *Error) Error() string { return e.Message }

func errorf(n Node, code Code, format string, args ...any) *Error {
	return &Error{Pos: n.Pos(), End: n.End(), Code: code, Message: fmt.Sprintf(format, args...)}
}

// Walk calls f for n and all nodes below it, in preorder.
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

// Names returns the identifiers in an expression, in order of appearance, with repetitions.
func Names(n Node) []string {
	var names []string
	Walk(n, func(n Node) {
		if id, ok := n.(*Ident); ok {
			names = append(names, id.Name)
		}
	})
	return names
}
