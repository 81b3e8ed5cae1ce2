// Package golden runs golden tests of compiler passes. A case is the text of a use of an operator, and the
// text that a pass must return for it.
//
// A file holds cases. Each begins with a line "# TITLE". The next line lists the slots of the use: inputs,
// "->" and outputs, such as
//
//	x[N, K] label[N] i64 -> y[N]
//
// An element type follows a slot unless it is T. A line "with" lists the values of dimensions and attributes.
// The lines of the formula follow. After a line "---" comes the expected text.
package golden

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/formula/term"
	"github.com/opgen/opgen/runtime/dtype"
)

var update = flag.Bool("update", false, "write what passes make into the files of golden tests")

// Test runs pass on the use of each case of a file, and compares the result with the expected text. An error
// counts as the text "error: ...". With -update, Test rewrites the file.
func Test(t *testing.T, file string, pass func(u *program.Use) (string, error)) {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	head, rest, _ := strings.Cut(string(data), "# ")
	out := head
	for _, text := range strings.Split(rest, "\n# ") {
		use, want, _ := strings.Cut(text, "\n---\n")
		title, use, _ := strings.Cut(use, "\n")
		got := ""
		u, err := read(use)
		if err == nil {
			got, err = pass(u)
		}
		if err != nil {
			got = "error: " + err.Error()
		}
		want, got = strings.TrimSpace(want), strings.TrimSpace(got)
		out += fmt.Sprintf("# %s\n%s\n---\n%s\n\n", title, strings.TrimSpace(use), got)
		if got != want && !*update {
			t.Errorf("%s: %s:\n%s\nwant\n%s", file, title, got, want)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(strings.TrimSpace(out)+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

var (
	tensor = regexp.MustCompile(`(\w+)(\[[^\]]*\])(?: (i64|i32|u8|i8|u64|bool|f16|bf16|f32|f64)\b)?`)
	values = regexp.MustCompile(`(\w+)=(\S+)`)
)

// read parses a use: a line of slots, a line of dimensions and attributes, and the formula.
func read(text string) (*program.Use, error) {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	if len(lines) < 3 || !strings.HasPrefix(lines[1], "with ") {
		return nil, fmt.Errorf("want slots, values behind with, and a formula, got %q", text)
	}
	u := &program.Use{Operator: "test", Formula: lines[2:], Types: map[string]string{"T": "f32"}, Dims: map[string]any{}, Attrs: map[string]any{}, Args: map[string]any{}}
	for _, v := range values.FindAllStringSubmatch(lines[1], -1) {
		name, text := v[1], v[2]
		n, err := strconv.Atoi(text)
		switch {
		case name == "T":
			u.Types[name] = text
		case name[0] >= 'A' && name[0] <= 'Z' && err != nil:
			return nil, fmt.Errorf("want an extent of %s, got %q", name, text)
		case name[0] >= 'A' && name[0] <= 'Z':
			u.Dims[name] = n
		case text == "true" || text == "false":
			u.Attrs[name] = text == "true"
		case text[0] == '\'':
			u.Attrs[name] = strings.Trim(text, "'")
		default:
			u.Attrs[name] = json.Number(text)
		}
	}
	inputs, outputs, _ := strings.Cut(lines[0], "->")
	for i, side := range []string{inputs, outputs} {
		for _, s := range tensor.FindAllStringSubmatch(side, -1) {
			typ := s[3]
			if typ == "" {
				typ = u.Types["T"]
			}
			of, err := dtype.Parse(typ)
			if err != nil {
				return nil, err
			}
			var shape []int
			for _, d := range strings.FieldsFunc(s[2], func(r rune) bool { return strings.ContainsRune("[], ", r) }) {
				n, err := strconv.Atoi(d)
				if v, ok := u.Dims[d].(int); ok {
					n, err = v, nil
				}
				if err != nil {
					return nil, fmt.Errorf("want the extent of %s, got none behind with", d)
				}
				shape = append(shape, n)
			}
			u.Slots = append(u.Slots, &program.Slot{Name: s[1], Shape: s[2], Trainable: i == 0 && of.IsFloat(), Output: i == 1,
				Tensors: []program.Operand{{Type: of, Shape: shape, Slot: len(u.Slots)}}})
		}
	}
	return u, nil
}

// Outputs returns the numbers of the tensors of a program that are outputs of real numbers.
func Outputs(p *program.Program) []int {
	var out []int
	for i, l := range p.Tensors {
		if l.Given && l.Slot >= 0 && l.Kind == term.Real {
			out = append(out, i)
		}
	}
	return out
}
