package check_test

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/opgen/opgen/formula/check"
	specs "github.com/opgen/opgen/internal/check"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/scope"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/internal/spec"
)

var specsDir = "../../specs"

// catalogue holds specs, so that a formula can be checked in place of one of theirs.
type catalogue struct {
	specs  []*spec.Spec
	byName map[string]*spec.Spec
	scopes map[*spec.Spec]*scope.Scope
}

func readCatalogue(t testing.TB) *catalogue {
	t.Helper()
	paths, err := filepath.Glob(specsDir + "/*.toml")
	if err != nil || len(paths) == 0 {
		t.Fatal("no specs", err)
	}
	var list diag.List
	c := &catalogue{byName: map[string]*spec.Spec{}, scopes: map[*spec.Spec]*scope.Scope{}}
	for _, p := range paths {
		text, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		s := spec.Read(p, string(text), &list)
		c.specs = append(c.specs, s)
		c.byName[s.Name.V] = s
	}
	for _, s := range c.specs {
		for _, a := range s.Attrs {
			a.Shared = c.byName[a.Enum.V]
		}
		if s.Kind != spec.Enum {
			c.scopes[s] = scope.New(s, &list)
		}
	}
	if !list.Empty() {
		t.Fatalf("findings in the catalogue: %v", list.Sorted()[0].Message)
	}
	return c
}

// check checks a text as the formula of a spec.
func (c *catalogue) check(s *spec.Spec, text string) []check.Finding {
	in := *s
	in.Formula = spec.Str{V: text, Node: &source.Scalar{Value: text}}
	known := specs.NewDeclarations(c.byName, nil)
	if s.Kind == spec.Enum {
		return check.Values(known.Enum(&in), known)
	}
	findings, _ := check.Formula(known.Operator(&in, c.scopes[s]), known)
	return findings
}

// TestCatalogueFormulas checks that the formulas of all specs are right.
func TestCatalogueFormulas(t *testing.T) {
	c := readCatalogue(t)
	for _, s := range c.specs {
		if !s.Formula.Set() {
			continue // docs lists these with the reason
		}
		for _, d := range c.check(s, s.Formula.V) {
			t.Errorf("%s: %s", s.Base, d.Message)
		}
	}
}

// tokens of formulas, for changes.
var formulaToken = regexp.MustCompile(`'[A-Za-z0-9_]*'|[A-Za-z_][A-Za-z0-9_.]*'*|[0-9]+(\.[0-9]+)?|\.\.|[<>=!]=|&&|\|\||[-+*/%^<>=!?:,()\[\]#]`)

var formulaName = regexp.MustCompile(`^[A-Za-z_]`)

// operatorsOf lists what operators are changed to.
var operatorsOf = map[string][]string{"+": {"-", "*"}, "-": {"+"}, "*": {"/", "+"}, "/": {"*", "-"}, "<": {"<=", ">"}, "==": {"!=", "<"},
	"&&": {"||"}, "||": {"&&"}, "%": {"/"}, ">": {">=", "<"}, ">=": {"<"}}

