package onnx

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/generated/onnxtable"
	"github.com/opgen/opgen/internal/base/onnxpb"
	"github.com/opgen/opgen/runtime/onnx"
	"github.com/opgen/opgen/runtime/onnx/mapping"
)

// counts are the node tests of an operator, by how they went.
type counts struct{ passed, refused, failed int }

// coverage counts node tests.
type coverage struct {
	all       counts
	known     int // passed with inputs that are given as constants
	mapped    counts
	stored    counts // of mapped ones, of element types that engines store
	operators map[string]*counts
	reasons   map[string]int // of refusals of tests whose operator is mapped
}

// operatorOf returns the operator that a test is about: that of its last node which is no constant. The tests
// of expanded functions have several, and count as such.
func operatorOf(name string, model []byte) string {
	op := "(functions, expanded)"
	if m, err := onnxpb.Model(model); err == nil && !strings.Contains(name, "_expanded") {
		n := m.GetGraph().GetNode()[0]
		for _, x := range m.GetGraph().GetNode() {
			if x.GetOpType() != "Constant" {
				n = x
			}
		}
		op = n.GetOpType()
		if d := n.GetDomain(); d != "" {
			op = d + "." + op
		}
	}
	return op
}

// add adds how a test went.
func (c *coverage) add(name string, model []byte, r result) {
	op := operatorOf(name, model)
	if c.operators[op] == nil {
		c.operators[op] = &counts{}
	}
	lists := []*counts{&c.all, c.operators[op]}
	if slices.ContainsFunc(onnxtable.Entries, func(e mapping.Entry) bool { return e.Op == op && e.Domain == "" }) || knownByName[op] || slices.Contains(onnx.Functions(), op) {
		lists = append(lists, &c.mapped)
	}
	known := len(lists) == 3
	if known && (r.refused == nil || !strings.Contains(r.refused.Error(), "that engines store")) {
		lists = append(lists, &c.stored)
	}
	for _, k := range lists {
		switch {
		case r.failed != "":
			k.failed++
		case r.refused != nil:
			k.refused++
		default:
			k.passed++
		}
	}
	if r.known != nil && r.refused == nil && r.failed == "" {
		c.known++
	}
	if known && r.refused != nil {
		if c.reasons == nil {
			c.reasons = map[string]int{}
		}
		c.reasons[op+": "+reason(r.refused)]++
	}
}

// contributed lists the operators of ONNX Runtime's own domain that others compute.
func contributed() (names []string) {
	for _, op := range onnx.Functions() {
		if name, ok := strings.CutPrefix(op, "com.microsoft."); ok {
			names = append(names, name)
		}
	}
	return names
}

// knownByName lists the operators that package onnx knows.
var knownByName = map[string]bool{"Shape": true, "Size": true, "If": true, "Loop": true, "Scan": true, "NonZero": true,
	"SequenceEmpty": true, "SequenceConstruct": true, "SequenceAt": true, "SequenceErase": true, "SequenceInsert": true, "SequenceLength": true, "SequenceMap": true, "SplitToSequence": true, "ConcatFromSequence": true,
	"Optional": true, "OptionalGetElement": true, "OptionalHasElement": true}

// reason returns in short why a test was refused.
func reason(err error) string {
	var r *onnx.Refused
	switch {
	case strings.Contains(err.Error(), "that engines store"), strings.Contains(err.Error(), " of elements of "), strings.Contains(err.Error(), "want element type"), strings.Contains(err.Error(), "want T to be"):
		return "element types"
	case !errors.As(err, &r):
		return "inputs that are no tensors"
	case strings.Contains(err.Error(), "want a constant"):
		return "an input that must be a constant"
	case r.Err == nil && strings.HasPrefix(r.Missing, "the catalogue has "):
		return "a variant"
	}
	return "attributes or shapes"
}

