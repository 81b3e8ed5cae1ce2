package main

import (
	"fmt"
	"slices"
)

// request is a text that is to be continued.
type request struct {
	number int // among all requests, from 0
	prompt []int32
	length int     // how many tokens are to follow
	out    []int32 // those that have followed
}

// pages returns how many pages hold the tokens that a request gives the network: all but the last one.
func (r *request) pages(size int) int { return (len(r.prompt) + r.length - 1 + size - 1) / size }

// slot is a row of the batch. It has a request, or none.
type slot struct {
	*request
	position int   // of the token that comes next
	pages    []int // that the request has
}

// schedule says which request is in which slot and has which pages, from step to step. Requests enter in
// their order, as soon as a slot is empty and as many pages are free as the request may fill. So no request
// that has begun ever waits for a page.
type schedule struct {
	size    int // tokens of a page
	pages   int // that there are
	columns int // pages that a request has at most
	slots   []slot
	free    []int // pages, the next one last
	waiting []*request
}

// newSchedule returns a schedule for requests. It is an error if one has no prompt, or needs more pages than
// there are.
func newSchedule(slots, pages, size int, requests []*request) (*schedule, error) {
	s := &schedule{size: size, pages: pages, slots: make([]slot, slots), waiting: requests}
	for p := range pages {
		s.free = append(s.free, pages-1-p)
	}
	for _, r := range requests {
		if len(r.prompt) == 0 || r.length < 1 {
			return nil, fmt.Errorf("request %d: want a prompt and at least one token to follow, got a prompt of %d and %d to follow", r.number, len(r.prompt), r.length)
		}
		s.columns = max(s.columns, r.pages(size))
		if r.pages(size) > pages {
			return nil, fmt.Errorf("request %d: want at most the %d tokens that %d pages hold, got %d", r.number, pages*size, pages, len(r.prompt)+r.length-1)
		}
	}
	return s, nil
}

// inputs are what a step reads of the schedule. Rows are those of slots.
type inputs struct {
	given         []int64 // the token of a prompt
	fresh         []bool  // whether it is that; otherwise, it is the one that the step before drew
	position      []int64 // or -1 in an empty slot
	table         []int64 // [slots, columns]
	writer, place []int64 // for each page
	seed          []int64
}

// next lets requests enter, and returns the inputs of the next step, or false if all have left.
func (s *schedule) next() (in inputs, ok bool) {
	in = inputs{given: make([]int64, len(s.slots)), fresh: make([]bool, len(s.slots)), position: slices.Repeat([]int64{-1}, len(s.slots)),
		table: make([]int64, len(s.slots)*s.columns), writer: make([]int64, s.pages), place: slices.Repeat([]int64{-1}, s.pages), seed: make([]int64, len(s.slots))}
	for b := range s.slots {
		slot := &s.slots[b]
		if slot.request == nil && len(s.waiting) > 0 && s.waiting[0].pages(s.size) <= len(s.free) {
			r := s.waiting[0]
			left := len(s.free) - r.pages(s.size)
			slot.request, slot.position, slot.pages = r, 0, slices.Clone(s.free[left:])
			s.free, s.waiting = s.free[:left], s.waiting[1:]
		}
		if slot.request == nil {
			in.fresh[b] = true
			continue
		}
		ok = true
		if in.fresh[b] = slot.position < len(slot.prompt); in.fresh[b] {
			in.given[b] = int64(slot.prompt[slot.position])
		}
		in.position[b], in.seed[b] = int64(slot.position), int64(slot.number)
		for i, p := range slot.pages {
			in.table[b*s.columns+i] = int64(p)
		}
		page := slot.pages[slot.position/s.size]
		in.writer[page], in.place[page] = int64(b), int64(slot.position%s.size)
	}
	return in, ok
}

// took notes the tokens that a step drew, and returns the requests that leave, in the order of their slots.
func (s *schedule) took(drawn []int64) (left []*request) {
	for b := range s.slots {
		slot := &s.slots[b]
		if slot.request == nil {
			continue
		}
		if slot.position++; slot.position < len(slot.prompt) {
			continue
		}
		if slot.out = append(slot.out, int32(drawn[b])); len(slot.out) == slot.length {
			left = append(left, slot.request)
			s.free = append(s.free, slot.pages...)
			slot.request = nil
		}
	}
	return left
}
