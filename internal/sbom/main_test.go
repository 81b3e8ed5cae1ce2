package main

import (
	"bytes"
	"encoding/json"
	"os"
	"testing"
)

// TestWrite writes the bill of the test itself, which is a Go program.
func TestWrite(t *testing.T) {
	t.Parallel()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if err := write(&out, self); err != nil {
		t.Fatal(err)
	}
	var b bill
	if err := json.Unmarshal(out.Bytes(), &b); err != nil || b.Format != "CycloneDX" || len(b.Components) == 0 || b.Components[0].Name != "std" {
		t.Errorf("got %v, %s", err, &out)
	}
	if write(&out, "main.go") == nil {
		t.Error("a text file is no program")
	}
}
