package expr

import (
	"maps"
	"strings"
)

// Recurrence is a group of mutually dependent values: the statements that define them read each other's
// elements, or their own, as in h[t] = a * (h[t - 1] else 0) + x[t].
type Recurrence struct {
	Names map[string]bool // names of its tensors
	// First and Last are the numbers of the first and the last statement of the group. Other statements may
	// stand between them.
	First, Last int
}

// Gives reports whether statement s defines a value of the group.
func (r *Recurrence) Gives(s *Statement) bool {
	for _, t := range s.Targets {
		if r.Names[targetName(t)] {
			return true
		}
	}
	return false
}

func targetName(n Node) string {
	if r, ok := n.(*Read); ok {
		return r.Name
	}
	return n.(*Ident).Name
}

// Recurrences returns the groups of mutually dependent values, in the order of their first statements: the
// strongly connected components of the dependency graph. It returns nil if each statement reads only results
// of statements above it.
func (f *Formula) Recurrences() []*Recurrence {
	reads := map[string]map[string]bool{} // by value: the names that its statements read
	for _, s := range f.Statements {
		for _, t := range s.Targets {
			name := targetName(t)
			if reads[name] == nil {
				reads[name] = map[string]bool{}
			}
			f.namesOf(s.X, reads[name], map[*Function]bool{})
		}
	}
	if readsAbove(f.Statements, reads) {
		return nil
	}
	reach := func(from string) map[string]bool {
		seen, pending := map[string]bool{}, []string{from}
		for len(pending) > 0 {
			name := pending[len(pending)-1]
			pending = pending[:len(pending)-1]
			for next := range reads[name] {
				if reads[next] != nil && !seen[next] {
					seen[next] = true
					pending = append(pending, next)
				}
			}
		}
		return seen
	}
	var out []*Recurrence
	of := map[string]*Recurrence{}
	for i, s := range f.Statements {
		for _, t := range s.Targets {
			name := targetName(t)
			if of[name] == nil {
				from := reach(name)
				if !from[name] {
					continue
				}
				r := &Recurrence{Names: map[string]bool{name: true}, First: i}
				for other := range from {
					if reach(other)[name] {
						r.Names[other], of[other] = true, r
					}
				}
				of[name] = r
				out = append(out, r)
			}
			of[name].Last = i
		}
	}
	return out
}

// readsAbove reports whether each value reads only values that are first defined above it, so that the
// dependency graph has no cycle. reads is the dependency graph.
func readsAbove(statements []*Statement, reads map[string]map[string]bool) bool {
	first := map[string]int{}
	for i, s := range statements {
		for _, t := range s.Targets {
			if _, given := first[targetName(t)]; !given {
				first[targetName(t)] = i
			}
		}
	}
	for name, of := range reads {
		for other := range of {
			if i, given := first[other]; given && i >= first[name] {
				return false
			}
		}
	}
	return true
}

// namesOf adds the names in expression n, and in the bodies of the functions that it calls, to names.
func (f *Formula) namesOf(n Node, names map[string]bool, seen map[*Function]bool) {
	Walk(n, func(n Node) {
		switch n := n.(type) {
		case *Ident:
			names[n.Name] = true
		case *Read:
			if !n.Old {
				names[n.Name] = true
			}
		case *Call:
			for _, fn := range f.Functions {
				if seen[fn] || fn.Name != n.Func && !strings.HasPrefix(fn.Name, n.Func+".") {
					continue
				}
				seen[fn] = true
				own := map[string]bool{}
				f.namesOf(fn.X, own, seen)
				for _, p := range fn.Params {
					delete(own, p.Name)
				}
				maps.Copy(names, own)
			}
		}
	})
}
