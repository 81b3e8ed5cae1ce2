// Package progress tells a user what a command does while it takes long.
package progress

import (
	"fmt"
	"io"
	"sync"
	"time"
)

// Delay is how long a command runs before its progress is shown on a terminal.
const Delay = 2 * time.Second

// clear goes back to the begin of a terminal's line, and empties it.
const clear = "\r\x1b[K"

// Line shows the stages of a command on one line of a terminal, which is replaced, from Delay on.
type Line struct {
	w     io.Writer
	mu    sync.Mutex
	stage string
	shown bool
	stop  chan struct{}
	done  chan struct{}
}

// Start begins a line on a terminal. Nothing else may write to w until Stop.
func Start(w io.Writer) *Line {
	l := &Line{w: w, stop: make(chan struct{}), done: make(chan struct{})}
	go l.run(time.Now())
	return l
}

// Stage says what the command does from now on.
func (l *Line) Stage(what string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stage = what
}

// Stop removes the line.
func (l *Line) Stop() {
	close(l.stop)
	<-l.done
	if l.shown {
		fmt.Fprint(l.w, clear)
	}
}

// run shows the line at first after Delay, and then every second.
func (l *Line) run(began time.Time) {
	defer close(l.done)
	next := time.NewTimer(Delay)
	defer next.Stop()
	for {
		select {
		case <-l.stop:
			return
		case <-next.C:
		}
		l.mu.Lock()
		fmt.Fprintf(l.w, "%s%s, %d s", clear, l.stage, int(time.Since(began).Seconds()))
		l.shown = true
		l.mu.Unlock()
		next.Reset(time.Second)
	}
}
