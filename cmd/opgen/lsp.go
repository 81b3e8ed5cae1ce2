package main

import (
	"io"
	"os"
	"runtime/debug"

	"github.com/opgen/opgen/internal/lsp"
)

// lsp serves an editor on standard input and output.
func (c *command) lsp() int {
	debug.SetGCPercent(100) // unlike other commands, this one runs for long
	if err := lsp.Serve(stdio{os.Stdin, c.stdout}, self()); err != nil {
		return c.fail(err)
	}
	return clean
}

// stdio is a stream that reads from one file and writes to another.
type stdio struct {
	io.ReadCloser
	io.Writer
}
