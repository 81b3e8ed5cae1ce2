//go:build cuda

package cuda

import (
	"sort"

	"gorgonia.org/cu"

	"github.com/opgen/opgen/runtime/schedule"
)

// lane is the stream of a queue on a device.
type lane struct {
	number, queue int
	device        *device
	stream        cu.Stream
	mark          uint64 // the address of its mark, as the device sees it
}

// command is what the host does in a run: it gives something to a stream.
type command struct {
	kind  commandKind
	lane  *lane
	task  int    // of runTask
	point int    // of recordPoint and awaitPoint
	slice *slice // of runSlice
}

type commandKind uint8

const (
	runTask     commandKind = iota
	recordPoint             // records the event of a point of the stream
	awaitPoint              // makes the stream wait for the event of a point
	runSlice                // runs the kernel of a slice
)

// point is a place in a lane for which others may wait.
type point struct {
	lane     *lane
	position int // of the queue, behind which it is
	used     bool
	number   int // among those that are used
}

// walker makes the commands of a schedule: it walks all queues, each as far as it gets before what it waits
// for is enqueued. A verified schedule comes to its end.
type walker struct {
	*program
	at      []int      // of each queue
	current []*lane    // of each queue
	signals [][]*point // of each queue
	shared  map[int]*point
	lanes   map[[2]int]*lane
	points  map[int]*point // by index of the command that records or awaits it
}

// order sets the commands of the program. At their end, the first lane has waited for the others.
func (p *program) order() {
	s := &p.queues.Plan.Schedule
	w := &walker{program: p, at: make([]int, len(s.Queues)), current: make([]*lane, len(s.Queues)),
		signals: make([][]*point, len(s.Queues)), shared: map[int]*point{}, lanes: map[[2]int]*lane{}, points: map[int]*point{}}
	for more := true; more; {
		more = false
		for q := range s.Queues {
			for w.at[q] < len(s.Queues[q]) && w.entry(s, q) {
				w.at[q]++
				more = true
			}
		}
	}
	for _, l := range p.lanes[min(1, len(p.lanes)):] {
		w.await(p.lanes[0], w.record(l, 0))
	}
	w.number()
}

// entry makes the commands of the entry where a queue is. It returns false if the queue must wait for
// another.
func (w *walker) entry(s *schedule.Schedule, q int) bool {
	switch kind, n := s.Queues[q][w.at[q]].Decode(); kind {
	case schedule.Run:
		w.run(q, n)
	case schedule.Share:
		if w.shared[n] == nil {
			w.run(q, n)
			w.shared[n] = w.record(w.current[q], 0)
		}
	case schedule.WaitShared:
		if w.shared[n] == nil {
			return false
		}
		w.wait(q, w.shared[n])
	case schedule.WaitFor:
		wait := s.Waits[n]
		signals := w.signals[wait.Worker]
		k := sort.Search(len(signals), func(i int) bool { return signals[i].position >= int(wait.Position) })
		if k == len(signals) {
			return false
		}
		w.wait(q, signals[k])
	case schedule.Signal:
		if l := w.current[q]; l != nil {
			p := w.record(l, w.at[q]+1)
			w.signals[q] = append(w.signals[q], p)
		} else { // nothing is before it
			w.signals[q] = append(w.signals[q], &point{position: w.at[q] + 1})
		}
	}
	return true
}

// run adds a task to the lane of a queue on the task's device.
func (w *walker) run(q, task int) {
	l := w.lane(q, w.queues.Plan.Tasks[task].Device)
	if before := w.current[q]; before != nil && before != l {
		w.await(l, w.record(before, 0))
	}
	w.current[q] = l
	w.steps = append(w.steps, command{kind: runTask, lane: l, task: task})
}

// wait makes a queue wait for a point.
func (w *walker) wait(q int, p *point) {
	if p.lane == nil {
		return
	}
	if w.current[q] == nil {
		w.current[q] = w.lane(q, p.lane.device.number)
	}
	w.await(w.current[q], p)
}

// lane returns the lane of a queue on a device.
func (w *walker) lane(q, device int) *lane {
	key := [2]int{q, device}
	l := w.lanes[key]
	if l == nil {
		d := w.backend.devices[device]
		l = &lane{number: len(w.program.lanes), queue: q, device: d, stream: d.streams[q]}
		w.lanes[key] = l
		w.program.lanes = append(w.program.lanes, l)
	}
	return l
}

// record adds a point to a lane.
func (w *walker) record(l *lane, position int) *point {
	p := &point{lane: l, position: position}
	w.points[len(w.steps)] = p
	w.steps = append(w.steps, command{kind: recordPoint, lane: l})
	return p
}

// await makes a lane wait for a point of another.
func (w *walker) await(l *lane, p *point) {
	if p.lane == l {
		return
	}
	p.used = true
	w.points[len(w.steps)] = p
	w.steps = append(w.steps, command{kind: awaitPoint, lane: l})
}

// number numbers the points for which lanes wait, and drops the others.
func (w *walker) number() {
	var kept []command
	next := 0
	for i, c := range w.steps {
		if c.kind != runTask {
			p := w.points[i]
			if !p.used {
				continue
			}
			if c.kind == recordPoint {
				p.number = next
				next++
			}
			c.point = p.number
		}
		kept = append(kept, c)
	}
	w.steps = kept
}
