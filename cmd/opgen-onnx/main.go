// Opgen-onnx writes a network in a file of ONNX as a Go package on generated operators. The command opgen
// onnx runs it, with the same arguments: it is a program by itself since it takes the catalogue, which opgen
// generates.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/opgen/opgen/cmd/opgen-onnx/onnxgo"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/onnxtable"
	"github.com/opgen/opgen/internal/base/regular"
	"github.com/opgen/opgen/internal/staging"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/safetensors"
)

// Exit statuses, as those of opgen.
const (
	clean   = 0
	refused = 1
	trouble = 2
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, stdout, stderr io.Writer) int {
	fs := flag.NewFlagSet("opgen-onnx", flag.ContinueOnError)
	fs.SetOutput(stderr)
	out := fs.String("o", "", "")
	inputs := fs.String("input", "", "")
	known := fs.String("known", "", "")
	fixed := fs.Bool("fixed", false, "")
	reference := fs.String("reference", "", "")
	force := fs.Bool("force", false, "")
	if err := fs.Parse(args); err != nil {
		return trouble
	}
	if fs.NArg() != 1 || *out == "" {
		fmt.Fprintln(stderr, "usage: opgen-onnx -o FOLDER [flags] FILE")
		return trouble
	}
	files, err := write(fs.Arg(0), *out, *inputs, *known, *reference, *fixed)
	if err == nil {
		err = save(*out, files, *force)
	}
	if err != nil {
		fmt.Fprintln(stderr, "opgen:", err)
		if r := (*onnx.Refused)(nil); errors.As(err, &r) {
			return refused
		}
		return trouble
	}
	for _, f := range files {
		fmt.Fprintln(stdout, "wrote", filepath.ToSlash(filepath.Join(*out, filepath.FromSlash(f.Path))))
	}
	return clean
}

// write returns the files of the package.
func write(file, out, inputs, known, reference string, fixed bool) ([]onnxgo.File, error) {
	c := &onnx.Catalogue{Operators: catalogue.Operators(), Register: catalogue.Register, Entries: onnxtable.Entries}
	m, err := onnx.Load(file, c)
	if err != nil {
		return nil, err
	}
	full, err := filepath.Abs(out)
	if err != nil {
		return nil, err
	}
	o := onnxgo.Options{Package: strings.ToLower(filepath.Base(full)), Source: file, Fixed: fixed, Extents: map[string][]int{}, Lists: map[string][][]int{}, Absent: map[string]bool{}, Known: map[string]safetensors.Tensor{}}
	if reference != "" {
		if o.References, err = references(m, reference); err != nil {
			return nil, err
		}
		for _, p := range m.Inputs() {
			if t, ok := o.References[p.Name]; ok {
				o.Extents[p.Name] = t.Shape
			}
		}
	}
	if err := assignments(inputs, "-input", func(name, value string) error {
		p, err := portOf(m, name)
		if err != nil {
			return err
		}
		if value == "absent" {
			o.Absent[name] = true
			return nil
		}
		if !p.Sequence {
			o.Extents[name], err = integers(value)
			return err
		}
		o.Lists[name] = [][]int{}
		if value == "empty" {
			return nil
		}
		for _, part := range strings.Split(value, ";") {
			list, err := integers(part)
			if err != nil {
				return err
			}
			o.Lists[name] = append(o.Lists[name], list)
		}
		return nil
	}); err != nil {
		return nil, err
	}
	if err := assignments(known, "-known", func(name, value string) error {
		p, err := portOf(m, name)
		if err != nil {
			return err
		}
		o.Known[name], err = constant(p, value)
		return err
	}); err != nil {
		return nil, err
	}
	files, err := onnxgo.Write(m, c, o)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return files, nil
}

func portOf(m *onnx.Model, name string) (onnx.Port, error) {
	var names []string
	for _, p := range m.Inputs() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return onnx.Port{}, fmt.Errorf("want an input of the network, one of %q, got %q", names, name)
}

