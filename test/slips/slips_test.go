package main

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSlips makes each kind of slip in each spec of the catalogue: almost all change the text, and a number
// gives the same slips each time.
func TestSlips(t *testing.T) {
	files, err := filepath.Glob("../../specs/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatal("no specs", err)
	}
	originals := map[string]string{}
	for _, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		originals[f] = string(data)
	}
	words, made, same := wordsOf(originals), map[string]int{}, 0
	for n := range uint64(300) {
		changed, names := change(1, n, originals, words)
		if again, _ := change(1, n, originals, words); !maps.Equal(changed, again) {
			t.Fatalf("catalogue %d is another one the second time", n)
		}
		if len(changed) < 1 || len(changed) > 3 || len(names) < len(changed) || len(names) > 4 {
			t.Errorf("catalogue %d has %d slips in %d specs", n, len(names), len(changed))
		}
		for f, text := range changed {
			if text == originals[f] {
				same++
			}
		}
		for _, name := range names {
			_, kind, _ := strings.Cut(name, ": ")
			made[kind]++
		}
	}
	if same > 60 {
		t.Errorf("%d specs are as they were", same)
	}
	for _, s := range slips {
		if made[s.name] == 0 {
			t.Errorf("no catalogue has the slip %q, only %v", s.name, slices.Sorted(maps.Keys(made)))
		}
	}
}
