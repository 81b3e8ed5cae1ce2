package driver

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/check"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/kernelcheck"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/parallel"
	"github.com/opgen/opgen/internal/spec"
)

// checkBorder looks for kernels that generated code could not use, and for what specs declare and neither
// they nor kernels use.
func (p *Project) checkBorder() {
	m := p.Module()
	if m == nil {
		return
	}
	if d := p.noFolder(m.Operators); d != nil {
		p.Border.Merge(d)
	} else {
		kernelcheck.Check(m, p.kernels, p.imports(), p.Border)
	}
	p.unused(m)
	p.checkTuned(m.Operators, nil, p.Border)
}

func (p *Project) imports() kernelcheck.Imports {
	c := p.Config
	return kernelcheck.Imports{Runtime: c.Runtime, Generated: c.GeneratedImport, Folder: c.Kernels}
}

// noFolder returns the finding that takes the place of one about each kernel if opgen.toml names a folder of
// kernels that is not there, and operators need it. It returns nil otherwise.
func (p *Project) noFolder(operators []*model.Operator) *diag.List {
	if p.hasFolder() {
		return nil
	}
	var names []string
	for _, o := range operators {
		if !o.Derived {
			names = append(names, o.Name)
		}
	}
	if len(names) == 0 {
		return nil
	}
	list := &diag.List{}
	list.Add(diag.BadConfig, p.Config.KernelsKey, "kernels: there is no folder %s, and %s", p.Config.Kernels, needKernels(names))
	return list
}

// hasFolder reports whether the folder of kernels is there, or opgen.toml names none.
func (p *Project) hasFolder() bool {
	info, err := os.Stat(filepath.Join(p.Config.Root, filepath.FromSlash(p.Config.Kernels)))
	return err == nil && info.IsDir() || p.Config.KernelsKey.File == nil
}

// needKernels says which operators need kernels by hand.
func needKernels(names []string) string {
	if len(names) == 1 {
		return "operator " + names[0] + " needs a kernel"
	}
	if len(names) > 4 {
		names = append(slices.Clone(names[:3]), "others")
	}
	return "operators " + strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " need kernels"
}

// unused reports attributes and dimensions that neither the spec nor a kernel uses, and scratch slots of
// operators without a kernel by hand. A kernel that is not written yet may.
func (p *Project) unused(m *model.Module) {
	goNames := map[string]*model.Operator{}
	for _, o := range m.Operators {
		goNames[o.Name] = o
	}
	unused := make([][]check.Declared, len(p.checked.Scopes))
	parallel.Do(len(unused), func(i int) {
		if s := p.checked.Scopes[i].Spec; p.only == "" || p.only == s.Name.V {
			unused[i] = check.Unused(s)
		}
	})
	for i, sc := range p.checked.Scopes {
		if p.only != "" && p.only != sc.Spec.Name.V {
			continue
		}
		o := goNames[sc.Spec.Name.V]
		if o.Derived && sc.Spec.CUDA == nil { // other code may use any scratch memory, and may be written later
			for _, u := range check.Scratch(sc.Spec) {
				p.Border.Add(diag.Unused, u.Span, "nothing uses the %s %s", u.What, u.Name).
					Hinted("leave it out: scratch memory is for kernels by hand, and that of a formula's code follows from the formula")
			}
		}
		for _, u := range unused[i] {
			switch {
			case o.Derived:
				p.Findings.Add(diag.Unused, u.Span, "nothing uses the %s %s", u.What, u.Name)
			case p.kernels.Declares(o.GoName) && !p.inKernels(u.GoName):
				p.Border.Add(diag.Unused, u.Span, "nothing uses the %s %s", u.What, u.Name).
					Hinted("neither the spec nor a kernel in %s does; remove it, or let the kernel read a.%s", p.Config.Kernels, u.GoName)
			}
		}
	}
	if !p.Findings.Empty() {
		p.module = nil
	}
}

// inKernels reports whether a kernel selects a field: Attrs.Dim, in one step or in two.
func (p *Project) inKernels(field string) bool {
	field = field[strings.LastIndexByte(field, '.')+1:]
	selects := regexp.MustCompile(`\.` + field + `\b`)
	for _, f := range p.kernels.Files {
		if selects.MatchString(f.Text) {
			return true
		}
	}
	return false
}

// goPackages checks the packages that specs name: those of the types of arguments, and those of functions.
// Generated code imports them, so they are there, and do not import generated code themselves.
func (p *Project) goPackages() {
	if !p.Findings.Empty() {
		return
	}
	for _, sc := range p.checked.Scopes {
		for _, a := range sc.Spec.Args {
			text := strings.TrimLeft(a.Type.V, "*[]")
			if strings.Contains(text, "/") {
				p.goPackage(diag.BadArg, "type", a.Type, len(a.Type.V)-len(text), text)
			}
		}
		p.goPackage(diag.BadValue, "function", sc.Spec.Validate, 0, calledIn(sc.Spec.Validate.V))
		for _, d := range sc.Spec.Dims {
			p.goPackage(diag.BadValue, "function", d.Func, 0, calledIn(d.Func.V))
		}
		for _, t := range sc.Spec.Tasks {
			for _, a := range t.Access {
				if op, ok := strings.CutPrefix(a.Value.V, "reduce("); ok && strings.Contains(op, ",") {
					p.goPackage(diag.BadValue, "function", a.Value, len("reduce("), op[:strings.IndexByte(op, ',')])
				}
			}
		}
	}
}

// calledIn returns the function of a call.
func calledIn(call string) string {
	function, _, _ := strings.Cut(call, "(")
	return function
}

// goPackage checks the package of a name in Go, which is a part of a text of a spec, from at on.
func (p *Project) goPackage(code diag.Code, what string, text spec.Str, at int, name string) {
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return
	}
	c, pkg, span := p.Config, name[:dot], text.Node.Within(at, at+dot)
	switch {
	case pkg == c.KernelsImport:
		p.Findings.Add(code, span, "the package of kernels imports generated code, which would import it in turn").
			Hinted("declare the %s in a package of its own, such as %s/%s", what, pkg, map[string]string{"type": "state", "function": "rules"}[what])
	case pkg == c.GeneratedImport || strings.HasPrefix(pkg, c.GeneratedImport+"/"):
		p.Findings.Add(code, span, "%s is generated code, which cannot import itself", pkg).Hinted("declare the %s in a package of its own", what)
	case !c.Module.Has(pkg):
		p.Findings.Add(code, span, "no module of go.mod has the package %s", pkg).Hinted("run go get %s, or correct the path", pkg)
	}
}
