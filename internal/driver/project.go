// Package driver runs the generator's stages one after the other: read, check, resolve, emit, write.
package driver

import (
	"maps"
	"path"
	"path/filepath"
	"slices"

	"github.com/opgen/opgen/internal/check"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/example"
	"github.com/opgen/opgen/internal/kernelfile"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/spec"
	"github.com/opgen/opgen/runtime/tuned"
)

// Project is a module whose configuration and specs were read and checked.
type Project struct {
	Config   *config.Config // nil if opgen.toml has findings
	Inputs   []Input
	Findings *diag.List
	// Border holds findings about kernels. They do not keep generated code from being written, since a kernel
	// is written against it.
	Border *diag.List
	// Unshown is how many more findings there are than are listed.
	Unshown int

	others  *check.Names    // the specs of used modules
	used    []*model.Module // of used modules
	uses    []*usedModule   // all of them, also those that used ones use
	checked *check.Result   // nil if opgen.toml has findings
	module  *model.Module
	kernels *kernelfile.Folder // that the module was made with
	known   *example.Known     // of the formulas of the module
	only    string             // the operator that examples are tried of; "" for all
	sums    sums
	open    map[string]string // texts of kernels in place of files
}

// maxFindings is how many findings are listed of each kind.
const maxFindings = 200

// Load reads and checks the configuration and the specs of the module at root. The error says which file
// cannot be read. Mistakes in specs are findings.
func Load(root string) (*Project, error) {
	p := &Project{Findings: &diag.List{}, Border: &diag.List{}, sums: sums{}}
	p.sums.addFiles(root, config.Name, "go.mod", tuned.File)
	var err error
	p.Config, err = config.Load(root, p.Findings)
	if err != nil || !p.Findings.Empty() {
		return p, err
	}
	if p.Inputs, err = ReadSpecs(p.Config); err != nil {
		return p, err
	}
	for _, in := range p.Inputs {
		p.sums[in.Path] = sum([]byte(in.Text))
	}
	if !p.readUsed() {
		return p, nil
	}
	p.checked = readAll(p.Inputs, specModule(p.Config), p.others, p.Findings)
	p.goPackages()
	p.tryExamples()
	p.checkBorder()
	p.Unshown = p.Findings.Limit(maxFindings) + p.Border.Limit(maxFindings)
	dropBroken(p.Findings)
	return p, nil
}

// Resolve reads and checks specs that are in no folder, as Load does with those of a module without kernels
// by hand. It returns nil if there are findings.
func Resolve(inputs []Input, list *diag.List) *model.Module {
	p := &Project{Config: &config.Config{}, Inputs: inputs, Findings: list, Border: &diag.List{}, sums: sums{}}
	p.checked = Read(inputs, list)
	p.tryExamples()
	return p.Module()
}

// readUsed reads the modules that the project uses, and reports whether that gave no findings.
func (p *Project) readUsed() bool {
	if len(p.Config.Uses) == 0 {
		return true
	}
	p.sums.addFiles(p.Config.Root, choosing(p.Config.Root)...)
	u := &users{root: p.Config.Root, loaded: map[string]*usedModule{}, sums: p.sums, active: []string{p.Config.Module.Path}}
	p.others, p.used = u.names(p.Config, p.Findings)
	p.uses = slices.Collect(maps.Values(u.loaded))
	return p.Findings.Empty()
}

// tryExamples looks for examples that do not fit their operators, and formulas that cannot be computed at
// one. It needs specs without other findings.
func (p *Project) tryExamples() {
	m := p.Module()
	if m == nil {
		return
	}
	var specs []*spec.Spec
	for _, sc := range p.checked.Scopes {
		specs = append(specs, sc.Spec)
	}
	example.Check(p.tried(), specs, p.known, p.Findings)
	if !p.Findings.Empty() {
		p.module = nil
	}
}

// Operators returns how many operators there are.
func (p *Project) Operators() int {
	if p.checked == nil {
		return 0
	}
	return len(p.checked.Scopes)
}

// Module returns the model of the specs, or nil if there are findings.
func (p *Project) Module() *model.Module {
	if p.module == nil && p.checked != nil && p.Findings.Empty() {
		p.module = model.Resolve(p.checked, p.used...)
		p.findKernels()
		p.follow()
		p.readDeviceCode()
	}
	return p.module
}

// follow completes the specs with the facts that follow from formulas, and resolves them again.
func (p *Project) follow() {
	specs := slices.Clone(p.checked.Enums)
	for _, sc := range p.checked.Scopes {
		specs = append(specs, sc.Spec)
	}
	for _, complete := range []func(*model.Module, []*spec.Spec) bool{example.Remember, example.Keep} {
		if complete(p.tried(), specs) && !p.again(specs) {
			return
		}
	}
	known, added := example.Follow(p.tried(), specs)
	if p.known = known; added {
		p.again(specs)
	}
}

// tried returns the module with the operators of which examples are tried, and others as if another module
// had them.
func (p *Project) tried() *model.Module {
	if p.only == "" {
		return p.module
	}
	m := &model.Module{Enums: p.module.Enums, Used: slices.Clone(p.module.Used)}
	for _, o := range p.module.Operators {
		if o.Name == p.only {
			m.Operators = append(m.Operators, o)
		} else {
			m.Used = append(m.Used, o)
		}
	}
	return m
}

// again checks and resolves specs to which facts were added. It reports whether there are no findings.
func (p *Project) again(specs []*spec.Spec) bool {
	if p.checked = check.Again(specs, p.others, p.Findings); !p.Findings.Empty() {
		p.module = nil
		return false
	}
	p.module = model.Resolve(p.checked, p.used...)
	p.findKernels()
	return true
}

// findKernels derives the kernels of operators from their formulas where none is written by hand.
func (p *Project) findKernels() {
	if p.kernels == nil {
		p.openKernels()
	}
	for _, o := range p.module.Operators {
		o.Derive(o.CanDerive() && !p.kernels.Has(o.Name, o.GoName))
	}
}

// openKernels reads the kernels that were written by hand.
func (p *Project) openKernels() {
	c := p.Config
	p.kernels = &kernelfile.Folder{}
	if c.Kernels != "" {
		open := map[string]string{}
		for name, text := range p.open {
			if path.Dir(name) == c.Kernels {
				open[path.Base(name)] = text
			}
		}
		p.kernels = kernelfile.Open(filepath.Join(c.Root, filepath.FromSlash(c.Kernels)), open)
	}
	for _, f := range p.kernels.Files {
		p.sums[path.Join(c.Kernels, f.Name)] = sum([]byte(f.Text))
	}
}
