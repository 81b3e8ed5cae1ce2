package lsp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"

	"github.com/opgen/opgen/internal/workspace"
)

// stroke is a step of a recorded session: at a text of a file, or at its end if that is "", some letters go
// and others are typed, key by key.
type stroke struct {
	path, at string
	remove   int
	text     string
}

// recorded is a session in which a user writes three specs from nothing: an enum, an operator that uses it,
// and one that applies that operator. The user misspells names and corrects them, and changes the first specs
// when the last is there.
var recorded = []stroke{
	{"specs/curve.toml", "", 0, "kind = \"enm"},
	{"specs/curve.toml", "", 1, "um\"\ndoc = \"Functions of a number.\"\n[values]\nHALF = \"half of it\"\n"},
	{"specs/scale.toml", "", 0, "doc = \"Scales rows.\"\n[slots]\ninput = { role = \"input\", shape = [\"N...\", \"K\"] }\n"},
	{"specs/scale.toml", "", 0, "output = { role = \"ouput"},
	{"specs/scale.toml", "", 4, "utput\", shape = [\"N...\", \"K\"] }\n"},
	{"specs/scale.toml", "[slots]", 0, "formula = \"output[n, k] = factor * input[n, l]\"\n[attrs]\nfactor = { type = \"float\" }\n"},
	{"specs/scale.toml", "l]\"\n", 1, "k"},
	{"specs/scale.toml", "factor *", 0, "how(1) + "},
	{"specs/scale.toml", "how(1)", 3, "exp"},
	{"specs/curve.toml", "[values]", 0, "formula = \"HALF(x) = x / 2\"\n"},
	{"specs/scale.toml", "[slots]", 0, "curve = { type = \"enum\", enum = \"curve\", default = \"HALF\" }\n"},
	{"specs/scale.toml", "factor *", 0, "curve("},
	{"specs/scale.toml", " * input", 0, ")"},
	{"specs/twice.toml", "", 0, "doc = \"Scales rows twice.\"\nformula = '''\nhalf[n, k] = scale(input)[n, k]\noutput[n, k] = half[n, k] * 2'''\n"},
	{"specs/twice.toml", "", 0, "slots = { input = { role = \"input\", shape = [\"N...\", \"K\"] }, output = { role = \"output\", shape = [\"N...\", \"K\"] } }\n"},
	{"specs/twice.toml", ")[n, k]", 0, ", factor = 2"},
	{"specs/twice.toml", "slots =", 0, "examples = [{ input = [2, 3] }]\n"},
	{"specs/scale.toml", "factor = {", 6, "ratio"},
	{"specs/scale.toml", "factor * ", 6, "ratio"},
	{"specs/scale.toml", "factor) * ", 6, "ratio"},
	{"specs/twice.toml", "factor = 2", 6, "ratio"},
	{"specs/curve.toml", "HALF =", 4, "WHOLE"},
	{"specs/curve.toml", "HALF(x)", 4, "WHOLE"},
	{"specs/scale.toml", "HALF\"", 4, "WHOLE"},
	{"specs/curve.toml", "x / 2", 5, "x < 0 ? 0 : x\U0001d54a"},
	{"specs/curve.toml", "\U0001d54a", 1, ""},
}

// TestRecorded types the session, and compares what the server tells after each key with what a fresh start
// tells: findings of all files, completions and what names mean.
func TestRecorded(t *testing.T) {
	c := dial(t, files(t, ""))
	disk := workspace.NewDisk(c.root)
	keys := 0
	for _, s := range recorded {
		if _, open := c.texts[s.path]; !open {
			c.open(s.path, "")
		}
		at := len(c.texts[s.path]) - s.remove
		if s.at != "" {
			if at = strings.Index(c.texts[s.path], s.at); at < 0 {
				if s.at == "factor * " || s.at == "factor) * " {
					continue // one of both is there
				}
				t.Fatalf("%s: there is no %q in\n%s", s.path, s.at, c.texts[s.path])
			}
		}
		for range s.remove {
			_, n := utf8.DecodeRuneInString(c.texts[s.path][at:])
			c.edit(s.path, at, at+n, "")
			compare(t, c, disk, s.path, at)
			keys++
		}
		for _, r := range s.text {
			c.edit(s.path, at, at, string(r))
			at += len(string(r))
			compare(t, c, disk, s.path, at)
			keys++
		}
	}
	for path := range c.texts {
		if got := c.shown(path); got != "" {
			t.Errorf("%s has findings at the end of the session:\n%s", path, got)
		}
	}
	if keys < 700 {
		t.Errorf("want a session of 700 keys at least, got %d", keys)
	}
	if len(c.logged) > 0 {
		t.Errorf("the server reports %q", c.logged)
	}
	if err := c.end(); err != nil {
		t.Error(err)
	}
}

