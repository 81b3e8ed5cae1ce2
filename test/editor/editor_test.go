//go:build neovim

package editor

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

var (
	pace  = flag.Float64("pace", 60, "how many times faster than recorded the session is typed, where keys do not wait for findings")
	every = flag.Int("every", 8, "of how many keys the findings behind one are compared, where keys wait for findings")
	edits = flag.Int("edits", 300, "how many random edits TestRandomEdits makes")
	seed  = flag.Uint64("seed", 1, "of random edits")
)

// plan is what client.lua reads.
type plan struct {
	Server []string `json:"server"`
	Root   string   `json:"root"`
	Steps  []step   `json:"steps"`
	Pace   float64  `json:"pace"` // 0: each key waits for findings
	Every  int      `json:"every"`
	Report string   `json:"report"`
}

// report is what client.lua writes.
type report struct {
	Version  string
	Failures []string
	Keys     []float64 // milliseconds from a key to the findings of its file
	Settled  []float64 // and to those of all files
	Answers  []struct {
		Method string
		Ms     float64
	}
	Moments []moment
}

// moment is what Neovim has at a step: the texts of open files with all findings that it shows, or a file
// before and after formatting.
type moment struct {
	Where string
	Texts map[string]string
	Shown []shown

	Path                   string
	Unformatted, Formatted *string
}

// shown is a finding as Neovim has it: lines from 0 and columns in bytes.
type shown struct {
	File               string
	Line, Column       int
	EndLine, EndColumn int
	Code, Message      string
}

func (s *shown) UnmarshalJSON(data []byte) error {
	var x struct {
		File      string
		Line      int
		Column    int
		EndLine   int `json:"end_line"`
		EndColumn int `json:"end_column"`
		Code      string
		Message   string
	}
	err := json.Unmarshal(data, &x)
	*s = shown{x.File, x.Line, x.Column, x.EndLine, x.EndColumn, x.Code, x.Message}
	return err
}

// opgen is the program that is tested.
var opgen string

