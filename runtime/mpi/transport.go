//go:build mpi && cgo

package mpi

/*
#cgo CFLAGS: -Wno-stringop-overflow
#include <mpi.h>
#include <time.h>

enum { og_data = 0, og_control = 1 }; // tags

static int og_init(int *level) {
	int err = MPI_Init_thread(0, 0, MPI_THREAD_FUNNELED, level);
	return err ? err : MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
}
static int og_rank(void) { int n; MPI_Comm_rank(MPI_COMM_WORLD, &n); return n; }
static int og_size(void) { int n; MPI_Comm_size(MPI_COMM_WORLD, &n); return n; }
static int og_isend(void *p, int n, int to, int tag, MPI_Request *q) { return MPI_Isend(p, n, MPI_BYTE, to, tag, MPI_COMM_WORLD, q); }
static int og_irecv(void *p, int n, int from, int tag, MPI_Request *q) { return MPI_Irecv(p, n, MPI_BYTE, from, tag, MPI_COMM_WORLD, q); }
static int og_test(MPI_Request *q, int *done, int *bytes) {
	MPI_Status s;
	int err = MPI_Test(q, done, &s);
	if (!err && *done) MPI_Get_count(&s, MPI_BYTE, bytes);
	return err;
}
static void og_text(int err, char *to, int *n) { MPI_Error_string(err, to, n); }
static void og_cancel(MPI_Request *q) { MPI_Cancel(q); MPI_Request_free(q); }
static void og_abort(void) { MPI_Abort(MPI_COMM_WORLD, 1); }
static void og_nap(long ns) { struct timespec t = {0, ns}; nanosleep(&t, 0); }
static int og_finalize(void) { return MPI_Finalize(); }
enum { og_text_bytes = MPI_MAX_ERROR_STRING };
*/
import "C"

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/opgen/opgen/runtime/ranks"
)

// tick is the time between two words to each other rank.
const tick = 100 * time.Millisecond

// ticks returns how many words may be missing.
func (c Config) ticks() int {
	switch {
	case c.Limit < 0:
		return 1 << 62
	case c.Limit == 0:
		c.Limit = 5 * time.Second
	}
	return max(int(c.Limit/tick), 2)
}

// most is the number of bytes up to which a message goes in one piece. Each piece that arrives tells that the
// sender runs: over a slow link, words wait behind messages.
const most = 1 << 20

// looks is how often the thread looks for the end of messages before it sleeps.
const looks = 50

// naps is how often the thread then sleeps for 20 us, and rising up to 200. Timers of Go would take a
// millisecond where nothing else runs.
const naps = 200

// grace is how long ranks that ended with an error may take to stop by themselves.
const grace = 3 * time.Second

// Kinds of words between ranks.
const (
	alive = iota // the rank runs
	bye          // it needs no more messages
	abort        // all ranks end, since one of them failed: the text says why
)

// wordBytes is the size of a word: its kind, the rank of which it tells, a number that rises, and a text.
const wordBytes = 1024

// request is a message on its way.
type request struct {
	send bool
	peer int
	data []byte // what is not over yet, of which the first piece is on its way
	q    C.MPI_Request
	pin  runtime.Pinner
	done chan error
}

// peer is what is known of another rank.
type peer struct {
	in, out       []byte // the next word from it, and the last to it
	inReq, outReq C.MPI_Request
	sending       bool
	farewell      bool // whether bye was sent
	queue         [][]byte
	word          uint64 // the last from it
	started       bool   // whether a word or a message has come from it
	missed        int    // how many ticks have gone by since the last
	gone          bool   // it has said bye
}

// heard notes that a rank runs: a word or a message has come from it.
func (p *peer) heard() { p.started, p.missed = true, 0 }

// transport is a rank of MPI. Its thread alone calls MPI.
type transport struct {
	rank, ranks int
	limit       int // in ticks
	posts       chan *request
	aborts      chan *ranks.Error
	closing     chan struct{}
	served      chan struct{} // closed when there are no more messages
	ended       chan struct{} // closed when MPI has ended
	closed      sync.Once
	err         atomic.Pointer[ranks.Error]
	failure     error // of the end of MPI

	// Of the thread.
	pending []*request
	peers   []*peer
	word    uint64
	pin     runtime.Pinner // of the words
}

