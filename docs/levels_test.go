package docs

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/opgen/opgen"

// audiences are the readers of packages, in the order of the drawing.
var audiences = []string{"programs", "tools", "engines", "generated code", "kernels", "everyone"}

// mayImport says for whom a package of runtime/ may be, by the part of the repository that imports it. Within
// runtime/ only the levels count, but what is made for generated code and for tools is out of bounds there,
// too.
var mayImport = map[string][]string{
	"opgen":               {"programs", "engines", "everyone"},
	"examples":            {"programs", "everyone"},
	"kernels":             {"kernels", "everyone"},
	"generated":           {"generated code", "programs", "kernels", "everyone"},
	"generated/catalogue": {"generated code", "programs", "kernels", "everyone"},
	"formula":             {"engines", "kernels", "everyone"},
	"optest":              {"programs", "engines", "kernels", "everyone"},
	"runtime":             {"programs", "engines", "kernels", "everyone"},
	"internal":            {"tools", "engines", "kernels", "everyone"},
	"generate":            {"tools", "engines", "kernels", "everyone"},
	"cmd":                 {"tools", "programs", "engines", "kernels", "everyone"},
	"test":                {"tools", "programs", "engines", "generated code", "kernels", "everyone"},
	"templates":           nil,
	"docs":                nil,
}

// audienceOf is the audience of the packages of a folder. The packages of runtime/ and of formula/ have their
// own.
var audienceOf = map[string]string{
	"opgen":               "programs",
	"examples":            "programs",
	"kernels":             "kernels",
	"optest":              "tools",
	"generated":           "generated code",
	"generated/catalogue": "generated code",
	"internal":            "tools",
	"internal/base":       "engines",
	"generate":            "tools",
	"generate/plugin":     "tools",
	"cmd":                 "tools",
	"test":                "tools",
	"templates":           "tools",
	"docs":                "tools",
}

// reaches says which folders the packages of a folder may import.
var reaches = map[string][]string{
	"opgen":               {"runtime", "formula", "internal/base"},
	"examples":            {"opgen", "generated", "generated/catalogue", "runtime", "examples"},
	"kernels":             {"kernels", "generated", "runtime"},
	"generated":           {"runtime"},
	"generated/catalogue": {"generated", "kernels", "formula", "runtime"},
	"runtime":             {"runtime", "internal/base"},
	"formula":             {"formula", "runtime", "internal/base"},
	"internal/base":       {"internal/base"},
	"internal":            {"internal", "internal/base", "templates", "docs", "formula", "runtime", "generate/plugin"}, // the protocol of plug-ins
	"generate":            {"internal", "internal/base", "generate/plugin", "formula", "runtime"},
	"generate/plugin":     nil,
	// What formulas mean, and say; and where specs lie, and which code was generated from them.
	"optest":    {"runtime", "formula", "internal/oracle", "internal/config", "internal/diag", "internal/artifact"},
	"cmd":       {"cmd", "generate", "generate/plugin", "internal", "internal/base", "generated", "generated/catalogue", "formula", "runtime"},
	"test":      {"opgen", "generated", "generated/catalogue", "runtime", "formula", "generate", "internal", "internal/base", "test"}, // what judges specs, and measures programs
	"templates": nil,
	"docs":      nil,
}

var (
	levelDrawing  = regexp.MustCompile("(?s)## Import levels\n.*?\n```text\n(.*?)```")
	folderDrawing = regexp.MustCompile("(?s)\n### Folders\n.*?\n```text\n(.*?)```")
	packageTable  = regexp.MustCompile(`(?s)## Packages\n.*?\n\|---\|---\|---\|\n(.*?)\n\n`)
)

