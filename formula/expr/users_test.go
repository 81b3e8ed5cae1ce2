package expr

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFunctionsHaveUsers reports functions of expressions that no spec calls: of the catalogue, or of the
// module of the kit's tests.
func TestFunctionsHaveUsers(t *testing.T) {
	var files []string
	for _, pattern := range []string{"../../specs/*.toml", "../../optest/testdata/module/specs/*.toml"} {
		more, err := filepath.Glob(pattern)
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: want specs, got %d: %v", pattern, len(more), err)
		}
		files = append(files, more...)
	}
	var all strings.Builder
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		all.Write(text)
	}
	for _, name := range functionNames() {
		if !regexp.MustCompile(`\b` + name + `\(`).MatchString(all.String()) {
			t.Errorf("no spec calls %s", functions[name].usage)
		}
	}
}
