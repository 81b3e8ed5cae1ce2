package live

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// ask returns the status, the body and the version of the answer to a request, for a host of its own if that
// is not "".
func ask(t *testing.T, url, host string) (int, string, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Host = host
	a, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer a.Body.Close()
	body, err := io.ReadAll(a.Body)
	if err != nil {
		t.Fatal(err)
	}
	return a.StatusCode, string(body), a.Header.Get("Version")
}

// counter returns a page that shows a number.
func counter(title string, n *int) *Page {
	return NewPage(title,
		func(w io.Writer, at *Place) error {
			_, err := fmt.Fprintf(w, "%s %d, version %s, changes at %s, links %v", title, *n, at.Version, at.Changes, at.Links)
			return err
		},
		func(w io.Writer) error { _, err := fmt.Fprint(w, *n); return err })
}

// TestServe asks for two pages, and for what changed while another goroutine changes one of them.
func TestServe(t *testing.T) {
	t.Parallel()
	n, m := 7, 8
	p := counter("a", &n)
	s, err := Serve("localhost:0", p, counter("b", &m))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if p.Asked() {
		t.Error("the page was asked for before it was")
	}
	root, token, _ := strings.Cut(s.URL(), "?")
	for address, want := range map[string]string{
		s.URL():             "a 7, version 0, changes at changes1?" + token + ", links [{b 2?" + token + "}]",
		root + "2?" + token: "b 8, version 0, changes at changes2?" + token + ", links [{a ./?" + token + "}]",
	} {
		if status, text, _ := ask(t, address, ""); status != 200 || text != want {
			t.Errorf("%s: got status %d and %q, want %q", address, status, text, want)
		}
	}
	if !p.Asked() {
		t.Error("the page was not asked for")
	}
	changes := root + "changes1?" + token + "&version="
	var w sync.WaitGroup
	w.Go(func() {
		for range 500 {
			p.Update(func() { n++ })
		}
	})
	version := "0"
	read := func() {
		t.Helper()
		status, text, next := ask(t, changes+version, "")
		if status == http.StatusNoContent {
			return
		}
		before, _ := strconv.Atoi(version)
		got, err := strconv.Atoi(text)
		if now, _ := strconv.Atoi(next); status != 200 || err != nil || now <= before || got != now+7 {
			t.Fatalf("behind version %s: got status %d, version %s and %q", version, status, next, text)
		}
		version = next
	}
	for range 20 {
		read()
	}
	w.Wait()
	p.Update(func() { n++ })
	if p.Asked() {
		t.Error("the page was asked for after the last change")
	}
	read()
	if status, _, _ := ask(t, changes+version, ""); version != "501" || status != http.StatusNoContent || !p.Asked() {
		t.Errorf("behind version %s: got status %d, want no content behind version 501", version, status)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := http.Get(s.URL()); err == nil {
		t.Error("want no answer behind the end, got one")
	}
}

// TestNone updates no page, and closes no server.
func TestNone(t *testing.T) {
	t.Parallel()
	var p *Page
	var s *Server
	called := false
	p.Update(func() { called = true })
	if err := s.Close(); err != nil || !called || p.Asked() {
		t.Errorf("called %t, %v", called, err)
	}
}

// TestFails answers with the error of a page.
func TestFails(t *testing.T) {
	t.Parallel()
	bad := func(io.Writer) error { return errors.New("no data") }
	s, err := Serve("127.0.0.1:0", NewPage("bad", func(w io.Writer, _ *Place) error { return bad(w) }, bad))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, address := range []string{s.URL(), strings.Replace(s.URL(), "/?", "/changes1?", 1)} {
		if status, text, _ := ask(t, address, ""); status != 500 || text != "no data\n" {
			t.Errorf("%s: got status %d, %q", address, status, text)
		}
	}
}

// TestPanics asks for a page whose functions panic, and updates it.
func TestPanics(t *testing.T) {
	t.Parallel()
	p := NewPage("bad", func(io.Writer, *Place) error { panic("no document") }, func(io.Writer) error { panic("no changes") })
	h := handler("x", []*Page{p})
	for path, want := range map[string]string{"/": "no document", "/changes1": "no changes"} {
		r := httptest.NewRequest("GET", "http://localhost"+path+"?token=x", nil)
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("%s: want the panic %q, got %v", path, want, got)
				}
			}()
			h.ServeHTTP(httptest.NewRecorder(), r)
		}()
		if !p.mu.TryLock() {
			t.Fatalf("%s: an update would wait for ever", path)
		}
		p.mu.Unlock()
	}
}

// TestRefuses asks without the token, with another one, as a page of another site would, and by another
// method.
func TestRefuses(t *testing.T) {
	t.Parallel()
	n := 1
	s, err := Serve("127.0.0.1:0", counter("secret", &n), counter("secret", &n))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	root, _, _ := strings.Cut(s.URL(), "?")
	for _, c := range []struct{ url, host string }{
		{root, ""}, {root + "?token=", ""}, {root + "?token=x", ""}, {root + "changes1", ""}, {root + "2", ""}, {root + "changes2?version=0", ""}, {s.URL() + "x", ""},
		{s.URL(), "attacker.example"}, {s.URL(), "127.0.0.1.attacker.example:80"}, {s.URL(), "10.0.0.1"},
	} {
		if status, text, _ := ask(t, c.url, c.host); status != http.StatusForbidden || strings.Contains(text, "secret") {
			t.Errorf("%s of %q: want status 403, got %d", c.url, c.host, status)
		}
	}
	for _, host := range []string{"localhost", "localhost:80", "[::1]:80", "127.0.0.1"} {
		if status, _, _ := ask(t, s.URL(), host); status != 200 {
			t.Errorf("%q: want status 200, got %d", host, status)
		}
	}
	a, err := http.Post(s.URL(), "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if a.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("post: want status 405, got %d", a.StatusCode)
	}
	for address, want := range map[string]string{"0.0.0.0:0": "other machines", ":0": "localhost:0", "localhost": "localhost:0", "localhost:http:1": "localhost:0", "127.0.0.1:99999": "port"} {
		s, err := Serve(address)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("address %q: want an error with %q, got %v", address, want, err)
		}
	}
}
