package expr

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestFunctionsHaveUsers reports functions of expressions that no spec of the catalogue calls.
func TestFunctionsHaveUsers(t *testing.T) {
	files, err := filepath.Glob("../../specs/*.toml")
	if err != nil || len(files) == 0 {
		t.Fatalf("want specs, got %d: %v", len(files), err)
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
			t.Errorf("no spec of the catalogue calls %s", functions[name].usage)
		}
	}
}