// compare compares docs/onnx.md with the counts.
func (c *coverage) compare(t *testing.T) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Coverage of [ONNX](https://onnx.ai)

Package [runtime/onnx](../runtime/onnx/load.go) runs networks in files of ONNX with the operators of the catalogue, as sections [\[onnx\]](spec.md#onnx) of specs say:
[decision 150](adr/0150-onnx.md). The %d node tests of ONNX 1.22.0 (opsets 13 to 27) say what it computes and what it refuses, with operator, version, node
and what is missing. Outputs are compared as ONNX's own runner does: within 1e-3 of the expected value and 1e-7 more, integers exactly. For dft_inverse and dft_inverse_opset19, 2e-7 more: they expect a rounded 0.
Elements of 8 bits or less are [held in wider ones](adr/0224-narrow-elements.md), and compared so.
A Dropout in training mode drops elements in programs of training, and none in those of graph.Inference; its node tests (training_dropout) compare the elements that are kept.

The function onnx.Save writes such files: [what is saved](#what-is-saved).

Beside ONNX Runtime: [time](performance.md#networks-beside-onnx-runtime) and [memory](performance.md#memory-of-networks-beside-onnx-runtime).

This page is written by a test: go test ./test/onnx -update.

| | passed | refused | failed |
|---|---:|---:|---:|
| all | %d | %d | %d |
| of mapped operators | %d | %d | %d |
| of these, with tensors of types that engines store | %d | %d | %d |

Of the passed ones, %d have inputs, such as a shape, that are given when the graph is built, since other extents follow from them.

## Operators

| operator | computed by | passed | refused |
|---|---|---:|---:|
`, c.all.passed+c.all.refused+c.all.failed, c.all.passed, c.all.refused, c.all.failed, c.mapped.passed, c.mapped.refused, c.mapped.failed, c.stored.passed, c.stored.refused, c.stored.failed, c.known)
	for _, op := range slices.Sorted(maps.Keys(c.operators)) {
		n := c.operators[op]
		if n.passed > 0 {
			fmt.Fprintf(&b, "| %s | %s | %d | %d |\n", op, computedBy(op), n.passed, n.refused)
		}
	}
	fmt.Fprintf(&b, "\nMapped, and not in the tests: %s.\n", strings.Join(c.untested(), ", "))
	fmt.Fprintf(&b, "\nOf the domain com.microsoft, as the quantizer and the optimizers of ONNX Runtime write them ([nodes of others](../runtime/onnx/functions.txt)); ONNX Runtime judges them: %s.\n", strings.Join(contributed(), ", "))
	fmt.Fprintf(&b, "\n## Refused variants of mapped operators\n\n| operator | what | tests |\n|---|---|---:|\n")
	for _, r := range slices.Sorted(maps.Keys(c.reasons)) {
		op, what, _ := strings.Cut(r, ": ")
		fmt.Fprintf(&b, "| %s | %s | %d |\n", op, what, c.reasons[r])
	}
	fmt.Fprintf(&b, "\n## Operators that are refused\n\n")
	var refused []string
	for _, op := range slices.Sorted(maps.Keys(c.operators)) {
		if n := c.operators[op]; n.passed == 0 {
			refused = append(refused, fmt.Sprintf("%s (%d)", op, n.refused))
		}
	}
	fmt.Fprintf(&b, "With the number of tests: %s.\n", strings.Join(refused, ", "))
	writeSaved(&b)
	name := filepath.Join("..", "..", "docs", "onnx.md")
	if *update {
		if err := os.WriteFile(name, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if old, err := os.ReadFile(name); err != nil || !bytes.Equal(old, b.Bytes()) {
		t.Errorf("docs/onnx.md is not up to date (%v): go test ./test/onnx -update", err)
	}
}

// computedBy links the operators of the catalogue that compute an operator of ONNX.
func computedBy(op string) string {
	var links []string
	for _, e := range onnxtable.Entries {
		link := fmt.Sprintf("[%s](operators/%s.md)", e.Operator, e.Operator)
		if e.Op == op && e.Domain == "" && !slices.Contains(links, link) {
			links = append(links, link)
		}
	}
	if slices.Contains(onnx.Functions(), op) {
		links = append(links, "[nodes of others](../runtime/onnx/functions.txt)")
	}
	return strings.Join(links, ", ")
}

// untested lists the mapped operators that no node test has.
func (c *coverage) untested() []string {
	var out []string
	for _, e := range onnxtable.Entries {
		name := e.Op
		if name == "" || e.Domain == "opgen" {
			continue // nodes that are saved only, and what definitions share
		}
		if e.Domain != "" {
			name = e.Domain + "." + e.Op
		}
		if c.operators[name] == nil && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}
