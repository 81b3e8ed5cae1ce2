package onnx

import "fmt"

// Refused is the error of a node that the catalogue does not compute.
type Refused struct {
	Domain, Op string
	Version    int    // of the operator set
	Node       string // its name, or that of its first output
	Missing    string // what is missing
	Err        error  // of what was tried; nil if there was nothing to try
}

// Error names the operator, the version, the node and what is missing.
func (r *Refused) Error() string {
	name := r.Op
	if r.Domain != "" {
		name = r.Domain + "." + r.Op
	}
	text := fmt.Sprintf("onnx: %s of version %d, node %q: %s", name, r.Version, r.Node, r.Missing)
	if r.Err != nil {
		text += ": " + r.Err.Error()
	}
	return text
}

// Unwrap returns the error of what was tried.
func (r *Refused) Unwrap() error { return r.Err }