// assignments calls a function for each NAME=VALUE in a text, which spaces separate.
func assignments(text, flag string, do func(name, value string) error) error {
	for _, part := range strings.Fields(text) {
		at := strings.LastIndex(part, "=")
		if at < 1 {
			return fmt.Errorf("%s: want NAME=NUMBER,..., got %q", flag, part)
		}
		if err := do(part[:at], part[at+1:]); err != nil {
			return fmt.Errorf("%s %s: %w", flag, part, err)
		}
	}
	return nil
}

func integers(text string) ([]int, error) {
	list := []int{}
	if text == "" {
		return list, nil
	}
	for _, s := range strings.Split(text, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 0 {
			return nil, fmt.Errorf("want extents of 0 or more, got %q", s)
		}
		list = append(list, n)
	}
	return list, nil
}

// constant returns the value of an input.
func constant(p onnx.Port, text string) (safetensors.Tensor, error) {
	var values []float64
	for _, s := range strings.Split(text, ",") {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			return safetensors.Tensor{}, fmt.Errorf("want numbers, got %q", s)
		}
		values = append(values, v)
	}
	shape := []int{len(values)}
	if p.Extents != nil {
		n := 1
		shape = []int{}
		for _, e := range p.Extents {
			if e < 0 {
				e = len(values)
			}
			shape, n = append(shape, e), n*e
		}
		if n != len(values) {
			return safetensors.Tensor{}, fmt.Errorf("want numbers for extents %v, got %d", p.Extents, len(values))
		}
	}
	switch p.Type {
	case dtype.F32:
		return safetensors.Of(shape, convert[float32](values))
	case dtype.F64:
		return safetensors.Of(shape, values)
	case dtype.I64:
		return safetensors.Of(shape, convert[int64](values))
	case dtype.I32:
		return safetensors.Of(shape, convert[int32](values))
	case dtype.Bool:
		list := make([]bool, len(values))
		for i, v := range values {
			list[i] = v != 0
		}
		return safetensors.Of(shape, list)
	}
	return safetensors.Tensor{}, fmt.Errorf("want an input of f32, f64, i32, i64 or bool, got one of %v", p.Type)
}

func convert[T float32 | int64 | int32](values []float64) []T {
	list := make([]T, len(values))
	for i, v := range values {
		list[i] = T(v)
	}
	return list
}

// maxReference bounds the bytes of a file with a reference.
const maxReference = 1 << 30

// references reads the inputs and the expected outputs of a folder: input_0.pb, output_0.pb and so on, as in
// the tests of ONNX.
func references(m *onnx.Model, folder string) (map[string]safetensors.Tensor, error) {
	out := map[string]safetensors.Tensor{}
	for _, side := range []struct {
		kind  string
		ports []onnx.Port
	}{{"input", m.Inputs()}, {"output", m.Outputs()}} {
		for i, p := range side.ports {
			file := filepath.Join(folder, fmt.Sprintf("%s_%d.pb", side.kind, i))
			data, err := regular.Read(file, maxReference)
			if err != nil {
				return nil, err
			}
			if _, out[p.Name], err = onnx.ReadTensor(data); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
		}
	}
	return out, nil
}

// save writes files of a folder, all or none. Files with other content stay, unless forced.
func save(folder string, files []onnxgo.File, force bool) error {
	full, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	var list []staging.File
	for _, f := range files {
		name := filepath.Join(full, filepath.FromSlash(f.Path))
		old, err := os.ReadFile(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			old = nil
		case err != nil:
			return err
		case string(old) != string(f.Data) && !force:
			return fmt.Errorf("%s exists already with other content; -force writes over it", path.Join(filepath.ToSlash(folder), f.Path))
		}
		list = append(list, staging.File{Path: name, Old: old, New: f.Data})
	}
	return staging.Write(list)
}
