// Package kernelgraph tests that another module can use graphs of tasks of tiles, by hand and from formulas.
package kernelgraph

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/opgen/opgen/test/outside"

	// The other module uses these. The imports make go test run the test again if they change.
	_ "github.com/opgen/opgen"
	_ "github.com/opgen/opgen/formula"
	_ "github.com/opgen/opgen/generated/catalogue"
	_ "github.com/opgen/opgen/runtime/taskgraph"
)

// TestRows runs the tests of the module in testdata.
func TestRows(t *testing.T) {
	m, err := outside.Make(t.Context(), filepath.Join(t.TempDir(), "m"), "example.com/kernelgraph", "testdata", "../..")
	if err != nil {
		t.Fatal(err)
	}
	out, err := m.Go(t.Context(), "test", "-v", "./rows")
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, pass := range []string{"TestBlockGraph", "TestClusters", "TestForLoop", "TestFolds", "TestAllocated", "TestTraining", "TestValues", "TestLayersOverlap"} {
		if !strings.Contains(out, "--- PASS: "+pass+" ") {
			t.Errorf("%s did not run:\n%s", pass, out)
		}
	}
}
