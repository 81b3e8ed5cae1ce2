// Package fuse rewrites programs: it replaces a pair of operators by one, where the spec of one says that it
// can also compute the other. The rules are data, which the descriptions of operators hold.
//
// Backward has been expanded before, so both forward tasks of a pair become one, and so do both backward
// tasks. The tensor between them does not exist afterwards. A pair is therefore fused only if no other step
// reads it.
package fuse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/task"
)

// Applied is a fusion that was applied.
type Applied struct {
	Node  string // the node that remains
	Other string // the node that it replaces
	Rule  *task.Fusion
}

// String formats the fusion as "fc + act (linear.relu)".
func (a Applied) String() string { return fmt.Sprintf("%s + %s (%s)", a.Node, a.Other, a.Rule.Name) }

// Program returns the program with all pairs fused that the rules allow, and the fusions that were applied.
// The given program does not change. Results are equal to those of p within the tolerances of the fusions.
func Program(p *graph.Program) (*graph.Program, []Applied, error) {
	if p == nil {
		return nil, nil, errors.New("fuse: want a program, got nil")
	}
	if err := p.Validate(); err != nil {
		return nil, nil, fmt.Errorf("fuse: %w", err)
	}
	q := *p
	q.Steps = slices.Clone(p.Steps)
	var done []Applied
	for {
		a, err := once(&q)
		if err != nil || a == nil {
			return &q, done, err
		}
		done = append(done, *a)
	}
}

// once applies one fusion to p, or returns nil if there is none.
func once(p *graph.Program) (*Applied, error) {
	x := newIndex(p)
	for _, n := range x.nodes {
		for i := range n.Op.Fusions {
			rule := &n.Op.Fusions[i]
			for _, m := range x.partners(n, rule) {
				if x.taken(n) || x.taken(m) {
					continue
				}
				pair, err := x.match(n, m, rule)
				if err != nil {
					return nil, fmt.Errorf("fusion %s of node %s and node %s: %w", rule.Name, n.Name, m.Name, err)
				}
				if pair != nil && pair.rewrite() {
					return &Applied{n.Name, m.Name, rule}, nil
				}
			}
		}
	}
	return nil, nil
}

// hold reports whether the values of attributes meet conditions.
func hold(conditions []task.FusionWhen, attrs map[string]json.RawMessage) (bool, error) {
	for _, w := range conditions {
		var values []json.RawMessage
		if err := json.Unmarshal([]byte(w.Values), &values); err != nil {
			return false, err
		}
		if !slices.ContainsFunc(values, func(v json.RawMessage) bool { return bytes.Equal(v, attrs[w.Attr]) }) {
			return false, nil
		}
	}
	return true, nil
}

// attributes returns those of the fused node, or nil if the rule does not apply.
func attributes(n, m *graph.Node, rule *task.Fusion) (task.Attrs, error) {
	own, err := task.AttrObject(n.Attrs)
	if err != nil {
		return nil, err
	}
	other, err := task.AttrObject(m.Attrs)
	if err != nil {
		return nil, err
	}
	absent := func(name string) bool { v := own[name]; return v == nil || string(v) == "null" }
	if ok, err := hold(rule.When, other); !ok {
		return nil, err
	}
	if ok, err := hold(rule.Own, own); !ok {
		return nil, err
	}
	for _, name := range rule.Absent {
		if !absent(name) {
			return nil, nil
		}
	}
	changes := map[string]json.RawMessage{}
	if rule.Set != "" {
		if err := json.Unmarshal([]byte(rule.Set), &changes); err != nil {
			return nil, err
		}
	}
	for _, c := range rule.Copy {
		changes[c.Attr] = other[c.From]
	}
	for name, v := range changes {
		opposite := string(v) == "true" && string(own[name]) == "false" || string(v) == "false" && string(own[name]) == "true"
		if !absent(name) && !opposite {
			return nil, nil
		}
	}
	data, err := json.Marshal(changes)
	if err != nil {
		return nil, err
	}
	return task.Override(&n.Op.Operator, n.Attrs, data)
}
