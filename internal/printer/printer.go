// Package printer finds out whether all that a command printed was written, so that it does not succeed on a
// full disk.
package printer

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"sync"

	"golang.org/x/term"
)

// trouble is the exit status of a command whose output is lost.
const trouble = 2

// Printer passes on what is written to it, and keeps the first error in mind. Several goroutines may write.
type Printer struct {
	mu  sync.Mutex
	w   io.Writer
	err error
}

// New returns a printer that passes on to w.
func New(w io.Writer) *Printer { return &Printer{w: w} }

func (p *Printer) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	n, err := p.w.Write(b)
	p.err = cmp.Or(p.err, err)
	return n, err
}

// Terminal reports whether what is written goes to a terminal.
func (p *Printer) Terminal() bool {
	f, ok := p.w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Err returns the first error of a write.
func (p *Printer) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Run runs the command of the given name and returns its exit status. That is 2 if not all could be written.
func Run(name string, stdout, stderr io.Writer, run func(stdout, stderr io.Writer) int) int {
	out, errs := New(stdout), New(stderr)
	status := run(out, errs)
	if err := out.Err(); err != nil {
		fmt.Fprintf(errs, "%s: standard output: %v\n", name, err)
		return trouble
	}
	if errs.Err() != nil {
		return trouble
	}
	return status
}
