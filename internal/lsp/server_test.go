package lsp

import (
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
)

const scale = `-- specs/scale.toml --
doc     = "Multiplies by a factor."
formula = "output[n, k] = factor * input[n, k]"
[attrs]
factor = { type = "float", default = 2.0 }
[slots]
input  = { role = "input", shape = ["N...", "K"] }
output = { role = "output", shape = ["N...", "K"] }
`

const shift = `-- specs/shift.toml --
doc     = "Adds one to a scaled input."
formula = "output[n, k] = scale(input)[n, k] + 1"
[slots]
input  = { role = "input", shape = ["N...", "K"] }
output = { role = "output", shape = ["N...", "K"] }
`

// spec returns the text of a file of an archive.
func spec(archive string) string { return archive[strings.IndexByte(archive, '\n')+1:] }

func TestSession(t *testing.T) {
	c := dial(t, files(t, scale))
	c.open("specs/scale.toml", spec(scale))
	if got := c.findings("specs/scale.toml"); got != "" {
		t.Errorf("a spec without mistakes: got %s", got)
	}
	c.replace("specs/scale.toml", "* input", "* imput")
	if got := c.findings("specs/scale.toml"); got != "1:35-1:40 OP203 imput is not defined\nhint: did you mean input?\n" {
		t.Errorf("a misspelled slot: got %s", got)
	}
	c.replace("specs/scale.toml", "imput", "input")
	if got := c.findings("specs/scale.toml"); got != "" {
		t.Errorf("the mistake is gone: got %s", got)
	}
	if err := c.end(); err != nil {
		t.Errorf("after shutdown and exit: %v", err)
	}
}

// A client that does not watch files need not say so, as Neovim 0.7 does.
func TestWithoutWatches(t *testing.T) {
	c := connect(t, files(t, scale))
	if _, err := c.server.Initialize(t.Context(), &protocol.InitializeParams{Capabilities: protocol.ClientCapabilities{Workspace: &protocol.WorkspaceClientCapabilities{}}}); err != nil {
		t.Errorf("a client that watches no files: %v", err)
	}
}

// stuck is a stream that cannot be closed while it is read, such as a pipe on standard input.
type stuck struct {
	io.ReadWriter
	left chan bool
}

func (s stuck) Close() error {
	<-s.left
	return nil
}

// The server ends at exit, also if the client keeps its end of the pipe.
func TestExit(t *testing.T) {
	here, there := net.Pipe()
	left := make(chan bool)
	t.Cleanup(func() { close(left); there.Close() })
	c := over(t, files(t, scale), here, stuck{there, left})
	if _, err := c.server.Initialize(t.Context(), &protocol.InitializeParams{}); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.end() }()
	select {
	case err := <-ended:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(20 * time.Second):
		t.Error("the server goes on after exit")
	}
}

// An edit of one spec changes the findings of those that name it, also of files that are not open.
func TestOtherFiles(t *testing.T) {
	c := dial(t, files(t, scale+shift))
	c.open("specs/scale.toml", spec(scale))
	c.findings("specs/scale.toml")
	c.replace("specs/scale.toml", `factor = { type = "float", default = 2.0 }`, `factor = { type = "float" }`)
	c.wait("a finding in shift", func() bool {
		d := c.published["specs/shift.toml"].Diagnostics
		return len(d) == 1 && strings.Contains(string(d[0].Message.(protocol.String)), "factor")
	})
	c.replace("specs/scale.toml", `factor = { type = "float" }`, `factor = { type = "float", default = 1.0 }`)
	c.wait("no finding in shift", func() bool { return len(c.published["specs/shift.toml"].Diagnostics) == 0 })
}

