package onnx

import "fmt"

// Refused is the error of a node that the catalogue does not compute.
type Refused struct {
	Domain, Op string
	Version    int    // of the operator set
	Node       string // name of the node, or of its first output
	Missing    string // the operator, attribute, type or shape that the catalogue lacks
	Err        error  // error of the attempt; nil if nothing was tried
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

// Unwrap returns the error of the attempt.
func (r *Refused) Unwrap() error { return r.Err }
