// Package lsp is the language server of specs: it speaks the Language Server Protocol with an editor, and
// lets package workspace answer.
//
// What changes texts is handled in the order of the messages. All else is answered beside it, about the texts
// of the moment at which the question came. A newer text ends the work on older ones, whose questions are
// answered by an error that says so.
package lsp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"sync"

	"go.lsp.dev/jsonrpc2"
	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/workspace"
)

// Serve speaks with a client until it ends the session, or until the stream ends. version is that of this
// program. The error says what is wrong with the stream, or that the client left without a word.
func Serve(stream io.ReadWriteCloser, version string) error {
	s := &server{version: version, documents: map[string]*document{}, modules: map[string]*module{}, running: map[jsonrpc2.ID]context.CancelFunc{}, exit: make(chan struct{})}
	conn := jsonrpc2.NewConn(jsonrpc2.NewStream(stream), jsonrpc2.WithCodec(codec{}))
	s.client = protocol.ClientDispatcher(conn)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	s.ctx = ctx
	conn.Go(ctx, s.handler(protocol.ServerHandler(s, jsonrpc2.MethodNotFoundHandler)))
	select {
	case <-s.exit:
	case <-conn.Done():
	}
	cancel()
	s.mu.Lock()
	for _, m := range s.modules {
		m.stop()
	}
	asked := s.shut
	s.mu.Unlock()
	s.work.Wait()
	closed := make(chan error, 1)
	go func() { closed <- conn.Close() }()
	var err error
	select {
	case <-s.exit: // no wait: nothing interrupts the read of a standard input that the client keeps open
	case err = <-closed:
		if err == nil {
			err = conn.Err()
		}
	}
	switch {
	case asked:
		return nil
	case err != nil && !errors.Is(err, io.ErrClosedPipe):
		return err
	}
	return errors.New("the client ended the session without the request shutdown")
}

// codec encodes and decodes messages as package protocol does.
type codec struct{}

func (codec) Marshal(v any) ([]byte, error) {
	if raw, ok := v.(jsonrpc2.RawMessage); ok {
		return raw, nil
	}
	return protocol.Marshal(v)
}

func (codec) Unmarshal(data []byte, v any) error {
	data = bytes.Clone(data) // the reader uses it again, and decoded strings in lists of unions are parts of it
	if raw, ok := v.(*jsonrpc2.RawMessage); ok {
		*raw = data
		return nil
	}
	return protocol.Unmarshal(data, v)
}

type server struct {
	protocol.UnimplementedServer
	version string
	client  protocol.Client
	ctx     context.Context // ends with the session
	exit    chan struct{}
	work    sync.WaitGroup // goroutines that check

	mu          sync.Mutex
	initialized bool
	shut        bool
	watches     bool // whether the client tells of changed files
	folders     []string
	documents   map[string]*document               // by file
	modules     map[string]*module                 // by root
	running     map[jsonrpc2.ID]context.CancelFunc // requests, by their numbers
}

// document is a file that is open in the editor.
type document struct {
	uri     uri.URI // as the client writes it
	file    string  // absolute
	text    string
	version int32
	module  *module // nil if the file belongs to none
	path    string  // relative to the module's root, with slashes
}

// handler answers messages. A panic is an error of the request that led to it, and a message that cannot be
// read is an error, too. Neither ends the session.
func (s *server) handler(next jsonrpc2.Handler) jsonrpc2.Handler {
	return func(ctx context.Context, req *jsonrpc2.Request) (result any, err error) {
		method := strings.Clone(req.Method())
		defer func() {
			if p := recover(); p != nil {
				s.log("%s: %v", method, p)
				result, err = nil, jsonrpc2.Errorf(jsonrpc2.InternalError, "opgen has a bug: %v", p)
			}
			if err != nil && !req.IsCall() {
				s.log("%s: %v", method, err)
				result, err = nil, nil // an error of a notification would end the session
			}
		}()
		s.mu.Lock()
		ready, shut := s.initialized, s.shut
		s.mu.Unlock()
		switch {
		case method == protocol.MethodExit:
		case method == protocol.MethodCancelRequest:
			return nil, s.cancel(req)
		case shut:
			return nil, jsonrpc2.NewError(jsonrpc2.InvalidRequest, "the client has asked to shut down")
		case !ready && method != protocol.MethodInitialize:
			return nil, jsonrpc2.NewError(jsonrpc2.ServerNotInitialized, "want the request initialize first")
		}
		return next(context.WithValue(ctx, requestKey{}, req), req)
	}
}

// requestKey is the key of a request in its context.
type requestKey struct{}

