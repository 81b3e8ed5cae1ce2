// Package mistakes makes mistakes in a module outside of this one, and records what is said about them.
package mistakes

// edit changes a file of the module in testdata/base: it puts new in the place of the first old. A file is
// removed if new is empty and old is "*", and written if old is empty.
type edit struct{ file, old, new string }

// mistake is one mistake. Its number is that of a list of seventy that newcomers made.
type mistake struct {
	number string
	what   string
	edits  []edit
}

const (
	specFile   = "specs/scalenorm.toml"
	kernelFile = "kernels/scalenorm.go"
	useFile    = "use/use.go"
)

// inSpec, inKernel and inUse make one edit.
func inSpec(old, new string) []edit   { return []edit{{specFile, old, new}} }
func inKernel(old, new string) []edit { return []edit{{kernelFile, old, new}} }
func inUse(old, new string) []edit    { return []edit{{useFile, old, new}} }

// mistakes lists the mistakes in the order of their numbers.
var mistakes = []mistake{
	{"01", "a key is misspelled", inSpec("[slots.gamma]\n", "[slots.gamma]\ntrainble = false\n")},
	{"02", "a role is misspelled", inSpec(`"weight"`, `"weights"`)},
	{"03", "an output is declared as an input", inSpec(`"output"`, `"input"`)},
	{"04", "the type is float32", inSpec(`"f32"`, `"float32"`)},
	{"05", "the output has an unbound dimension", inSpec("\"output\"\ntype  = \"T\"\nshape = [\"A...\", \"C\"]", "\"output\"\ntype  = \"T\"\nshape = [\"A...\", \"D\"]")},
	{"06", "a shape is a string", inSpec(`shape = ["C"]`, `shape = "C"`)},
	{"07", "a run is forgotten in the output", inSpec("\"output\"\ntype  = \"T\"\nshape = [\"A...\", \"C\"]", "\"output\"\ntype  = \"T\"\nshape = [\"C\"]")},
	{"08", "a saved slot is declared scratch", inSpec(`"saved"`, `"scratch"`)},
	{"09", "a saved slot is forgotten", inSpec("[slots.scale]\nrole  = \"saved\"\ntype  = \"T\"\nshape = [\"A...\"]\n", "")},
	{"10", "forward may read its output", inSpec("[tasks.forward]\n", "[tasks.forward]\naccess = { output = \"read\" }\n")},
	{"11", "a slot is not trainable, and the kernel puts its gradient", inSpec("init  = \"one\"\n", "init  = \"one\"\ntrainable = false\n")},
	{"12", "a gradient is never put", inKernel("\t\ta.GradGamma.Put(c, sum)\n", "")},
	{"13", "a gradient is put twice", inKernel("a.GradGamma.Put(c, sum)", "a.GradGamma.Put(c, sum)\n\t\ta.GradGamma.Put(c, sum)")},
	{"14", "a step of backward is missing in the spec", inSpec("[tasks.backward.steps.weights]\nover = \"C\"\n", "")},
	{"15", "a required integer is forgotten", inUse("Defaults(0.001, 1)", "Defaults(0.001)")},
	{"16", "a required float is forgotten", inUse("Defaults(0.001, 1)", "Defaults()")},
	{"17", "a task runs over a run", inSpec(`over = "prod(A)"`, `over = "A"`)},
	{"18", "a task runs over too little", inSpec(`over = "prod(A)"`, `over = "prod(A) - 1"`)},
	{"19", "a task runs over too much", inSpec(`over = "prod(A)"`, `over = "prod(A) + 1"`)},
	{"20", "a divisor may be zero", inSpec("min = 1, ", "")},
	{"21", "the file of a spec is renamed", []edit{{"specs/rmsscale.toml", "", specFile}, {specFile, "*", ""}}},
	{"22", "a spec is renamed, and its kernel is not", []edit{{specFile, `"scalenorm"`, `"rmsscale"`}, {"specs/rmsscale.toml", "", specFile}, {specFile, "*", ""}}},
	{"23", "the file of a kernel is removed", []edit{{kernelFile, "*", ""}}},
	{"24", "a spec is removed, and its kernel is not", []edit{{specFile, "*", ""}}},
	{"25", "a method of a kernel is missing", inKernel("func (Scalenorm[T]) BackwardWeights", "func weights[T dtype.Float]")},
	{"26", "a method of a kernel is misspelled", inKernel("BackwardWeights(", "BackwardWeigths(")},
	{"27", "the constraint of a type parameter is another one", inKernel("type Scalenorm[T dtype.Float]", "type Scalenorm[T dtype.Index]")},
	{"28", "a kernel type is not generic", inKernel("type Scalenorm[T dtype.Float]", "type Scalenorm")},
	{"29", "the import path of a generated package is wrong", inKernel("generated/scalenorm", "generated/scalnorm")},
	{"30", "a kernel writes an input", inKernel("a.Scale.Set(i, s)", "a.Scale.Set(i, s)\n\t\ta.Input.Set(i, s)")},
	{"31", "a kernel reads an output", inKernel("a.Scale.Set(i, s)", "a.Scale.Set(i, a.Output.At(i))")},
	{"32", "a kernel uses a slot that is not there", inKernel("a.Gamma.At(c))\n\t\t}\n\t}\n\treturn nil\n}\n\n// BackwardInput", "a.Weight.At(c))\n\t\t}\n\t}\n\treturn nil\n}\n\n// BackwardInput")},
	{"33", "an index is out of range", inKernel("sum := a.Attrs.Eps", "sum := a.Attrs.Eps + float64(a.Gamma.At(a.Dims.C))")},
	{"34", "an initializer is unknown", inSpec(`"one"`, `"ones"`)},
	{"35", "an initializer has no such attribute", inSpec(`"one"`, `{ use = "one", value = 2.0 }`)},
	{"36", "a quote is missing", inSpec(`role  = "saved"`, `role  = "saved`)},
	{"37", "a table stands twice", inSpec("[slots.output]", "[slots.gamma]\nrole = \"weight\"\n\n[slots.output]")},
	{"38", "a message names something unknown", inSpec("{C} elements", "{Q} elements")},
	{"39", "the path of the runtime is wrong", []edit{{"opgen.toml", "opgen/opgen/runtime", "opgen/opgen/runtme"}}},
	{"40", "there is no opgen.toml", []edit{{"opgen.toml", "*", ""}}},
	{"41", "a generated file is edited", []edit{{"generated/scalenorm/attrs.go", "type Attrs struct", "type Attrs  struct"}}},
	{"42", "an example lacks an input", inSpec(", input = [2, 3]", "")},
	{"43", "an example has a wrong rank", inSpec("input = [2, 3]", "input = []")},
	{"44", "an example breaks a condition", inSpec("groups = 1 }", "groups = 2 }")},
	{"45", "a slot is named attrs", inSpec("[slots.scale]", "[slots.attrs]")},
	{"47", "a kernel keeps a view", inKernel("sum := a.Attrs.Eps", "kept = append(kept, a.Input.Lane(i).At)\n\t\tsum := a.Attrs.Eps\n\t\tlast = a")},
	{"48", "a kernel takes raw memory without a reason", inKernel("sum := a.Attrs.Eps", "elements, _ := raw.Slice(a.Input.Lane(i))\n\t\tsum := a.Attrs.Eps + 0*float64(elements[0])")},
	{"49", "the edition is none", inSpec("edition = 1\n", "edition = 2\n")},
	{"50", "a step is removed from the spec, and the kernel still has it", inSpec("[tasks.backward.steps.input]\nover = \"prod(A)\"\n\n[tasks.backward.steps.weights]\nover = \"C\"\n", "[tasks.backward.steps.input]\nover = \"prod(A)\"\n")},
	{"51", "a task does not work in place", []edit{
		{specFile, "[tasks.forward]\n", "[inplace]\noutput = \"input\"\n\n[tasks.forward]\n"},
		{kernelFile, "y.Set(c, x.At(c)", "y.Set(c, x.At(x.Len()-1-c)"},
	}},
	{"53", "a slot is not saved, and backward reads it", inSpec("role  = \"input\"\n", "role  = \"input\"\nsaved = false\n")},
	{"54a", "a run is fed too few elements", inUse("opgen.With(x, elements)", "opgen.With(x, elements[1:])")},
	{"54b", "a run is fed elements of another type", inUse("opgen.With(x, elements)", "opgen.With(x, make([]float64, 15))")},
	{"54c", "a run is not fed an input", inUse("opgen.With(x, elements), ", "")},
	{"55", "the catalogue is not registered", inUse("return opgen.Do(catalogue.Register, train, opts...)", "_ = catalogue.Register\n\treturn opgen.Do(shipped.Register, train, opts[:len(opts)-1]...)")},
	{"56", "shapes of a graph do not fit", inUse(`g.Input("want", dtype.F32, 5, 3)`, `g.Input("want", dtype.F32, 4, 3)`)},
	{"59", "forward is missing", inSpec("[tasks.forward]\nover = \"prod(A)\"\n", "")},
	{"60", "backward is missing", inSpec("[tasks.backward.steps.input]\nover = \"prod(A)\"\n\n[tasks.backward.steps.weights]\nover = \"C\"\n", "")},
	{"61", "a saved slot is never written", inKernel("\t\ta.Scale.Set(i, s)\n", "")},
	{"62", "the last element is not written", inKernel("for c := range x.Len() {\n\t\t\ty.Set", "for c := range x.Len() - 1 {\n\t\t\ty.Set")},
	{"63", "attributes without defaults are left out", inUse("attrs := scalenorm.Defaults(0.001, 1)", "var attrs scalenorm.Attrs")},
	{"64", "attributes are a literal", inUse("scalenorm.Defaults(0.001, 1)", "scalenorm.Attrs{Groups: 1}")},
	{"65", "two nodes have one name", inUse("loss :=", "h = scalenorm.Apply(g, attrs, y, graph.Named(\"n\"))\n\ty = scalenorm.Apply(g, attrs, h, graph.Named(\"n\"))\n\tloss :=")},
	{"67", "tensors are exchanged", inUse("mse.Logit(y), mse.Label(want)", "mse.Label(want), mse.Logit(y)")},
	{"68", "an operator has no output", inSpec("[slots.output]\nrole  = \"output\"\ntype  = \"T\"\nshape = [\"A...\", \"C\"]\n", "")},
	{"69", "a key of opgen.toml is misspelled", []edit{{"opgen.toml", "edition = 1\n", "edition = 1\nkernls = \"kernels\"\n"}}},
	{"70", "the folder of kernels is wrong", []edit{{"opgen.toml", "edition = 1\n", "edition = 1\nkernels = \"src\"\n"}}},
	{"73", "ranges overlap", inKernel("a.GradInput.Lane(i).Put", "a.GradInput.Lane(i / 2 * 2).Put")},
	{"76", "a method has another signature", inKernel("_ *op.Ctx, a *scalenorm.Forward[T], r op.Range", "a *scalenorm.Forward[T], r op.Range")},
	{"77", "a method has a pointer as its receiver", inKernel("func (Scalenorm[T]) Forward", "func (*Scalenorm[T]) Forward")},
	{"78", "an axis is an extent", inSpec("\"saved\"\ntype  = \"T\"\nshape = [\"A...\"]", "\"saved\"\ntype  = \"T\"\nshape = [\"dim\"]")},
	{"79", "an attribute is in upper case", inSpec("groups = { type", "Groups = { type")},
}
