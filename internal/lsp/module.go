package lsp

import (
	"context"
	"maps"
	"path/filepath"
	"slices"
	"sync"

	"go.lsp.dev/protocol"
	"go.lsp.dev/uri"

	"github.com/opgen/opgen/internal/config"
	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/workspace"
)

// module is a module of which a file is open.
type module struct {
	server *server
	cache  workspace.Cache
	now    *moment // the newest; the server's lock guards it

	reading sync.Mutex // held while files are read
	disk    *workspace.Disk

	publishing sync.Mutex
	published  map[uri.URI]bool // files of which the client shows findings
}

// moment is a module with the texts of one moment.
type moment struct {
	module *module
	ctx    context.Context // ends when a newer moment begins
	cancel context.CancelFunc
	texts  map[string]string // of open documents, by path
	open   map[string]opened
	first  []string // what changed

	once sync.Once
	snap *workspace.Snapshot
	err  error
}

// changed begins a moment, in which documents have changed, or files. The caller holds the server's lock.
func (m *module) changed(paths ...string) {
	m.stop()
	ctx, cancel := context.WithCancel(m.server.ctx)
	now := &moment{module: m, ctx: ctx, cancel: cancel, first: paths}
	now.texts, now.open = m.server.overlay(m)
	m.now = now
	m.server.work.Go(now.diagnose)
}

// stop ends the work on the newest moment. The caller holds the server's lock.
func (m *module) stop() {
	if m.now != nil {
		m.now.cancel()
	}
}

// snapshot reads the files of the module, once. The error says which file cannot be read.
func (t *moment) snapshot() (*workspace.Snapshot, error) {
	t.once.Do(func() {
		if t.err = t.ctx.Err(); t.err != nil {
			return // there are newer texts
		}
		m := t.module
		m.reading.Lock()
		defer m.reading.Unlock()
		texts, err := m.disk.Texts(t.texts)
		if t.err = err; err == nil {
			t.snap = m.cache.Open(texts)
		}
	})
	return t.snap, t.err
}

// uri returns the address of a file: that which the client has for it, if it is open.
func (t *moment) uri(path string) uri.URI {
	if o, ok := t.open[path]; ok {
		return o.uri
	}
	if filepath.IsAbs(path) {
		return uri.File(path)
	}
	return uri.File(filepath.Join(t.module.disk.Root(), filepath.FromSlash(path)))
}

// diagnose publishes what is wrong with the files of the module: with those that changed as soon as that is
// known, and then with all.
func (t *moment) diagnose() {
	snap, err := t.snapshot()
	if t.ctx.Err() != nil {
		return
	}
	if err == nil && snap.Err() != nil {
		err = snap.Err()
	}
	if err != nil {
		if root, e := config.Find(t.module.disk.Root()); e != nil || root != t.module.disk.Root() {
			t.clear(nil) // there is no such module any more
			return
		}
		t.publish(config.Name, []protocol.Diagnostic{{Severity: protocol.DiagnosticSeverityError, Source: source, Message: protocol.String(err.Error())}})
		return
	}
	q := &query{Snapshot: snap, moment: t, mapped: map[string]*lines{}}
	for _, p := range t.first {
		if _, ok := snap.Text(p); !ok {
			continue
		}
		found, err := snap.Findings(t.ctx, p)
		if err != nil {
			return
		}
		t.publish(p, q.diagnostics(found))
	}
	all, err := snap.All(t.ctx, t.first...)
	if err != nil {
		return
	}
	show := map[string][]*diag.Diagnostic{config.Name: all[config.Name]}
	for p := range t.open {
		show[p] = all[p]
	}
	for p, found := range all {
		show[p] = found
	}
	for _, p := range slices.Sorted(maps.Keys(show)) {
		if _, spec := snap.Text(p); spec && slices.Contains(t.first, p) && p != config.Name {
			continue // published above
		}
		t.publish(p, q.diagnostics(show[p]))
	}
	t.clear(show)
}

// publish tells the client what is wrong with a file, unless there are newer texts.
func (t *moment) publish(path string, found []protocol.Diagnostic) {
	m := t.module
	m.publishing.Lock()
	defer m.publishing.Unlock()
	if t.ctx.Err() != nil {
		return
	}
	u := t.uri(path)
	p := &protocol.PublishDiagnosticsParams{URI: u, Diagnostics: found}
	if found == nil {
		p.Diagnostics = []protocol.Diagnostic{}
	}
	o, open := t.open[path]
	if open {
		p.Version = protocol.NewOptional(o.version)
	}
	if len(found) == 0 && !open && !m.published[u] {
		return
	}
	m.published[u] = len(found) > 0
	_ = m.server.client.PublishDiagnostics(m.server.ctx, p) // a newer moment must not end it: that one relies on what the client shows
}

// clear tells the client that files have no findings any more: those that are not among files.
func (t *moment) clear(files map[string][]*diag.Diagnostic) {
	m := t.module
	m.publishing.Lock()
	defer m.publishing.Unlock()
	known := map[uri.URI]bool{}
	for p := range files {
		known[t.uri(p)] = true
	}
	for u, shown := range m.published {
		if shown && !known[u] && t.ctx.Err() == nil {
			m.published[u] = false
			if m.server.shows(u, m) { // the file has another module, which says what is wrong with it
				continue
			}
			_ = m.server.client.PublishDiagnostics(m.server.ctx, &protocol.PublishDiagnosticsParams{URI: u, Diagnostics: []protocol.Diagnostic{}})
		}
	}
}
