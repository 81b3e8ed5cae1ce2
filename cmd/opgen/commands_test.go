package main

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestCommands compares the pages that list commands with the table of commands: the comment of this package,
// README and docs/commands.md. With -update, it writes them.
func TestCommands(t *testing.T) {
	var comment, table, page strings.Builder
	for _, v := range verbs() {
		fmt.Fprintf(&page, "\n## %s\n\n", v.name)
		for _, f := range v.forms {
			call := v.call(f)
			fmt.Fprintf(&comment, "//	%s\n//	    %s\n", call, f.does)
			fmt.Fprintf(&table, "| `%s` | %s |\n", strings.ReplaceAll(call, "|", `\|`), f.does)
			fmt.Fprintf(&page, "- `%s`: %s\n", call, f.does)
		}
		page.WriteString("\n| flag | |\n|---|---|\n")
		for _, o := range v.allOptions() {
			name := strings.TrimSpace("-" + o.name + " " + o.value())
			fmt.Fprintf(&page, "| `%s` | %s |\n", strings.ReplaceAll(name, "|", `\|`), strings.ReplaceAll(strings.ReplaceAll(o.usage, "`", ""), "|", ", "))
		}
		if v.json != "" {
			fmt.Fprintf(&page, "\nWith `-format json`: %s\n", v.json)
		}
	}
	golden(t, "main.go", `(?s)// Usage:\n//\n(.*?)//\n// Flags may be`, comment.String())
	golden(t, "../../README.md", `(?s)## Commands\n\n\| \| \|\n\|---\|---\|\n(.*?)\| .opconform`, table.String())
	golden(t, "../../docs/commands.md", `(?s)<!-- What follows is written by a test: go test ./cmd/opgen -update. -->\n(.*)$`, page.String())
}

// golden compares the part of a file that a pattern finds with what it has to be.
func golden(t *testing.T, name, pattern, want string) {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	at := regexp.MustCompile(pattern).FindSubmatchIndex(text)
	if at == nil {
		t.Fatalf("%s: want %s", name, pattern)
	}
	if string(text[at[2]:at[3]]) == want {
		return
	}
	if !*update {
		t.Errorf("%s is out of date; run go test ./cmd/opgen -update", name)
		return
	}
	if err := os.WriteFile(name, bytes.Join([][]byte{text[:at[2]], []byte(want), text[at[3]:]}, nil), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestVerbs checks that the table of commands says all that pages, help and completion need.
func TestVerbs(t *testing.T) {
	for _, v := range verbs() {
		if len(v.forms) == 0 || v.run == nil || v.max < v.min || (v.json == "") != (v.formats == nil) {
			t.Errorf("%s: want forms, a function, a number of arguments, and what -format json prints", v.name)
		}
		for _, f := range v.forms {
			if f.does == "" || strings.HasSuffix(f.does, ".") {
				t.Errorf("%s %s: want a phrase that says what it does, got %q", v.name, f.args, f.does)
			}
		}
		for _, o := range v.allOptions() {
			if (o.text == nil) == (o.truth == nil) || (o.text != nil) != (o.value() != "") {
				t.Errorf("%s -%s: want a text with a name for its value, or a truth value", v.name, o.name)
			}
		}
	}
}
