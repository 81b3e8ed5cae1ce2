package main

import (
	"bytes"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/opgen/opgen/runtime/simulate"
)

// TestCompare measures two of the programs for a moment, one of them in tiles. It checks what is printed, and
// that the prediction for one worker, which is a sum, is near the measurement. Times depend on the machine,
// so "near" is wide.
func TestCompare(t *testing.T) {
	var list []program
	for _, p := range programs {
		if p.name == "chain, tiled" || p.name == "digits, training" {
			list = append(list, p)
		}
	}
	var out bytes.Buffer
	if err := compare(&out, list, "", 100*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	line := regexp.MustCompile(`(?m)^(.+?) +(\d) +(\d+) +([\d.]+) +([\d.]+) +([+-][\d.]+)% +([\d.]+)$`)
	rows := line.FindAllStringSubmatch(out.String(), -1)
	if len(rows) != 4 || !regexp.MustCompile(`\n[0-4] of 4 predictions are within 15 %\n$`).MatchString(out.String()) {
		t.Fatalf("it prints\n%s", &out)
	}
	for i, r := range rows {
		number := func(k int) float64 { v, _ := strconv.ParseFloat(r[k], 64); return v }
		if r[1] != list[i/2].name || r[2] != strconv.Itoa(1+i%2) {
			t.Errorf("row %d is %q", i, r[0])
		}
		measured, predicted, off := number(4), number(5), number(6)
		if !(math.Abs(100*(predicted/measured-1)-off) <= 0.5) || number(7) <= 0 {
			t.Errorf("%s: %v us, predicted %v, off by %v %%", r[0], measured, predicted, off)
		}
		if r[2] == "1" && !(predicted > measured/3 && predicted < measured*3) {
			t.Errorf("%s: predicted %v us, measured %v", r[1], predicted, measured)
		}
	}
	if err := compare(&out, list, "nothing", 0); err == nil || !strings.Contains(err.Error(), `want the name of a program, got "nothing"`) {
		t.Errorf("a name of no program: %v", err)
	}
}

// TestPrograms builds the plans of all programs, and predicts them from specs: two workers take no longer
// than one, and no less than half.
func TestPrograms(t *testing.T) {
	t.Parallel()
	if len(programs) < 10 {
		t.Errorf("%d programs, want 10", len(programs))
	}
	for _, p := range programs {
		var seconds [3]float64
		for workers := 1; workers <= 2; workers++ {
			plan, work, err := p.fromSpecs(workers)
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			got, err := simulate.Plan(plan, work, simulate.Machine{Range: 1e-8, Rate: 1e11})
			if err != nil {
				t.Fatalf("%s: %v", p.name, err)
			}
			seconds[workers] = got.Seconds
			if got.Seconds < got.CriticalPath {
				t.Errorf("%s, %d workers: %v s, and the critical path takes %v", p.name, workers, got.Seconds, got.CriticalPath)
			}
		}
		if seconds[2] > seconds[1]*1.01 || seconds[2] < 0.499*seconds[1] {
			t.Errorf("%s takes %v s with one worker, and %v with two", p.name, seconds[1], seconds[2])
		}
	}
}