// TestLevels keeps the drawing of levels and the table of packages in architecture.md up to date, and checks
// who imports what.
func TestLevels(t *testing.T) {
	t.Parallel()
	imports, synopses := listPackages(t)
	text, err := os.ReadFile("architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	drawing := levelDrawing.FindSubmatchIndex(text)
	if drawing == nil {
		t.Fatal("architecture.md: found no drawing under Import levels")
	}
	drawn := drawnAudiences(t, string(text[drawing[2]:drawing[3]]))
	levels := map[string]int{}
	for p := range imports {
		level(p, imports, levels)
	}
	for p := range imports {
		if drawn[p] != "" {
			continue
		}
		drawn[p] = audienceOf[part(p)]
		if strings.HasPrefix(p, "runtime/internal/") || strings.HasPrefix(p, "formula/internal/") {
			drawn[p] = "engines"
		}
		if drawn[p] == "" {
			drawn[p] = "engines"
			t.Errorf("architecture.md, Import levels: who is %s for? Say one of %q. If it is for engines, add the line\n%s"+
				"then run go test ./docs -run TestLevels -update", p, audiences, draw(levels, map[string]string{p: drawn[p]}))
		}
	}
	for p, audience := range drawn {
		if imports[p] == nil {
			if !*update {
				t.Errorf("architecture.md, Import levels: remove %s, which does not exist", p)
			}
			delete(drawn, p)
		} else if !slices.Contains(audiences, audience) {
			t.Errorf("architecture.md, Import levels: %s is for %q, want one of %q", p, audience, audiences)
		}
	}
	for _, v := range violations(imports, drawn) {
		t.Error(v)
	}
	within := folders(imports)
	if c := cycle(within); c != nil {
		t.Errorf("folders import each other: %s", strings.Join(c, " -> "))
	}
	if t.Failed() {
		return
	}
	want := slices.Concat(text[:drawing[2]], []byte(draw(levels, drawn)), text[drawing[3]:])
	drawing = folderDrawing.FindSubmatchIndex(want)
	if drawing == nil {
		t.Fatal("architecture.md: found no drawing under Folders")
	}
	want = slices.Concat(want[:drawing[2]], []byte(drawFolders(within)), want[drawing[3]:])
	table := packageTable.FindSubmatchIndex(want)
	if table == nil {
		t.Fatal("architecture.md: found no table under Packages")
	}
	golden(t, "architecture.md", slices.Concat(want[:table[2]], []byte(describe(drawn, synopses)), want[table[3]:]))
}

// violations lists the imports that the parts of the repository or the audiences of packages do not allow.
func violations(imports map[string][]string, drawn map[string]string) []string {
	var out []string
	for _, p := range slices.Sorted(maps.Keys(imports)) {
		from := part(p)
		if _, ok := reaches[from]; !ok {
			out = append(out, fmt.Sprintf("levels_test.go: say in audienceOf, reaches and mayImport what %s is for and may import", p))
			continue
		}
		for _, q := range imports[p] {
			at := slices.IndexFunc(reaches[from], func(to string) bool { return q == to || part(q) == to })
			if at < 0 {
				out = append(out, fmt.Sprintf("%s imports %s: want only imports of %q", p, q, reaches[from]))
			}
			if part(q) == "runtime" && !slices.Contains(mayImport[from], drawn[q]) {
				out = append(out, fmt.Sprintf("%s imports %s, which is for %s: want only imports of what is for %q", p, q, drawn[q], mayImport[from]))
			}
		}
	}
	return out
}

// listPackages returns, for every package of the module that has code other than tests, its imports within
// the module and the first sentence of its comment. The packages of operators count as one, generated/*, and
// the root as opgen.
func listPackages(t *testing.T) (imports map[string][]string, synopses map[string]string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Doc,Imports,GoFiles", "./...")
	cmd.Dir = ".."
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	imports, synopses = map[string][]string{}, map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p struct {
			ImportPath, Doc  string
			Imports, GoFiles []string
		}
		if err := d.Decode(&p); err != nil {
			t.Fatal(err)
		}
		if len(p.GoFiles) == 0 {
			continue
		}
		name := short(p.ImportPath)
		list := append([]string{}, imports[name]...)
		for _, q := range p.Imports {
			if q == module || strings.HasPrefix(q, module+"/") {
				if q = short(q); q != name {
					list = append(list, q)
				}
			}
		}
		slices.Sort(list)
		imports[name] = slices.Compact(list)
		synopses[name] = p.Doc
	}
	synopses["generated/*"] = "A package for each operator: slots, attributes, shapes, arguments of kernels, and Apply."
	if len(imports) < 40 {
		t.Fatalf("only %d packages: this test looks in the wrong place", len(imports))
	}
	return imports, synopses
}