// A change makes a small mistake in a formula. It returns the text as it was if there is nothing to change.
var changes = []struct {
	name string
	make func(text string, tokens [][]int, r *rand.Rand) string
}{
	{"drop a token", func(text string, tokens [][]int, r *rand.Rand) string {
		at := tokens[r.IntN(len(tokens))]
		return text[:at[0]] + text[at[1]:]
	}},
	{"swap two names", func(text string, tokens [][]int, r *rand.Rand) string {
		names := slices.DeleteFunc(slices.Clone(tokens), func(at []int) bool { return !formulaName.MatchString(text[at[0]:at[1]]) })
		if len(names) < 2 {
			return text
		}
		i := r.IntN(len(names) - 1)
		a, b := names[i], names[i+1+r.IntN(min(len(names)-i-1, 6))]
		return text[:a[0]] + text[b[0]:b[1]] + text[a[1]:b[0]] + text[a[0]:a[1]] + text[b[1]:]
	}},
	{"change a number", func(text string, tokens [][]int, r *rand.Rand) string {
		numbers := slices.DeleteFunc(slices.Clone(tokens), func(at []int) bool { _, err := strconv.Atoi(text[at[0]:at[1]]); return err != nil })
		if len(numbers) == 0 {
			return text
		}
		at := numbers[r.IntN(len(numbers))]
		n, _ := strconv.Atoi(text[at[0]:at[1]])
		return text[:at[0]] + strconv.Itoa(n+1) + text[at[1]:]
	}},
	{"change an operator", func(text string, tokens [][]int, r *rand.Rand) string {
		ops := slices.DeleteFunc(slices.Clone(tokens), func(at []int) bool { return operatorsOf[text[at[0]:at[1]]] == nil })
		if len(ops) == 0 {
			return text
		}
		at := ops[r.IntN(len(ops))]
		to := operatorsOf[text[at[0]:at[1]]]
		return text[:at[0]] + to[r.IntN(len(to))] + text[at[1]:]
	}},
	{"drop a prime", func(text string, tokens [][]int, r *rand.Rand) string {
		primes := slices.DeleteFunc(slices.Clone(tokens), func(at []int) bool {
			return !strings.HasSuffix(text[at[0]:at[1]], "'") || text[at[0]] == '\''
		})
		if len(primes) == 0 {
			return text
		}
		at := primes[r.IntN(len(primes))]
		return text[:at[1]-1] + text[at[1]:]
	}},
}

// survives is called with mistakes that are not found, if it is set.
var survives func(s *spec.Spec, change, text, wrong string)

// TestFormulaMistakes makes small mistakes in the formulas of the catalogue. Most change what is computed
// without any contradiction to the spec; the others are found.
func TestFormulaMistakes(t *testing.T) {
	c := readCatalogue(t)
	r := rand.New(rand.NewPCG(1, 2))
	type count struct{ made, refused int }
	counts := map[string]*count{}
	total := &count{}
	for _, s := range c.specs {
		if !s.Formula.Set() {
			continue
		}
		text := s.Formula.V
		tokens := formulaToken.FindAllStringIndex(text, -1)
		for _, change := range changes {
			n := counts[change.name]
			if n == nil {
				n = &count{}
				counts[change.name] = n
			}
			for range 12 {
				wrong := change.make(text, tokens, r)
				if wrong == text {
					continue
				}
				n.made++
				total.made++
				if len(c.check(s, wrong)) > 0 {
					n.refused++
					total.refused++
				} else if survives != nil {
					survives(s, change.name, text, wrong)
				}
			}
		}
	}
	for _, change := range changes {
		n := counts[change.name]
		t.Logf("%s: %d of %d refused", change.name, n.refused, n.made)
	}
	t.Logf("together: %d of %d, %d %%", total.refused, total.made, 100*total.refused/total.made)
	if total.refused*2 < total.made {
		t.Error("less than half of the mistakes are found")
	}
}

// FuzzFormula checks any text as the formula of a spec of the catalogue. Nothing panics or takes long, and
// findings stand in the text.
func FuzzFormula(f *testing.F) {
	c := readCatalogue(f)
	for i, s := range c.specs {
		f.Add(byte(i), s.Formula.V)
	}
	f.Fuzz(func(t *testing.T, number byte, text string) {
		if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
			return
		}
		s := c.specs[int(number)%len(c.specs)]
		began := time.Now()
		defer func() {
			if took := time.Since(began); took > 5*time.Second {
				t.Errorf("checking took %v", took)
			}
		}()
		for _, d := range c.check(s, text) {
			if d.Pos < 0 || d.Pos > d.End || d.End > len(text) {
				t.Errorf("%s stands at %d to %d of %d", d.Message, d.Pos, d.End, len(text))
			}
		}
	})
}
