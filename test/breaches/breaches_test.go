// Package breaches holds kernels that break rules, and tests that the compiler, opgen vet or checked mode
// stops each.
package breaches

import (
	"context"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"regexp"
	"strings"
	"testing"

	"golang.org/x/tools/go/analysis"

	"github.com/opgen/opgen"
	"github.com/opgen/opgen/generated/topk"
	"github.com/opgen/opgen/internal/exportdata"
	"github.com/opgen/opgen/internal/vet"
	"github.com/opgen/opgen/kernels"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/engine"
	"github.com/opgen/opgen/runtime/graph"
	"github.com/opgen/opgen/runtime/op"
	"github.com/opgen/opgen/runtime/raw"
	"github.com/opgen/opgen/runtime/task"
)

// own maps the names of packages that the kernels import to their folders in this module.
var own = map[string]string{
	"op": "runtime/op", "raw": "runtime/raw", "tensor": "runtime/tensor", "task": "runtime/task", "opimpl": "runtime/opimpl", "vec": "runtime/vec",
	"softmax": "generated/softmax", "dropout": "generated/dropout",
}

const module = "github.com/opgen/opgen/"

var library = []string{"cmp", "context", "fmt", "reflect", "runtime", "slices", "sync", "sync/atomic", "time", "unsafe"}

// TestF1Breaches checks what stops each kernel.
func TestF1Breaches(t *testing.T) {
	patterns := append([]string{}, library...)
	for _, folder := range own {
		patterns = append(patterns, "./"+folder)
	}
	files, err := exportdata.Files("../..", nil, patterns...)
	if err != nil {
		t.Fatal(err)
	}
	outside := exportdata.Importer(token.NewFileSet(), files)
	for _, b := range breaches {
		t.Run(b.number, func(t *testing.T) {
			by, text := nothing, ""
			if b.code == "" {
				by, text = run(b.number, b.by)
			} else {
				by, text = look(t, b.code, outside)
			}
			if by != b.by || !strings.Contains(text, b.want) {
				t.Errorf("%s: got %s: %s\nwant %s: ...%s", b.what, by, text, b.by, b.want)
			}
		})
	}
}

// look returns what the compiler and opgen vet say about a package.
func look(t *testing.T, code string, outside types.Importer) (by, text string) {
	t.Helper()
	var source strings.Builder
	source.WriteString("package kernels\n\nimport (\n")
	imports := func(path string) {
		name := path[strings.LastIndex(path, "/")+1:]
		if regexp.MustCompile(`\b`+name+`\.`).MatchString(code) || name == "unsafe" && strings.Contains(code, "go:linkname") {
			blank := ""
			if !regexp.MustCompile(`\b` + name + `\.`).MatchString(code) {
				blank = "_ "
			}
			fmt.Fprintf(&source, "\t%s%q\n", blank, path)
		}
	}
	for _, path := range library {
		imports(path)
	}
	for _, folder := range own {
		imports(module + folder)
	}
	source.WriteString(")\n\n" + code + "\n")
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "kernels.go", source.String(), parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		t.Fatalf("%v in\n%s", err, &source)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}, Defs: map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{}, Instances: map[*ast.Ident]types.Instance{}}
	p, err := (&types.Config{Importer: outside}).Check("example.com/nn/kernels", fset, []*ast.File{file}, info)
	if err != nil {
		return compiler, err.Error()
	}
	var found []string
	for _, a := range vet.Analyzers {
		pass := &analysis.Pass{Analyzer: a, Fset: fset, Files: []*ast.File{file}, Pkg: p, TypesInfo: info,
			Report:           func(d analysis.Diagnostic) { found = append(found, d.Message) },
			ImportObjectFact: func(types.Object, analysis.Fact) bool { return false },
			ExportObjectFact: func(types.Object, analysis.Fact) {},
		}
		if _, err := a.Run(pass); err != nil {
			t.Fatal(err)
		}
	}
	if len(found) == 0 {
		return nothing, ""
	}
	return vetting, strings.Join(found, "\n")
}

// extra is what a kernel does besides computing topk.
type extra func(ctx *op.Ctx, a *topk.Forward[float32], r op.Range)

// rows is how many rows there are: more than those of one range.
const rows = 8192

// extras holds what kernels do, by their numbers.
var extras = map[string]extra{
	"6": func(_ *op.Ctx, a *topk.Forward[float32], r op.Range) {
		//opgen:raw this is what is tested
		d, _ := raw.Slice(a.Input.Lane(r.Lo))
		d[0] = 99
	},
	"22": func(_ *op.Ctx, a *topk.Forward[float32], r op.Range) { a.Output.Lane(r.Hi%rows).Set(0, 99) },
	"23": func(_ *op.Ctx, a *topk.Forward[float32], _ op.Range) { a.Output.Set(a.Output.Len(), 99) },
	"27": func(ctx *op.Ctx, a *topk.Forward[float32], r op.Range) {
		if a.Order.Of(1-ctx.Worker).Lane(0).At(0) > 1 {
			a.Output.Lane(r.Lo).Set(0, 99)
		}
	},
	"27a": func(ctx *op.Ctx, a *topk.Forward[float32], _ op.Range) { a.Order.Of(1-ctx.Worker).Set(0, 99) },
	"28": func(_ *op.Ctx, a *topk.Forward[float32], r op.Range) {
		//opgen:raw this is what is tested
		d, _ := raw.Slice(a.Input.Lane(r.Lo))
		_ = append(d, 99)
	},
}

type kernel struct {
	kernels.Topk[float32]
	extra
}

func (k kernel) Forward(ctx *op.Ctx, a *topk.Forward[float32], r op.Range) error {
	err := k.Topk.Forward(ctx, a, r)
	k.extra(ctx, a, r)
	return err
}

type set struct{ extra }

func (s set) F32() topk.Kernel[float32]               { return kernel{extra: s.extra} }
func (set) F64() topk.Kernel[float64]                 { return kernels.Topk[float64]{} }
func (set) I32() topk.Kernel[int32]                   { return kernels.Topk[int32]{} }
func (set) I64() topk.Kernel[int64]                   { return kernels.Topk[int64]{} }
func (set) F32Backward() topk.BackwardKernel[float32] { return kernels.TopkBackward[float32]{} }
func (set) F64Backward() topk.BackwardKernel[float64] { return kernels.TopkBackward[float64]{} }

// run runs a kernel as programs do and in checked mode, and returns what stops it. What checked mode is to
// find runs in that mode only, where one goroutine runs all ranges: otherwise it would be a data race.
func run(number, want string) (by, text string) {
	register := func(r *task.Registry) error { return topk.Register(r, op.CPU, set{extras[number]}) }
	for _, mode := range []struct {
		name string
		opts []opgen.Option
	}{{running, nil}, {checking, []opgen.Option{opgen.Checked()}}} {
		if want == checking && mode.name == running {
			continue
		}
		err := opgen.Do(register, func(s *opgen.Session) error {
			g := graph.New(1)
			x := g.Input("x", dtype.F32, rows, 2)
			p, err := s.Inference(context.Background(), g, topk.Apply(g, topk.Defaults(1), x).Output)
			if err != nil {
				return err
			}
			return p.Run(context.Background(), opgen.With(x, make([]float32, 2*rows)))
		}, append(mode.opts, opgen.Workers(2))...)
		var failed *engine.TaskError
		switch {
		case errors.As(err, &failed):
			return mode.name, err.Error()
		case err != nil:
			return "a mistake of the test", err.Error()
		}
	}
	return nothing, ""
}