// started is whether MPI was started, which is possible once in a process.
var started atomic.Bool

// left holds messages that were on their way when ranks ended with an error: MPI may still touch their
// memory.
var left []*request

// Open starts MPI. A process can do so once.
func Open(c Config) (ranks.Transport, error) {
	if started.Swap(true) {
		return nil, errors.New("mpi: want one session on MPI in a process, got another")
	}
	t := &transport{limit: c.ticks(), posts: make(chan *request, 64), aborts: make(chan *ranks.Error, 16), closing: make(chan struct{}), ended: make(chan struct{}), served: make(chan struct{})}
	ready := make(chan error)
	go t.run(ready)
	return t, <-ready
}

func (t *transport) Rank() int { return t.rank }

func (t *transport) Ranks() int { return t.ranks }

func (t *transport) Send(to int, data []byte) error { return t.move(true, to, data) }

func (t *transport) Receive(from int, data []byte) error { return t.move(false, from, data) }

// move hands a message to the thread, and waits until it is over.
func (t *transport) move(send bool, other int, data []byte) error {
	if other < 0 || other >= t.ranks || other == t.rank {
		return fmt.Errorf("rank %d: want another rank from 0 to %d, got %d", t.rank, t.ranks-1, other)
	}
	r := &request{send: send, peer: other, data: data, done: make(chan error, 1)}
	select {
	case t.posts <- r:
	case <-t.ended:
		return t.over()
	}
	select {
	case err := <-r.done:
		return err
	case <-t.ended:
		return t.over()
	}
}

// piece returns how many bytes of a message are on their way.
func (r *request) piece() int { return min(len(r.data), most) }

// start starts the next piece of a message.
func (r *request) start() error {
	var p unsafe.Pointer
	if len(r.data) > 0 {
		p = unsafe.Pointer(&r.data[0])
	}
	if r.send {
		return code(C.og_isend(p, C.int(r.piece()), C.int(r.peer), C.og_data, &r.q))
	}
	return code(C.og_irecv(p, C.int(r.piece()), C.int(r.peer), C.og_data, &r.q))
}

// over returns why there are no more messages.
func (t *transport) over() error {
	if e := t.err.Load(); e != nil {
		return e
	}
	return errors.New("mpi: the session is closed")
}

func (t *transport) Abort(text string) {
	select {
	case t.aborts <- &ranks.Error{Rank: t.rank, Message: text}:
	case <-t.ended:
	}
}

// finalizeLimit is how long MPI_Finalize may take.
const finalizeLimit = 10 * time.Second

// Close waits until all ranks close, unless they have ended with an error. Then it leaves MPI as it is, so
// that mpiexec ends what is left once this process ends. It is an error if MPI does not end: MPICH 4.0
// over TCP may wait forever in MPI_Finalize when all messages are over, as testdata/finalize.c does.
func (t *transport) Close() error {
	t.closed.Do(func() { close(t.closing) })
	<-t.served
	select {
	case <-t.ended:
		return t.failure
	case <-time.After(finalizeLimit):
		return fmt.Errorf("mpi: rank %d: all messages are over, but MPI_Finalize has not returned for %v", t.rank, finalizeLimit)
	}
}

// run is the thread that calls MPI.
func (t *transport) run(ready chan<- error) {
	runtime.LockOSThread() // and never unlocked: the thread ends with its goroutine
	defer close(t.ended)
	served := sync.OnceFunc(func() { close(t.served) })
	defer served()
	var level C.int
	if err := code(C.og_init(&level)); err != nil {
		ready <- err
		return
	}
	t.rank, t.ranks = int(C.og_rank()), int(C.og_size())
	for rank := range t.ranks {
		p := &peer{in: make([]byte, wordBytes), out: make([]byte, wordBytes), gone: rank == t.rank}
		t.pin.Pin(&p.in[0])
		t.pin.Pin(&p.out[0])
		t.peers = append(t.peers, p)
		if rank != t.rank {
			t.listen(rank)
		}
	}
	close(ready)
	t.serve()
	served()
	if t.err.Load() == nil {
		for _, p := range t.peers {
			if !p.gone {
				C.og_cancel(&p.inReq)
			}
		}
		t.failure = code(C.og_finalize())
		t.pin.Unpin()
		return
	}
	unfinished = append(unfinished, t)
}

