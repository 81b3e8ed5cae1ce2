package docs

import (
	"fmt"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// words gives, for patterns of words that comments, messages and pages avoid, what to write instead: the
// American spelling, or the word of the field.
var words = []struct{ pattern, instead string }{
	{`(behavi|col|fav|fl?av|harb|hon|lab|neighb)our`, "-or"},
	{`(general|initial|maxim|minim|normal|optim|organ|parallel|quant|random|real|recogn|regular|serial|special|summar|synchron|util|vector)is(e|ed|er|ers|es|ing|ation|ations)`, "-iz-"},
	{`(cancel|label|model|signal|travel)l(ed|er|ing)`, "one l"},
	{`centre|metre`, "-er"},
	{`licence|defence`, "-se"},
	{`analyse[drs]?`, "analyze"},
	{`grey`, "gray"},
	{`artefacts?`, "artifact"},
	{`whilst|amongst`, "while, among"},
	{`misspelt|spelt`, "misspelled, spelled"},
	{`judgement`, "judgment"},
	{`zeroes`, "zeros"},
	{`nobody|somebody|anybody|everybody|someone|anyone|whoever`, "the program, or a passive"},
	{`knowledge|learnt`, "vector clock"},
	{`wholly`, "whole, all of"},
	{`awkward`, "hard"},
	{`surprise`, "negative log-likelihood"},
	{`hangs? together`, "match"},
	{`given design`, "a decision in docs/adr"},
}

// TestEnglish looks for such words in comments and strings of Go files, in specs, in templates and on pages.
// What is generated follows from these.
func TestEnglish(t *testing.T) {
	t.Parallel()
	var patterns []string
	for _, w := range words {
		patterns = append(patterns, "("+regexp.MustCompile(`\((\w)`).ReplaceAllString(w.pattern, "(?:$1")+")")
	}
	avoid := regexp.MustCompile(`(?i)\b(?:` + strings.Join(patterns, "|") + `)\b`)
	files := 0
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := filepath.ToSlash(strings.TrimPrefix(path, ".."+string(filepath.Separator)))
		if d.IsDir() {
			if name == "generated" || name == "docs/operators" || d.Name() == "testdata" || path != ".." && strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
			return nil
		}
		if name == "docs/english_test.go" || !slices.Contains([]string{".go", ".md", ".toml", ".tmpl"}, filepath.Ext(name)) {
			return nil
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		files++
		text := string(data)
		if filepath.Ext(name) == ".go" {
			text = prose(data)
		}
		for i, line := range strings.Split(text, "\n") {
			for _, m := range avoid.FindAllStringSubmatch(line, -1) {
				at := slices.Index(m[1:], m[0])
				t.Errorf("%s:%d: %s: want %s", name, i+1, m[0], words[at].instead)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files < 300 {
		t.Errorf("only %d files: this test looks in the wrong place", files)
	}
}

// prose returns the comments and strings of a Go file, each in its line.
func prose(source []byte) string {
	fset := token.NewFileSet()
	file := fset.AddFile("", fset.Base(), len(source))
	var s scanner.Scanner
	s.Init(file, source, nil, scanner.ScanComments)
	var b strings.Builder
	line := 1
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return b.String()
		}
		if tok != token.COMMENT && tok != token.STRING {
			continue
		}
		for ; line < file.Line(pos); line++ {
			b.WriteByte('\n')
		}
		fmt.Fprint(&b, text, " ")
		line += strings.Count(text, "\n")
	}
}

// TestProse finds comments and strings, and their lines.
func TestProse(t *testing.T) {
	t.Parallel()
	got := prose([]byte("package colour\n\n// Grey.\nvar centre = `a\nb` + \"c\" /* d */\n"))
	if want := "\n\n// Grey. \n`a\nb` \"c\" /* d */ "; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// systems are other systems that pages name, each as it is written.
var systems = []string{"FlexFlow", "Legate", "Legion", "Mirage", "PyTorch", "ONNX", "Graphviz", "Perfetto", "oneTBB", "StarPU", "NumPy", "protobuf-go", "BurntSushi/toml", "jennifer", "gonum", "Gonum", "sqlc", "GoMLX", "Gorgonia"}

// TestSystemsAreLinked checks that a page which names another system links to it.
func TestSystemsAreLinked(t *testing.T) {
	t.Parallel()
	found := 0
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		plain := codeBlock.ReplaceAllString(string(text), "")
		plain = regexp.MustCompile("(?m)^    .*$|`[^`]*`").ReplaceAllString(plain, "")
		for _, name := range systems {
			if regexp.MustCompile(`\b` + name + `\b`).MatchString(plain) {
				found++
				if !strings.Contains(plain, "["+name+"](http") {
					t.Errorf("%s names %s: want a link to it at its first mention", page, name)
				}
			}
		}
	}
	if found == 0 {
		t.Error("found no system: this test looks in the wrong place")
	}
}
