package plan

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/perm"
	"github.com/opgen/opgen/runtime/region"
	"github.com/opgen/opgen/runtime/schedule"
)

// samples returns plans with tiles, with every kind of queue entry, and with nothing. They need not be right.
func samples() []*Plan {
	access := []region.Access{{Region: region.Whole(0, []int{8, 6}), Perm: perm.Write, Footprint: region.Footprint{region.Along(0, 2, -1, 3), region.Between(0, [2]int{0, 0}, [2]int{1, 1})}}}
	other := []region.Access{{Region: region.Whole(1, []int{4}), Perm: perm.Read}}
	tile := func(k int) Task {
		return Task{Call: 1, Step: 2, Over: 4, Grain: 1, Inner: []op.Axis{{Over: 3, Grain: 2}}, Tile: k, Access: access, After: []int{0}}
	}
	large := &Plan{Format: Format, Name: "large", Roots: []Root{}, Calls: []Call{}, ArenaBytes: 64,
		Tasks:    []Task{{Call: -1, Builtin: &Builtin{Op: "fill", Value: 1.5}, Over: 4, Grain: 4, Access: other}, tile(1), tile(2), tile(4), {Over: 1, Grain: 1}, {Over: 1, Grain: 1}},
		Deps:     schedule.Graph{Start: []int32{0, 0, 1, 2, 2, 4, 4}, Pred: []int32{0, 0, 1, 3}},
		Schedule: schedule.Schedule{Tasks: 6, Queues: [][]schedule.Op{{0, schedule.Signaling, 2, schedule.ShareOf(3), schedule.WaitSharedOf(3)}, nil, {schedule.WaitOf(0), 1}}, Waits: []schedule.Wait{{Worker: 0, Position: 2}}, Shared: []int32{3, 4}}}
	return []*Plan{large, {Format: Format, Name: "none"}, {Format: Format, Tasks: []Task{}, Schedule: schedule.Schedule{Waits: []schedule.Wait{}, Shared: []int32{}}}}
}

// TestBinary reads plans that were written in binary form: they are the same as before, and so is the form.
func TestBinary(t *testing.T) {
	for _, p := range samples() {
		want, err := p.Encode()
		if err != nil {
			t.Fatal(err)
		}
		data, err := p.EncodeBinary()
		if err != nil {
			t.Fatal(err)
		}
		q, err := Decode(data)
		if err != nil {
			t.Fatalf("%s: %v", p.Name, err)
		}
		if got, err := q.Encode(); err != nil || !bytes.Equal(got, want) {
			t.Errorf("got %s, %v\nwant %s", got, err, want)
		}
		if again, err := q.EncodeBinary(); err != nil || !bytes.Equal(again, data) {
			t.Errorf("%s: the binary form differs after a round, %v", p.Name, err)
		}
	}
}

// TestBinaryRefused reads parts of plans, plans with other bytes, and other formats. None is read as a plan,
// and nothing fails in another way.
func TestBinaryRefused(t *testing.T) {
	p := samples()[0]
	data, err := p.EncodeBinary()
	if err != nil {
		t.Fatal(err)
	}
	for n := len(magic); n < len(data); n++ {
		if _, err := Decode(data[:n]); err == nil {
			t.Errorf("%d of %d bytes are a plan", n, len(data))
		}
	}
	if _, err := Decode(append(bytes.Clone(data), 0)); err == nil {
		t.Error("a plan with a byte behind it is read")
	}
	r := rand.New(rand.NewPCG(1, 1))
	for range 2000 {
		other := bytes.Clone(data)
		other[len(magic)+r.IntN(len(data)-len(magic))] = byte(r.Uint32())
		if q, err := Decode(other); err == nil && q.Format != Format {
			t.Error("another format is read")
		}
	}
	for name, change := range map[string]func(*Plan){
		"descending": func(p *Plan) { p.Deps.Start[2] = 3 },
		"behind":     func(p *Plan) { p.Deps.Pred = append(p.Deps.Pred, 1) },
	} {
		p := samples()[0]
		change(p)
		if _, err := p.EncodeBinary(); err == nil {
			t.Errorf("%s: wrong dependencies are written", name)
		}
	}
}

// FuzzDecode reads any bytes. What is read is written in the same way again.
func FuzzDecode(f *testing.F) {
	for _, p := range samples() {
		data, err := p.EncodeBinary()
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data[len(magic):])
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		p, err := Decode(append([]byte(magic), data...))
		if err != nil {
			return
		}
		once, err := p.EncodeBinary()
		if err != nil {
			t.Fatal(err)
		}
		q, err := Decode(once)
		if err != nil {
			t.Fatal(err)
		}
		if again, err := q.EncodeBinary(); err != nil || !bytes.Equal(once, again) {
			t.Errorf("written differently, %v", err)
		}
	})
}
