package progress_test

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/opgen/opgen/internal/progress"
)

// TestLine runs commands of different lengths on a clock of their own.
func TestLine(t *testing.T) {
	const clear = "\r\x1b[K"
	for _, tt := range []struct {
		name  string
		first time.Duration // length of the stage a, before the stage b
		rest  time.Duration
		want  string
	}{
		{"nothing", 0, 0, ""},
		{"short", time.Second, 900 * time.Millisecond, ""},
		{"long", 3100 * time.Millisecond, 1400 * time.Millisecond, clear + "a, 2 s" + clear + "a, 3 s" + clear + "b, 4 s" + clear},
	} {
		synctest.Test(t, func(t *testing.T) {
			var b strings.Builder
			l := progress.Start(&b)
			l.Stage("a")
			time.Sleep(tt.first)
			l.Stage("b")
			time.Sleep(tt.rest)
			l.Stop()
			if b.String() != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, b.String(), tt.want)
			}
		})
	}
}
