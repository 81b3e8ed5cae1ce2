package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/example"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// liveOperator is an operator that was made of a spec without generated code, for graphs and engines.
type liveOperator struct {
	*graph.Operator
	Model *model.Operator
}

// read reads specs, checks them as opgen check does, and returns their operators by name. What is wrong with
// them goes to list; then there are no operators.
func read(specs []driver.Input, list *diag.List) (map[string]*liveOperator, error) {
	m := driver.Resolve(specs, list)
	if m == nil {
		return nil, nil
	}
	out := map[string]*liveOperator{}
	for _, o := range m.Operators {
		x, err := operator(o)
		if err != nil {
			return nil, err
		}
		out[o.Name] = x
	}
	for _, o := range out {
		for i, s := range o.Slots {
			if x := out[s.Init.Operator]; x != nil {
				o.Initializers[i] = x.Operator
			}
		}
	}
	return out, nil
}

// operator gives the description of an operator the functions that generated code has.
func operator(o *model.Operator) (*liveOperator, error) {
	attrs, err := attributes(o)
	if err != nil {
		return nil, err
	}
	d := o.Operator
	d.DecodeAttrs = func(data []byte) (task.Attrs, error) {
		v := reflect.New(attrs.Type())
		v.Elem().Set(attrs)
		if err := attr.Decode(o.Name, data, v.Interface()); err != nil {
			return nil, err
		}
		return v.Elem().Interface(), nil
	}
	d.Resolve = func(_ *task.Operator, a task.Attrs, given task.Given) (*task.Resolution, error) {
		data, err := attr.Marshal(a)
		if err != nil {
			return nil, err
		}
		return example.Resolve(o, data, given)
	}
	for i := range d.Signatures {
		for k := range d.Signatures[i].Args {
			if a := &d.Signatures[i].Args[k]; a.From == task.FromIteration {
				a.Type = reflect.TypeFor[int]()
			}
		}
	}
	return &liveOperator{&graph.Operator{Operator: *d, Initializers: map[int]*graph.Operator{}}, o}, nil
}

// attributes returns a struct with the attributes of an operator, which have their defaults.
func attributes(o *model.Operator) (reflect.Value, error) {
	var fields []reflect.StructField
	defaults := map[string]any{}
	for _, a := range o.Attrs {
		t, err := attributeType(a)
		if err != nil {
			return reflect.Value{}, err
		}
		fields = append(fields, reflect.StructField{Name: goname.Exported(a.Name), Type: t, Tag: reflect.StructTag(fmt.Sprintf("json:%q", a.Name))})
		if a.Default != nil {
			defaults[a.Name] = a.Default
		}
	}
	v := reflect.New(reflect.StructOf(fields))
	data, err := attr.Marshal(defaults)
	if err == nil {
		err = attr.Decode(o.Name, data, v.Interface())
	}
	return v.Elem(), err
}

// record holds the attributes of a record of package randomformula, all of whose records have these fields.
type record struct {
	Gamma float64            `json:"gamma"`
	Power int                `json:"power"`
	On    bool               `json:"on"`
	Kind  string             `json:"kind"`
	Parts attr.List[float64] `json:"parts"`
	Cap   attr.Opt[float64]  `json:"cap"`
}

// UnmarshalJSON reads a record. Fields that are left out have the defaults that specs of package
// randomformula declare.
func (r *record) UnmarshalJSON(data []byte) error {
	type plain record // without this method
	return attr.DecodeRecord(data, (*plain)(r), plain{Gamma: 0.75, Power: 2, On: true, Kind: "SIN", Parts: attr.ListOf(0.5, 1.5)})
}

// attributeType returns the type of an attribute's values. Graphs have none here, nor have records with other
// fields.
func attributeType(a *model.Attr) (reflect.Type, error) {
	one, many, some := reflect.TypeFor[int](), reflect.TypeFor[attr.List[int]](), reflect.TypeFor[attr.Opt[int]]()
	switch a.Type {
	case "int", "axis", "dims", "axes":
	case "float":
		one, many, some = reflect.TypeFor[float64](), reflect.TypeFor[attr.List[float64]](), reflect.TypeFor[attr.Opt[float64]]()
	case "bool":
		one, many, some = reflect.TypeFor[bool](), reflect.TypeFor[attr.List[bool]](), reflect.TypeFor[attr.Opt[bool]]()
	case "string", "enum":
		one, many, some = reflect.TypeFor[string](), reflect.TypeFor[attr.List[string]](), reflect.TypeFor[attr.Opt[string]]()
	case "dtype":
		one, many, some = reflect.TypeFor[dtype.Type](), reflect.TypeFor[attr.List[dtype.Type]](), reflect.TypeFor[attr.Opt[dtype.Type]]()
	case "record":
		one, many, some = reflect.TypeFor[record](), reflect.TypeFor[attr.List[record]](), reflect.TypeFor[attr.Opt[record]]()
	default:
		return nil, fmt.Errorf("attribute %s: want a type of numbers, booleans or strings, got %s", a.Name, a.Type)
	}
	switch {
	case a.List || strings.HasSuffix(a.Type, "s") && (a.Type == "dims" || a.Type == "axes"):
		return many, nil
	case a.Optional:
		return some, nil
	}
	return one, nil
}
