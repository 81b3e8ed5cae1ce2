package task

import (
	"reflect"
	"strings"
	"testing"
	"time"
)

type level struct {
	Level int
	At    time.Time // which has a form of its own in JSON
	Rest  []level
}

type hidden struct{ level int }

type within struct{ Parts [2]hidden }

// TestLost lists types that a caller may pass, and what JSON would lose of others.
func TestLost(t *testing.T) {
	tests := []struct {
		of   reflect.Type
		want string
	}{
		{reflect.TypeFor[float64](), ""}, {reflect.TypeFor[[]string](), ""}, {reflect.TypeFor[level](), ""},
		{reflect.TypeFor[hidden](), "the unexported field level"}, {reflect.TypeFor[[]within](), "the unexported field level"},
		{reflect.TypeFor[complex64](), "complex numbers"}, {reflect.TypeFor[[][2]complex128](), "complex numbers"},
	}
	for _, tt := range tests {
		if got := lost(tt.of, nil); got != tt.want {
			t.Errorf("%v loses %q, want %q", tt.of, got, tt.want)
		}
	}
	if part := pointer(reflect.TypeFor[level](), nil); part != "a pointer" { // that of its time zone
		t.Errorf("a level holds %q, want a pointer", part)
	}
}

// TestCallersValues registers signatures whose caller passes a value that plans can carry, and ones that they
// cannot.
func TestCallersValues(t *testing.T) {
	o := &Operator{Name: "clamp", Slots: []Slot{{Name: "limit", Role: RoleArgument}}}
	s := &Signature{Operator: o, Task: "forward"}
	for _, tt := range []struct {
		of   reflect.Type
		want string
	}{
		{reflect.TypeFor[float32](), ""},
		{reflect.TypeFor[hidden](), "got task.hidden, which holds the unexported field level"},
		{reflect.TypeFor[complex128](), "got complex128, which holds complex numbers"},
	} {
		err := (&Arg{Type: tt.of, From: FromCall}).check(s, nil)
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
			t.Errorf("a value of type %v: got %v, want %q", tt.of, err, tt.want)
		}
	}
	if err := (&Arg{Type: reflect.TypeFor[hidden](), From: FromExpression}).check(s, nil); err != nil {
		t.Errorf("a value that plans do not carry: %v", err)
	}
}
