package main

import "testing"

// TestMeasure builds and loads plans of 20,000 tiles: with one task for each tile, and with grids.
func TestMeasure(t *testing.T) {
	for _, grids := range []bool{false, true} {
		for _, workers := range []int{1, 3} {
			if _, err := measure(t.Output(), 20_000, workers, grids); err != nil {
				t.Errorf("grids %v, %d workers: %v", grids, workers, err)
			}
		}
	}
}
