// Package live shows pages about a running program to browsers of the same machine, with what changes.
package live

import (
	"bytes"
	"crypto/rand"
	"crypto/subtle"
	_ "embed"
	"errors"
	"fmt"
	"html/template"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"sync"
	"time"
)

// Script is what a document needs to follow its page: the function follow calls another one with the bytes
// that Changes of the page writes, whenever there are new ones. The body of the document has the attributes
// data-live and data-version of its Place, and an element "live" for the state of the program.
var Script = template.JS(script)

//go:embed live.js
var script string

// Page is a page whose content changes while a program runs. Its methods may be called by several goroutines.
type Page struct {
	title    string
	document func(w io.Writer, at *Place) error
	changes  func(w io.Writer) error

	mu      sync.Mutex // guards what follows, and what document and changes read
	version int        // how often the content changed
	asked   bool       // since the last change
}

// Place is where the document of a page is served.
type Place struct {
	Changes string // the address of what changed
	Version string // of the content of the document
	Links   []Link // to the other pages of the program
}

// Link leads to another page.
type Link struct{ Title, Address string }

// NewPage returns a page. Its document is HTML that shows the present content. Changes writes the present
// content for the script of the document. Update waits for both, so they only write to memory.
func NewPage(title string, document func(w io.Writer, at *Place) error, changes func(w io.Writer) error) *Page {
	return &Page{title: title, document: document, changes: changes}
}

// Update calls change, which may change what the page shows. Without a page, where p is nil, it only calls
// change.
func (p *Page) Update(change func()) {
	if p == nil {
		change()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.version++
	p.asked = false
}

// Asked reports whether a browser asked for the page since the last update: if none did, an update that takes
// much time can be left out. It is false if p is nil.
func (p *Page) Asked() bool {
	if p == nil {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.asked
}

// serveDocument answers with the document.
func (p *Page) serveDocument(w http.ResponseWriter, at Place) {
	var document bytes.Buffer // so that a slow browser does not hold up an update
	err := p.read(func() error {
		at.Version = strconv.Itoa(p.version)
		return p.document(&document, &at)
	})
	answer(w, "text/html; charset=utf-8", document.Bytes(), err)
}

// serveChanges answers with the content and its version, unless the browser has that version.
func (p *Page) serveChanges(w http.ResponseWriter, r *http.Request) {
	var content bytes.Buffer
	var version string
	known := r.URL.Query().Get("version")
	err := p.read(func() error {
		if version = strconv.Itoa(p.version); version == known {
			return nil
		}
		return p.changes(&content)
	})
	if version == known {
		w.WriteHeader(http.StatusNoContent)
		return
	}
	w.Header().Set("Version", version)
	answer(w, "application/octet-stream", content.Bytes(), err)
}

// read calls a function that reads what Update changes. If the function panics, updates go on.
func (p *Page) read(do func() error) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.asked = true
	return do()
}

func answer(w http.ResponseWriter, kind string, content []byte, err error) {
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", kind)
	w.Write(content)
}

// Server serves pages.
type Server struct {
	url    string
	server *http.Server
	served chan error // what Serve of server returned
}

// Serve serves pages until the server is closed. The first one is at the URL of the server and leads to the
// others. The address is a host and a port of this machine's loopback interface, such as localhost:0 for any
// free port; another one is an error, since pages have no encryption. The URL holds a token of 128 random
// bits, without which nothing is answered: other users of the machine do not know it.
func Serve(address string, pages ...*Page) (*Server, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return nil, fmt.Errorf("live: want an address of this machine such as localhost:0, got %q", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("live: %w", err)
	}
	if a, ok := listener.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("live: want an address that other machines do not reach, such as localhost:0, got %q", address), listener.Close())
	}
	token := rand.Text()
	s := &Server{url: fmt.Sprintf("http://%s/?token=%s", listener.Addr(), token), served: make(chan error, 1)}
	s.server = &http.Server{Handler: handler(token, pages),
		ReadTimeout: 10 * time.Second, WriteTimeout: 10 * time.Minute, IdleTimeout: time.Minute} // since other users may connect, and files need descriptors, too
	go func() { s.served <- s.server.Serve(listener) }()
	return s, nil
}

// handler returns what answers requests for pages. Addresses are relative, so that they hold behind a proxy.
func handler(token string, pages []*Page) http.Handler {
	mux := http.NewServeMux()
	address := func(path string) string { return path + "?token=" + token }
	path := func(i int) string { // of a page, in the folder of all
		if i == 0 {
			return "./"
		}
		return strconv.Itoa(i + 1)
	}
	for i, p := range pages {
		at := Place{Changes: address(fmt.Sprint("changes", i+1))}
		for k, other := range pages {
			if k != i {
				at.Links = append(at.Links, Link{other.title, address(path(k))})
			}
		}
		pattern := "GET /" + path(i)
		if i == 0 {
			pattern = "GET /{$}"
		}
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { p.serveDocument(w, at) })
		mux.HandleFunc(fmt.Sprint("GET /changes", i+1), p.serveChanges)
	}
	return guarded(token, mux)
}

// guarded returns a handler that refuses requests without the token. It also refuses those for the name of
// another machine: a page of another site could let its name resolve to this one.
func guarded(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		ip, err := netip.ParseAddr(host)
		if host != "localhost" && (err != nil || !ip.IsLoopback()) ||
			subtle.ConstantTimeCompare([]byte(r.URL.Query().Get("token")), []byte(token)) != 1 {
			http.Error(w, "want the address that the program printed, with its token", http.StatusForbidden)
			return
		}
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; img-src data:; connect-src 'self'; frame-ancestors 'none'")
		next.ServeHTTP(w, r)
	})
}

// URL returns where browsers find the first page, with its token.
func (s *Server) URL() string { return s.url }

// Close ends the server. Browsers that show a page keep what they have, and say that the program ended. It
// does nothing if s is nil.
func (s *Server) Close() error {
	if s == nil {
		return nil
	}
	err := s.server.Close()
	if served := <-s.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	s.served <- http.ErrServerClosed // for another Close
	return err
}