// unfinished holds transports that ended with an error, whose memory MPI may still touch.
var unfinished []*transport

// serve moves messages until all ranks have closed, or until this one has closed after an error.
func (t *transport) serve() {
	closing, timer := t.closing, time.NewTimer(0)
	defer timer.Stop()
	last := time.Now().Add(-tick) // the last tick: the others hear of this rank as soon as it is there
	var failed time.Time
	idle := 0
	for {
		moved := t.test()
		moved = t.words() || moved
		if time.Since(last) >= tick {
			t.tick()
			last = time.Now()
		}
		if t.err.Load() != nil {
			if failed.IsZero() {
				failed = time.Now()
			}
			t.drop()
			told := !slices.ContainsFunc(t.peers, func(p *peer) bool { return p.sending || len(p.queue) > 0 })
			if closing == nil && (told || time.Since(failed) > grace/3) {
				return
			}
			if time.Since(failed) > grace {
				fmt.Fprintln(os.Stderr, "opgen:", t.err.Load())
				C.og_abort()
			}
		} else if closing == nil && !slices.ContainsFunc(t.peers, func(p *peer) bool { return !p.gone || p.sending || len(p.queue) > 0 }) {
			return
		}
		// Messages are often short, so it looks again some times before it sleeps. It also does so when its
		// own are over: MPI may call a message sent whose receiver still needs this rank to look.
		if idle++; moved {
			idle = 0
		}
		switch {
		case idle > looks+naps && len(t.pending) == 0:
			timer.Reset(tick / 5)
		case idle > looks+naps:
			timer.Reset(time.Millisecond)
		default:
			if idle > looks {
				C.og_nap(C.long(min(20*time.Microsecond<<((idle-looks)/32), 200*time.Microsecond)))
			}
			select {
			case r := <-t.posts:
				t.post(r)
				idle = 0
			case e := <-t.aborts:
				t.fail(e, true)
			case <-closing:
				closing = nil
				t.tell(bye, t.rank, "")
			default:
			}
			continue
		}
		select {
		case r := <-t.posts:
			t.post(r)
			idle = 0
		case e := <-t.aborts:
			t.fail(e, true)
		case <-closing:
			closing = nil
			t.tell(bye, t.rank, "")
		case <-timer.C:
		}
	}
}

// post starts a message.
func (t *transport) post(r *request) {
	if e := t.err.Load(); e != nil {
		r.done <- e
		return
	}
	if len(r.data) > 0 {
		r.pin.Pin(&r.data[0])
	}
	if err := r.start(); err != nil {
		r.pin.Unpin()
		r.done <- err
		return
	}
	t.pending = append(t.pending, r)
	if t.peers[r.peer].gone {
		t.closedBy(r.peer)
	}
}

// closedBy ends messages from and to a rank that has closed: what it sent before has come. It fails if more
// messages wait for that rank.
func (t *transport) closedBy(rank int) {
	for range 100 { // pieces of messages one after the other
		t.test()
		if !slices.ContainsFunc(t.pending, func(r *request) bool { return r.peer == rank }) {
			return
		}
	}
	t.fail(&ranks.Error{Rank: rank, Message: "ended before it did what another rank waits for"}, true)
}

// test ends messages that are over.
func (t *transport) test() (moved bool) {
	left := t.pending[:0]
	for _, r := range t.pending {
		var done, n C.int
		err := code(C.og_test(&r.q, &done, &n))
		if err == nil && done == 0 {
			left = append(left, r)
			continue
		}
		if err == nil && !r.send && int(n) != r.piece() {
			err = fmt.Errorf("want a message of %d bytes from rank %d, got %d", r.piece(), r.peer, n)
		}
		if err == nil && !r.send {
			t.peers[r.peer].heard()
		}
		if r.data = r.data[r.piece():]; err == nil && len(r.data) > 0 {
			if err = r.start(); err == nil {
				left, moved = append(left, r), true
				continue
			}
		}
		r.pin.Unpin()
		r.done <- err
		moved = true
		t.word++
	}
	clear(t.pending[len(left):])
	t.pending = left
	return moved
}