// Texts of closed documents do not count, and those of files that change on the disk do.
func TestClose(t *testing.T) {
	c := dial(t, files(t, scale+shift))
	c.open("specs/scale.toml", spec(scale))
	c.replace("specs/scale.toml", "output[n, k] =", "output[n, k")
	c.wait("a finding in scale", func() bool { return len(c.published["specs/scale.toml"].Diagnostics) > 0 })
	if err := c.server.DidClose(t.Context(), &protocol.DidCloseTextDocumentParams{TextDocument: c.document("specs/scale.toml")}); err != nil {
		t.Fatal(err)
	}
	c.wait("no finding in scale", func() bool { return len(c.published["specs/scale.toml"].Diagnostics) == 0 })
	broken := strings.Replace(spec(shift), "scale(", "scole(", 1)
	if err := os.WriteFile(filepath.Join(c.root, "specs/shift.toml"), []byte(broken), 0o666); err != nil {
		t.Fatal(err)
	}
	if err := c.server.DidChangeWatchedFiles(t.Context(), &protocol.DidChangeWatchedFilesParams{Changes: []protocol.FileEvent{
		{URI: c.uri("specs/shift.toml"), Type: protocol.FileChangeTypeChanged}}}); err != nil {
		t.Fatal(err)
	}
	c.wait("a finding in shift", func() bool { return len(c.published["specs/shift.toml"].Diagnostics) > 0 })
	if err := os.Remove(filepath.Join(c.root, "specs/shift.toml")); err != nil {
		t.Fatal(err)
	}
	if err := c.server.DidSave(t.Context(), &protocol.DidSaveTextDocumentParams{TextDocument: c.document("specs/scale.toml")}); err != nil {
		t.Fatal(err)
	}
	c.wait("no finding in a file that is gone", func() bool { return len(c.published["specs/shift.toml"].Diagnostics) == 0 })
}

// A document that is open and closed while others change leaves no finding behind. The next change comes at
// different times behind that, and may overtake the message that there are no findings any more.
func TestOpenAndClosed(t *testing.T) {
	c := dial(t, files(t, scale))
	c.open("specs/scale.toml", spec(scale))
	for i := range 60 {
		path := fmt.Sprintf("specs/deep/new%d.toml", i)
		c.open(path, "doc = 1")
		c.findings(path)
		if err := c.server.DidClose(t.Context(), &protocol.DidCloseTextDocumentParams{TextDocument: c.document(path)}); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			time.Sleep(time.Duration(i) * 20 * time.Microsecond)
			if err := c.server.DidSave(t.Context(), &protocol.DidSaveTextDocumentParams{TextDocument: c.document("specs/scale.toml")}); err != nil {
				t.Fatal(err)
			}
		}
		c.wait("no finding in "+path, func() bool { return len(c.published[path].Diagnostics) == 0 })
	}
}

// Texts that are no files do not count, such as older versions that an editor shows beside a file. A file
// that a client names in two ways is one document.
func TestAddresses(t *testing.T) {
	c := dial(t, files(t, scale))
	c.open("specs/scale.toml", spec(scale))
	broken := strings.Replace(spec(scale), "output[n, k] =", "output[n, k", 1)
	for _, address := range []uri.URI{"git:" + uri.URI(c.uri("specs/scale.toml").FsPath()) + "?HEAD", "untitled:Untitled-1"} {
		c.openAt(address, broken)
		c.replace("specs/scale.toml", "doc", " doc")
		if got := c.findings("specs/scale.toml"); got != "" {
			t.Errorf("beside %s: got %s", address, got)
		}
		c.replace("specs/scale.toml", " doc", "doc")
		if h, err := c.server.Hover(t.Context(), &protocol.HoverParams{TextDocumentPositionParams: protocol.TextDocumentPositionParams{TextDocument: protocol.TextDocumentIdentifier{URI: address}}}); h != nil || err != nil {
			t.Errorf("hover in %s: %v, %v", address, h, err)
		}
		if err := c.server.DidClose(t.Context(), &protocol.DidCloseTextDocumentParams{TextDocument: protocol.TextDocumentIdentifier{URI: address}}); err != nil {
			t.Fatal(err)
		}
	}
	other := uri.URI(strings.Replace(string(c.uri("specs/scale.toml")), "scale", "%73cale", 1))
	c.openAt(other, broken)
	c.wait("a finding", func() bool { return len(c.published["specs/scale.toml"].Diagnostics) == 1 })
	if err := c.server.DidClose(t.Context(), &protocol.DidCloseTextDocumentParams{TextDocument: c.document("specs/scale.toml")}); err != nil {
		t.Fatal(err)
	}
	c.wait("no finding", func() bool { return len(c.published["specs/scale.toml"].Diagnostics) == 0 })
	if got := c.logged; len(got) > 0 {
		t.Errorf("the server says %q", got)
	}
}

