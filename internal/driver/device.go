package driver

import (
	"os"
	"path"
	"path/filepath"
	"regexp"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/input"
	"github.com/opgen/opgen/internal/model"
)

// readDeviceCode reads the files with device code that was written by hand, and looks for the functions that
// generated code calls.
func (p *Project) readDeviceCode() {
	if p.module == nil {
		return
	}
	for _, o := range p.module.Operators {
		if o.CUDA != nil {
			p.readDevice(o)
		}
	}
	if !p.Findings.Empty() {
		p.module = nil
	}
}

func (p *Project) readDevice(o *model.Operator) {
	c := o.CUDA
	c.Path = path.Join(p.Config.Kernels, c.File)
	text, err := input.File(filepath.Join(p.Config.Root, filepath.FromSlash(c.Path)))
	if os.IsNotExist(err) {
		p.Findings.Add(diag.MissingKernel, c.Span, "there is no file %s", c.Path)
		return
	}
	if err != nil {
		p.Findings.Add(diag.MissingKernel, c.Span, "%v", err)
		return
	}
	p.sums[c.Path] = sum(text)
	c.Text = string(text)
	for _, t := range c.Tasks {
		for _, s := range t.Steps {
			name := o.CUDAFunction(t, s)
			if !regexp.MustCompile(`\b` + name + `\s*\(`).Match(text) {
				p.Findings.Add(diag.MissingMethod, c.Span, "%s has no function %s", c.Path, name).Hinted("want template <%s> __device__ void %s(const %s &a, long long i)",
					o.CUDATemplate(), name, o.CUDAArguments(t))
			}
		}
	}
}