// cancel ends the work on a request.
func (s *server) cancel(req *jsonrpc2.Request) error {
	var p protocol.CancelParams
	if err := protocol.Unmarshal(req.Params(), &p); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var id jsonrpc2.ID
	switch n := p.ID.(type) {
	case protocol.Integer:
		id = jsonrpc2.NewNumberID(int64(n))
	case protocol.String:
		id = jsonrpc2.NewStringID(string(n))
	}
	if stop := s.running[id]; stop != nil {
		stop()
	}
	return nil
}

// begin returns a context for the work on a request. It ends with the session, with a moment, and when the
// client cancels the request. The context of the request itself must not have children: another request may
// reuse its memory.
func (s *server) begin(ctx context.Context, m *moment) (context.Context, func()) {
	jsonrpc2.Async(ctx)
	req, _ := ctx.Value(requestKey{}).(*jsonrpc2.Request)
	id := req.ID()
	ctx, stop := context.WithCancel(m.ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running[id] = stop
	return ctx, func() {
		stop()
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.running, id)
	}
}

// log writes a message to the editor's log.
func (s *server) log(format string, args ...any) {
	s.work.Go(func() {
		_ = s.client.LogMessage(s.ctx, &protocol.LogMessageParams{Type: protocol.MessageTypeError, Message: fmt.Sprintf(format, args...)})
	})
}

func (s *server) Initialize(_ context.Context, p *protocol.InitializeParams) (*protocol.InitializeResult, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.initialized {
		return nil, jsonrpc2.NewError(jsonrpc2.InvalidRequest, "the session is initialized already")
	}
	s.initialized = true
	if folders, ok := p.WorkspaceFolders.Get(); ok {
		for _, f := range folders {
			s.folders = append(s.folders, fileOf(f.URI))
		}
	} else if p.RootURI != nil {
		s.folders = append(s.folders, fileOf(*p.RootURI))
	}
	if w := p.Capabilities.Workspace; w != nil && w.DidChangeWatchedFiles != nil && w.DidChangeWatchedFiles.DynamicRegistration != nil {
		s.watches = *w.DidChangeWatchedFiles.DynamicRegistration
	}
	return &protocol.InitializeResult{
		ServerInfo:   protocol.ServerInfo{Name: "opgen", Version: protocol.NewOptional(s.version)},
		Capabilities: capabilities(),
	}, nil
}

// watched lists the files whose changes the client tells.
var watched = []protocol.Pattern{"**/*.toml", "**/go.mod", "**/go.sum", "**/go.work", "**/*.go", "**/*.cu"}

func (s *server) Initialized(context.Context, *protocol.InitializedParams) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watches {
		var o protocol.DidChangeWatchedFilesRegistrationOptions
		for _, p := range watched {
			o.Watchers = append(o.Watchers, protocol.FileSystemWatcher{GlobPattern: p})
		}
		data, err := protocol.Marshal(&o)
		if err != nil {
			return err
		}
		s.work.Go(func() {
			_ = s.client.RegisterCapability(s.ctx, &protocol.RegistrationParams{Registrations: []protocol.Registration{{
				ID: "watch", Method: protocol.MethodWorkspaceDidChangeWatchedFiles, RegisterOptions: data}}})
		})
	}
	for _, dir := range s.folders {
		if dir == "" {
			continue
		}
		if root, err := config.Find(dir); err == nil {
			s.module(root).changed()
		}
	}
	return nil
}

func (s *server) Shutdown(context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.shut = true
	return nil
}

func (s *server) Exit(context.Context) error {
	select {
	case <-s.exit:
	default:
		close(s.exit)
	}
	return nil
}

func (s *server) SetTrace(context.Context, *protocol.SetTraceParams) error { return nil }

// module returns the module at a root. The caller holds the lock.
func (s *server) module(root string) *module {
	m := s.modules[root]
	if m == nil {
		m = &module{server: s, disk: workspace.NewDisk(root), published: map[uri.URI]bool{}}
		s.modules[root] = m
	}
	return m
}

// fileOf returns the file of a document; "" if it is none, such as an older version of a file, or a text that
// has no file yet.
func fileOf(u uri.URI) string {
	if !strings.HasPrefix(strings.ToLower(string(u)), "file:") {
		return ""
	}
	return u.FsPath()
}

// place finds the module of a document. The caller holds the lock.
func (s *server) place(d *document) {
	d.module, d.path = nil, ""
	root, err := config.Find(filepath.Dir(d.file))
	if ext := filepath.Ext(d.file); err != nil || ext != ".toml" && ext != ".go" {
		return
	}
	rel, err := filepath.Rel(root, d.file)
	if err != nil {
		return
	}
	d.module, d.path = s.module(root), filepath.ToSlash(rel)
}

