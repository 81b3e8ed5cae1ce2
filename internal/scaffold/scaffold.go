// Package scaffold writes the first two files of a new operator: a spec and a kernel that work and can then be changed.
package scaffold

import (
	"bytes"
	"errors"
	"fmt"
	"go/build"
	"go/format"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"text/template"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/goname"
	"github.com/opgen/opgen/templates"
)

var validName = regexp.MustCompile(`^[a-z][a-z0-9]*(_[a-z0-9]+)*$`)

// New writes the spec and the kernel of an operator and returns their paths relative to the module's
// root. It overwrites nothing: if one of them exists, neither is written.
func New(c *config.Config, name string) ([]string, error) {
	if !validName.MatchString(name) {
		return nil, fmt.Errorf("operator name %q: want lower-case letters, digits and single underscores, beginning with a letter", name)
	}
	data := map[string]string{
		"Name": name, "GoName": goname.Exported(name), "Package": goname.Package(name), "KernelPackage": path.Base(c.Kernels),
		"Generated": c.GeneratedImport, "Runtime": c.Runtime,
	}
	files := []struct{ template, path string }{
		{"spec.toml.tmpl", path.Join(c.Specs, name+".toml")},
		{"kernel.go.tmpl", path.Join(c.Kernels, kernelFile(name))},
	}
	texts := make([][]byte, len(files))
	for i, f := range files {
		if _, err := os.Stat(filepath.Join(c.Root, filepath.FromSlash(f.path))); !errors.Is(err, fs.ErrNotExist) {
			return nil, fmt.Errorf("%s exists already", f.path)
		}
		t, err := template.ParseFS(templates.FS, f.template)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		if err := t.Execute(&b, data); err != nil {
			return nil, err
		}
		texts[i] = b.Bytes()
		if path.Ext(f.path) == ".go" {
			if texts[i], err = format.Source(texts[i]); err != nil {
				return nil, err
			}
		}
	}
	var written []string
	for i, f := range files {
		p := filepath.Join(c.Root, filepath.FromSlash(f.path))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			return written, err
		}
		if err := os.WriteFile(p, texts[i], 0o666); err != nil {
			return written, err
		}
		written = append(written, f.path)
	}
	return written, nil
}

// kernelFile returns the name of an operator's kernel file: the operator's, without underscores if Go
// would treat it as a test, or as code of one system, such as open_windows.go.
func kernelFile(operator string) string {
	nowhere := build.Context{GOOS: "none", GOARCH: "none", Compiler: "gc", OpenFile: func(string) (io.ReadCloser, error) {
		return io.NopCloser(strings.NewReader("package kernels")), nil
	}}
	name := operator + ".go"
	if ok, err := nowhere.MatchFile("", name); err != nil || !ok || strings.HasSuffix(operator, "_test") {
		return strings.ReplaceAll(operator, "_", "") + ".go"
	}
	return name
}
