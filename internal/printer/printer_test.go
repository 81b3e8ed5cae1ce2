package printer

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// disk is a writer with place for some bytes.
type disk struct {
	strings.Builder
	left int
}

var errFull = errors.New("no space left on device")

func (d *disk) Write(b []byte) (int, error) {
	if len(b) > d.left {
		return 0, errFull
	}
	d.left -= len(b)
	return d.Builder.Write(b)
}

// TestRun checks the status of a command that prints two lines, the first one long, to writers of different
// sizes.
func TestRun(t *testing.T) {
	print := func(stdout, stderr io.Writer) int {
		fmt.Fprintln(stdout, "a long line")
		fmt.Fprintln(stdout, "end")
		fmt.Fprintln(stderr, "note")
		return 1
	}
	for _, c := range []struct {
		out, errs, status int
		stderr            string
	}{
		{100, 100, 1, "note\n"},
		{5, 100, trouble, "note\nx: standard output: no space left on device\n"},
		{100, 2, trouble, ""},
		{0, 0, trouble, ""},
	} {
		stderr := &disk{left: c.errs}
		if got := Run("x", &disk{left: c.out}, stderr, print); got != c.status || stderr.String() != c.stderr {
			t.Errorf("place for %d and %d bytes: got status %d and %q, want %d and %q", c.out, c.errs, got, stderr, c.status, c.stderr)
		}
	}
}

// numbered is a writer of which each write fails with an error of its own.
type numbered int

func (n *numbered) Write([]byte) (int, error) {
	*n++
	return 0, fmt.Errorf("error %d", *n)
}

// TestFirstError checks that the first of several errors is kept.
func TestFirstError(t *testing.T) {
	p := New(new(numbered))
	for range 3 {
		fmt.Fprintln(p, "line")
	}
	if err := p.Err(); err == nil || err.Error() != "error 1" {
		t.Errorf("got %v, want error 1", err)
	}
}
