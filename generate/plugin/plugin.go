// Package plugin is the protocol between opgen and its plug-ins. A plug-in makes files from the model of a
// module's operators, for instance headers of another language.
//
// A plug-in is a program that reads a [Request] as JSON from standard input and writes a [Response] as JSON
// to standard output. A program in Go implements [Plugin] and calls [Serve]. Package generate runs the same
// Plugin within a process. docs/plugins.md describes the protocol for programs in other languages.
package plugin

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/signal"
)

// Protocol is the version of the protocol and of the model. It increases when a field changes its meaning or
// is removed, and not when a field is added.
const Protocol = 1

// Request is the input of a plug-in.
type Request struct {
	Protocol int    `json:"protocol"`
	Opgen    string `json:"opgen"`  // the version of opgen
	Plugin   string `json:"plugin"` // the name in opgen.toml
	// Options is the table options of opgen.toml: an object.
	Options json.RawMessage `json:"options"`
	// Model holds all operators and enums: an object, as docs/plugins.md describes it.
	Model json.RawMessage `json:"model"`
}

// Response is the output of a plug-in. If it has findings, opgen writes nothing.
type Response struct {
	Protocol int       `json:"protocol"`
	Files    []File    `json:"files"`
	Findings []Finding `json:"findings,omitempty"`
}

// File is a file for the plug-in's folder. Opgen puts a header and a checksum in front if it knows the
// comments of the file's language. The file opgen.sums in the folder lists the checksums of other files.
type File struct {
	Path string `json:"path"` // below the plug-in's folder, with slashes
	// Source is the spec from which the file was made. The header names it. "" means all specs.
	Source string `json:"source,omitempty"`
	// Text is the content. Data replaces it if the content is not UTF-8.
	Text string `json:"text,omitempty"`
	Data []byte `json:"data,omitempty"` // in base 64
}

// Finding is a mistake in the specs that a plug-in reports.
type Finding struct {
	// Pos is a position as the model holds them: file:line:column. "" means the plug-in in opgen.toml.
	Pos     string `json:"pos,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"` // how to correct it
}

// Plugin makes files from the model of operators. The response must depend on the request only, since opgen
// does not run a plug-in if nothing has changed.
type Plugin interface {
	Generate(ctx context.Context, r *Request) (*Response, error)
}

// Serve is the main function of a plug-in: it answers the request on standard input and exits. The exit
// status is 1 if there is an error, which is written to standard error.
func Serve(p Plugin) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := Answer(ctx, p, os.Stdin, os.Stdout)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// Answer reads a request from in, calls p, and writes the response to out. It returns an error if in holds no
// request of this protocol, if p returns one, or if out cannot be written.
func Answer(ctx context.Context, p Plugin, in io.Reader, out io.Writer) error {
	var r Request
	if err := json.NewDecoder(in).Decode(&r); err != nil {
		return fmt.Errorf("reading the request: %w", err)
	}
	if r.Protocol != Protocol {
		return fmt.Errorf("the request is of protocol %d, want %d", r.Protocol, Protocol)
	}
	answer, err := p.Generate(ctx, &r)
	if err != nil {
		return err
	}
	answer.Protocol = Protocol
	return json.NewEncoder(out).Encode(answer)
}
