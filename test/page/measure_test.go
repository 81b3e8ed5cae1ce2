//go:build chromium

package page

import (
	"flag"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

var (
	file  = flag.String("file", "", "measure how long the page in this `file` takes to open")
	place = flag.String("place", "", "what stands behind the name of the file, such as #run=1")
)

// TestOpening measures how long the page of a file takes to open, from the address to the last mark of its
// script, in a browser that runs.
func TestOpening(t *testing.T) {
	if *file == "" {
		t.Skip("the flag -file names no page")
	}
	path, err := filepath.Abs(*file)
	if err != nil {
		t.Fatal(err)
	}
	b := start(t)
	for range 5 {
		p := b.open(path+*place, "light")
		t.Logf("ready after %v, of which %v are processor time of the page's thread; %s", p.took.Round(time.Millisecond), p.processor().Round(time.Millisecond), p.text("document.getElementById('summary').textContent + ', spans: ' + runs.map(r => r.workers.reduce((n, s) => n + s.length / 4, 0))"))
		p.clean("")
		p.picture(strings.TrimSuffix(filepath.Base(path), ".html"))
		p.close()
	}
}