// short returns the name of a package in the drawing.
func short(importPath string) string {
	name := strings.TrimPrefix(strings.TrimPrefix(importPath, module), "/")
	if name == "" {
		return "opgen"
	}
	if path.Dir(name) == "generated" && name != "generated/catalogue" {
		return "generated/*"
	}
	return name
}

// apart lists the folders that count apart from the folder around them: the libraries that all folders share,
// the protocol between opgen and plug-ins, and what joins operators with kernels.
var apart = []string{"internal/base", "generate/plugin", "generated/catalogue"}

// part returns the folder to which a package belongs: its first one, or one of those that count apart. The
// tests of backends, which run operators, belong to the tests.
func part(name string) string {
	if name == "runtime/engine/enginetest" {
		return "test"
	}
	for _, folder := range apart {
		if name == folder || strings.HasPrefix(name, folder+"/") {
			return folder
		}
	}
	first, _, _ := strings.Cut(name, "/")
	return first
}

// folders returns which folders the packages of each folder import.
func folders(imports map[string][]string) map[string][]string {
	out := map[string][]string{}
	for p, list := range imports {
		from := part(p)
		out[from] = append(out[from], from)
		for _, q := range list {
			out[from] = append(out[from], part(q))
		}
	}
	for from, list := range out {
		slices.Sort(list)
		out[from] = slices.DeleteFunc(slices.Compact(list), func(to string) bool { return to == from })
	}
	return out
}

// cycle returns a cycle of imports: each element imports the next one, and the last one is the first one. It
// is nil if there is none.
func cycle(imports map[string][]string) []string {
	done := map[string]bool{}
	var visit func(path []string) []string
	visit = func(path []string) []string {
		last := path[len(path)-1]
		if at := slices.Index(path, last); at < len(path)-1 {
			return path[at:]
		}
		if done[last] {
			return nil
		}
		for _, q := range imports[last] {
			if c := visit(append(slices.Clip(path), q)); c != nil {
				return c
			}
		}
		done[last] = true
		return nil
	}
	for _, p := range slices.Sorted(maps.Keys(imports)) {
		if c := visit([]string{p}); c != nil {
			return c
		}
	}
	return nil
}

// drawFolders returns the levels of folders, the highest first.
func drawFolders(imports map[string][]string) string {
	levels, at := map[string]int{}, map[int][]string{}
	for p := range imports {
		n := level(p, imports, levels)
		at[n] = append(at[n], p)
	}
	var b strings.Builder
	for _, n := range slices.Backward(slices.Sorted(maps.Keys(at))) {
		fmt.Fprintf(&b, "%2d  %s\n", n, strings.Join(slices.Sorted(slices.Values(at[n])), " "))
	}
	return b.String()
}

// level returns the length of the longest chain of imports below a package.
func level(p string, imports map[string][]string, levels map[string]int) int {
	if n, ok := levels[p]; ok {
		return n
	}
	n := 0
	for _, q := range imports[p] {
		n = max(n, 1+level(q, imports, levels))
	}
	levels[p] = n
	return n
}

var drawnLine = regexp.MustCompile(`^([ \d]\d|  )  (.{14})  (\S.*)$`)

// drawnAudiences returns the audience of each package of a drawing.
func drawnAudiences(t *testing.T, drawing string) map[string]string {
	t.Helper()
	drawn := map[string]string{}
	audience := ""
	for line := range strings.Lines(drawing) {
		m := drawnLine.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
		if m == nil {
			t.Fatalf("architecture.md, Import levels: %q: want a level, an audience and packages, in columns 1, 5 and 21", line)
		}
		if a := strings.TrimSpace(m[2]); a != "" {
			audience = a
		}
		for _, p := range strings.Fields(m[3]) {
			if drawn[p] != "" {
				t.Errorf("architecture.md, Import levels: %s stands there twice", p)
			}
			drawn[p] = audience
		}
	}
	return drawn
}

// draw returns the drawing: the highest level first, and a line or more for each audience of a level.
func draw(levels map[string]int, drawn map[string]string) string {
	var b strings.Builder
	top := 0
	for _, n := range levels {
		top = max(top, n)
	}
	for n := top; n >= 0; n-- {
		prefix := fmt.Sprintf("%2d", n)
		for _, audience := range audiences {
			var names []string
			for p, a := range drawn {
				if a == audience && levels[p] == n {
					names = append(names, p)
				}
			}
			slices.Sort(names)
			for i, line := range wrap(names, 90) {
				if i > 0 {
					audience = ""
				}
				fmt.Fprintf(&b, "%s  %-14s  %s\n", prefix, audience, line)
				prefix = "  "
			}
		}
	}
	return b.String()
}

