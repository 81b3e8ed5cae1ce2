// Package goroutine tells goroutines apart, and runs functions on a goroutine of their own, so that a
// function which ends its goroutine does not end the caller's.
package goroutine

import (
	"bytes"
	"errors"
	"runtime"
	"strconv"
	"sync/atomic"
)

// ID returns the number of the calling goroutine, as stack traces show it. Go has no other way to ask for it,
// and this one takes about a microsecond, so it is for rare cases. It returns 0 if the trace has another
// form.
func ID() uint64 {
	var trace [64]byte
	head := trace[:runtime.Stack(trace[:], false)]
	head, _ = bytes.CutPrefix(head, []byte("goroutine "))
	number, _, _ := bytes.Cut(head, []byte(" "))
	id, err := strconv.ParseUint(string(number), 10, 64)
	if err != nil {
		return 0
	}
	return id
}

// Member is the number of a goroutine, which it joins itself. Other goroutines may ask for it meanwhile.
type Member struct{ id atomic.Uint64 }

// Join makes the calling goroutine the member.
func (m *Member) Join() { m.id.Store(ID()) }

// Is reports whether a goroutine is the member.
func (m *Member) Is(id uint64) bool { return id != 0 && m.id.Load() == id }

// ErrExited is the error of a function that has ended its goroutine.
var ErrExited = errors.New("the goroutine was ended by runtime.Goexit, as t.FailNow of package testing does")

// Runner runs functions, one at a time, on a goroutine of its own. The zero Runner is ready, and Stop ends
// its goroutine.
type Runner struct {
	server atomic.Pointer[server] // nil: none runs
}

// server is what the goroutine of a Runner has. It does not refer to the Runner, which can be collected
// meanwhile.
type server struct {
	Member
	calls   chan func()
	results chan error
}

// Do runs a function and waits for it. The error is nil, or ErrExited if the function has ended its
// goroutine. f must not panic.
func (r *Runner) Do(f func()) error {
	s := r.server.Load()
	if s == nil {
		s = &server{calls: make(chan func()), results: make(chan error)}
		r.server.Store(s)
		go s.serve()
	}
	s.calls <- f
	err := <-s.results
	if err != nil {
		r.server.Store(nil)
	}
	return err
}

// Is reports whether a goroutine is the Runner's.
func (r *Runner) Is(id uint64) bool {
	s := r.server.Load()
	return s != nil && s.Is(id)
}

// Stop ends the goroutine.
func (r *Runner) Stop() {
	if s := r.server.Swap(nil); s != nil {
		close(s.calls)
	}
}

func (s *server) serve() {
	s.Join()
	idle := true
	defer func() {
		if !idle {
			s.results <- ErrExited
		}
	}()
	for f := range s.calls {
		idle = false
		f()
		f = nil // what it refers to can be collected
		idle = true
		s.results <- nil
	}
}