// compare compares what the server tells about the texts of now with what a fresh start tells.
func compare(t *testing.T, c *client, disk *workspace.Disk, path string, at int) {
	t.Helper()
	texts, err := disk.Texts(c.texts)
	if err != nil {
		t.Fatal(err)
	}
	snap := (&workspace.Cache{}).Open(texts)
	all, err := snap.All(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for p, text := range c.texts {
		var b strings.Builder
		l := linesOf(text)
		for _, d := range all[p] {
			r := l.span(d.Span.Start, d.Span.End)
			message := d.Message
			if d.Hint != "" {
				message += "\nhint: " + d.Hint
			}
			fmt.Fprintf(&b, "%d:%d-%d:%d %s %s\n", r.Start.Line, r.Start.Character, r.End.Line, r.End.Character, d.Code, message)
		}
		want[p] = b.String()
	}
	if got := c.findings(path); got != want[path] {
		t.Fatalf("%s:\n%s\nthe server tells\n%s\na fresh start tells\n%s", path, c.texts[path], got, want[path])
	}
	for p := range c.texts {
		c.wait("the findings of "+p+" as a fresh start has them:\n"+want[p], func() bool { return c.list(p) == want[p] })
	}
	l := linesOf(c.texts[path])
	where := protocol.TextDocumentPositionParams{TextDocument: c.document(path), Position: l.position(at)}
	items, err := c.server.Completion(t.Context(), &protocol.CompletionParams{TextDocumentPositionParams: where})
	if err != nil {
		t.Fatal(err)
	}
	var got, fresh []string
	for _, x := range items.(*protocol.CompletionList).Items {
		got = append(got, x.Label)
	}
	list, _ := snap.Complete(path, at)
	for _, x := range list {
		fresh = append(fresh, x.Label)
	}
	if fmt.Sprint(got) != fmt.Sprint(fresh) {
		t.Fatalf("%s:\n%s\nthe server completes\n%q\na fresh start\n%q", path, c.texts[path][:at], got, fresh)
	}
	h, err := c.server.Hover(t.Context(), &protocol.HoverParams{TextDocumentPositionParams: where})
	if err != nil {
		t.Fatal(err)
	}
	told, freshly := "", ""
	if h != nil {
		told = h.Contents.(*protocol.MarkupContent).Value
	}
	if x, _ := snap.Hover(context.Background(), path, at); x != nil {
		freshly = x.Text
	}
	if told != freshly {
		t.Fatalf("%s:\n%s\nthe server tells\n%s\na fresh start\n%s", path, c.texts[path][:at], told, freshly)
	}
}

// A newer text ends the work on a question about an older one, which gets an error that says so. A question
// that the client cancels ends, too.
func TestOvertaken(t *testing.T) {
	c := dial(t, files(t, scale))
	c.open("specs/scale.toml", spec(scale))
	c.findings("specs/scale.toml")
	started, end := make(chan bool), make(chan bool)
	breakdown = func() { started <- true; <-end }
	defer func() { breakdown = nil }()
	ask := func(ctx context.Context) chan error {
		answer := make(chan error, 1)
		go func() {
			_, err := c.server.Hover(ctx, &protocol.HoverParams{TextDocumentPositionParams: protocol.TextDocumentPositionParams{TextDocument: c.document("specs/scale.toml")}})
			answer <- err
		}()
		<-started
		return answer
	}
	answer := ask(t.Context())
	c.edit("specs/scale.toml", 0, 0, "# A comment.\n") // while the question is answered
	if got := c.findings("specs/scale.toml"); got != "" {
		t.Errorf("the newer text: got %s", got)
	}
	end <- true
	var e *jsonrpc2.Error
	if err := <-answer; !errors.As(err, &e) || e.Code != protocol.CodeContentModified {
		t.Errorf("a question about an older text: got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	answer = ask(ctx)
	cancel()
	if err := <-answer; err == nil {
		t.Error("a canceled question: want an error")
	}
	end <- true
}
