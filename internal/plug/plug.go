// Package plug runs plug-ins that are programs.
package plug

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os/exec"
	"strings"
	"time"

	"github.com/opgen/opgen/generate/plugin"
)

// Command is a program that speaks the protocol of package plugin.
type Command struct {
	Args    []string // the program and its arguments
	Dir     string   // the folder to run in
	Timeout time.Duration
}

// Error says why a program gave no answer.
type Error struct {
	Message string
	Hint    string   // what to do about it
	Stderr  []string // the last lines that the program wrote to standard error
}

func (e *Error) Error() string { return e.Message }

// maxAnswer is how many bytes an answer may have.
const maxAnswer = 64 << 20

// answer collects standard output up to the limit. It stops a program that writes more.
type answer struct {
	text bytes.Buffer // not embedded, as its ReadFrom knows no limit
	full bool
	stop func()
}

// Write implements io.Writer.
func (a *answer) Write(p []byte) (int, error) {
	if a.text.Len()+len(p) > maxAnswer {
		a.full = true
		a.stop()
		return 0, errors.New("the answer is too long")
	}
	return a.text.Write(p)
}

// last keeps the last bytes of standard error.
type last struct{ text []byte }

// lastBytes is how many bytes are kept.
const lastBytes = 16 << 10

// Write implements io.Writer.
func (l *last) Write(p []byte) (int, error) {
	l.text = append(l.text, p[max(0, len(p)-lastBytes):]...)
	l.text = l.text[max(0, len(l.text)-lastBytes):]
	return len(p), nil
}

// lastLines is how many lines of standard error are kept.
const lastLines = 10

// Generate implements plugin.Plugin. Its errors are of type *Error.
func (c *Command) Generate(ctx context.Context, r *plugin.Request) (*plugin.Response, error) {
	request, err := json.Marshal(r)
	if err != nil {
		return nil, &Error{Message: "the request cannot be written as JSON: " + err.Error()}
	}
	limited, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	cmd := exec.CommandContext(limited, c.Args[0], c.Args[1:]...)
	var out answer
	var errs last
	out.stop = cancel
	cmd.Dir, cmd.Stdin, cmd.Stdout, cmd.Stderr = c.Dir, bytes.NewReader(request), &out, &errs
	cmd.WaitDelay = time.Second // for a child of the program that keeps the pipes open
	err = cmd.Run()
	if out.full {
		return nil, &Error{Message: fmt.Sprintf("the answer on standard output has more than %d MiB", maxAnswer>>20)}
	}
	if failed := c.failed(err, ctx, limited); failed != nil {
		failed.Stderr = tail(string(errs.text))
		return nil, failed
	}
	return decode(out.text.Bytes())
}

// failed returns what went wrong with a run, or nil.
func (c *Command) failed(err error, ctx, limited context.Context) *Error {
	var exit *exec.ExitError
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return &Error{Message: "the run was canceled"}
	case limited.Err() != nil:
		return &Error{Message: fmt.Sprintf("no answer within %v", c.Timeout), Hint: "timeout = SECONDS allows more time"}
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		e := &Error{Message: fmt.Sprintf("there is no command %s", c.Args[0])}
		if strings.ContainsRune(c.Args[0], ' ') {
			e.Hint = "the program and each of its arguments are elements of the list"
		}
		return e
	case errors.Is(err, exec.ErrWaitDelay):
		return &Error{Message: fmt.Sprintf("%s has ended, but a program that it started still runs and keeps standard output or standard error open", c.Args[0]),
			Hint: "a plug-in waits for the programs that it starts, or gives them other outputs"}
	case errors.As(err, &exit):
		return &Error{Message: fmt.Sprintf("%s ended with %v", c.Args[0], exit)}
	}
	return &Error{Message: err.Error()}
}

// decode reads a response. A field that the protocol does not have is an error, because a misspelled one
// would have no effect.
func decode(data []byte) (*plugin.Response, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var r plugin.Response
	err := d.Decode(&r)
	if err == io.EOF {
		err = errors.New("it is empty")
	}
	if err == nil {
		if _, more := d.Token(); more != io.EOF {
			err = errors.New("something follows the object")
		}
	}
	switch {
	case err != nil:
		return nil, &Error{Message: "the answer on standard output is not a response in JSON: " + strings.TrimPrefix(err.Error(), "json: "), Hint: "messages belong on standard error"}
	case r.Protocol != plugin.Protocol:
		return nil, &Error{Message: fmt.Sprintf("the answer is of protocol %d, want %d", r.Protocol, plugin.Protocol)}
	}
	return &r, nil
}

// tail returns the last lines of a text.
func tail(s string) []string {
	s = strings.TrimSpace(s)
	if s == "" {
		return nil
	}
	lines := strings.Split(s, "\n")
	return lines[max(0, len(lines)-lastLines):]
}
