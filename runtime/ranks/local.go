package ranks

import (
	"fmt"
	"slices"
	"sync"
)

// Local returns the transports of ranks within this process. A message is over when it is received: each send
// waits for its receive.
func Local(ranks int) []Transport {
	h := &hub{failed: make(chan struct{}), closed: make([]chan struct{}, ranks), lines: make([][]chan []byte, ranks)}
	out := make([]Transport, ranks)
	for from := range out {
		out[from], h.closed[from] = &local{h, from}, make(chan struct{})
		for range ranks {
			h.lines[from] = append(h.lines[from], make(chan []byte))
		}
	}
	return out
}

// hub is what the ranks of a process share.
type hub struct {
	lines  [][]chan []byte // by sender and receiver
	mu     sync.Mutex
	err    *Error
	failed chan struct{}   // closed when err is set
	closed []chan struct{} // by rank
}

// local is a rank of a hub.
type local struct {
	*hub
	rank int
}

func (l *local) Rank() int { return l.rank }

func (l *local) Ranks() int { return len(l.lines) }

// check returns an error unless a message can go between this rank and another.
func (l *local) check(other int) error {
	if other < 0 || other >= len(l.lines) || other == l.rank {
		return fmt.Errorf("rank %d: want another rank from 0 to %d, got %d", l.rank, len(l.lines)-1, other)
	}
	select {
	case <-l.failed:
		return l.err
	default:
		return nil
	}
}

func (l *local) Send(to int, data []byte) error {
	if err := l.check(to); err != nil {
		return err
	}
	select {
	case l.lines[l.rank][to] <- slices.Clone(data):
		return nil
	case <-l.failed:
		return l.err
	case <-l.closed[to]:
		return l.end(&Error{to, "ended before it received what another rank sends"})
	}
}

func (l *local) Receive(from int, data []byte) error {
	if err := l.check(from); err != nil {
		return err
	}
	select {
	case got := <-l.lines[from][l.rank]:
		if len(got) != len(data) {
			return fmt.Errorf("want a message of %d bytes from rank %d, got %d", len(data), from, len(got))
		}
		copy(data, got)
		return nil
	case <-l.failed:
		return l.err
	case <-l.closed[from]:
		return l.end(&Error{from, "ended before it sent what another rank waits for"})
	}
}

func (l *local) Abort(text string) { _ = l.end(&Error{l.rank, text}) }

// end ends all ranks with an error, unless they have ended with another, and returns why they have.
func (h *hub) end(err *Error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err == nil {
		h.err = err
		close(h.failed)
	}
	return h.err
}

func (l *local) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case <-l.closed[l.rank]:
	default:
		close(l.closed[l.rank])
	}
	return nil
}
