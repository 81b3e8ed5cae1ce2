package docs

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// findings is how many findings the audit has.
const findings = 20

// finding is the first cell of a row for one of the findings.
var finding = regexp.MustCompile(`^F\d+$`)

// TestAudit checks that each row of the tables in audit.md names a test that exists, or gives the reason why
// it stays. Each finding has a row, and a test with its number in the name.
func TestAudit(t *testing.T) {
	text, err := os.ReadFile("audit.md")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]bool{}
	for n := 1; n <= findings; n++ {
		missing[fmt.Sprint("F", n)] = true
	}
	for row := range guarded(string(text)) {
		checkGuards(t, row)
		delete(missing, row.what)
		if finding.MatchString(row.what) && !strings.Contains(row.guards, " Test"+row.what) {
			t.Errorf("%s: want a test whose name begins with Test%s", row.what, row.what)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(missing)) {
		t.Errorf("there is no row for finding %s", f)
	}
}
