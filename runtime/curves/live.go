package curves

import (
	"crypto/rand"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"sync"
)

// Live is a page about a training that runs: browsers of this machine ask it for new steps about once a
// second. Its methods may be called by several goroutines.
type Live struct {
	url    string
	server *http.Server
	served chan error // what Serve of server returned

	mu      sync.Mutex // guards what follows, and the runs
	runs    []*Run
	version int // how often the runs changed
}

// Serve shows runs on a page that browsers find at the URL of the result. Only Update may change the runs
// until the page is closed. The address is a host and a port of this machine's loopback interface, such as
// localhost:0 for any free port; another one is an error, since a page has no encryption. The URL holds a
// token of 128 random bits, without which nothing is answered: other users of the machine do not know it.
func Serve(address, title string, runs ...*Run) (*Live, error) {
	if err := valid(runs); err != nil {
		return nil, err
	}
	host, _, err := net.SplitHostPort(address)
	if err != nil || host == "" {
		return nil, fmt.Errorf("curves: want an address of this machine such as localhost:0, got %q", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("curves: %w", err)
	}
	if a, ok := listener.Addr().(*net.TCPAddr); !ok || !a.IP.IsLoopback() {
		return nil, errors.Join(fmt.Errorf("curves: want an address that other machines do not reach, such as localhost:0, got %q", address), listener.Close())
	}
	token := rand.Text()
	l := &Live{url: fmt.Sprintf("http://%s/?token=%s", listener.Addr(), token), served: make(chan error, 1), runs: runs}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) { l.page(w, title, "runs?token="+token) })
	mux.HandleFunc("GET /runs", l.changed)
	l.server = &http.Server{Handler: guarded(token, mux)}
	go func() { l.served <- l.server.Serve(listener) }()
	return l, nil
}

// guarded returns a handler that refuses requests without the token. It also refuses those for the name of
// another machine: a page of another site could let its name resolve to this one.
func guarded(token string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := (&url.URL{Host: r.Host}).Hostname()
		ip, err := netip.ParseAddr(host)
		if host != "localhost" && (err != nil || !ip.IsLoopback()) ||
			subtle.ConstantTimeCompare([]byte(r.URL.Query().Get("token")), []byte(token)) != 1 {
			http.Error(w, "want the address that the training printed, with its token", http.StatusForbidden)
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

// URL returns where browsers find the page, with its token.
func (l *Live) URL() string { return l.url }

// Update calls change, which may change the runs of the page: Add values, add curves. Without a page, where l
// is nil, it only calls change.
func (l *Live) Update(change func()) {
	if l == nil {
		change()
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	change()
	l.version++
}

// Close ends the page. Browsers that show it keep what they have, and say that the training ended. It does
// nothing if l is nil.
func (l *Live) Close() error {
	if l == nil {
		return nil
	}
	err := l.server.Close()
	if served := <-l.served; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	l.served <- http.ErrServerClosed // for another Close
	return err
}

// page answers with the page. It asks live for runs that changed.
func (l *Live) page(w http.ResponseWriter, title, live string) {
	l.mu.Lock()
	data, err := encoded(l.runs)
	l.mu.Unlock()
	if err == nil {
		err = execute(w, title, live, data)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// changed answers with the runs and their version, unless the browser has that version.
func (l *Live) changed(w http.ResponseWriter, r *http.Request) {
	l.mu.Lock()
	version := fmt.Sprint(l.version)
	if r.URL.Query().Get("version") == version {
		l.mu.Unlock()
		w.WriteHeader(http.StatusNoContent)
		return
	}
	text, err := json.Marshal(struct {
		Version string `json:"version"`
		Runs    []*Run `json:"runs"`
	}{version, l.runs})
	l.mu.Unlock()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Write(text)
}
