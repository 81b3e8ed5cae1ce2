// Package scaffold writes the first files of a new operator: a spec and, if asked to, a kernel, which work and can then be
// changed.
package scaffold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"text/template"

	"github.com/opgen/opgen/internal/cname"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/internal/input"
	"github.com/opgen/opgen/internal/kernelfile"
	"github.com/opgen/opgen/internal/lock"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/staging"
	"github.com/opgen/opgen/templates"
)

var validName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// Parts says what is written besides a spec.
type Parts struct {
	Kernel bool // a kernel for CPUs
	CUDA   bool // device code for NVIDIA GPUs, which the spec names
}

// New writes the spec of an operator, whose formula is its kernel, and parts that take the place of the formula. With a part, the
// spec may be there already, as New writes it with these parts. New returns the paths of the files that it wrote, relative to the module's root.
// It overwrites nothing: if a file exists, or cannot be written, none is.
func New(c *config.Config, name string, parts Parts) ([]string, error) {
	if !validName.MatchString(name) {
		return nil, fmt.Errorf("operator name %q: want lower-case letters, digits and single underscores, beginning with a letter", name)
	}
	pkg := goname.Package(name)
	if goname.Reserved(pkg) {
		return nil, fmt.Errorf("operator name %q: generated code, Go or Windows uses the name %s for something else", name, pkg)
	}
	if len(name) > source.MaxKey {
		return nil, fmt.Errorf("operator name: want at most %d letters, got %d", source.MaxKey, len(name))
	}
	alias := pkg
	if slices.Contains([]string{"dtype", "op", "error", "nil"}, pkg) { // the kernel uses these names
		alias += "op"
	}
	data := map[string]any{
		"Name": name, "GoName": goname.Exported(name), "Package": pkg, "Alias": alias, "KernelPackage": kernelPackage(c),
		"Generated": c.GeneratedImport, "Runtime": c.Runtime,
		"CUDA": parts.CUDA, "Namespace": cname.Of(name),
	}
	type file struct {
		template, path string
		text           []byte
	}
	all := []file{{template: "spec.toml.tmpl", path: path.Join(c.Specs, name+".toml")}}
	if parts.CUDA {
		all = append(all, file{template: "kernel.cu.tmpl", path: path.Join(c.Kernels, name+".cu")})
	}
	if parts.Kernel {
		all = append(all, file{template: "kernel.go.tmpl", path: path.Join(c.Kernels, kernelfile.Name(name))})
	}
	var files []file // to write
	for i, f := range all {
		t, err := template.ParseFS(templates.FS, f.template)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, data); err != nil {
			return nil, err
		}
		f.text = b.Bytes()
		if path.Ext(f.path) == ".go" {
			if f.text, err = format.Source(f.text); err != nil {
				return nil, err
			}
		}
		full := filepath.Join(c.Root, filepath.FromSlash(f.path))
		old, err := input.Text(full)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !exists(full):
			files = append(files, f)
		case err == nil && i == 0 && len(all) > 1 && bytes.Equal(old, f.text): // the parts fit this spec
		case err == nil && i == 0 && len(all) > 1:
			return nil, fmt.Errorf("%s exists already, and the kernel to begin with does not fit it, since it is not as opgen new writes it", f.path)
		default:
			return nil, fmt.Errorf("%s exists already", f.path)
		}
	}
	var made []staging.File
	var written []string
	for _, f := range files {
		made = append(made, staging.File{Path: filepath.Join(c.Root, filepath.FromSlash(f.path)), New: f.text})
		written = append(written, f.path)
	}
	release, err := lock.Acquire(context.Background(), c.Root)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := staging.Write(made); err != nil {
		return nil, err
	}
	return written, nil
}

// kernelPackage returns the name of the package of kernels: that of the files that are there, or one that fits the folder.
func kernelPackage(c *config.Config) string {
	for _, f := range kernelfile.Open(filepath.Join(c.Root, filepath.FromSlash(c.Kernels))).Files {
		if f.Err == nil {
			return f.AST.Name.Name
		}
	}
	return kernelfile.Package(c.Kernels)
}

// exists reports whether there is something at a path, also a link that leads nowhere.
func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
