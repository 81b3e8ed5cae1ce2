package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/opgen/opgen/generate/plugin"
)

const model = `{
  "operators": [{
    "name": "linear", "pos": "specs/linear.toml:2:12",
    "attrs": [
      {"name": "mode", "enum": {"name": "mode", "values": [{"name": "FAST", "pos": "specs/linear.toml:5:1"}, {"name": "exact result"}]}},
      {"name": "activation", "enum": {"name": "activation", "package": "activation", "values": []}}
    ],
    "slots": [{"name": "input", "number": 0}, {"name": "grad_pre", "number": 6}],
    "tasks": [{"name": "forward", "id": "e1e71e94d3c07807"}]
  }],
  "enums": [{"name": "activation", "values": [{"name": "RELU"}, {"name": "TANH"}]}]
}`

const want = `#ifndef NN_OPS_H
#define NN_OPS_H

#include <stdint.h>

enum nn_activation {
	NN_ACTIVATION_RELU = 1,
	NN_ACTIVATION_TANH = 2,
};

/* linear, specs/linear.toml:2:12 */
enum {
	NN_LINEAR_SLOT_INPUT = 0,
	NN_LINEAR_SLOT_GRAD_PRE = 6,
};
#define NN_LINEAR_TASK_FORWARD UINT64_C(0xe1e71e94d3c07807)

enum nn_linear_mode {
	NN_LINEAR_MODE_FAST = 1,
	NN_LINEAR_MODE_EXACT_RESULT = 2,
};

#endif
`

func generate(t *testing.T, model, options string) *plugin.Response {
	t.Helper()
	r, err := header{}.Generate(t.Context(), &plugin.Request{Model: json.RawMessage(model), Options: json.RawMessage(options)})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHeader(t *testing.T) {
	r := generate(t, model, `{"file": "ops.h", "prefix": "NN"}`)
	if len(r.Files) != 1 || r.Files[0].Path != "ops.h" || r.Files[0].Text != want || len(r.Findings) != 0 {
		t.Errorf("got %+v, want ops.h with\n%s", r, want)
	}
}

// TestClash checks that two names that are equal in C give a finding at the second.
func TestClash(t *testing.T) {
	r := generate(t, strings.Replace(model, `{"name": "exact result"}`, `{"name": "fast", "pos": "specs/linear.toml:6:1"}`, 1), `{}`)
	if len(r.Findings) != 1 || r.Findings[0].Pos != "specs/linear.toml:6:1" ||
		r.Findings[0].Message != "OPGEN_LINEAR_MODE_FAST is also the name in C of what is at specs/linear.toml:5:1" {
		t.Errorf("got %+v", r.Findings)
	}
}

func TestBadOptions(t *testing.T) {
	_, err := header{}.Generate(t.Context(), &plugin.Request{Model: json.RawMessage(model), Options: json.RawMessage(`{"file": 1}`)})
	if err == nil || !strings.HasPrefix(err.Error(), "options: ") {
		t.Errorf("got %v", err)
	}
}
