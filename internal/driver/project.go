// Package driver runs the generator's stages one after the other: read, check, resolve, emit, write.
package driver

import (
	"github.com/opgen/opgen/internal/check"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/model"
)

// Project is a module whose configuration and specs were read and checked.
type Project struct {
	Config   *config.Config // nil if opgen.toml has findings
	Inputs   []Input
	Findings *diag.List

	checked *check.Result // nil if opgen.toml has findings
	module  *model.Module
	sums    sums
}

// Load reads and checks the configuration and the specs of the module at root. The error is about files that
// cannot be read.
func Load(root string) (*Project, error) {
	p := &Project{Findings: &diag.List{}, sums: sums{}}
	p.sums.addFiles(root, config.Name, "go.mod")
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
	p.checked = Read(p.Inputs, p.Findings)
	dropBroken(p.Findings)
	return p, nil
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
		p.module = model.Resolve(p.checked)
	}
	return p.module
}
