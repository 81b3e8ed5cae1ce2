package main

import (
	"bytes"
	"strings"
	"testing"
)

// TestTrain trains some steps by itself.
func TestTrain(t *testing.T) {
	var out bytes.Buffer
	o := options{width: 8, layers: 2, batch: 4, devices: 2, steps: 3}
	if err := o.train(&out); err != nil || !strings.HasPrefix(out.String(), "opgen: 1 ranks, batch 4: ") {
		t.Errorf("%q, %v", out.String(), err)
	}
	o.batch = 3
	if err := o.train(&out); err == nil || !strings.Contains(err.Error(), "a -batch that -devices divides") {
		t.Errorf("a batch that is not divided: %v", err)
	}
}

// TestPass runs a chain of tasks on three devices, whose numbers the program itself compares.
func TestPass(t *testing.T) {
	var out bytes.Buffer
	o := options{width: 5, devices: 3, steps: 2, hops: 7}
	if err := o.pass(&out); err != nil || !strings.HasPrefix(out.String(), "opgen: 1 ranks, 5 elements: ") {
		t.Errorf("%q, %v", out.String(), err)
	}
	o.width = 0
	if err := o.pass(&out); err == nil || !strings.Contains(err.Error(), "want -width") {
		t.Errorf("no elements: %v", err)
	}
}
