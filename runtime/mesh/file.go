package mesh

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/BurntSushi/toml"
)

// Parse reads a strategy from TOML; name is that of the file, for messages:
//
//	[mesh]
//	data  = 2
//	model = 2
//
//	[divide]
//	x               = { 0 = "data" }
//	"hidden.weight" = { 0 = "model" }
//
//	[read]
//	"norm.output" = { 1 = "" }
//
//	[pipeline]
//	stages        = ["second", "third"]
//	micro_batches = 8
//	cut           = { x = 0 }
//
// Table mesh has the sizes of axes, in alphabetical order, and table divide, by tensor and dimension, the
// axis over which the dimension is divided. Table read says the same of tensors as nodes read them, where
// that differs from what is written: they are moved in between. There, "" stands for no axis.
//
// Table pipeline has the nodes with which stages but the first begin, the number of micro-batches, and by
// tensor the dimension that is cut into micro-batches.
func Parse(name string, text []byte) (*Strategy, error) {
	var file struct {
		Mesh   map[string]toml.Primitive
		Divide map[string]map[string]toml.Primitive
		Read   map[string]map[string]toml.Primitive

		Pipeline *struct {
			Stages  []toml.Primitive
			Batches toml.Primitive `toml:"micro_batches"`
			Cut     map[string]toml.Primitive
		}
	}
	meta, err := toml.Decode(string(text), &file)
	if err != nil {
		return nil, located(name, err)
	}
	s := &Strategy{}
	for _, axis := range slices.Sorted(maps.Keys(file.Mesh)) {
		a := Axis{Name: axis}
		at := place(name, &meta, file.Mesh[axis])
		if err := meta.PrimitiveDecode(file.Mesh[axis], &a.Size); err != nil || a.Size < 1 {
			return nil, fmt.Errorf("%s: axis %s: want a size of 1 or more", at, axis)
		}
		s.Mesh = append(s.Mesh, a)
	}
	for number, table := range []map[string]map[string]toml.Primitive{file.Divide, file.Read} {
		for _, tensor := range slices.Sorted(maps.Keys(table)) {
			for _, key := range slices.Sorted(maps.Keys(table[tensor])) {
				value := table[tensor][key]
				r := Rule{Tensor: tensor, Read: number == 1, At: place(name, &meta, value)}
				if r.Dim, err = strconv.Atoi(key); err != nil {
					return nil, r.errorf("want the number of a dimension, got %q", key)
				}
				if err := meta.PrimitiveDecode(value, &r.Axis); err != nil {
					return nil, r.errorf("dimension %d: want the name of an axis", r.Dim)
				}
				s.Rules = append(s.Rules, r)
			}
		}
	}
	if p := file.Pipeline; p != nil {
		s.Pipeline = &Pipeline{}
		for _, value := range p.Stages {
			stage := Stage{At: place(name, &meta, value)}
			if err := meta.PrimitiveDecode(value, &stage.Node); err != nil {
				return nil, stage.errorf("want the name of a node")
			}
			s.Pipeline.Stages = append(s.Pipeline.Stages, stage)
		}
		if err := meta.PrimitiveDecode(p.Batches, &s.Pipeline.Batches); err != nil || s.Pipeline.Batches < 1 {
			return nil, fmt.Errorf("%s: micro_batches: want 1 or more", place(name, &meta, p.Batches))
		}
		for _, tensor := range slices.Sorted(maps.Keys(p.Cut)) {
			r := Rule{Tensor: tensor, At: place(name, &meta, p.Cut[tensor])}
			if err := meta.PrimitiveDecode(p.Cut[tensor], &r.Dim); err != nil {
				return nil, r.errorf("want the number of a dimension")
			}
			s.Pipeline.Cut = append(s.Pipeline.Cut, r)
		}
	}
	if unknown := meta.Undecoded(); len(unknown) > 0 {
		return nil, fmt.Errorf("%s: want the tables mesh, divide, read and pipeline, got %s", name, unknown[0])
	}
	return s, s.check()
}

// Encode returns the strategy as a file that Parse reads.
func (s *Strategy) Encode() ([]byte, error) {
	type dimensions = map[string]map[string]string // axes, by tensor and dimension
	type pipeline struct {
		Stages  []string       `toml:"stages"`
		Batches int            `toml:"micro_batches"`
		Cut     map[string]int `toml:"cut"`
	}
	file := struct {
		Mesh     map[string]int `toml:"mesh"`
		Divide   dimensions     `toml:"divide,omitempty"`
		Read     dimensions     `toml:"read,omitempty"`
		Pipeline *pipeline      `toml:"pipeline,omitempty"`
	}{Mesh: map[string]int{}, Divide: dimensions{}, Read: dimensions{}}
	for _, a := range s.Mesh {
		file.Mesh[a.Name] = a.Size
	}
	for _, r := range s.Rules {
		to := file.Divide
		if r.Read {
			to = file.Read
		}
		if to[r.Tensor] == nil {
			to[r.Tensor] = map[string]string{}
		}
		to[r.Tensor][strconv.Itoa(r.Dim)] = r.Axis
	}
	if p := s.Pipeline; p != nil {
		file.Pipeline = &pipeline{Stages: []string{}, Batches: p.Batches, Cut: map[string]int{}}
		for _, stage := range p.Stages {
			file.Pipeline.Stages = append(file.Pipeline.Stages, stage.Node)
		}
		for _, r := range p.Cut {
			file.Pipeline.Cut[r.Tensor] = r.Dim
		}
	}
	var out bytes.Buffer
	e := toml.NewEncoder(&out)
	e.Indent = ""
	err := e.Encode(file)
	return out.Bytes(), err
}

// located returns an error of the decoder with the place in the file.
func located(name string, err error) error {
	if e := (toml.ParseError{}); errors.As(err, &e) {
		return fmt.Errorf("%s:%d:%d: %s", name, e.Position.Line, e.Position.Col, e.Message)
	}
	return fmt.Errorf("%s: %w", name, err)
}

// place returns where a value is. The decoder says so only of values that it refuses, so it is asked to
// decode the value as one that refuses all texts.
func place(name string, meta *toml.MetaData, value toml.Primitive) string {
	if e := (toml.ParseError{}); errors.As(meta.PrimitiveDecode(value, &refusal{}), &e) {
		return fmt.Sprintf("%s:%d:%d", name, e.Position.Line, e.Position.Col)
	}
	return name
}

// refusal is a value that no text is.
type refusal struct{}

func (*refusal) UnmarshalText([]byte) error { return errors.New("refused") }
