package formula

import (
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/dtype"
)

// TestNumbers computes the rows of the table in docs/numbers.md with the interpreter and with loops, in f32
// and f64.
func TestNumbers(t *testing.T) {
	page, err := os.ReadFile("../docs/numbers.md")
	if err != nil {
		t.Fatal(err)
	}
	rows := 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) != 9 || !strings.Contains(cells[2], "`") {
			continue
		}
		rows++
		text := strings.ReplaceAll(strings.ReplaceAll(strings.TrimSpace(cells[2]), "<br>", "\n"), "`", "")
		x, w, j := numbersOf(t, cells[3]), numbersOf(t, cells[4]), numbersOf(t, cells[5])
		result, gradient := strings.Split(cells[6], ","), strings.Split(cells[7], ",")
		given := map[string][]float64{"x": x, "w": w, "j": j}
		of := "y"
		if strings.Contains(text, "s[n] =") {
			of = "s"
		}
		for range result {
			given["grad."+of] = append(given["grad."+of], 1)
		}
		for _, typ := range []dtype.Type{dtype.F64, dtype.F32} {
			for way, got := range map[string]map[string][]float64{
				"element by element": interpreted(t, text, typ, 1, len(x), given),
				"loops":              computed(t, text, typ, 1, len(x), given),
			} {
				where := fmt.Sprintf("%s, %s, %s", text, typ, way)
				compareNumbers(t, where, got[of], result)
				if g := got["grad.x"]; g != nil && strings.TrimSpace(cells[7]) != "" {
					compareNumbers(t, where+", gradient", g, gradient)
				}
			}
		}
	}
	if rows < 20 {
		t.Errorf("got %d rows, want 20 and more", rows)
	}
}

// numbersOf parses the numbers in a cell of a table.
func numbersOf(t *testing.T, cell string) (out []float64) {
	t.Helper()
	for _, s := range strings.FieldsFunc(cell, func(r rune) bool { return r == ',' || r == ' ' }) {
		v, err := strconv.ParseFloat(s, 64)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// compareNumbers compares numbers with those in a cell of a table. A cell with two alternatives, nan or inf,
// permits both, since the result depends on the order of operations.
func compareNumbers(t *testing.T, where string, got []float64, want []string) {
	t.Helper()
	ok := len(got) == len(want)
	for i := 0; ok && i < len(got); i++ {
		ok = false
		for s := range strings.SplitSeq(want[i], " or ") {
			w := numbersOf(t, s)
			d := math.Abs(got[i] - w[0])
			ok = ok || got[i] == w[0] || math.IsNaN(got[i]) && math.IsNaN(w[0]) || d < 1e-6
		}
	}
	if !ok {
		t.Errorf("%s: got %v, want %v", where, got, want)
	}
}
