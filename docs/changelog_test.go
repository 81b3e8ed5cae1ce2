package docs

import (
	"os"
	"regexp"
	"testing"

	"github.com/opgen/opgen/internal/base/version"
)

// TestChangelog checks that the first release in CHANGELOG.md is the version, and that its link is.
func TestChangelog(t *testing.T) {
	text, err := os.ReadFile("../CHANGELOG.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, pattern := range []string{`\n## \[(\d+\.\d+\.\d+)\] - `, `\n\[(\d+\.\d+\.\d+)\]: https://github.com/opgen/opgen/releases/tag/v`} {
		m := regexp.MustCompile(pattern).FindSubmatch(text)
		if m == nil || string(m[1]) != version.Version {
			t.Errorf("%q finds %q, want version %s", pattern, m, version.Version)
		}
	}
}
