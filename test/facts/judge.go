package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/opgen/opgen/internal/check"
	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/emit"
	"github.com/opgen/opgen/internal/example"
	"github.com/opgen/opgen/internal/kernelfile"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/internal/spec"
)

// judge finds out what notices a change.
type judge struct {
	config  *config.Config
	inputs  []driver.Input
	kernels *kernelfile.Folder
	specs   []*spec.Spec      // with all facts, stated or not
	files   map[string]string // generated files as they are, by path
	dir     string            // for files that take the place of generated ones, in a folder for each change

	base func() (string, error) // builds the tests of kernels with the generated files as they are
	mu   sync.Mutex
	wide map[string]string // by operator, a pattern of tests that fail without a change if no other operator is tested
}

// verdict says what finds a change, with details.
type verdict struct {
	by, detail string
	err        error
}

func newJudge(root string) (*judge, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	var list diag.List
	j := &judge{}
	if j.config, err = config.Load(root, &list); err != nil {
		return nil, err
	}
	if j.inputs, err = driver.ReadSpecs(j.config); err != nil {
		return nil, err
	}
	j.kernels = kernelfile.Open(filepath.Join(root, j.config.Kernels), nil)
	j.specs = j.read()
	m := j.resolve(j.specs, &list)
	if m == nil {
		return nil, fmt.Errorf("want specs without findings, got %v", list.Sorted()[0])
	}
	j.files = map[string]string{}
	for _, o := range m.Operators {
		if err := j.emit(o, j.files); err != nil {
			return nil, err
		}
	}
	j.wide = map[string]string{}
	j.base = sync.OnceValues(func() (string, error) {
		program := filepath.Join(j.dir, "base.test")
		out, err := j.command("go", "test", "-c", "-trimpath", "-vet=off", "-o", program, "./kernels")
		if err != nil {
			err = fmt.Errorf("%w\n%s", err, out)
		}
		return program, err
	})
	j.dir, err = os.MkdirTemp("", "facts")
	return j, err
}

// read reads the specs.
func (j *judge) read() []*spec.Spec {
	var specs []*spec.Spec
	for _, in := range j.inputs {
		specs = append(specs, spec.Read(in.Path, in.Text, &diag.List{}))
	}
	return specs
}

// resolve returns the model of specs, which it completes; nil if there are findings.
func (j *judge) resolve(specs []*spec.Spec, list *diag.List) *model.Module {
	resolve := func() *model.Module {
		checked := check.Check(specs, nil, list)
		if !list.Empty() {
			return nil
		}
		m := model.Resolve(checked)
		for _, o := range m.Operators {
			o.Derived = o.CanDerive() && !j.kernels.Has(o.Name, o.GoName)
		}
		return m
	}
	m := resolve()
	if m == nil {
		return nil
	}
	if example.Keep(m, specs) {
		if m = resolve(); m == nil {
			return nil
		}
	}
	known, added := example.Follow(m, specs)
	if added {
		if m = resolve(); m == nil {
			return nil
		}
	}
	if example.Check(m, specs, known, list); !list.Empty() {
		return nil
	}
	return m
}

// emit adds the generated files of an operator to files.
func (j *judge) emit(o *model.Operator, files map[string]string) error {
	p := emit.Paths{Runtime: j.config.Runtime, Generated: j.config.GeneratedImport, Kernels: j.config.KernelsImport}
	out, err := emit.Operator(p, o)
	for _, a := range out {
		if filepath.Ext(a.Path) == ".go" {
			files[filepath.Join(j.config.Root, j.config.Output, a.Path)] = string(a.Sign().Data)
		}
	}
	return err
}

// changed returns the operator of a spec that was changed, or what opgen check says of it.
func (j *judge) changed(c change) (*model.Operator, *diag.Diagnostic) {
	specs := j.read()
	i := slices.IndexFunc(specs, func(s *spec.Spec) bool { return s.Name.V == c.operator })
	c.apply(specs[i])
	var list diag.List
	m := j.resolve(specs, &list)
	if m == nil {
		return nil, list.Sorted()[0]
	}
	return m.Operators[slices.IndexFunc(m.Operators, func(o *model.Operator) bool { return o.Name == c.operator })], nil
}

