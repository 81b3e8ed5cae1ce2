package lsp

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"
	"golang.org/x/tools/txtar"
)

// client is an editor: it speaks with a server over a connection, and keeps what the server publishes.
type client struct {
	protocol.UnimplementedClient
	t      testing.TB
	root   string
	server protocol.Server
	conn   jsonrpc2.Conn
	served chan error

	mu        sync.Mutex
	news      *sync.Cond
	published map[string]protocol.PublishDiagnosticsParams // by path
	logged    []string
	versions  map[string]int32
	texts     map[string]string
}

const defaultConfig = "edition = 1\nruntime = \"github.com/opgen/opgen/runtime\"\n"

// files writes a module with the files of an archive.
func files(t testing.TB, archive string) string {
	t.Helper()
	root := t.TempDir()
	write := func(name string, data []byte) {
		p := filepath.Join(root, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(p), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	write("go.mod", []byte("module example.com/m\n\nrequire github.com/opgen/opgen v0.1.0\n"))
	write("opgen.toml", []byte(defaultConfig))
	if err := os.MkdirAll(filepath.Join(root, "specs"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, f := range txtar.Parse([]byte(archive)).Files {
		write(f.Name, f.Data)
	}
	return root
}

// dial starts a server and a client, and initializes the session in a folder.
func dial(t testing.TB, root string) *client {
	t.Helper()
	c := connect(t, root)
	folder := uri.File(root)
	if _, err := c.server.Initialize(t.Context(), &protocol.InitializeParams{RootURI: &folder}); err != nil {
		t.Fatal(err)
	}
	if err := c.server.Initialized(t.Context(), &protocol.InitializedParams{}); err != nil {
		t.Fatal(err)
	}
	return c
}

// connect starts a server and a client.
func connect(t testing.TB, root string) *client {
	here, there := net.Pipe()
	return over(t, root, here, there)
}

// over is connect with the ends of a connection for the client and the server.
func over(t testing.TB, root string, here, there io.ReadWriteCloser) *client {
	c := &client{t: t, root: root, served: make(chan error, 1), published: map[string]protocol.PublishDiagnosticsParams{},
		versions: map[string]int32{}, texts: map[string]string{}}
	c.news = sync.NewCond(&c.mu)
	go func() { c.served <- Serve(there, "test") }()
	c.conn = jsonrpc2.NewConn(jsonrpc2.NewStream(here), jsonrpc2.WithCodec(codec{}))
	c.conn.Go(protocol.WithClient(context.Background(), c), protocol.Handlers(protocol.ClientHandler(c, jsonrpc2.MethodNotFoundHandler)))
	c.server = protocol.ServerDispatcher(c.conn)
	t.Cleanup(func() { c.conn.Close() })
	return c
}

func (c *client) PublishDiagnostics(_ context.Context, p *protocol.PublishDiagnosticsParams) error {
	rel, err := filepath.Rel(c.root, p.URI.FsPath())
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	path := filepath.ToSlash(rel)
	if old, ok := c.published[path]; ok {
		was, had := old.Version.Get()
		if is, has := p.Version.Get(); had && has && is < was {
			c.logged = append(c.logged, fmt.Sprintf("findings of version %d came after those of version %d", is, was))
		}
	}
	c.published[path] = *p
	c.news.Broadcast()
	return nil
}

func (c *client) LogMessage(_ context.Context, p *protocol.LogMessageParams) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.logged = append(c.logged, p.Message)
	c.news.Broadcast()
	return nil
}

func (c *client) uri(path string) uri.URI {
	return uri.File(filepath.Join(c.root, filepath.FromSlash(path)))
}

func (c *client) document(path string) protocol.TextDocumentIdentifier {
	return protocol.TextDocumentIdentifier{URI: c.uri(path)}
}

// open opens a file with a text.
func (c *client) open(path, text string) {
	c.t.Helper()
	c.versions[path]++
	c.texts[path] = text
	c.openAt(c.uri(path), text)
}

// openAt opens a document at an address.
func (c *client) openAt(u uri.URI, text string) {
	c.t.Helper()
	rel, _ := filepath.Rel(c.root, u.FsPath())
	err := c.server.DidOpen(c.t.Context(), &protocol.DidOpenTextDocumentParams{TextDocument: protocol.TextDocumentItem{URI: u, LanguageID: "toml", Version: max(c.versions[filepath.ToSlash(rel)], 1), Text: text}})
	if err != nil {
		c.t.Fatal(err)
	}
}

// edit replaces the bytes from start to end of an open file.
func (c *client) edit(path string, start, end int, text string) {
	c.t.Helper()
	old := c.texts[path]
	c.versions[path]++
	c.texts[path] = old[:start] + text + old[end:]
	err := c.server.DidChange(c.t.Context(), &protocol.DidChangeTextDocumentParams{
		TextDocument: protocol.VersionedTextDocumentIdentifier{TextDocumentIdentifier: c.document(path), Version: c.versions[path]},
		ContentChanges: []protocol.TextDocumentContentChangeEvent{
			&protocol.TextDocumentContentChangePartial{Range: linesOf(old).span(start, end), Text: text}}})
	if err != nil {
		c.t.Fatal(err)
	}
}

// replace replaces the only place of a text in an open file.
func (c *client) replace(path, old, text string) {
	c.t.Helper()
	at := strings.Index(c.texts[path], old)
	if at < 0 || strings.Count(c.texts[path], old) != 1 {
		c.t.Fatalf("%s: want one place of %q in\n%s", path, old, c.texts[path])
	}
	c.edit(path, at, at+len(old), text)
}

// wait waits until a condition on what the server published holds.
func (c *client) wait(what string, holds func() bool) {
	c.t.Helper()
	late := time.AfterFunc(30*time.Second, c.news.Broadcast)
	defer late.Stop()
	until := time.Now().Add(30 * time.Second)
	c.mu.Lock()
	defer c.mu.Unlock()
	for !holds() {
		if time.Now().After(until) {
			c.t.Fatalf("want %s; published are %v, logged %q", what, c.published, c.logged)
		}
		c.news.Wait()
	}
}

// findings waits for the findings of the newest version of an open file, and returns them as lines.
func (c *client) findings(path string) string {
	c.t.Helper()
	c.wait("the findings of "+path, func() bool {
		v, _ := c.published[path].Version.Get()
		return v == c.versions[path]
	})
	return c.shown(path)
}

// shown returns the findings of a file that the client shows.
func (c *client) shown(path string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.list(path)
}

// list is shown for those who hold the lock.
func (c *client) list(path string) string {
	var b strings.Builder
	for _, d := range c.published[path].Diagnostics {
		fmt.Fprintf(&b, "%d:%d-%d:%d %s %s\n", d.Range.Start.Line, d.Range.Start.Character, d.Range.End.Line, d.Range.End.Character, d.Code, d.Message)
	}
	return b.String()
}

// end ends the session, and returns what Serve returned.
func (c *client) end() error {
	c.t.Helper()
	if err := c.server.Shutdown(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	if err := c.server.Exit(c.t.Context()); err != nil {
		c.t.Fatal(err)
	}
	return <-c.served
}
