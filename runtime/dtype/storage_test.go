package dtype

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math"
	"slices"
	"testing"
)

// TestStored checks, for every type that engines store, its size, its Go type, and that numbers come
// back from memory. Values outside of a type's range become its bounds.
func TestStored(t *testing.T) {
	if n := len(Stored()); n != 13 {
		t.Errorf("%d types are stored, want 13", n)
	}
	for _, typ := range Stored() {
		b := make([]byte, typ.Size()+1)
		b[typ.Size()] = 0xa5
		round := func(v float64) float64 {
			typ.PutFloat64(b, v)
			return typ.Float64(b)
		}
		values := []float64{0, 1}
		least, greatest := math.Inf(-1), math.Inf(1)
		if typ != Bool {
			values = append(values, 2, 100)
		} else {
			least, greatest = 1, 1
		}
		if n := float64(8 * typ.Size()); typ.IsInteger() {
			least, greatest = 0, math.Pow(2, n)-1
			if typ.String()[0] == 'i' {
				values = append(values, -1, -100)
				least, greatest = -math.Pow(2, n-1), math.Pow(2, n-1)-1
			}
			values = append(values, greatest-1)
			if round(math.NaN()) != 0 || round(1.9) != 1 {
				t.Errorf("%v: NaN is stored as %v, 1.9 as %v", typ, round(math.NaN()), round(1.9))
			}
		}
		if typ.IsFloat() {
			values = append(values, -1.5, 0.25)
			if v := round(math.NaN()); v == v {
				t.Errorf("%v: NaN is stored as %v", typ, v)
			}
		}
		for _, v := range values {
			if got := round(v); got != v {
				t.Errorf("%v: %v is stored as %v", typ, v, got)
			}
		}
		if lo, hi := round(math.Inf(-1)), round(math.Inf(1)); lo != least || hi != greatest {
			t.Errorf("%v: infinities are stored as %v and %v, want %v and %v", typ, lo, hi, least, greatest)
		}
		if b[typ.Size()] != 0xa5 {
			t.Errorf("%v: more than %d bytes are written", typ, typ.Size())
		}
		if c := typ.Host(); c.GoType() != typ.GoType() || c.Host() != c {
			t.Errorf("%v of Go type %s is fed as %v of Go type %s", typ, typ.GoType(), c, c.GoType())
		}
	}
}

// TestTypeSets compares the sets with the constraints that the package declares.
func TestTypeSets(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "dtype.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	declared := map[string][]string{}
	var names func(e ast.Expr) []string
	names = func(e ast.Expr) []string {
		switch e := e.(type) {
		case *ast.BinaryExpr:
			return append(names(e.X), names(e.Y)...)
		case *ast.Ident:
			if o := e.Obj; o != nil { // another constraint
				return names(o.Decl.(*ast.TypeSpec).Type)
			}
			return []string{e.Name}
		case *ast.InterfaceType:
			return names(e.Methods.List[0].Type)
		}
		return nil
	}
	for _, d := range file.Scope.Objects {
		if s, ok := d.Decl.(*ast.TypeSpec); ok {
			if i, ok := s.Type.(*ast.InterfaceType); ok {
				declared[s.Name.Name] = names(i)
			}
		}
	}
	sets := TypeSets()
	if len(sets) != len(declared) {
		t.Errorf("%d sets, want %d", len(sets), len(declared))
	}
	for _, s := range sets {
		var got []string
		for _, typ := range s.Types {
			got = append(got, typ.GoType())
		}
		want := declared[s.Name]
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has the types %v, but declares %v", s.Name, got, want)
		}
	}
}
