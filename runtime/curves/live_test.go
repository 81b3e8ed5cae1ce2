package curves

import (
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// answer returns the status and the body of a request, for a host of its own if that is not "".
func answer(t *testing.T, url, host string) (int, string) {
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
	return a.StatusCode, string(body)
}

// TestServe asks for a page, and for what changed while another goroutine adds steps.
func TestServe(t *testing.T) {
	t.Parallel()
	run := runOf("now", 5)
	l, err := Serve("localhost:0", "Training", runOf("before", 3, 2), run)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	status, text := answer(t, l.URL(), "")
	runs, err := Read(strings.NewReader(text))
	if status != 200 || err != nil || len(runs) != 2 || len(runs[1].Curve("loss").Steps) != 1 {
		t.Fatalf("want status 200 and two runs, got %d, %v, %v", status, runs, err)
	}
	if !strings.Contains(text, `<body data-live="runs?token=`) {
		t.Error("the page does not say where changes are")
	}
	changes := strings.Replace(l.URL(), "/?", "/runs?", 1)
	var changed struct {
		Version string
		Runs    []*Run
	}
	read := func() {
		t.Helper()
		status, text := answer(t, changes+"&version="+url.QueryEscape(changed.Version), "")
		if status == http.StatusNoContent {
			return
		}
		if err := json.Unmarshal([]byte(text), &changed); status != 200 || err != nil {
			t.Fatalf("want status 200 and runs, got %d, %v: %s", status, err, text)
		}
	}
	var w sync.WaitGroup
	w.Go(func() {
		for step := 2; step <= 500; step++ {
			l.Update(func() { run.Curve("loss").Add(step, 5/float64(step)) })
		}
	})
	for range 20 {
		read()
		if err := valid(changed.Runs); err != nil {
			t.Fatal(err)
		}
	}
	w.Wait()
	read()
	if n := len(changed.Runs[1].Curve("loss").Steps); n != 500 {
		t.Errorf("want 500 steps, got %d", n)
	}
	if status, _ := answer(t, changes+"&version="+changed.Version, ""); status != http.StatusNoContent {
		t.Errorf("want no content where nothing changed, got status %d", status)
	}
	if err := l.Close(); err != nil {
		t.Error(err)
	}
	if err := l.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
	if _, err := http.Get(l.URL()); err == nil {
		t.Error("want no answer behind the end, got one")
	}
	var none *Live
	called := false
	none.Update(func() { called = true })
	if err := none.Close(); err != nil || !called {
		t.Errorf("without a page: called %t, %v", called, err)
	}
}

// TestServeRefuses asks without the token, with another one, as a page of another site would, and by another
// method.
func TestServeRefuses(t *testing.T) {
	t.Parallel()
	l, err := Serve("127.0.0.1:0", "Training")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	root, _, _ := strings.Cut(l.URL(), "?")
	for _, c := range []struct{ url, host string }{
		{root, ""}, {root + "?token=", ""}, {root + "?token=x", ""}, {root + "runs", ""}, {l.URL() + "x", ""},
		{l.URL(), "attacker.example"}, {l.URL(), "127.0.0.1.attacker.example:80"}, {l.URL(), "10.0.0.1"},
	} {
		if status, text := answer(t, c.url, c.host); status != http.StatusForbidden || strings.Contains(text, "data-live") {
			t.Errorf("%s of %q: want status 403, got %d", c.url, c.host, status)
		}
	}
	for _, host := range []string{"localhost", "localhost:80", "[::1]:80", "127.0.0.1"} {
		if status, _ := answer(t, l.URL(), host); status != 200 {
			t.Errorf("%q: want status 200, got %d", host, status)
		}
	}
	a, err := http.Post(l.URL(), "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	a.Body.Close()
	if a.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("post: want status 405, got %d", a.StatusCode)
	}
	for address, want := range map[string]string{"0.0.0.0:0": "other machines", ":0": "localhost:0", "localhost": "localhost:0", "localhost:http:1": "localhost:0", "127.0.0.1:99999": "port"} {
		l, err := Serve(address, "Training")
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("address %q: want an error with %q, got %v", address, want, err)
		}
	}
	if _, err := Serve("localhost:0", "Training", &Run{Name: "wrong", Curves: []*Curve{{Name: "loss", Steps: []int{1}}}}); err == nil {
		t.Error("want an error for a curve without values, got none")
	}
}
