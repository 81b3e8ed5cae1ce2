// Package ranks carries messages between ranks: processes, or parts of one, each of which runs its part of
// the same plans.
//
// A Transport moves bytes: Local is one within a process, and package mpi has one on MPI. A Link is what a
// session has of a transport. It marks each message with the plan, the step and the number of the message, so
// that ranks which do not do the same do not take one message for another.
package ranks

import (
	"encoding/binary"
	"errors"
	"fmt"
	"sync"
)

// Transport carries messages between ranks, whose numbers begin at 0. Those from one rank to another arrive
// in the order in which they were sent. Several goroutines may call it, but one at a time calls Send for a
// rank, and one at a time Receive.
type Transport interface {
	// Rank returns the number of this rank, and Ranks how many there are.
	Rank() int
	Ranks() int
	// Send starts to send a message to another rank. It does not wait for that rank.
	Send(to int, data []byte) Transfer
	// Receive starts to receive the next message from another rank, after those of earlier calls. The message
	// must have as many bytes as data.
	Receive(from int, data []byte) Transfer
	// Abort ends the work of all ranks. On all ranks, calls that wait and later calls return an *Error with
	// the text and with this rank. Only the first Abort counts.
	Abort(text string)
	// Close ends the use of the transport. A rank that waits for a message of this one then gets an error.
	Close() error
}

// Transfer is a message on its way. The transport has the bytes of the message until Wait returns.
type Transfer interface {
	// Wait waits until the message is over: sent, so that its bytes may change, or received. It is called
	// once.
	Wait() error
}

// Error is the reason why ranks cannot continue, as one of them states it.
type Error struct {
	Rank    int
	Message string
}

func (e *Error) Error() string { return fmt.Sprintf("rank %d: %s", e.Rank, e.Message) }

// Link is the transport of a session. Loads counts the plans on which the ranks have agreed.
type Link struct {
	Transport
	loads uint64
	mu    sync.Mutex
	ended bool
}

// NewLink returns a link that uses a transport.
func NewLink(t Transport) *Link { return &Link{Transport: t} }

// headerBytes is the size of a header.
const headerBytes = 24

// Message is one message of a plan, which is sent or received once in each run. It has memory of its own, so
// neither rank waits for the other one to come to it.
type Message struct {
	link   *Link
	peer   int
	load   uint64
	number int
	frame  []byte   // the header and the elements
	on     Transfer // unless nil, of the frame
}

// Message returns message number n of the plan on which the ranks agreed last. It has the given number of
// bytes, and goes to or comes from a rank.
func (l *Link) Message(peer, n, bytes int) *Message {
	return &Message{link: l, peer: peer, load: l.loads, number: n, frame: make([]byte, headerBytes+bytes)}
}

// mark writes the header of a message of a step.
func (m *Message) mark(to []byte, step uint64) {
	binary.LittleEndian.PutUint64(to, m.load)
	binary.LittleEndian.PutUint64(to[8:], step)
	binary.LittleEndian.PutUint64(to[16:], uint64(m.number))
}

// over waits until the frame is free.
func (m *Message) over() error {
	if m.on == nil {
		return nil
	}
	err := m.on.Wait()
	m.on = nil
	return err
}

// Send starts to send the message of a step. It waits only for that of the step before, which the other rank
// needs for that step. A later call returns the error of a message that was not sent.
func (m *Message) Send(step uint64, data []byte) error {
	if err := m.over(); err != nil {
		return err
	}
	m.mark(m.frame, step)
	copy(m.frame[headerBytes:], data)
	m.on = m.link.Send(m.peer, m.frame)
	return nil
}

// Expect starts to receive the message of the next step, so that it may arrive while this rank computes. It
// does nothing if the message is expected already.
func (m *Message) Expect() {
	if m.on == nil {
		m.on = m.link.Receive(m.peer, m.frame)
	}
}

// Receive waits for the message of a step.
func (m *Message) Receive(step uint64, data []byte) error {
	m.Expect()
	if err := m.over(); err != nil {
		return err
	}
	var want [headerBytes]byte
	if m.mark(want[:], step); string(want[:]) != string(m.frame[:headerBytes]) {
		field := func(from []byte, i int) uint64 { return binary.LittleEndian.Uint64(from[8*i:]) }
		return fmt.Errorf("want message %d of step %d of load %d from rank %d, got message %d of step %d of load %d: ranks must load and run the same programs in the same order",
			m.number, step, m.load, m.peer, field(m.frame, 2), field(m.frame, 1), field(m.frame, 0))
	}
	copy(data, m.frame[headerBytes:])
	return nil
}

// Exchange sends bytes to all ranks, and returns the bytes of each rank, by rank. All ranks must send equally
// many.
func (l *Link) Exchange(mine []byte) ([][]byte, error) {
	n, ranks := len(mine), l.Ranks()
	all := make([]byte, n*ranks)
	copy(all[n*l.Rank():], mine)
	if l.Rank() > 0 {
		if err := l.Send(0, mine).Wait(); err != nil {
			return nil, err
		}
		if err := l.Receive(0, all).Wait(); err != nil {
			return nil, err
		}
	} else {
		for rank := 1; rank < ranks; rank++ {
			if err := l.Receive(rank, all[n*rank:n*(rank+1)]).Wait(); err != nil {
				return nil, err
			}
		}
		for rank := 1; rank < ranks; rank++ {
			if err := l.Send(rank, all).Wait(); err != nil {
				return nil, err
			}
		}
	}
	out := make([][]byte, ranks)
	for rank := range out {
		out[rank] = all[n*rank : n*(rank+1)]
	}
	return out, nil
}

// Agree returns an error unless all ranks call it with the same digest of the plan that they are about to
// load.
func (l *Link) Agree(what string, digest [32]byte) error {
	all, err := l.Exchange(digest[:])
	if err != nil {
		return err
	}
	for rank, d := range all {
		if string(d) != string(all[0]) {
			return fmt.Errorf("%s: want the same plan on all ranks, got others on rank 0 (%x) and rank %d (%x)", what, all[0][:6], rank, d[:6])
		}
	}
	l.loads++
	return nil
}

// Fail ends what all ranks do because of an error on this one, unless another rank has ended it. It returns
// the error. A nil link does nothing else.
func (l *Link) Fail(err error) error {
	if l == nil || err == nil {
		return err
	}
	l.mu.Lock()
	first := !l.ended
	l.ended = true
	l.mu.Unlock()
	if first && !errors.As(err, new(*Error)) {
		l.Abort(err.Error())
	}
	return err
}
