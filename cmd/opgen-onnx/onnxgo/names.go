package onnxgo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/safetensors"
)

// tidy makes names of the file plain: without what all of them begin with up to two underscores, as exporters
// write that put functions in line, and without slashes. Numbers of an exporter are no names.
func (w *writer) tidy() {
	var all []string
	each := func(do func(p *piece)) {
		for _, it := range w.items {
			leaves(it.pieces, func(p *piece) {
				if p.kind == named {
					do(p)
				}
			})
		}
	}
	each(func(p *piece) {
		for _, name := range p.names {
			if name != "" {
				all = append(all, name)
			}
		}
	})
	prefix := ""
	if len(all) > 1 {
		least, most := slices.Min(all), slices.Max(all)
		k := 0
		for k < min(len(least), len(most)) && least[k] == most[k] {
			k++
		}
		if at := strings.LastIndex(least[:k], "__"); at >= 0 {
			prefix = least[:at+2]
		}
	}
	each(func(p *piece) {
		var names []string
		for _, name := range p.names {
			name = strings.ReplaceAll(strings.TrimPrefix(name, prefix), "/", ".")
			name = strings.TrimSuffix(strings.Trim(name, "._"), "_output_0")
			if name != "" && !strings.Contains(name, "::") && !strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r == '"' || r == '\\' || r == 0x7f }) {
				names = append(names, name)
			}
		}
		p.names = names
	})
}

// calls returns the calls of each function, with those within calls.
func calls(items []*item, into map[*function][]*item) {
	for _, it := range items {
		if it.fn != nil {
			into[it.fn] = append(into[it.fn], it)
			calls(it.inner, into)
		}
	}
}

// leaf returns the named pieces of statements.
func namedLeaves(items []*item) (list []*piece) {
	for _, it := range items {
		leaves(it.pieces, func(p *piece) {
			if p.kind == named {
				list = append(list, p)
			}
		})
	}
	return list
}

// nameAll gives each node with variables its name, and returns the variables by their names. Within a
// function, a name follows from that of the call.
func (w *writer) nameAll() map[string]safetensors.Tensor {
	every := map[*function][]*item{}
	calls(w.items, every)
	for f, list := range every {
		taken := map[string]bool{}
		body := namedLeaves(f.body)
		for k := range body {
			var rests, ends []string
			for _, call := range list {
				name := ""
				if p := namedLeaves(call.inner)[k]; len(p.names) > 0 {
					name = p.names[0]
				}
				rest, _ := strings.CutPrefix(name, commonName(call.inner)+".")
				if rest == name {
					rest = ""
				}
				rests, ends = append(rests, rest), append(ends, name[strings.LastIndex(name, ".")+1:])
			}
			name := body[k].hint
			if rest := shared(rests); rest != "" {
				name = rest
			} else if end := shared(ends); end != "" && body[k].of != body[k].hint {
				name = body[k].of + "." + end
			} else if body[k].of != body[k].hint && body[k].of != "" {
				name = body[k].of + "." + name
			}
			body[k].text = unique(name, taken)
		}
	}
	variables := map[string]safetensors.Tensor{}
	used := map[string]bool{}
	for _, it := range w.items {
		leaves(it.pieces, func(p *piece) {
			if p.kind != named {
				return
			}
			for k := 1; ; k++ {
				name := ""
				switch {
				case len(p.names) > 0 && k == 1:
					name = p.names[0]
				case len(p.names) > 0:
					name = fmt.Sprintf("%s_%d", p.names[0], k)
				case strings.TrimRight(p.hint, "0123456789") != p.hint:
					name = fmt.Sprintf("%s_%d", p.hint, k)
				default:
					name = fmt.Sprintf("%s%d", p.hint, k)
				}
				nodes := map[string][]stored{}
				derive(it, p, name, nodes)
				free := true
				for node, stores := range nodes {
					free = free && !used[node] && !used[node+".output"]
					for _, s := range stores {
						free = free && !used[node+"."+s.slot]
					}
				}
				if !free {
					continue
				}
				p.text = name
				for node, stores := range nodes {
					used[node], used[node+".output"] = true, true
					for _, s := range stores {
						used[node+"."+s.slot] = true
						variables[node+"."+s.slot] = s.value
					}
				}
				return
			}
		})
	}
	return variables
}

// shared returns the name that all are, or "".
func shared(names []string) string {
	if slices.ContainsFunc(names, func(name string) bool { return name != names[0] }) {
		return ""
	}
	return names[0]
}

// derive collects the nodes that a named piece of a statement names, with their variables.
func derive(it *item, p *piece, name string, nodes map[string][]stored) {
	if it.fn == nil || len(p.stores) > 0 {
		nodes[name] = p.stores
		return
	}
	body := namedLeaves(it.fn.body)
	k := 0
	for _, in := range it.inner {
		leaves(in.pieces, func(q *piece) {
			if q.kind == named {
				derive(in, q, name+"."+body[k].text, nodes)
				k++
			}
		})
	}
}