// drop gives up the messages on their way. MPI may still touch their memory, which therefore stays.
func (t *transport) drop() {
	for _, r := range t.pending {
		left = append(left, r)
		r.done <- t.err.Load()
	}
	t.pending = nil
}

// listen waits for the next word of a rank.
func (t *transport) listen(rank int) {
	p := t.peers[rank]
	if err := code(C.og_irecv(unsafe.Pointer(&p.in[0]), wordBytes, C.int(rank), C.og_control, &p.inReq)); err != nil {
		p.gone = true
		t.fail(&ranks.Error{Rank: t.rank, Message: err.Error()}, true)
	}
}

// tell sends a word to all other ranks that listen: those that have closed do until this one has, too. Those
// that are no text may be left out if one is still on its way.
func (t *transport) tell(kind, about int, text string) {
	t.word++
	for rank, p := range t.peers {
		if rank == t.rank || p.gone && p.farewell || kind == alive && (p.sending || p.farewell) {
			continue
		}
		w := make([]byte, wordBytes)
		binary.LittleEndian.PutUint32(w, uint32(kind))
		binary.LittleEndian.PutUint32(w[4:], uint32(about))
		binary.LittleEndian.PutUint64(w[8:], t.word)
		copy(w[16:wordBytes-1], text)
		p.queue = append(p.queue, w)
		p.farewell = p.farewell || kind == bye
	}
}

// words sends and receives words.
func (t *transport) words() (moved bool) {
	for rank, p := range t.peers {
		if rank == t.rank {
			continue
		}
		var done, n C.int
		if p.sending {
			if err := code(C.og_test(&p.outReq, &done, &n)); err != nil || done != 0 {
				p.sending = false
			}
		}
		if !p.sending && len(p.queue) > 0 {
			copy(p.out, p.queue[0])
			p.queue = p.queue[1:]
			p.sending = code(C.og_isend(unsafe.Pointer(&p.out[0]), wordBytes, C.int(rank), C.og_control, &p.outReq)) == nil
			moved = true
		}
		if p.gone {
			continue
		}
		done = 0
		if err := code(C.og_test(&p.inReq, &done, &n)); err != nil {
			p.gone = true
			t.fail(&ranks.Error{Rank: rank, Message: err.Error()}, true)
			continue
		}
		if done != 0 {
			moved = true
			t.hear(rank)
		}
	}
	return moved
}

// hear takes a word of another rank.
func (t *transport) hear(rank int) {
	p := t.peers[rank]
	kind, about := binary.LittleEndian.Uint32(p.in), int(binary.LittleEndian.Uint32(p.in[4:]))
	if word := binary.LittleEndian.Uint64(p.in[8:]); word > p.word {
		p.word = word
		p.heard()
	}
	switch kind {
	case abort:
		text := p.in[16:]
		t.fail(&ranks.Error{Rank: about, Message: string(text[:max(bytes.IndexByte(text, 0), 0)])}, false)
	case bye:
		p.gone = true
		t.closedBy(rank)
		return
	}
	t.listen(rank)
}

// tick tells other ranks that this one runs, and looks which of them do.
func (t *transport) tick() {
	t.tell(alive, t.rank, "")
	for rank, p := range t.peers {
		if p.gone {
			continue
		}
		limit := t.limit
		if p.missed++; !p.started {
			limit = max(limit, 12*limit)
		}
		if p.missed > limit {
			t.fail(&ranks.Error{Rank: rank, Message: fmt.Sprintf("has not answered for %v: it is stopped, or the link to it is cut", time.Duration(p.missed-1)*tick)}, true)
		}
	}
}

// fail ends this rank with an error, unless it has ended with another, and tells the others if they do not
// know it.
func (t *transport) fail(e *ranks.Error, tell bool) {
	if t.err.CompareAndSwap(nil, e) && tell {
		t.tell(abort, e.Rank, e.Message)
	}
}

// code returns the error of a code that MPI returned.
func code(c C.int) error {
	if c == 0 {
		return nil
	}
	var text [C.og_text_bytes + 1]byte
	var n C.int
	C.og_text(c, (*C.char)(unsafe.Pointer(&text[0])), &n)
	return fmt.Errorf("mpi: %s", text[:n])
}
