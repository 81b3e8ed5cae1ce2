// Schemas counts which signatures of the operators of PyTorch the spec language can say. Each becomes a spec
// by the same rules, without a formula, which the front end of opgen reads and checks.
//
//	go run ./test/schemas            # prints the counts
//	go run ./test/schemas -refused   # and each schema that is refused, with the reason
package main

import (
	"bufio"
	"cmp"
	_ "embed"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
)

//go:embed testdata/pytorch.txt
var list string

// counts says what became of schemas.
type counts struct {
	all     int
	said    []*spec
	how     map[string]int    // specs by means
	refused map[string]string // reasons by schemas
	reasons map[string]int    // schemas by reasons
}

// count says each schema of a list, and checks the specs.
func count(list string) (*counts, error) {
	c := &counts{how: map[string]int{}, refused: map[string]string{}, reasons: map[string]int{}}
	names := map[string]string{}
	for line := range strings.Lines(list) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s, err := parse(line)
		if err != nil {
			return nil, err
		}
		c.all++
		p, err := say(s)
		if why, ok := err.(lacking); ok {
			c.refuse(s.name, why)
			continue
		}
		if other := names[p.name]; other != "" {
			return nil, fmt.Errorf("%s and %s are both named %s", other, s.name, p.name)
		}
		names[p.name] = s.name
		c.said = append(c.said, p)
	}
	var findings diag.List
	driver.Resolve(c.inputs(), &findings)
	bad := map[string][]string{}
	for _, d := range findings.Sorted() {
		name := strings.TrimSuffix(d.Span.File.Path, ".toml")
		why := string(d.Code) + ": " + d.Message
		if !slices.Contains(bad[name], why) {
			bad[name] = append(bad[name], why)
		}
	}
	c.said = slices.DeleteFunc(c.said, func(p *spec) bool {
		if bad[p.name] == nil {
			for _, h := range p.how {
				c.how[h]++
			}
			return false
		}
		c.refuse(names[p.name], bad[p.name])
		return true
	})
	return c, nil
}

func (c *counts) refuse(name string, why []string) {
	c.refused[name] = strings.Join(why, ", ")
	for _, w := range why {
		c.reasons[w]++
	}
}

// inputs returns the specs as files, with those of the enums.
func (c *counts) inputs() (in []driver.Input) {
	for name, values := range enums {
		in = append(in, driver.Input{Path: name + ".toml", Text: fmt.Sprintf("kind = \"enum\"\ndoc = \"An enum of PyTorch.\"\nvalues = [\"%s\"]\n", strings.Join(values, `", "`))})
	}
	for _, p := range c.said {
		in = append(in, driver.Input{Path: p.name + ".toml", Text: p.text})
	}
	return in
}

// spec returns the spec of a schema. The error says why there is none.
func (c *counts) spec(schema string) (string, error) {
	if why, ok := c.refused[schema]; ok {
		return "", fmt.Errorf("%s: no spec says it: %s", schema, why)
	}
	if i := slices.IndexFunc(c.said, func(p *spec) bool { return p.name == specName(schema) }); i >= 0 {
		return c.said[i].text, nil
	}
	return "", fmt.Errorf("want the name of a schema, such as aten::add.Tensor, got %q", schema)
}

// write writes the counts.
func (c *counts) write(w io.Writer) {
	row := func(n int, what string) { fmt.Fprintf(w, "%5d %5.1f %% %s\n", n, 100*float64(n)/float64(c.all), what) }
	row(c.all, "schemas")
	row(len(c.said), "said")
	for _, h := range byCount(c.how) {
		row(c.how[h], "  "+h)
	}
	row(len(c.refused), "refused")
	for _, r := range byCount(c.reasons) {
		row(c.reasons[r], "  "+r)
	}
}

// byCount returns keys, that with the greatest number first.
func byCount(m map[string]int) []string {
	return slices.SortedFunc(maps.Keys(m), func(a, b string) int { return cmp.Or(m[b]-m[a], cmp.Compare(a, b)) })
}

func main() {
	refused := flag.Bool("refused", false, "print each schema that is refused")
	show := flag.String("show", "", "print the spec of a schema, such as aten::add.Tensor")
	flag.Parse()
	if err := run(*refused, *show); err != nil {
		fmt.Fprintln(os.Stderr, "schemas:", err)
		os.Exit(1)
	}
}

func run(refused bool, show string) error {
	out := bufio.NewWriter(os.Stdout)
	defer out.Flush()
	c, err := count(list)
	if err != nil {
		return err
	}
	if show != "" {
		text, err := c.spec(show)
		fmt.Fprint(out, text)
		return err
	}
	c.write(out)
	if refused {
		for _, name := range slices.Sorted(maps.Keys(c.refused)) {
			fmt.Fprintln(out, name, c.refused[name])
		}
	}
	return nil
}
