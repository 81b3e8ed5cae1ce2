package main

import (
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/mesh/search"
)

// small is a transformer that is planned within a second.
var small = sizes{layers: 2, width: 16, heads: 4, context: 8, tokens: 24, texts: 1, stages: 2, batches: 2, data: 2, model: 2}

// fast is a machine on which only messages take time: a second each, and one for each MiB.
var fast = search.Machine{Rate: math.Inf(1), Bandwidth: math.Inf(1), Link: 1 << 20, Latency: 1}

// figures runs report and reads the numbers of its lines.
func figures(t *testing.T, s sizes, m search.Machine) (ranks, tasks, messages int, step, work, wait, least float64) {
	t.Helper()
	var out bytes.Buffer
	if err := report(&out, s, m); err != nil {
		t.Fatal(err)
	}
	_, text, ok := strings.Cut(out.String(), "\n\n")
	lines := strings.Split(text, "\n")
	if !ok || len(lines) < 5 {
		t.Fatalf("want five lines, got\n%s", &out)
	}
	_, a := fmt.Sscanf(lines[0], "%d ranks, %d tasks, %d messages;", &ranks, &tasks, &messages)
	_, b := fmt.Sscanf(lines[3], "the step takes %f ms: %f %% is work and %f %% waiting for messages", &step, &work, &wait)
	_, c := fmt.Sscanf(lines[4], "operations and bytes of one device, divided among all, take %f ms:", &least)
	if a != nil || b != nil || c != nil {
		t.Fatalf("%v, %v, %v in\n%s", a, b, c, &out)
	}
	return ranks, tasks, messages, step, work, wait, least
}

// TestAlone plans for one rank: there are no messages, all of the step is work, and it takes what the
// roofline says.
func TestAlone(t *testing.T) {
	s := small
	s.stages, s.batches, s.data, s.model = 1, 1, 1, 1
	m := search.Machine{Rate: 1e6, Bandwidth: 1e6, Link: 1, Latency: 1}
	ranks, _, messages, step, work, wait, least := figures(t, s, m)
	if ranks != 1 || messages != 0 || wait != 0 || work != 100 || least < 10 || !(math.Abs(step/least-1) <= 0.02) {
		t.Errorf("%d ranks, %d messages, %g ms, %g of it work and %g waiting, %g ms by the roofline", ranks, messages, step, work, wait, least)
	}
}

// TestMessages plans for eight ranks on a machine on which only messages take time, a second and more each.
// So all ranks do is wait. A step has at least the messages between two stages forward and back, and those of
// two sums, one after the other; others move side by side, so that it takes far less time than all messages.
func TestMessages(t *testing.T) {
	ranks, tasks, messages, step, work, wait, least := figures(t, small, fast)
	if ranks != 8 || messages < 100 || tasks < messages || work != 0 || least != 0 || wait < 50 || wait > 100 || step/1e3 < 6 || step/1e3 > float64(messages)/3 {
		t.Errorf("%d ranks, %d tasks, %d messages, %g ms, %g of it work and %g waiting", ranks, tasks, messages, step, work, wait)
	}
}

// TestUneven gives heads that devices cannot divide.
func TestUneven(t *testing.T) {
	s := small
	s.model = 3
	if err := report(&bytes.Buffer{}, s, fast); err == nil || !strings.Contains(err.Error(), "want an axis whose size divides the extent ") {
		t.Errorf("three devices for four heads: %v", err)
	}
}
