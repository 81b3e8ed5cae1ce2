package task

import (
	"encoding/json"

	"github.com/opgen/opgen/runtime/op"
)

// Passed returns, by slot, the values of arguments that the caller passes in an example of an operator, and
// the defaults of others.
func (x *Example) Passed(o *Operator) (map[int][]any, error) {
	var given map[string]json.RawMessage
	if x.Args == "" {
		given = map[string]json.RawMessage{}
	} else if err := json.Unmarshal([]byte(x.Args), &given); err != nil {
		return nil, &op.Error{Operator: o.FullName(), Want: "values of arguments as JSON", Got: err.Error()}
	}
	var out map[int][]any
	for _, s := range o.Signatures {
		for i := range s.Args {
			a := &s.Args[i]
			data, ok := given[o.Slots[a.Slot].Name]
			if !ok && a.Default != "" {
				data, ok = json.RawMessage(a.Default), true
			}
			if _, known := out[a.Slot]; known || !ok || a.From != FromCall {
				continue
			}
			values, err := a.Decode(s, data)
			if err != nil {
				return nil, err
			}
			if out == nil {
				out = map[int][]any{}
			}
			out[a.Slot] = values
		}
	}
	return out, nil
}
