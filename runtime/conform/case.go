// Package conform runs conformance cases of operators through the generated API on an engine.
//
// A case is a safetensors file: inputs, weights and gradients of outputs go in; outputs and gradients
// of inputs and weights are compared with what the file holds, each within its tolerance.
package conform

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/opgen/opgen/runtime/safetensors"
)

// Case is a conformance case, as its file holds it.
type Case struct {
	Path    string // relative to the folder of cases, with slashes
	Op      string
	Sub     string
	Attrs   map[string]json.RawMessage
	Args    string // JSON: a list of values for each argument that the caller passes; "" if there are none
	Graph   []Node // of a case of several operators, whose Op is "graph"
	Tags    []string
	Tol     map[string]Tolerance
	Check   string // "tolerance" or "statistical"
	Stat    Statistics
	Source  string
	Tensors map[string]safetensors.Tensor
}

// Node is an operator in a case of several, applied to tensors by name. A tensor is one that the case gives,
// in.NAME, or the output of a node before. Slots hold one name or, if they are variadic, several.
type Node struct {
	Op    string                     `json:"op"`
	Attrs map[string]json.RawMessage `json:"attrs"`
	In    map[string][]string        `json:"in"`
	Out   map[string][]string        `json:"out"`
}

// Tolerance bounds the difference of a tensor's elements: |got - want| <= Abs + Rel*|want|. A tensor tol.NAME
// of the case holds a bound for each element of NAME, which is added to Abs; infinity allows any value.
type Tolerance struct {
	Rel float64 `json:"rtol"`
	Abs float64 `json:"atol"`
}

// Statistics bounds the properties of a random mask.
type Statistics struct {
	KeepLo      float64 `json:"keep_count_lo"`
	KeepHi      float64 `json:"keep_count_hi"`
	Scale       float64 `json:"scale"`
	Lag1Max     float64 `json:"lag1_corr_max"`
	AgreementLo float64 `json:"seed_agreement_lo"`
	AgreementHi float64 `json:"seed_agreement_hi"`
}

// Has reports whether a case has a tag.
func (c *Case) Has(tag string) bool { return slices.Contains(c.Tags, tag) }

// Name returns the case's name: its path without the suffix.
func (c *Case) Name() string { return strings.TrimSuffix(c.Path, ".safetensors") }

// load reads a case.
func load(files fs.FS, path string) (*Case, error) {
	data, err := readFile(files, path)
	if err != nil {
		return nil, err
	}
	f, err := safetensors.Decode(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	c := &Case{Path: path, Op: f.Metadata["op"], Sub: f.Metadata["sub"], Check: f.Metadata["check"], Source: f.Metadata["source"], Args: f.Metadata["args"], Tensors: f.Tensors}
	for _, m := range []struct {
		key  string
		into any
	}{{"attrs", &c.Attrs}, {"graph", &c.Graph}, {"tags", &c.Tags}, {"tol", &c.Tol}, {"stat", &c.Stat}} {
		if text := f.Metadata[m.key]; text != "" {
			if err := json.Unmarshal([]byte(text), m.into); err != nil {
				return nil, fmt.Errorf("%s: metadata %s: %w", path, m.key, err)
			}
		}
	}
	if c.Op == "" {
		return nil, fmt.Errorf("%s: metadata names no op", path)
	}
	return c, nil
}
