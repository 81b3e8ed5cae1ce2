package loops

import (
	"maps"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/opgen/opgen/formula/internal/rewrite"
	"github.com/opgen/opgen/internal/base/memplan"
)

// room is an arena for the temporaries of a running task, in words of 8 bytes.
type room []uint64

// rooms holds the arenas that no task uses at the moment.
var rooms roomPool

// roomPool recycles arenas. Successive tasks use the same arena, which grows to the largest size. If no task
// takes an arena between two garbage collections, the pool drops all of them.
type roomPool struct {
	mu      sync.Mutex
	free    []room
	taken   bool // whether an arena was taken since the last collection
	watched bool // whether a finalizer reports the next collection
}

// take returns an arena of at least words words: the smallest free one that suffices, or a new one. A new
// arena replaces the largest free one.
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

// watch makes the next garbage collection call collected.
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

// local is a temporary with its offset in the arena, in bytes.
type local struct{ tensor, at, bytes int }

// localMemory is the layout of an arena.
type localMemory struct {
	places []local
	bytes  int // total size; 0 if temporaries have no arena
}

// locals is the arena of a runner's temporaries, and what is done of the run that uses it.
type locals struct {
	localMemory
	aliases []int // tensors that share the memory of a temporary
	work    int   // number of iterations of the shared loops of all groups

	mu    sync.Mutex
	there atomic.Bool // whether the runner holds an arena
	room  room
	run   uint64
	done  atomic.Int64 // iterations that the run has finished
}

// enter takes an arena for a run, unless another share of the run has. The runner holds it until the run is
// finished.
func (r *runner[T]) enter(run uint64) {
	l := &r.locals
	if l.there.Load() && atomic.LoadUint64(&l.run) == run {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.run != run { // an earlier run may have been aborted
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

// leave records that a share of a run has finished n iterations of shared loops. After the last one it
// returns the arena. A run without a number is never finished.
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

// usersOf returns the bundles that access the memory of a tensor.
func (c *compiler[T]) usersOf(t int) map[*bundle]bool {
	out := map[*bundle]bool{}
	for i, o := range c.tensors {
		if o.Memory == t {
			maps.Copy(out, c.users[i])
		}
	}
	return out
}

// placeLocals computes the layout of the arena. Temporaries share memory if no group needs both. There is no
// arena if temporaries are small.
func (c *code[T]) placeLocals(groups []*bundleGroup) {
	var buffers []memplan.Buffer
	c.stored = make([]bool, len(c.tensors))
	for t, x := range c.tensors {
		users, bytes := c.usersOf(t), rewrite.Elements(c.p.Tensors[t])*x.Type.Size()
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
		if c.options.Rows > 0 { // tiles are in different groups at once
			b.First, b.Last = 0, len(groups)-1
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

// findLocals copies the layout of the arena to out, and finds the tensors that share memory with temporaries.
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