// describe returns the rows of the table of packages: who each is for, and the first sentence of its comment.
func describe(drawn, synopses map[string]string) string {
	var rows []string
	for _, p := range slices.Sorted(maps.Keys(drawn)) {
		_, does, ok := strings.Cut(synopses[p], "Package "+path.Base(p)+" ")
		if !ok {
			does = synopses[p]
		}
		rows = append(rows, fmt.Sprintf("| `%s` | %s | %s |", p, drawn[p], strings.ReplaceAll(does, "|", `\|`)))
	}
	return strings.Join(rows, "\n")
}

// wrap joins words to lines of at most width columns.
func wrap(words []string, width int) []string {
	var lines []string
	for _, w := range words {
		if last := len(lines) - 1; last >= 0 && len(lines[last])+1+len(w) <= width {
			lines[last] += " " + w
		} else {
			lines = append(lines, w)
		}
	}
	return lines
}

// TestCycle finds cycles of folders, where packages of them have none.
func TestCycle(t *testing.T) {
	t.Parallel()
	imports := map[string][]string{"a/x": {"b/x"}, "b/y": {"a/y"}, "a/y": {"c"}, "b/x": nil, "c": nil}
	if c := cycle(imports); c != nil {
		t.Errorf("packages: got %v, want none", c)
	}
	within := folders(imports)
	if c := cycle(within); !slices.Equal(c, []string{"a", "b", "a"}) {
		t.Errorf("folders: got %v, want a -> b -> a", c)
	}
	delete(imports, "b/y")
	if got, want := drawFolders(folders(imports)), " 1  a\n 0  b c\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestDrawing draws levels and reads them back.
func TestDrawing(t *testing.T) {
	t.Parallel()
	imports := map[string][]string{"a": {"b", "c"}, "b": {"c"}, "c": nil, "d": nil}
	levels := map[string]int{}
	for p := range imports {
		level(p, imports, levels)
	}
	audience := map[string]string{"a": "programs", "b": "engines", "c": "everyone", "d": "generated code"}
	got := draw(levels, audience)
	want := " 2  programs        a\n 1  engines         b\n 0  generated code  d\n    everyone        c\n"
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	for p, a := range drawnAudiences(t, got) {
		if audience[p] != a {
			t.Errorf("%s is for %s, want %s", p, a, audience[p])
		}
	}
	if got := wrap([]string{"aa", "b", "cc", strconv.Itoa(1e6)}, 5); !slices.Equal(got, []string{"aa b", "cc", "1000000"}) {
		t.Errorf("got %q", got)
	}
}

// TestViolations finds imports across audiences and parts.
func TestViolations(t *testing.T) {
	t.Parallel()
	drawn := map[string]string{"runtime/op": "kernels", "runtime/opimpl": "generated code", "runtime/engine": "engines", "runtime/dtype": "everyone"}
	got := violations(map[string][]string{
		"generated/catalogue": {"generated/*", "kernels", "runtime/opimpl"},
		"generated/*":         {"kernels", "runtime/dtype", "runtime/op"},
		"kernels":             {"generated/*", "runtime/engine", "runtime/opimpl"},
		"opgen":               {"runtime/engine"},
		"examples/digits":     {"internal/spec", "opgen", "runtime/engine"},
		"runtime/engine":      {"runtime/op", "runtime/opimpl"},
		"vendored/thing":      nil,
	}, drawn)
	want := []string{
		"examples/digits imports internal/spec",
		"examples/digits imports runtime/engine, which is for engines",
		"generated/* imports kernels",
		"kernels imports runtime/engine, which is for engines",
		"kernels imports runtime/opimpl, which is for generated code",
		"runtime/engine imports runtime/opimpl, which is for generated code",
		"levels_test.go: say in audienceOf, reaches and mayImport what vendored/thing is for",
	}
	if !slices.EqualFunc(got, want, strings.HasPrefix) {
		t.Errorf("got %q\nwant %q", got, want)
	}
}
