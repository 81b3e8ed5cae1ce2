package formula

import (
	"fmt"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/program"
)

// TestNestedLogSumExp checks gradients of nested logsumexps, as in a chain of states. Each of them is stored
// in a tensor, so that the program grows linearly with the depth, and not exponentially.
func TestNestedLogSumExp(t *testing.T) {
	for _, form := range []struct {
		name, first, step, last, functions string
		most                               int // as deep as expressions are
	}{
		{"chain", "logsumexp(~)", "w[%[1]s, %[2]s] + logsumexp(~)", "x[%[1]s, %[2]s]", "", 45},
		{"difference", "x[n, k] - logsumexp(~)", "x[%[1]s, %[2]s] - logsumexp(~) / 2", "x[%[1]s, %[2]s]", "", 45},
		{"function", "f(logsumexp(~))", "w[%[1]s, %[2]s] * f(logsumexp(~))", "x[%[1]s, %[2]s]", "\nf(a) = tanh(a) + 0.1 * a", 30},
		{"sum", "logsumexp(~)", "w[%[1]s, %[2]s] + 0.1 * sum(s%[2]s < 2: x[0, s%[2]s] * logsumexp(~))", "x[%[1]s, %[2]s]", "", 24},
	} {
		for _, levels := range []int{1, 3, 9, 20, form.most} {
			t.Run(fmt.Sprintf("%s/%d", form.name, levels), func(t *testing.T) {
				text, before := form.first, "n"
				for i := range levels {
					way := form.step
					if i == levels-1 {
						way = form.last
					}
					own := fmt.Sprintf("i%d", i)
					text = strings.Replace(text, "~", own+" < 3: "+fmt.Sprintf(way, before, own), 1)
					before = own
				}
				o, attrs, r := operatorWith(t, "y[n, k] = "+text+form.functions)
				u, err := useOf(o, attrs, r, 0, nil)
				if err != nil {
					t.Fatal(err)
				}
				p, err := program.Build(u)
				if err != nil {
					t.Fatal(err)
				}
				if got, most := len(p.Statements), 3*levels+2; got > most {
					t.Errorf("%d levels: want at most %d statements, got %d", levels, most, got)
				}
				compareGradients(t, o, u, r)
			})
		}
	}
}
