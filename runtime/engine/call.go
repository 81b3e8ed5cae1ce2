package engine

import (
	"errors"
	"runtime/debug"

	"github.com/opgen/opgen/runtime/internal/goroutine"
)

// errReentered is the error of a kernel or a callback that calls its engine. The engine waits for it, so it
// must not wait for the engine.
var errReentered = errors.New("engine: want a call from outside, got one by a kernel or a callback that the engine is waiting for")

// Inside reports whether the calling goroutine runs a kernel or a callback of the engine, such as
// Config.Admit. Such a call of the engine is an error. Inside takes some microseconds.
func (e *Engine) Inside() bool {
	id := goroutine.ID()
	if b, ok := e.backend.(interface{ Inside(goroutine uint64) bool }); ok && b.Inside(id) {
		return true
	}
	return e.runner.Is(id)
}

// lock locks the engine. It is an error if the engine would wait for its caller.
func (e *Engine) lock() error {
	if e == nil || e.backend == nil {
		return errors.New("engine: want an engine that New has made, got none")
	}
	if e.mu.TryLock() {
		return nil
	}
	if e.Inside() {
		return errReentered
	}
	e.mu.Lock()
	return nil
}

// lock locks the engine of the instance.
func (in *Instance) lock() error {
	if in == nil {
		return errors.New("engine: want an instance, got nil")
	}
	return in.engine.lock()
}

// mustLock is for methods without an error. The panic is one of the kernel or the callback that calls them.
func mustLock(err error) {
	if err != nil {
		panic(err.Error())
	}
}

// call calls a function that may call kernels and callbacks. If one of them panics or ends its goroutine,
// that is an error.
func (e *Engine) call(f func() error) error { return e.run(newGuarded(f)) }

func (e *Engine) run(g *guarded) error {
	g.err = nil
	if err := e.runner.Do(g.do); err != nil {
		return err
	}
	return g.err
}

// guarded is a function whose panics are errors. One that is called often is made once.
type guarded struct {
	f   func() error
	err error
	do  func() // sets err
}

func newGuarded(f func() error) *guarded {
	g := &guarded{f: f}
	g.do = g.call
	return g
}

func (g *guarded) call() {
	defer func() {
		if v := recover(); v != nil {
			g.err = &PanicError{Value: v, Stack: debug.Stack()}
		}
	}()
	g.err = g.f()
}
