// Package scaffold writes the first files of a module, and of a new operator: a spec and, if asked to, a
// kernel, which work and can then be changed.
package scaffold

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	goformat "go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"text/template"

	"github.com/opgen/opgen/internal/base/cname"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/format"
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

// file is a file to be written.
type file struct {
	path string // relative to the module's root, with slashes
	text []byte
}

// CheckName returns an error for a name that no operator can have.
func CheckName(name string) error {
	if !validName.MatchString(name) {
		return fmt.Errorf("operator name %q: want lower-case letters, digits and single underscores, beginning with a letter", name)
	}
	if pkg := goname.Package(name); goname.Reserved(pkg) {
		return fmt.Errorf("operator name %q: generated code, Go or Windows uses the name %s for something else", name, pkg)
	}
	if len(name) > source.MaxKey {
		return fmt.Errorf("operator name: want at most %d letters, got %d", source.MaxKey, len(name))
	}
	return nil
}

// New writes the spec of an operator, whose formula is its kernel, and parts that take the place of the
// formula. With a part, the spec may be there already, as New writes it with these parts. New returns the
// paths of the files that it wrote, relative to the module's root. It overwrites nothing: if a file exists,
// or cannot be written, none is.
func New(c *config.Config, name string, parts Parts) ([]string, error) {
	files, err := plan(c, name, parts)
	if err != nil {
		return nil, err
	}
	return write(c.Root, files)
}

// plan returns the files of an operator that are to be written.
func plan(c *config.Config, name string, parts Parts) ([]file, error) {
	if err := CheckName(name); err != nil {
		return nil, err
	}
	pkg := goname.Package(name)
	alias := pkg
	if slices.Contains([]string{"dtype", "op", "error", "nil"}, pkg) { // the kernel uses these names
		alias += "op"
	}
	data := map[string]any{
		"Name": name, "GoName": goname.Exported(name), "Package": pkg, "Alias": alias, "KernelPackage": kernelPackage(c),
		"Generated": c.GeneratedImport, "Runtime": c.Runtime,
		"CUDA": parts.CUDA, "Namespace": cname.Of(name),
	}
	all := []struct{ template, path string }{{"spec.toml.tmpl", path.Join(c.Specs, name+".toml")}}
	add := func(template, path string) { all = append(all, struct{ template, path string }{template, path}) }
	if parts.CUDA {
		add("kernel.cu.tmpl", path.Join(c.Kernels, name+".cu"))
	}
	if parts.Kernel {
		add("kernel.go.tmpl", path.Join(c.Kernels, kernelfile.Name(name)))
	}
	var files []file
	for i, f := range all {
		text, err := execute(f.template, f.path, data)
		if err != nil {
			return nil, err
		}
		full := filepath.Join(c.Root, filepath.FromSlash(f.path))
		old, err := input.Text(full)
		switch {
		case errors.Is(err, fs.ErrNotExist) && !exists(full):
			files = append(files, file{f.path, text})
		case err == nil && i == 0 && len(all) > 1 && bytes.Equal(old, text): // the parts fit this spec
		case err == nil && i == 0 && len(all) > 1:
			return nil, fmt.Errorf("%s exists already, and the kernel to begin with does not fit it, since it is not as opgen new writes it", f.path)
		default:
			return nil, fmt.Errorf("%s exists already", f.path)
		}
	}
	return files, nil
}

// execute returns the text of a file that is made from a template.
func execute(name, path string, data map[string]any) ([]byte, error) {
	t, err := template.ParseFS(templates.FS, name)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := t.Execute(&b, data); err != nil {
		return nil, err
	}
	switch filepath.Ext(path) {
	case ".go":
		return goformat.Source(b.Bytes())
	case ".toml":
		text, err := format.File(path, b.String())
		return []byte(text), err
	}
	return b.Bytes(), nil
}

// write writes files below a module's root that do not exist, all or none, and returns their paths.
func write(root string, files []file) ([]string, error) {
	var made []staging.File
	var written []string
	for _, f := range files {
		made = append(made, staging.File{Path: filepath.Join(root, filepath.FromSlash(f.path)), New: f.text})
		written = append(written, f.path)
	}
	release, err := lock.Acquire(context.Background(), root)
	if err != nil {
		return nil, err
	}
	defer release()
	if err := staging.Write(made); err != nil {
		return nil, err
	}
	return written, nil
}

// kernelPackage returns the name of the package of kernels: that of the files that are there, or one that
// fits the folder.
func kernelPackage(c *config.Config) string {
	for _, f := range kernelfile.Open(filepath.Join(c.Root, filepath.FromSlash(c.Kernels)), nil).Files {
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
