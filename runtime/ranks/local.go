package ranks

import (
	"fmt"
	"slices"
	"sync"
)

// Local returns the transports of ranks within this process.
func Local(ranks int) []Transport {
	h := &hub{failed: make(chan struct{}), closed: make([]chan struct{}, ranks), lines: make([][]line, ranks)}
	out := make([]Transport, ranks)
	for from := range out {
		out[from], h.closed[from], h.lines[from] = &local{h, from}, make(chan struct{}), make([]line, ranks)
	}
	return out
}

// hub is what the ranks of a process share.
type hub struct {
	mu     sync.Mutex
	lines  [][]line // by sender and receiver
	err    *Error
	failed chan struct{}   // closed when err is set
	closed []chan struct{} // by rank
}

// line holds the messages from one rank to another that only one of the two has come to.
type line struct{ sent, wanted []*letter }

// letter is a message from one rank to another.
type letter struct {
	data    []byte
	arrived chan struct{} // closed when data is there
}

// meet returns the letter of the next message, which is on the list of the other rank if that has come to it
// before, and else is added to that of this rank.
func meet(theirs, mine *[]*letter) *letter {
	if len(*theirs) > 0 {
		l := (*theirs)[0]
		*theirs = (*theirs)[1:]
		return l
	}
	l := &letter{arrived: make(chan struct{})}
	*mine = append(*mine, l)
	return l
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

// over is a transfer that is over.
type over struct{ err error }

func (o over) Wait() error { return o.err }

func (l *local) Send(to int, data []byte) Transfer {
	if err := l.check(to); err != nil {
		return over{err}
	}
	select {
	case <-l.closed[to]:
		return over{l.end(&Error{to, "ended before it received what another rank sends"})}
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	line := &l.lines[l.rank][to]
	m := meet(&line.wanted, &line.sent)
	m.data = slices.Clone(data)
	close(m.arrived)
	return over{}
}

func (l *local) Receive(from int, data []byte) Transfer {
	if err := l.check(from); err != nil {
		return over{err}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	line := &l.lines[from][l.rank]
	return &arrival{l, from, data, meet(&line.sent, &line.wanted)}
}

// arrival is a message that a rank waits for.
type arrival struct {
	*local
	from int
	to   []byte
	*letter
}

func (a *arrival) Wait() error {
	select {
	case <-a.arrived:
	case <-a.failed:
		return a.err
	case <-a.closed[a.from]:
		select {
		case <-a.arrived: // before the rank has closed
		default:
			return a.end(&Error{a.from, "ended before it sent what another rank waits for"})
		}
	}
	if len(a.data) != len(a.to) {
		return fmt.Errorf("want a message of %d bytes from rank %d, got %d", len(a.to), a.from, len(a.data))
	}
	copy(a.to, a.data)
	return nil
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