func TestMain(m *testing.M) {
	flag.Parse()
	dir, err := os.MkdirTemp("", "editor")
	if err == nil {
		opgen = filepath.Join(dir, "opgen")
		build := exec.Command("go", "build", "-o", opgen, "../../cmd/opgen")
		build.Stderr = os.Stderr
		err = build.Run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	status := m.Run()
	os.RemoveAll(dir)
	os.Exit(status)
}

// module writes a module with the specs of a folder, or with none.
func module(t *testing.T, specs string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module example.com/m\n\ngo 1.26\n\nrequire github.com/opgen/opgen v0.1.0\n", "opgen.toml": "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n"} {
		if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{"specs", "kernels"} {
		if err := os.Mkdir(filepath.Join(root, dir), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	if specs != "" {
		if err := errors.Join(os.RemoveAll(filepath.Join(root, "specs")), os.CopyFS(filepath.Join(root, "specs"), os.DirFS(specs))); err != nil {
			t.Fatal(err)
		}
		whole(t, root)
	}
	return root
}

// whole removes specs with findings, such as those that need a kernel by hand, until none has any.
func whole(t *testing.T, root string) {
	t.Helper()
	for range 10 {
		out, err := exec.Command(opgen, "-C", root, "check", "-format", "json").Output()
		if err == nil {
			return
		}
		var found []struct{ File string }
		if err := json.Unmarshal(out, &found); err != nil {
			t.Fatalf("opgen check: %v\n%s", err, out)
		}
		for _, f := range found {
			if err := os.Remove(filepath.Join(root, f.File)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Fatal(err)
			}
		}
	}
	t.Fatal("want specs without findings")
}

// edit lets Neovim do steps in a module, and returns what it reports.
func edit(t *testing.T, root string, steps []step, pace float64, every int) *report {
	t.Helper()
	dir := t.TempDir()
	p := plan{[]string{opgen, "lsp"}, root, steps, pace, every, filepath.Join(dir, "report.json")}
	data, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "plan.json")
	if err := os.WriteFile(file, data, 0o666); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("nvim", "--headless", "--clean", "-c", "luafile client.lua", "-c", "cquit")
	c.Env = append(os.Environ(), "OPGEN_PLAN="+file, "XDG_STATE_HOME="+dir, "XDG_CACHE_HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CONFIG_HOME="+dir)
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("nvim: %v\n%s", err, out)
	}
	text, err := os.ReadFile(p.Report)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var r report
	if err := json.Unmarshal(text, &r); err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Failures {
		t.Error(f)
	}
	return &r
}

// judge compares what Neovim shows in a moment with what opgen check says about files with the same texts.
func judge(t *testing.T, root string, m *moment) (findings int) {
	t.Helper()
	for path, text := range m.Texts {
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	out, err := exec.Command(opgen, "-C", root, "check", "-format", "json").Output()
	var found []struct {
		File, Code, Message, Hint string
		Line, Column              int
		EndLine                   int `json:"end_line"`
		EndColumn                 int `json:"end_column"`
	}
	if failed := (*exec.ExitError)(nil); err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if err := json.Unmarshal(out, &found); err != nil {
		t.Fatalf("%s: opgen check: %v\n%s", m.Where, err, out)
	}
	var want []shown
	for _, f := range found {
		text, ok := m.Texts[f.File]
		if !ok {
			data, err := os.ReadFile(filepath.Join(root, f.File))
			if err != nil {
				t.Fatal(err)
			}
			text = string(data)
		}
		lines := strings.Split(text, "\n")
		x := shown{f.File, f.Line - 1, bytesOf(lines, f.Line, f.Column), f.EndLine - 1, bytesOf(lines, f.EndLine, f.EndColumn), f.Code, f.Message}
		if f.Hint != "" {
			x.Message += "\nhint: " + f.Hint
		}
		want = append(want, x)
	}
	for _, x := range want {
		if !slices.Contains(m.Shown, x) {
			t.Errorf("%s: opgen check says\n%+v\nNeovim shows\n%+v\nof\n%s", m.Where, x, m.Shown, m.Texts[x.File])
		}
	}
	for _, x := range m.Shown {
		// The server also says what opgen check says later, when the first findings are gone: decision 155.
		if !slices.Contains(want, x) && (len(want) == 0 || !strings.HasPrefix(x.Code, "OP7")) {
			t.Errorf("%s: Neovim shows\n%+v\nopgen check says\n%+v\nof\n%s", m.Where, x, want, m.Texts[x.File])
		}
	}
	return len(want)
}

// bytesOf returns the bytes in front of a column of a line, both from 1, where a column is a character.
func bytesOf(lines []string, line, column int) int {
	text := lines[line-1]
	n := 0
	for range column - 1 {
		_, size := utf8.DecodeRuneInString(text[n:])
		n += size
	}
	return n
}

// formatted compares a file that Neovim formatted with what opgen fmt makes of it.
func formatted(t *testing.T, root string, m *moment) {
	t.Helper()
	file := filepath.Join(root, m.Path)
	err := os.WriteFile(file, []byte(*m.Unformatted), 0o666)
	if err == nil {
		_, err = exec.Command(opgen, "-C", root, "fmt", m.Path).Output()
	}
	failed := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &failed) {
		t.Fatal(err)
	}
	if want, err := os.ReadFile(file); err != nil || string(want) != *m.Formatted {
		t.Errorf("%s: %v: opgen fmt makes\n%s\nNeovim\n%s", m.Where, err, want, *m.Formatted)
	}
}

// judged judges all moments of a report, and logs how long answers took.
func judged(t *testing.T, specs string, r *report, most int) {
	t.Helper()
	root := module(t, specs)
	moments, findings := 0, 0
	for i := range r.Moments {
		switch m := &r.Moments[i]; {
		case m.Formatted != nil:
			formatted(t, root, m)
		case i == len(r.Moments)-1 || i%(1+len(r.Moments)/most) == 0:
			findings += judge(t, root, m)
			moments++
		}
		if t.Failed() {
			t.FailNow()
		}
	}
	all, _ := filepath.Glob(filepath.Join(root, "specs/*.toml"))
	t.Logf("%d specs", len(all))
	t.Logf("%s: %d moments with %d findings are as opgen check has them", r.Version, moments, findings)
	t.Logf("findings of the file behind a key: %s", spread(r.Keys))
	t.Logf("findings of all files: %s", spread(r.Settled))
	answers := map[string][]float64{}
	for _, a := range r.Answers {
		answers[a.Method] = append(answers[a.Method], a.Ms)
	}
	for _, method := range slices.Sorted(maps.Keys(answers)) {
		t.Logf("%s: %s", method, spread(answers[method]))
	}
}

// spread says how times in milliseconds are spread.
func spread(ms []float64) string {
	if len(ms) == 0 {
		return "none"
	}
	ms = slices.Sorted(slices.Values(ms))
	at := func(share float64) float64 { return ms[int(share*float64(len(ms)-1))] }
	return fmt.Sprintf("%d, median %.1f ms, 99 of 100 within %.1f ms, longest %.1f ms", len(ms), at(0.5), at(0.99), at(1))
}

// TestHour does the session in a small module, where each key waits for its findings.
func TestHour(t *testing.T) {
	h := hour()
	took, keys := h.took()
	if t.Logf("a session of %v with %d keys", took.Round(time.Second), keys); took < time.Hour || keys < 2000 {
		t.Errorf("want an hour with 2000 keys at least")
	}
	r := edit(t, module(t, ""), h.steps, 0, *every)
	judged(t, "", r, 400)
	if len(r.Settled) == 0 {
		t.Fatal("no key waited for findings")
	}
	t.Logf("from a key to the findings: %s", spread(r.Settled))
}

// TestHourBesideCatalogue does the session in a module that has the specs of the catalogue, too, faster than
// findings come: newer keys end the work on older ones. Nothing is generated, since the catalogue's kernels
// are not there.
func TestHourBesideCatalogue(t *testing.T) {
	steps := slices.DeleteFunc(hour().steps, func(s step) bool { return s.Do == "run" })
	judged(t, "../../specs", edit(t, module(t, "../../specs"), steps, *pace, 0), 12)
}

// texts are those at the end of the session.
var texts = map[string]string{squash: `kind    = "enum"
doc     = "Brings numbers between bounds: 𝕊 maps ℝ to [0, 1]."
formula = """
HARD(x) = min(max(x, 0), 1)
SOFT(x) = 1 / (1 + exp(-x))"""

[values]
HARD = "min(max(x, 0), 1)"
SOFT = "1 / (1 + exp(-x)), σ of x"
`, gate: `doc      = "Multiplies rows by a gate of them: 𝑔 ⊙ x, where 𝑔 = 𝑠(Wx + b)." # 𝑔
formula  = """
pre[n, o]    = sum(k: input[n, k] * weight[o, k]) + bias[o] for o < K
output[n, o] = input[n, o] * squash(pre[n, o])"""
examples = [{ input = [2, 3], weight = [3, 3], bias = [3] }]

[attrs]
squash = { type = "enum", enum = "squash", default = "HARD", doc = "𝑠" }

[slots]
input  = { role = "input", shape = ["N...", "K"], doc = "𝕩𝕩𝕩 rows" }
weight = { role = "input", shape = ["K", "K"] }
bias   = { role = "input", shape = ["K"] }
output = { role = "output", shape = ["N...", "K"] }
`, pair: `doc      = "A gate of the rows of another gate."
formula  = """
first[n, k]  = gate(input, inner, bias)[n, k]
output[n, k] = gate(first, outer, bias, squash = 'SOFT')[n, k]"""
examples = [{ input = [2, 3], inner = [3, 3], outer = [3, 3], bias = [3] }]

[slots]
input  = { role = "input", shape = ["N...", "K"] }
inner  = { role = "input", shape = ["K", "K"] }
outer  = { role = "input", shape = ["K", "K"] }
bias   = { role = "input", shape = ["K"] }
output = { role = "output", shape = ["N...", "K"] }
`}

// random returns random edits of the texts: characters of one and of two units of UTF-16, words and lines
// come and go, and changes are taken back.
func random(n int, seed uint64) []step {
	s := &session{Rand: rand.New(rand.NewPCG(seed, 7))}
	pieces := []string{"é", "𝔸", "𝕊 ", "漢", "\n", "#", "\"", "'", "{", "]", " = ", "\"\"\"", "\n\n", "𝕩\n𝕪", "\t", "input", "squash", "weight[o, k]"}
	for _, path := range slices.Sorted(maps.Keys(texts)) {
		s.open(path)
		for line := range strings.Lines(texts[path]) {
			pieces = append(pieces, line)
		}
	}
	paths := slices.Sorted(maps.Keys(texts))
	for range n {
		if s.IntN(4) == 0 {
			s.open(paths[s.IntN(len(paths))])
		}
		piece := pieces[s.IntN(len(pieces))]
		switch s.IntN(8) {
		case 0, 1, 2:
			s.do(step{Do: "change", At: s.IntN(1e6), Text: piece})
		case 3:
			s.do(step{Do: "change", At: s.IntN(1e6), Length: s.IntN(12)})
		case 4:
			s.do(step{Do: "change", At: s.IntN(1e6), Length: s.IntN(40), Text: piece})
		case 5:
			s.normal([]string{"dd", "yyp", "ddp", "J", "xp", "~", "ddkP", "0D", ">>"}[s.IntN(9)])
		case 6:
			s.normal("\\<C-r>")
		default: // otherwise most texts would be broken soon
			s.normal("u")
		}
	}
	return s.steps
}

// TestRandomEdits compares what Neovim shows after random edits.
func TestRandomEdits(t *testing.T) {
	root := module(t, "")
	for path, text := range texts {
		if err := os.WriteFile(filepath.Join(root, path), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	judged(t, "", edit(t, root, random(*edits, *seed), 0, 1), 1000)
}
