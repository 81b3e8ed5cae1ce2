package plugin_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/opgen/opgen/generate/plugin"
)

type fake struct {
	answer *plugin.Response
	err    error
}

func (f fake) Generate(context.Context, *plugin.Request) (*plugin.Response, error) {
	return f.answer, f.err
}

func TestAnswer(t *testing.T) {
	empty := fake{answer: &plugin.Response{Files: []plugin.File{{Path: "a.h", Text: "int a;"}}}}
	tests := []struct {
		name, in  string
		p         plugin.Plugin
		out, want string // the answer, or a part of the error
	}{
		{"answer", `{"protocol": 1, "model": {}}`, empty, `{"protocol":1,"files":[{"path":"a.h","text":"int a;"}]}` + "\n", ""},
		{"no JSON", `x`, empty, "", "reading the request: "},
		{"protocol", `{"protocol": 2}`, empty, "", "the request is of protocol 2, want 1"},
		{"error", `{"protocol": 1}`, fake{err: errors.New("no")}, "", "no"},
	}
	for _, tt := range tests {
		var out bytes.Buffer
		err := plugin.Answer(t.Context(), tt.p, strings.NewReader(tt.in), &out)
		if out.String() != tt.out || (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: %q, %v; want %q, %q", tt.name, &out, err, tt.out, tt.want)
		}
	}
}
