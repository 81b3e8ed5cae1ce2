package english_test

import (
	"testing"

	"github.com/opgen/opgen/internal/base/english"
)

func TestArticle(t *testing.T) {
	for noun, want := range map[string]string{"array": "an array", "table": "a table", "u8": "a u8", "integer": "an integer", "": "a "} {
		if got := english.Article(noun); got != want {
			t.Errorf("Article(%q) = %q, want %q", noun, got, want)
		}
	}
}

func TestCount(t *testing.T) {
	for n, want := range map[int]string{0: "0 files", 1: "1 file", 2: "2 files"} {
		if got := english.Count(n, "file"); got != want {
			t.Errorf("Count(%d) = %q, want %q", n, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for noun, want := range map[string]string{"file": "files", "loss": "losses", "match": "matches", "optimizer": "optimizers"} {
		if got := english.Plural(noun); got != want {
			t.Errorf("Plural(%q) = %q, want %q", noun, got, want)
		}
	}
}
