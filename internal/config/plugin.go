package config

import (
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/opgen/opgen/internal/base/english"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/source"
)

// Plugin is a program that makes files from the model, a table [[plugin]].
type Plugin struct {
	Name    string
	Command []string
	Out     string        // folder of its files, relative to the module's root, with slashes
	Options string        // an object of JSON
	Inputs  []string      // files and folders on which its answer depends besides the model, relative to the root
	Timeout time.Duration // for its answer
	Span    source.Span   // of its name
}

var pluginName = regexp.MustCompile(`^[a-z][a-z0-9_-]*$`)

// defaultTimeout is long enough for go run to compile a plug-in first.
const defaultTimeout = 5 * time.Minute

// plugins reads the tables [[plugin]].
func (c *Config) plugins(n source.Node, list *diag.List) {
	tables, ok := n.(*source.Array)
	if !ok {
		list.Add(diag.WrongKind, source.SpanOf(n), "plugin: want an array of tables, [[plugin]], got %s", english.Article(source.Kind(n)))
		return
	}
	for _, n := range tables.Elems {
		t, ok := n.(*source.Table)
		if !ok {
			list.Add(diag.WrongKind, source.SpanOf(n), "plugin: want a table, got %s", english.Article(source.Kind(n)))
			continue
		}
		before := list.Len()
		p := readPlugin(t, list)
		if list.Len() > before {
			continue
		}
		if i := slices.IndexFunc(c.Plugins, func(o *Plugin) bool { return o.Name == p.Name }); i >= 0 {
			list.Add(diag.BadConfig, p.Span, "two plug-ins are named %s", p.Name).See(c.Plugins[i].Span, "the other one")
		}
		c.Plugins = append(c.Plugins, p)
	}
}

func readPlugin(t *source.Table, list *diag.List) *Plugin {
	p := &Plugin{Options: "{}", Timeout: defaultTimeout, Span: t.Span}
	known, missing := pluginKeys.Names(), map[string]bool{}
	for _, k := range pluginKeys.Keys {
		missing[k.Name] = k.Required
	}
	for _, e := range t.Entries {
		missing[e.Key] = false
		at := source.SpanOf(e.Value)
		wrong := func(want string) {
			list.Add(diag.WrongKind, at, "%s: want %s, got %s", e.Key, want, english.Article(source.Kind(e.Value)))
		}
		switch e.Key {
		case "name", "out":
			s, ok := text(e.Value)
			switch {
			case !ok:
				wrong("a string")
			case e.Key == "name" && !pluginName.MatchString(s):
				list.Add(diag.BadConfig, at, "name: want lower-case letters, digits, - and _, beginning with a letter, got %q", s)
			case e.Key == "name":
				p.Name, p.Span = s, at
			default:
				p.Out, ok = below(s)
				if !ok {
					list.Add(diag.BadConfig, at, "out: want a folder below the module's root, got %q", s)
				} else if source.InRepository(p.Out) {
					list.Add(diag.BadConfig, at, "out: want a folder that is not one of a repository, got %q", s)
				}
			}
		case "command", "inputs":
			words, bad := texts(e.Value)
			switch {
			case bad != nil:
				at = source.SpanOf(bad)
				list.Add(diag.WrongKind, at, "%s: want an array of strings, got %s", e.Key, within(bad, e.Value))
			case e.Key == "command" && (len(words) == 0 || words[0] == ""):
				list.Add(diag.BadConfig, at, "command: want a program and its arguments, got nothing")
			case e.Key == "command":
				p.Command = words
			}
			for _, w := range words {
				dir, ok := below(w)
				if e.Key == "inputs" && !ok {
					list.Add(diag.BadConfig, at, "inputs: want files and folders below the module's root, got %q", w)
				}
				if e.Key == "inputs" {
					p.Inputs = append(p.Inputs, dir)
				}
			}
		case "options":
			if _, ok := e.Value.(*source.Table); !ok {
				wrong("a table")
			}
			p.Options = source.JSON(e.Value)
		case "timeout":
			s, _ := e.Value.(*source.Scalar)
			seconds, ok := int64(0), false
			if s != nil {
				seconds, ok = s.Value.(int64)
			}
			if !ok {
				wrong("a number of seconds")
			} else if seconds < 1 || seconds > 24*60*60 {
				list.Add(diag.BadConfig, at, "timeout: want 1 to 86400 seconds, got %d", seconds)
			}
			p.Timeout = time.Duration(seconds) * time.Second
		default:
			d := list.Add(diag.UnknownKey, e.KeySpan, "[[plugin]] has no key %s", e.Key)
			if n := d.Nearest(e.Key, known); n != "" {
				missing[n] = false
			} else {
				d.Hinted("keys are %s", strings.Join(known, ", "))
			}
		}
	}
	for _, key := range known {
		if missing[key] {
			list.Add(diag.MissingKey, t.Span, "[[plugin]]: %s is missing", key)
		}
	}
	return p
}

func text(n source.Node) (string, bool) {
	if s, ok := n.(*source.Scalar); ok {
		v, ok := s.Value.(string)
		return v, ok
	}
	return "", false
}

// texts returns the elements of an array of strings, or the node that is of another type.
func texts(n source.Node) (out []string, bad source.Node) {
	a, ok := n.(*source.Array)
	if !ok {
		return nil, n
	}
	for _, e := range a.Elems {
		s, ok := text(e)
		if !ok {
			return nil, e
		}
		out = append(out, s)
	}
	return out, nil
}

// within names the type of a node that is a value or an element of it.
func within(n, value source.Node) string {
	if n == value {
		return english.Article(source.Kind(n))
	}
	return english.Article(source.Kind(n)) + " in it"
}

// below returns a path in its clean form, and whether it is below the module's root.
func below(p string) (string, bool) {
	dir := path.Clean(filepath.ToSlash(p))
	return dir, p != "" && dir != "." && filepath.IsLocal(filepath.FromSlash(dir))
}

// OutOfPlace returns the folder of the module that contains a plug-in's folder or is within it, or "".
// Plug-ins may share a folder.
func (c *Config) OutOfPlace(out string) string {
	folders := []string{c.Specs, c.Output, c.Kernels, c.Pages}
	for _, p := range c.Plugins {
		if p.Out != out {
			folders = append(folders, p.Out)
		}
	}
	for _, f := range folders {
		if f != "" && nested(out, f) {
			return f
		}
	}
	return ""
}
