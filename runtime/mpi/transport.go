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
// millisecond where nothing else runs. While messages are on their way, it goes on so: large ones move only
// while both ranks look.
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
	data []byte
	q    []C.MPI_Request // of pieces
	// How many pieces have begun, and how many are over.
	begun, over int
	pin         runtime.Pinner
	on          *transport
	done        chan error
}

// peer is what is known of another rank.
type peer struct {
	moving        [2][]*request // by direction: messages on their way, of which the first one ends first
	bytes         [2]int        // of their pieces that are on their way
	in, out       []byte        // the next word from it, and the last to it
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
	waiting     atomic.Int32 // how many goroutines wait for a message
	failure     error        // of the end of MPI

	// Of the thread.
	peers []*peer
	word  uint64
	pin   runtime.Pinner // of the words
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

func (t *transport) Send(to int, data []byte) ranks.Transfer { return t.move(true, to, data) }

func (t *transport) Receive(from int, data []byte) ranks.Transfer { return t.move(false, from, data) }

// move hands a message to the thread.
func (t *transport) move(send bool, other int, data []byte) ranks.Transfer {
	r := &request{send: send, peer: other, data: data, on: t, done: make(chan error, 1)}
	if other < 0 || other >= t.ranks || other == t.rank {
		r.done <- fmt.Errorf("rank %d: want another rank from 0 to %d, got %d", t.rank, t.ranks-1, other)
		return r
	}
	select {
	case t.posts <- r:
	case <-t.ended:
	}
	return r
}

// Wait waits until the thread has ended the message. Meanwhile, the thread looks for it without long breaks.
func (r *request) Wait() error {
	select {
	case err := <-r.done:
		return err
	default:
	}
	r.on.waiting.Add(1)
	defer r.on.waiting.Add(-1)
	select {
	case err := <-r.done:
		return err
	case <-r.on.ended:
		return r.on.over()
	}
}

// piece returns the bytes of a piece of a message.
func (r *request) piece(i int) []byte { return r.data[i*most : min((i+1)*most, len(r.data))] }

// start starts the next piece of a message.
func (r *request) start() error {
	var p unsafe.Pointer
	data, q := r.piece(r.begun), &r.q[r.begun]
	if len(data) > 0 {
		p = unsafe.Pointer(&data[0])
	}
	r.begun++
	if r.send {
		return code(C.og_isend(p, C.int(len(data)), C.int(r.peer), C.og_data, q))
	}
	return code(C.og_irecv(p, C.int(len(data)), C.int(r.peer), C.og_data, q))
}

// start starts pieces of messages in their order, as long as they have no more than most bytes together: MPI
// may move pieces side by side, so that none would end for long over a slow link.
func (t *transport) start(p *peer, direction int) {
	for _, r := range p.moving[direction] {
		for r.begun < len(r.q) {
			n := len(r.piece(r.begun))
			if p.bytes[direction] > 0 && p.bytes[direction]+n > most {
				return
			}
			p.bytes[direction] += n
			if err := r.start(); err != nil {
				t.fail(&ranks.Error{Rank: t.rank, Message: err.Error()}, true)
				return
			}
		}
	}
}

// test looks for the ends of pieces that have begun, and reports whether the message is over.
func (r *request) test(p *peer) (over bool, err error) {
	for ; r.over < r.begun; r.over++ {
		var done, n C.int
		if err := code(C.og_test(&r.q[r.over], &done, &n)); err != nil || done == 0 {
			return err != nil, err
		}
		want := len(r.piece(r.over))
		p.bytes[r.direction()] -= want
		if r.send {
			continue
		}
		p.heard()
		if int(n) != want {
			return true, fmt.Errorf("want a message of %d bytes from rank %d, got %d", want, r.peer, n)
		}
	}
	return r.over == len(r.q), nil
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
	idle, said := 0, false
	for {
		moved := t.test()
		moved = t.words() || moved
		moved = t.accept() || moved
		if time.Since(last) >= tick {
			t.tick()
			last = time.Now()
		}
		if closing == nil && !said && (t.err.Load() != nil || !t.moving(outgoing)) {
			said = true // what it sent before has gone, or never will
			t.tell(bye, t.rank, "")
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
		} else if said && !slices.ContainsFunc(t.peers, func(p *peer) bool { return !p.gone || p.sending || len(p.queue) > 0 }) {
			return
		}
		// Messages are often short, so it looks again some times before it sleeps. It also does so when its
		// own are over: MPI may call a message sent whose receiver still needs this rank to look.
		if idle = min(idle+1, looks+naps); moved {
			idle = 0
		}
		if t.waiting.Load() > 0 {
			idle = min(idle, looks+64) // naps of 80 us at most
		}
		if idle == looks+naps && !t.moving(incoming) && !t.moving(outgoing) {
			timer.Reset(tick / 5)
			select {
			case r := <-t.posts:
				t.post(r)
				idle = 0
			case e := <-t.aborts:
				t.fail(e, true)
			case <-closing:
				closing = nil
			case <-timer.C:
			}
			continue
		}
		if idle > looks {
			C.og_nap(C.long(min(20*time.Microsecond<<((idle-looks)/32), 200*time.Microsecond)))
		}
		select {
		case e := <-t.aborts:
			t.fail(e, true)
		case <-closing:
			closing = nil
		default:
		}
	}
}

// accept starts the messages that goroutines have handed over, and reports whether there were any.
func (t *transport) accept() (some bool) {
	for {
		select {
		case r := <-t.posts:
			t.post(r)
			some = true
		default:
			return some
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
	r.q = make([]C.MPI_Request, max((len(r.data)+most-1)/most, 1))
	p := t.peers[r.peer]
	p.moving[r.direction()] = append(p.moving[r.direction()], r)
	t.start(p, r.direction())
	if p.gone {
		t.closedBy(r.peer)
	}
}

// Directions of messages.
const incoming, outgoing = 0, 1

func (r *request) direction() int {
	if r.send {
		return outgoing
	}
	return incoming
}

// closedBy ends messages from and to a rank that has closed: what it sent before has come. It fails if more
// messages wait for that rank.
func (t *transport) closedBy(rank int) {
	p := t.peers[rank]
	for range 100 { // pieces of messages one after the other
		t.test()
		if len(p.moving[incoming])+len(p.moving[outgoing]) == 0 {
			return
		}
	}
	t.fail(&ranks.Error{Rank: rank, Message: "ended before it did what another rank waits for"}, true)
}

// test ends messages that are over.
func (t *transport) test() (moved bool) {
	for _, p := range t.peers {
		for direction := range p.moving {
			for len(p.moving[direction]) > 0 {
				r := p.moving[direction][0]
				before := r.over
				over, err := r.test(p)
				if moved = moved || r.over > before; !over {
					break
				}
				p.moving[direction] = slices.Delete(p.moving[direction], 0, 1)
				r.pin.Unpin()
				r.done <- err
				moved = true
				t.word++
			}
			t.start(p, direction)
		}
	}
	return moved
}

// moving reports whether messages in a direction are on their way.
func (t *transport) moving(direction int) bool {
	return slices.ContainsFunc(t.peers, func(p *peer) bool { return len(p.moving[direction]) > 0 })
}

// drop gives up the messages on their way. MPI may still touch their memory, which therefore stays.
func (t *transport) drop() {
	for _, p := range t.peers {
		for direction, moving := range p.moving {
			for _, r := range moving {
				left = append(left, r)
				r.done <- t.err.Load()
			}
			p.moving[direction] = nil
		}
	}
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
