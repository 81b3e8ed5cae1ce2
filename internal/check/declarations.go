package check

import (
	"slices"

	formulas "github.com/opgen/opgen/formula/check"
	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/rules"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/perm"
)

// Declarations tell formulas what specs declare. They serve one goroutine.
type Declarations struct {
	specs     map[string]*spec.Spec
	others    *Names
	operators map[*spec.Spec]*formulas.Operator
	enums     map[*spec.Spec]*formulas.Enum
}

// NewDeclarations returns what specs declare, which formulas name as others and the keys of specs do.
func NewDeclarations(specs map[string]*spec.Spec, others *Names) *Declarations {
	return &Declarations{specs, others, map[*spec.Spec]*formulas.Operator{}, map[*spec.Spec]*formulas.Enum{}}
}

// Spec returns what formulas that apply an operator may know of it; nil if nothing has the name.
func (d *Declarations) Spec(name string) *formulas.Operator {
	if s := d.specs[name]; s != nil {
		return d.operator(s)
	}
	return nil
}

// Names lists the names of specs, of all kinds or of operators that formulas may apply.
func (d *Declarations) Names(applicable bool) []string {
	if applicable {
		return namesOf(d.specs, spec.Operator)
	}
	return namesOf(d.specs)
}

// Qualified lists the names with modules that a plain name may stand for.
func (d *Declarations) Qualified(plain string) []string { return d.others.qualified(plain) }

// Operator returns what the formula of a spec may refer to.
func (d *Declarations) Operator(s *spec.Spec, sc *scope.Scope) *formulas.Operator {
	out := d.operator(s)
	out.Scope = sc
	out.Partial = s.Unread["slots"] || s.Unread["attrs"] || sc.Lenient()
	for i, dim := range out.Dims {
		if at := slices.IndexFunc(sc.Lets, func(l scope.Let) bool { return l.Name == dim.Name }); at >= 0 {
			out.Dims[i].X = sc.Lets[at].Node
		}
	}
	for _, p := range sc.Inputs {
		i := slices.IndexFunc(out.Slots, func(sl *formulas.Slot) bool { return sl.Name == p.Slot.Name })
		for _, e := range p.Elems {
			if e.Each {
				out.Slots[i].Each = append(out.Slots[i].Each, e.Name)
			}
		}
	}
	return out
}

// operator returns what formulas may know of a spec without its scope, the same each time.
func (d *Declarations) operator(s *spec.Spec) *formulas.Operator {
	if out := d.operators[s]; out != nil {
		return out
	}
	out := &formulas.Operator{Name: s.Name.V, Kind: string(s.Kind), Formula: s.Formula.V,
		Backward: slices.ContainsFunc(s.Tasks, func(t *spec.Task) bool { return t.Name == "backward" })}
	if s.Module != nil {
		out.Module = s.Module.Path
	}
	for _, sl := range s.Slots {
		out.Slots = append(out.Slots, declaredSlot(s, sl))
	}
	for _, a := range s.Attrs {
		x := d.attr(a)
		if sl := rules.AxisSlot(s, a); sl != nil {
			x.Slot = out.Slots[slices.Index(s.Slots, sl)]
		}
		out.Attrs = append(out.Attrs, x)
	}
	for _, a := range s.Args {
		from, _ := rules.SourceOf(a)
		out.Args = append(out.Args, &formulas.Arg{Name: a.Name, Type: a.Type.V, From: from, Variadic: declaredNumber(s, a.Variadic),
			Kind: rules.ExprKinds[rules.TypeOf(s, a)], Holds: holds[rules.ValueKind(a.Type.V)]})
	}
	for _, dim := range s.Dims {
		out.Dims = append(out.Dims, formulas.Dim{Name: dim.Name, Text: dim.Expr.V})
	}
	for _, r := range s.Requires {
		out.Requires = append(out.Requires, r.That.V)
	}
	d.operators[s] = out
	return out
}

// holds says which values of arguments formulas compute with.
var holds = map[rules.Value]expr.Kind{rules.IntegerValue: expr.Int, rules.RealValue: expr.Float, rules.TruthValue: expr.Bool}

func declaredSlot(s *spec.Spec, sl *spec.Slot) *formulas.Slot {
	out := &formulas.Slot{Name: sl.Name, Role: sl.Role.V, Type: sl.Type.V, Types: []string{sl.Type.V}, HasShape: sl.HasShape,
		Present: sl.Present.V, Below: sl.Below.V, Except: sl.Except.V, Trainable: s.Trainable(sl),
		Variadic: declaredNumber(s, sl.Variadic), Written: written(s, sl)}
	for _, v := range s.Types {
		if v.Name != sl.Type.V {
			continue
		}
		out.Types = nil
		for _, t := range v.Types {
			out.Types = append(out.Types, t.V)
		}
	}
	for _, n := range sl.Shape {
		if _, ok := n.(*source.Scalar); !ok {
			out.BadShape = true
		}
		out.Shape = append(out.Shape, rules.Element(n))
	}
	return out
}

// declaredNumber says how many tensors, or values, there are.
func declaredNumber(s *spec.Spec, v *spec.Variadic) *formulas.Variadic {
	if v == nil {
		return nil
	}
	least, _ := rules.Limits(s, v)
	return &formulas.Variadic{Count: v.Count.V, Least: least}
}

// written reports whether a task changes an operand.
func written(s *spec.Spec, sl *spec.Slot) bool {
	if sl.Role.V != "weight" && sl.Role.V != "input" {
		return false
	}
	return slices.ContainsFunc(s.Tasks, func(t *spec.Task) bool {
		a := rules.Access(t, sl.Name)
		if a == nil {
			return false
		}
		p, err := perm.Parse(a.Value.V)
		return err == nil && p.Writes()
	})
}

func (d *Declarations) attr(a *spec.Attr) *formulas.Attr {
	out := &formulas.Attr{Name: a.Name, Type: a.Type.V, List: a.List.V, Optional: a.Optional.V, EnumName: a.Enum.V,
		Len: a.Len.V, HasLen: a.Len.Set(), Binds: a.Binds.V, End: a.End.V}
	switch n := a.Default.(type) {
	case nil:
	case *source.Scalar:
		out.Default = n.Value
	default:
		out.Default = n
	}
	for _, v := range a.Values {
		out.Values = append(out.Values, v.V)
	}
	if a.Shared != nil {
		out.Enum = d.Enum(a.Shared)
	}
	for _, x := range a.Fields {
		out.Fields = append(out.Fields, d.attr(x))
	}
	return out
}

// Enum returns what formulas may know of an enum, the same each time.
func (d *Declarations) Enum(s *spec.Spec) *formulas.Enum {
	if out := d.enums[s]; out != nil {
		return out
	}
	out := &formulas.Enum{Name: s.Name.V, Formula: s.Formula.V, Partial: s.Unread["values"]}
	for _, v := range s.Values {
		out.Values = append(out.Values, v.Name.V)
	}
	d.enums[s] = out
	return out
}
