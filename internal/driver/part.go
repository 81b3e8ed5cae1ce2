package driver

import (
	"cmp"
	"path"
	"path/filepath"

	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/check"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/emit"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/input"
	"github.com/opgen/opgen/internal/kernelcheck"
	"github.com/opgen/opgen/internal/kernelfile"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/spec"
)

// Ground is what the specs of a module are checked against and what is not in specs: opgen.toml, the specs of
// used modules, and kernels by hand. Several goroutines may use it.
type Ground struct {
	Config   *config.Config // nil if opgen.toml has findings
	Findings *diag.List     // about opgen.toml, and the modules that it names

	project Project
	sum     string
}

// Survey reads what a module's specs are checked against. text is that of opgen.toml. open holds the texts of
// kernels by hand that count in place of files, by path relative to the root. The error says which other file
// cannot be read.
func Survey(root, text string, open map[string]string) (*Ground, error) {
	g := &Ground{Findings: &diag.List{}}
	c, err := config.Parse(root, config.Name, text, g.Findings)
	if err != nil || !g.Findings.Empty() {
		return g, err
	}
	p := &Project{Config: c, Findings: g.Findings, Border: &diag.List{}, sums: sums{}, open: open}
	if !p.readUsed() {
		return g, nil
	}
	p.openKernels()
	g.Config, g.project = c, *p
	h := []byte(text)
	for _, f := range p.kernels.Files {
		h = append(h, sum([]byte(f.Name+"\n"+f.Text))...)
	}
	g.sum = sum(h)
	return g, nil
}

// Needs returns a checksum of what else findings about the operator of a spec depend on: all kernels, if the
// operator has one, and the file of its device code.
func (g *Ground) Needs(s *spec.Spec) string {
	needs := sum([]byte(g.Config.Text))
	if s.Kind != spec.Enum && s.Kind != "" && g.project.kernels.Has(s.Name.V, goname.Exported(s.Name.V)) {
		needs += g.sum
	}
	if s.CUDA != nil {
		text, err := input.File(filepath.Join(g.Config.Root, filepath.FromSlash(path.Join(g.Config.Kernels, s.CUDA.File.V))))
		if err != nil {
			text = []byte(err.Error())
		}
		needs += sum(text)
	}
	return needs
}

// Kernels returns the files of kernels that were written by hand.
func (g *Ground) Kernels() *kernelfile.Folder { return g.project.kernels }

// Read reads a spec of the module.
func (g *Ground) Read(in Input, list *diag.List) *spec.Spec {
	s := spec.Read(in.Path, in.Text, list)
	s.Module = specModule(g.Config)
	return s
}

// Between finds what is wrong between specs that were read, and not in one of them: names that two have in
// common. The specs are in the order of their paths. It returns them by their names. A spec whose name could
// not be read has that of its file.
func (g *Ground) Between(read []*spec.Spec, list *diag.List) map[string]*spec.Spec {
	specs := distinct(read, list)
	check.Clashes(specs, list)
	named := map[string]*spec.Spec{}
	for _, s := range specs {
		if name := cmp.Or(s.Name.V, s.Base); named[name] == nil {
			named[name] = s
		}
	}
	return named
}

// Border finds what is wrong with the files of kernels and with the table of tuned choices, whatever the
// operators are. packages lists the generated packages. operators are those that are known.
func (g *Ground) Border(packages []string, operators []*model.Operator, list *diag.List) {
	g.project.checkTuned(operators, packages, list)
	if d := g.project.noFolder(operators); d != nil {
		list.Merge(d)
		return
	}
	kernelcheck.Files(packages, g.project.kernels, g.project.imports(), list)
}

// Part checks a spec of a name: the first of inputs, which are followed by all those that it names, and so
// on. What examples, kernels and unused names tell is looked at for this spec only. rest holds the other
// specs by name, since findings propose names. Findings between specs, and those about files of kernels, are
// left to Between and Border. canceled is asked between stages, and ends the work.
func (g *Ground) Part(name string, inputs []Input, rest map[string]*spec.Spec, canceled func() bool) *Project {
	p := g.project
	p.Findings, p.Border, p.sums = &diag.List{}, &diag.List{}, sums{}
	p.Inputs, p.others, p.only = inputs, p.others.With(rest), name
	p.checked = readAll(inputs, specModule(p.Config), p.others, p.Findings)
	if canceled() {
		return nil
	}
	p.goPackages()
	p.Module()
	if canceled() {
		return nil
	}
	p.tryExamples()
	if m := p.Module(); m != nil {
		if p.hasFolder() {
			kernelcheck.Operators(p.tried().Operators, p.kernels, p.imports(), p.Border)
		}
		p.unused(m)
	}
	dropBroken(p.Findings)
	dropBroken(p.Border)
	return &p
}

// Generated returns the files of the package of an operator or, if that is nil, of an enum, signed.
func (g *Ground) Generated(o *model.Operator, e *model.Enum) (files []artifact.Artifact, err error) {
	if o != nil {
		files, err = emit.Operator(importPaths(g.Config), o)
	} else {
		files, err = emit.Enum(importPaths(g.Config), e)
	}
	for i := range files {
		files[i] = files[i].Sign()
	}
	return files, err
}

// Scope returns the scope of an operator, or nil if the project has none of that name.
func (p *Project) Scope(name string) *scope.Scope {
	for _, sc := range p.checked.Scopes {
		if sc.Spec.Name.V == name {
			return sc
		}
	}
	return nil
}
