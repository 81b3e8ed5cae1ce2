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
