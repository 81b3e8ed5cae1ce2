package plug_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/opgen/opgen/generate/plugin"
	"github.com/opgen/opgen/internal/plug"
)

var request = &plugin.Request{Protocol: plugin.Protocol, Options: json.RawMessage("{}"), Model: json.RawMessage("{}")}

func run(ctx context.Context, args ...string) (*plugin.Response, error) {
	c := &plug.Command{Args: args, Timeout: time.Minute}
	return c.Generate(ctx, request)
}

// TestRequest runs a program whose answer is a file that holds the request.
func TestRequest(t *testing.T) {
	r, err := run(t.Context(), "sh", "-c", `printf '{"protocol": 1, "files": [{"path": "x", "data": "'; base64 | tr -d '\n'; printf '"}]}'`)
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"protocol":1,"opgen":"","plugin":"","options":{},"model":{}}`
	if len(r.Files) != 1 || string(r.Files[0].Data) != want {
		t.Errorf("the program got %q, want %s", r.Files, want)
	}
}

// TestErrors checks what the archives of package driver do not show.
func TestErrors(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := run(canceled, "sleep", "60"); err == nil || err.Error() != "the run was canceled" {
		t.Errorf("canceled: %v", err)
	}
	_, err := run(t.Context(), "sh", "-c", "for i in 1 2 3 4 5 6 7 8 9 10 11 12; do echo line $i >&2; done; kill -KILL $$")
	e, ok := err.(*plug.Error)
	if !ok || e.Message != "sh ended with signal: killed" || strings.Join(e.Stderr, " ") != "line 3 line 4 line 5 line 6 line 7 line 8 line 9 line 10 line 11 line 12" {
		t.Errorf("a program that is killed: %+v", err)
	}
}

// TestLimits runs programs that answer too much, or whose children keep the outputs open.
func TestLimits(t *testing.T) {
	start := time.Now()
	for name, tt := range map[string]struct{ script, want string }{
		"endless":       {"exec cat /dev/zero", "the answer on standard output has more than 64 MiB"},
		"endless noise": {"head -c 300000000 /dev/zero >&2; exit 3", "sh ended with exit status 3"},
		"a child":       {`printf '{"protocol": 1}'; sleep 30 &`, "sh has ended, but a program that it started still runs and keeps standard output or standard error open"},
	} {
		r, err := run(t.Context(), "sh", "-c", tt.script)
		e, ok := err.(*plug.Error)
		if !ok || e.Message != tt.want || r != nil {
			t.Errorf("%s: got %v, %v, want the error %s", name, r, err, tt.want)
		} else if strings.Contains(tt.script, "&") && strings.HasPrefix(name, "a") && e.Hint == "" {
			t.Errorf("%s: want a hint", name)
		}
	}
	if d := time.Since(start); d > 40*time.Second {
		t.Errorf("it took %v", d)
	}
}