// judge returns what finds a change, which has a number of its own. Several changes may be judged at a time.
func (j *judge) judge(number int, c change) (v verdict) {
	o, d := j.changed(c)
	if d != nil {
		return verdict{by: byCheck, detail: fmt.Sprintf("%s: %s", d.Code, d.Message)}
	}
	files := map[string]string{}
	if err := j.emit(o, files); err != nil {
		return verdict{err: err}
	}
	dir := filepath.Join(j.dir, fmt.Sprint(number))
	if err := os.Mkdir(dir, 0o777); err != nil {
		return verdict{err: err}
	}
	defer func() { v.err = errors.Join(v.err, os.RemoveAll(dir)) }()
	overlay := map[string]string{}
	for path, text := range files {
		if text == j.files[path] {
			continue
		}
		to := filepath.Join(dir, fmt.Sprint(len(overlay), filepath.Base(path)))
		if err := os.WriteFile(to, []byte(text), 0o666); err != nil {
			return verdict{err: err}
		}
		overlay[path] = to
	}
	if len(overlay) == 0 {
		return verdict{by: nothing, detail: "the generated code is the same"}
	}
	return j.test(dir, c.operator, overlay)
}

// failed matches a test that fails.
var failed = regexp.MustCompile(`(?m)^--- FAIL: (\w+)`)

// test runs the tests of kernels with files in the place of generated ones. It writes to a folder.
func (j *judge) test(dir, operator string, overlay map[string]string) verdict {
	data, err := json.Marshal(map[string]any{"Replace": overlay})
	if err != nil {
		return verdict{err: err}
	}
	file, program := filepath.Join(dir, "overlay.json"), filepath.Join(dir, "kernels.test")
	if err := os.WriteFile(file, data, 0o666); err != nil {
		return verdict{err: err}
	}
	if out, err := j.command("go", "test", "-c", "-trimpath", "-vet=off", "-overlay", file, "-o", program, "./kernels"); err != nil {
		line, _, _ := strings.Cut(out[strings.Index(out, "\n")+1:], "\n")
		return verdict{by: byCompiler, detail: line}
	}
	wide, err := j.wideTests(operator)
	if err != nil {
		return verdict{err: err}
	}
	out, err := j.tests(program, operator, "-test.failfast", "-test.skip", "^("+strings.TrimPrefix(wide, "|")+")$")
	var exit *exec.ExitError
	switch {
	case err == nil:
		return verdict{by: nothing}
	case !errors.As(err, &exit):
		return verdict{err: err}
	}
	if name := failed.FindStringSubmatch(out); name != nil {
		return verdict{by: byTests, detail: name[1]}
	}
	if strings.Contains(out, "panic:") {
		return verdict{by: byTests, detail: "a panic"}
	}
	return verdict{err: fmt.Errorf("tests end with %w and say\n%s", err, out)}
}

// tests runs a program of tests of kernels for one operator.
func (j *judge) tests(program, operator string, args ...string) (string, error) {
	c := exec.Command(program, append(args, "-test.run", "^Test/^"+operator+"$")...)
	c.Dir = filepath.Join(j.config.Root, "kernels")
	out, err := c.CombinedOutput()
	return string(out), err
}

// wideTests returns the tests that need other operators, as a part of a pattern.
func (j *judge) wideTests(operator string) (string, error) {
	program, err := j.base()
	if err != nil {
		return "", err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if known, ok := j.wide[operator]; ok {
		return known, nil
	}
	out, err := j.tests(program, operator)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", err
	}
	for _, m := range failed.FindAllStringSubmatch(out, -1) {
		j.wide[operator] += "|" + m[1]
	}
	return j.wide[operator], nil
}

// command runs a command in the module's root.
func (j *judge) command(name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = j.config.Root
	out, err := c.CombinedOutput()
	return string(out), err
}