// A folder becomes a module of its own, and is deleted: a document has the findings of the module in which it
// is, and those of a module that is gone disappear.
func TestModules(t *testing.T) {
	root := files(t, scale)
	c := dial(t, root)
	c.open("inner/specs/new.toml", "doc = 1")
	c.wait("no finding in a file that is no spec", func() bool {
		p, ok := c.published["inner/specs/new.toml"]
		return ok && len(p.Diagnostics) == 0
	})
	for name, text := range map[string]string{"go.mod": "module example.com/n\n\nrequire github.com/opgen/opgen v0.1.0\n", "opgen.toml": defaultConfig, "specs/old.toml": "doc = 2"} {
		path := filepath.Join(root, "inner", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	changed := func() {
		t.Helper()
		if err := c.server.DidChangeWatchedFiles(t.Context(), &protocol.DidChangeWatchedFilesParams{}); err != nil {
			t.Fatal(err)
		}
	}
	specs := []string{"inner/specs/new.toml", "inner/specs/old.toml"}
	changed()
	for _, path := range specs {
		c.wait("findings in "+path, func() bool { return len(c.published[path].Diagnostics) > 0 })
	}
	if err := os.RemoveAll(filepath.Join(root, "inner")); err != nil {
		t.Fatal(err)
	}
	changed()
	for _, path := range append(specs, "inner/opgen.toml") {
		c.wait("no finding in "+path, func() bool { return len(c.published[path].Diagnostics) == 0 })
	}
}

// Mistakes of opgen.toml are findings, and so is a module that cannot be read.
func TestConfig(t *testing.T) {
	root := files(t, scale)
	c := dial(t, root)
	c.open("opgen.toml", "edition = 1\nruntim = \"github.com/opgen/opgen/runtime\"\n")
	c.open("specs/scale.toml", "doc = 1")
	if got := c.findings("opgen.toml"); !strings.Contains(got, "has no key runtim") {
		t.Errorf("a misspelled key of opgen.toml: got %s", got)
	}
	at := protocol.TextDocumentPositionParams{TextDocument: c.document("opgen.toml"), Position: protocol.Position{Line: 2}}
	answer, err := c.server.Completion(t.Context(), &protocol.CompletionParams{TextDocumentPositionParams: at})
	if err != nil {
		t.Fatal(err)
	}
	var labels []string
	for _, x := range answer.(*protocol.CompletionList).Items {
		labels = append(labels, x.Label)
	}
	if got := strings.Join(labels, " "); got != "kernels output pages plugin runtime specs use" {
		t.Errorf("completed are the keys %s", got)
	}
	at.Position.Line = 0
	if h, err := c.server.Hover(t.Context(), &protocol.HoverParams{TextDocumentPositionParams: at}); err != nil || h == nil || !strings.Contains(h.Contents.(*protocol.MarkupContent).Value, "the edition of the spec language") {
		t.Errorf("hover of edition: %+v, %v", h, err)
	}
	if found, err := c.server.Definition(t.Context(), &protocol.DefinitionParams{TextDocumentPositionParams: at}); err != nil || fmt.Sprint(found) != "[]" {
		t.Errorf("definition of edition: %+v, %v", found, err)
	}
	c.replace("opgen.toml", "runtim ", "runtime ")
	c.wait("a finding in scale", func() bool { return len(c.published["specs/scale.toml"].Diagnostics) > 0 })
	if err := os.Remove(filepath.Join(root, "go.mod")); err != nil {
		t.Fatal(err)
	}
	c.edit("specs/scale.toml", 0, 0, " ")
	c.wait("a finding about go.mod", func() bool {
		d := c.published["opgen.toml"].Diagnostics
		return len(d) == 1 && strings.Contains(string(d[0].Message.(protocol.String)), "go.mod")
	})
}

// What a client must not do is answered by errors, and ends no session but its own.
func TestMisuse(t *testing.T) {
	root := files(t, scale)
	c := connect(t, root)
	hover := &protocol.DocumentFormattingParams{TextDocument: c.document("specs/scale.toml")}
	if _, err := c.server.Formatting(t.Context(), hover); err == nil || !strings.Contains(err.Error(), "initialize first") {
		t.Errorf("a request before initialize: got %v", err)
	}
	if _, err := c.server.Initialize(t.Context(), &protocol.InitializeParams{}); err != nil {
		t.Fatal(err)
	}
	if _, err := c.server.Initialize(t.Context(), &protocol.InitializeParams{}); err == nil {
		t.Error("a second initialize: want an error")
	}
	if _, err := c.server.Moniker(t.Context(), &protocol.MonikerParams{}); err == nil {
		t.Error("a method that the server does not have: want an error")
	}
	if err := c.conn.Notify(t.Context(), "textDocument/didChange", map[string]any{"textDocument": 5}); err != nil {
		t.Fatal(err)
	}
	c.wait("a message about what cannot be read", func() bool { return len(c.logged) == 1 })
	other := protocol.TextDocumentIdentifier{URI: "file:///nowhere/specs/x.toml"}
	if edits, err := c.server.Formatting(t.Context(), &protocol.DocumentFormattingParams{TextDocument: other}); err != nil || len(edits) > 0 {
		t.Errorf("a file of no module: got %v, %v", edits, err)
	}
	if err := c.server.Exit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := <-c.served; err == nil {
		t.Error("exit without shutdown: want an error")
	}
}

// A panic while a request is answered is an error of the request.
func TestPanic(t *testing.T) {
	c := dial(t, files(t, scale))
	c.open("specs/scale.toml", spec(scale))
	breakdown = func() { panic("broken") }
	defer func() { breakdown = nil }()
	if _, err := c.server.Formatting(t.Context(), &protocol.DocumentFormattingParams{TextDocument: c.document("specs/scale.toml")}); err == nil || !strings.Contains(err.Error(), "broken") {
		t.Errorf("want the panic as an error, got %v", err)
	}
	breakdown = nil
	if _, err := c.server.Formatting(t.Context(), &protocol.DocumentFormattingParams{TextDocument: c.document("specs/scale.toml")}); err != nil {
		t.Errorf("after a panic: %v", err)
	}
}

// What was decoded stays as it is when the buffer of the message is used for the next one.
func TestOwnMessages(t *testing.T) {
	data := []byte(`[{"title":"Replace rol by role","diagnostics":[{"message":"a slot has no key rol"}]}]`)
	var actions []protocol.CommandOrCodeAction
	if err := (codec{}).Unmarshal(data, &actions); err != nil {
		t.Fatal(err)
	}
	for i := range data {
		data[i] = '#'
	}
	if a, ok := actions[0].(*protocol.CodeAction); !ok || a.Title != "Replace rol by role" {
		t.Errorf("got %+v", actions[0])
	}
}

func TestFix(t *testing.T) {
	c := dial(t, files(t, scale))
	text := strings.Replace(strings.Replace(spec(scale), "* input", "* imput", 1), "output = { role", "output = { rol", 1)
	c.open("specs/scale.toml", text)
	at := strings.Index(text, "rol =")
	l := linesOf(text)
	actions, err := c.server.CodeAction(t.Context(), &protocol.CodeActionParams{TextDocument: c.document("specs/scale.toml"), Range: l.span(at, at)})
	if err != nil || len(actions) == 0 {
		t.Fatal(actions, err)
	}
	a := actions[0].(*protocol.CodeAction)
	if a.Title != "Replace rol by role" || len(a.Diagnostics) != 1 {
		t.Errorf("got the action %q of %v", a.Title, a.Diagnostics)
	}
	e := a.Edit.Changes[c.uri("specs/scale.toml")]
	if len(e) != 1 || e[0].NewText != "role" || e[0].Range != l.span(at, at+3) {
		t.Errorf("got the edit %v", e)
	}
	none, err := c.server.CodeAction(t.Context(), &protocol.CodeActionParams{TextDocument: c.document("specs/scale.toml")})
	if err != nil || len(none) != 0 {
		t.Errorf("where nothing is wrong: got %v, %v", none, err)
	}
}

func TestFormatting(t *testing.T) {
	c := dial(t, files(t, scale))
	text := strings.Replace(spec(scale), "factor = {type", "factor={type", 1)
	text = strings.Replace(text, `factor = { type`, `factor={type`, 1)
	c.open("specs/scale.toml", text)
	edits, err := c.server.Formatting(t.Context(), &protocol.DocumentFormattingParams{TextDocument: c.document("specs/scale.toml")})
	if err != nil || len(edits) != 1 {
		t.Fatal(edits, err)
	}
	l := linesOf(text)
	start, end := l.offset(edits[0].Range.Start), l.offset(edits[0].Range.End)
	got := text[:start] + edits[0].NewText + text[end:]
	c.edit("specs/scale.toml", start, end, edits[0].NewText)
	if again, err := c.server.Formatting(t.Context(), &protocol.DocumentFormattingParams{TextDocument: c.document("specs/scale.toml")}); err != nil || len(again) != 0 || !strings.Contains(got, `factor = { type`) {
		t.Errorf("formatted text:\n%s\nis formatted again by %v, %v", got, again, err)
	}
	c.open("specs/scale.toml", "doc = ")
	if edits, err := c.server.Formatting(t.Context(), &protocol.DocumentFormattingParams{TextDocument: c.document("specs/scale.toml")}); err != nil || len(edits) != 0 {
		t.Errorf("a file that is not TOML: got %v, %v", edits, err)
	}
}
