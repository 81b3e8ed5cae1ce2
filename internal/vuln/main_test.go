package main

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestMain is govulncheck in tests: the argument for the database says how it ends.
func TestMain(m *testing.M) {
	if os.Getenv("VULN_FAKE") == "" {
		os.Exit(m.Run())
	}
	switch db := os.Args[2]; db {
	case "clean":
		fmt.Println("No vulnerabilities found.")
	case "vulnerable":
		fmt.Println("Vulnerability #1: GO-0000-0000")
		os.Exit(3)
	case "slow":
		time.Sleep(time.Minute)
	case "broken":
		fmt.Fprintln(os.Stderr, "govulncheck: loading packages: there are errors")
		os.Exit(1)
	default:
		fmt.Fprintln(os.Stderr, db+": no such host")
		os.Exit(1)
	}
	os.Exit(0)
}

// TestRun checks that a vulnerability is an error, and that a network that fails is none.
func TestRun(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("VULN_FAKE", "yes")
	for _, c := range []struct {
		db     string
		status int
		text   string
	}{
		{"clean", 0, "No vulnerabilities"},
		{"vulnerable", 1, "GO-0000-0000"},
		{"broken", 2, "loading packages"},
		{"slow", 0, "nothing was checked: govulncheck takes longer than"},
		{"creating client: stat /nonexistent", 0, "nothing was checked: the database"},
		{"govulncheck: fetching vulnerabilities: lookup vuln.go.dev", 0, "nothing was checked: the database"},
	} {
		limit := time.Minute
		if c.db == "slow" {
			limit = time.Second
		}
		var b strings.Builder
		if status := (&check{self, c.db, limit}).run(t.TempDir(), &b); status != c.status || !strings.Contains(b.String(), c.text) {
			t.Errorf("%s: got status %d, want %d and %q:\n%s", c.db, status, c.status, c.text, &b)
		}
	}
}

// TestNoProxy checks that a tool that cannot be installed is no error.
func TestNoProxy(t *testing.T) {
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOFLAGS", "-modcacherw")
	t.Setenv("GOMODCACHE", t.TempDir())
	var b strings.Builder
	if status := (&check{"golang.org/x/vuln/cmd/govulncheck@v1.9.0", "", time.Minute}).run(t.TempDir(), &b); status != 0 || !strings.Contains(b.String(), "cannot be installed") {
		t.Errorf("got status %d, want 0 and that the tool cannot be installed:\n%s", status, &b)
	}
}
