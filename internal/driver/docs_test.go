package driver_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/internal/diag"
)

const pageIntro = `# Diagnostics

<!-- Written by go test ./internal/driver -run TestDiagnosticsPage -update. Edit internal/diag/rules.go
     or internal/driver/testdata/diag instead. -->

` + "`opgen check`" + ` reports all mistakes in specs at once. A finding has a place, a code, a message and the source
line with the place underlined. A code never changes its meaning. A finding may also have a hint at the probable
intention. ` + "`opgen check -format json`" + ` prints findings for programs, each with the address of its entry on this
page. If the correction is certain, the finding has an edit that does what the hint says. ` + "`opgen check -fix`" + `
makes these edits. ` + "`opgen explain CODE`" + ` prints an entry of this page.
`

// groups gives the title of each group of codes by the prefix of the codes.
var groups = []struct{ prefix, title string }{
	{"OP0", "Files"}, {"OP1", "Structure"}, {"OP2", "Names"}, {"OP3", "Types and values"}, {"OP4", "Shapes and expressions"},
	{"OP5", "Tasks and permissions"}, {"OP6", "Operators among each other"}, {"OP7", "Plug-ins"}, {"OP9", "Limits of this version"},
}

// TestDiagnosticsPage checks that docs/diagnostics.md lists all rules, each with the finding of the archive
// that has its name.
func TestDiagnosticsPage(t *testing.T) {
	const path = "../../docs/diagnostics.md"
	archives := diagArchives(t)
	var b bytes.Buffer
	b.WriteString(pageIntro)
	written := 0
	for _, g := range groups {
		fmt.Fprintf(&b, "\n## %s\n", g.title)
		for _, code := range slices.Sorted(maps.Keys(diag.Rules)) {
			if !strings.HasPrefix(string(code), g.prefix) {
				continue
			}
			rule := diag.Rules[code]
			fmt.Fprintf(&b, "\n### %s\n\n**%s.** %s\n", code, rule.Title, rule.Doc)
			if a := archives[strings.ToLower(string(code))]; a != nil {
				var example bytes.Buffer
				others := func(d *diag.Diagnostic) bool { return d.Code != code }
				if err := diag.WriteText(&example, slices.DeleteFunc(checkArchive(t, a), others)); err != nil {
					t.Fatal(err)
				}
				fmt.Fprintf(&b, "\n    %s\n", strings.ReplaceAll(strings.TrimSpace(example.String()), "\n", "\n    "))
			}
			written++
		}
	}
	if written != len(diag.Rules) {
		t.Errorf("the page lists %d codes, want %d; a group may be missing", written, len(diag.Rules))
	}
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, b.Bytes()) {
		t.Errorf("%s is not what the rules and archives say; run this test with -update", path)
	}
}
