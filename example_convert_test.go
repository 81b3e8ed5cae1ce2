package opgen_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/catalogue"
	"github.com/opgen/opgen/generated/linear"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/safetensors"
)

// A file of another program holds a weight in bf16 under a name of its own, and a tensor that this program
// does not need. A session with weights in f32 loads it.
func ExampleConvert() {
	dir, err := os.MkdirTemp("", "opgen")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "model.safetensors")
	f := safetensors.File{Tensors: map[string]safetensors.Tensor{
		"lm_head":        {Type: dtype.BF16, Shape: []int{1, 2}, Data: []byte{0xc0, 0x3f, 0x00, 0xc0}}, // 1.5 and -2
		"lm_head.scales": {Type: dtype.F8E8M0, Shape: []int{1}, Data: []byte{127}},
	}}
	data, err := f.Encode()
	if err == nil {
		err = os.WriteFile(path, data, 0o666)
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	err = opgen.Do(catalogue.Register, func(s *opgen.Session) error {
		g := graph.New(1)
		y := linear.Apply(g, linear.Defaults(1).WithUseBias(false), g.Input("x", dtype.F32, 3, 2), graph.Named("head"))
		p, err := s.Inference(context.Background(), g, y)
		if err != nil {
			return err
		}
		names := opgen.Names(map[string]string{"head.weight": "lm_head"})
		if err := s.LoadVariables(path, names, opgen.Convert()); err != nil {
			return err
		}
		weight, err := opgen.Fetch[float32](p, y.Node().Tensor(int(linear.SlotWeight)))
		fmt.Println(weight)
		return err
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: [1.5 -2]
}
