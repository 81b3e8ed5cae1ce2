package mesh_test

import (
	"reflect"
	"testing"

	"github.com/opgen/opgen/runtime/mesh"
)

// TestEncode writes strategies to files, and reads them again.
func TestEncode(t *testing.T) {
	mesh2 := []mesh.Axis{{Name: "data", Size: 2}, {Name: "model", Size: 3}}
	for name, want := range map[string]*mesh.Strategy{
		"rules": {Mesh: mesh2, Rules: []mesh.Rule{{Tensor: "a \"b\".c", Dim: -1, Axis: "model"}, {Tensor: "x", Dim: 0, Axis: "data"}, {Tensor: "x", Dim: 1, Axis: "model"}, {Tensor: "x", Dim: 1, Read: true}}},
		"pipeline": {Mesh: mesh2, Rules: []mesh.Rule{{Tensor: "x", Axis: "data"}},
			Pipeline: &mesh.Pipeline{Stages: []mesh.Stage{{Node: "z 1"}, {Node: "b"}}, Batches: 4, Cut: []mesh.Rule{{Tensor: "x y", Dim: 2}}}},
	} {
		data, err := want.Encode()
		if err != nil {
			t.Fatal(err)
		}
		got, err := mesh.Parse("file", data)
		if err != nil {
			t.Fatalf("%s: %v\n%s", name, err, data)
		}
		for i := range got.Rules {
			got.Rules[i].At = ""
		}
		if p := got.Pipeline; p != nil {
			for i := range p.Stages {
				p.Stages[i].At = ""
			}
			for i := range p.Cut {
				p.Cut[i].At = ""
			}
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v, in\n%s", name, got, want, data)
		}
	}
}
