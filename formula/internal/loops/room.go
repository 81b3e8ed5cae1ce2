package loops

import (
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/opgen/opgen/internal/base/memplan"
)

// room is memory for local tensors while a task runs.
type room []uint64

// rooms are those that no task uses.
var rooms roomPool

// roomPool keeps rooms for the next tasks. Tasks that run one after the other share a room, which becomes as
// large as the largest of them needs. Rooms are given up if no task took one between two collections of
// garbage.
type roomPool struct {
	mu      sync.Mutex
	free    []room
	taken   bool // whether one was taken since the last collection
	watched bool // whether collections are noticed
}

// take returns a room of some words at least: the smallest one that suffices, or a larger one in place of the
// largest.
func (p *roomPool) take(words int) room {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.taken = true
	best := -1
	for i, r := range p.free {
		if best < 0 || len(r) >= words && (len(p.free[best]) < words || len(r) < len(p.free[best])) || len(r) < words && len(r) > len(p.free[best]) {
			best = i
		}
	}
	var out room
	if best >= 0 {
		out = p.free[best]
		p.free = slices.Delete(p.free, best, best+1)
	}
	if len(out) < words {
		out = make(room, words)
	}
	return out
}

func (p *roomPool) give(r room) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = append(p.free, r)
	if !p.watched {
		p.watched = true
		p.watch()
	}
}

// watch calls collected after the next collection.
func (p *roomPool) watch() {
	type garbage struct{ of *roomPool }
	runtime.SetFinalizer(&garbage{p}, func(g *garbage) { g.of.collected() })
}

func (p *roomPool) collected() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.watched = p.taken; !p.watched {
		p.free = nil
		return
	}
	p.taken = false
	p.watch()
}

// leastRoom is how many bytes the local tensors of a task have at least that have memory only while it runs.
const leastRoom = 64 << 10

// local is a local tensor, and where it lies in a room.
type local struct{ tensor, at, bytes int }

// localMemory is where the local tensors of code lie in a room.
type localMemory struct {
	places []local
	bytes  int // of all together; 0 if they have memory of their own
}

// locals is the memory of a runner's local tensors.
type locals struct {
	localMemory
	aliases []int // tensors that lie where a local one does
	work    int   // how many values the shared indices of all groups have together

	mu    sync.Mutex
	there atomic.Bool // whether the tensors have memory
	room  room
	run   uint64
	done  atomic.Int64 // how many of the values are done in the run
}

// roomAlign is the number of bytes that the places of tensors in a room are multiples of.
const roomAlign = 64

// enter gives local tensors memory before a part of a run, unless another part did. What earlier parts of the
// run wrote there is there as long as the run is not done.
func (r *runner[T]) enter(run uint64) {
	l := &r.locals
	if l.there.Load() && atomic.LoadUint64(&l.run) == run {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run != run { // an earlier run may have ended before it was done
		atomic.StoreUint64(&l.run, run)
		l.done.Store(0)
	}
	if l.there.Load() {
		return
	}
	l.room = rooms.take((l.bytes + 7) / 8)
	base := unsafe.Pointer(unsafe.SliceData(l.room))
	for _, p := range l.places {
		r.mem[p.tensor] = blockOf[T](r.code.tensors[p.tensor].Type, unsafe.Slice((*byte)(unsafe.Add(base, p.at)), p.bytes))
	}
	for _, t := range l.aliases {
		r.mem[t] = r.mem[r.code.tensors[t].Memory]
	}
	l.there.Store(true)
}

// leave notes that a part of a run computed what it does for n values of shared indices. After the last one,
// the room is free for other tasks. A run without a number may go on at any time.
func (r *runner[T]) leave(run uint64, n int) {
	l := &r.locals
	if run == 0 || l.done.Add(int64(n)) < int64(l.work) {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.there.Store(false)
	l.done.Store(0)
	for _, p := range l.places {
		r.mem[p.tensor] = block[T]{}
	}
	for _, t := range l.aliases {
		r.mem[t] = block[T]{}
	}
	rooms.give(l.room)
	l.room = nil
}

// usersOf returns the bundles that use the memory of a tensor.
func (c *compiler[T]) usersOf(t int) map[*bundle]bool {
	out := map[*bundle]bool{}
	for i, o := range c.tensors {
		if o.Memory == t {
			maps.Copy(out, c.users[i])
		}
	}
	return out
}

// placeLocals places the local tensors of code: those that are used by different groups, which run one after
// the other, may share memory. If all are small, they have memory of their own.
func (c *code[T]) placeLocals(groups []*bundleGroup) {
	var buffers []memplan.Buffer
	c.stored = make([]bool, len(c.tensors))
	for t, x := range c.tensors {
		users, bytes := c.usersOf(t), elements(c.p.Tensors[t])*x.Type.Size()
		c.stored[t] = x.Local && !x.Planned && x.Memory == t && !c.kept[t] && len(users) > 0
		if bytes == 0 || !c.stored[t] {
			continue
		}
		uses := func(g *bundleGroup) bool {
			return slices.ContainsFunc(g.bundles, func(b *bundle) bool { return users[b] })
		}
		b := memplan.Buffer{Bytes: int64((bytes + roomAlign - 1) &^ (roomAlign - 1)), First: slices.IndexFunc(groups, uses)}
		for b.Last = len(groups) - 1; !uses(groups[b.Last]); b.Last-- {
		}
		buffers = append(buffers, b)
		c.local.places = append(c.local.places, local{tensor: t, bytes: bytes})
	}
	plan, err := memplan.Plan(buffers, memplan.DefaultEffort)
	if err != nil || plan.Bytes < leastRoom {
		c.local = localMemory{}
		return
	}
	c.local.bytes = int(plan.Bytes)
	for i := range c.local.places {
		c.local.places[i].at = int(plan.Offsets[i])
	}
}

// findLocals says where local tensors lie if others lie in some memory, by tensor.
func (c *code[T]) findLocals(out *locals, memory [][]byte) {
	if out.localMemory = c.local; out.bytes == 0 {
		return
	}
	for i, t := range c.tensors {
		if t.Memory != i && (i >= len(memory) || memory[i] == nil) && slices.ContainsFunc(out.places, func(p local) bool { return p.tensor == t.Memory }) {
			out.aliases = append(out.aliases, i)
		}
	}
	for _, g := range c.groups {
		out.work += g.total
	}
}