func (s *server) DidOpen(_ context.Context, p *protocol.DidOpenTextDocumentParams) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := &p.TextDocument
	d := &document{uri: uri.URI(strings.Clone(string(t.URI))), file: fileOf(t.URI), text: strings.Clone(t.Text), version: t.Version}
	if d.file == "" {
		return nil
	}
	s.documents[d.file] = d
	if s.place(d); d.module != nil {
		d.module.changed(d.path)
	}
	return nil
}

func (s *server) DidChange(_ context.Context, p *protocol.DidChangeTextDocumentParams) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := fileOf(p.TextDocument.URI)
	d := s.documents[file]
	switch {
	case file == "":
		return nil
	case d == nil:
		return fmt.Errorf("%s is not open", p.TextDocument.URI)
	}
	for _, c := range p.ContentChanges {
		d.text = change(d.text, c)
	}
	d.text, d.version = strings.Clone(d.text), p.TextDocument.Version
	if d.module != nil {
		d.module.changed(d.path)
	}
	return nil
}

func (s *server) DidClose(_ context.Context, p *protocol.DidCloseTextDocumentParams) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := fileOf(p.TextDocument.URI)
	d := s.documents[file]
	delete(s.documents, file)
	if d != nil && d.module != nil {
		d.module.changed()
	}
	return nil
}

func (s *server) DidSave(context.Context, *protocol.DidSaveTextDocumentParams) error {
	s.filesChanged()
	return nil
}

func (s *server) DidChangeWatchedFiles(context.Context, *protocol.DidChangeWatchedFilesParams) error {
	s.filesChanged()
	return nil
}

// filesChanged looks at the files of all modules again.
func (s *server) filesChanged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.documents {
		s.place(d) // opgen.toml may be there now, or gone
	}
	for _, m := range s.modules {
		m.changed()
	}
}

// overlay returns the texts of the open documents of a module, and their versions by path. The caller holds
// the lock.
func (s *server) overlay(m *module) (texts map[string]string, open map[string]opened) {
	texts, open = map[string]string{}, map[string]opened{}
	for _, d := range s.documents {
		if d.module == m {
			texts[d.path], open[d.path] = d.text, opened{d.uri, d.version}
		}
	}
	return texts, open
}

// shows reports whether a document is open that belongs to another module than m.
func (s *server) shows(u uri.URI, m *module) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	d := s.documents[fileOf(u)]
	return d != nil && d.module != nil && d.module != m
}

// opened is a document of a moment.
type opened struct {
	uri     uri.URI
	version int32
}

// at returns the moment of a document's module, and the path of the document; nil if the file belongs to no
// module. Requests call it before they let others overtake them.
func (s *server) at(u uri.URI) (*moment, string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	file := fileOf(u)
	d := s.documents[file]
	if d == nil && file != "" { // a client may ask about a file that is not open
		d = &document{file: file}
		s.place(d)
	}
	if d == nil || d.module == nil {
		return nil, ""
	}
	if d.module.now == nil {
		d.module.changed()
	}
	return d.module.now, d.path
}

// ask answers a request about a document by f, about the texts of this moment. It returns nil if the document
// belongs to no module.
func ask[T any](ctx context.Context, s *server, u uri.URI, f func(ctx context.Context, q *query) (T, error)) (out T, err error) {
	m, path := s.at(u)
	if m == nil {
		return out, nil
	}
	ctx, end := s.begin(ctx, m)
	defer end()
	if breakdown != nil {
		breakdown()
	}
	snap, err := m.snapshot()
	if err == nil {
		q := &query{Snapshot: snap, path: path, moment: m, mapped: map[string]*lines{}}
		_, spec := snap.Text(path)
		if _, kernel := snap.Kernel(path); !spec && !kernel {
			return out, nil
		}
		out, err = f(ctx, q)
	}
	var none T
	switch {
	case m.ctx.Err() != nil:
		return none, protocol.ErrContentModified
	case ctx.Err() != nil:
		return none, protocol.ErrRequestCancelled
	case err != nil:
		return none, answer(err)
	}
	return out, nil
}

// breakdown is called by requests, in a test of panics.
var breakdown func()

// query is a request about a file of a snapshot.
type query struct {
	*workspace.Snapshot
	path   string
	moment *moment
	mapped map[string]*lines
}

// lines returns the positions of a file; those of an empty text, if there is no such file.
func (q *query) lines(path string) *lines {
	l := q.mapped[path]
	if l == nil {
		text, _ := q.Text(path)
		l = linesOf(text)
		q.mapped[path] = l
	}
	return l
}

// uri returns the address of a file of the module.
func (q *query) uri(path string) uri.URI { return q.moment.uri(path) }
