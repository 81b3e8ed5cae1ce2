package tune_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/runtime/tune"
	"github.com/opgen/opgen/runtime/tuned"
)

// The program that opgen tune compiles for this module measures the choice of a row, and writes a table.
// What it prints has times, which are another ones at each run.
func ExampleMain() {
	dir, err := os.MkdirTemp("", "tune")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, tuned.File)
	args, out := os.Args, os.Stdout
	os.Args = []string{"tune", "-o", file, `take{"axis": 0} input=2048x128 index=`}
	os.Stdout = os.Stderr
	tune.Main(catalogue.Register, catalogue.Operators())
	os.Args, os.Stdout = args, out
	table, err := tuned.Read(file)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, e := range table.Entries {
		if e.Task == "forward" {
			fmt.Printf("%s %s: faster in other than the usual ranges\n", e.Operator, e.Shapes)
		}
	}
	// Output: take input=2048x128 index=: faster in other than the usual ranges
}
