package docs

import (
	"os"
	"regexp"
	"strings"
	"testing"
)

// finding is the first cell of a row for one of the findings.
var finding = regexp.MustCompile(`^F\d+$`)

// TestAudit checks that each row of the tables in audit.md names a test that exists, or gives the reason why it stays. Each
// finding has a test with its number in the name.
func TestAudit(t *testing.T) {
	text, err := os.ReadFile("audit.md")
	if err != nil {
		t.Fatal(err)
	}
	for row := range guarded(string(text)) {
		checkGuards(t, row)
		if finding.MatchString(row.what) && !strings.Contains(row.guards, " Test"+row.what) {
			t.Errorf("%s: want a test whose name begins with Test%s", row.what, row.what)
		}
	}
}
