package opgen_test

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
)

// A session that plans with the choices of a file. Those for other machines do not count.
func ExampleTuned() {
	dir, err := os.MkdirTemp("", "tuned")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "tuned.toml")
	table := `edition = 1
entry = [
  { processor = "another", workers = 2, operator = "softmax", task = "forward", attrs = '{"dim":1}', types = "f32", shapes = "input=64x1024", ranges = 4 },
]
`
	if err := os.WriteFile(file, []byte(table), 0o666); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(opgen.Do(catalogue.Register, func(s *opgen.Session) error { return nil }, opgen.Tuned(file), opgen.Workers(2)))
	// Output: <nil>
}
