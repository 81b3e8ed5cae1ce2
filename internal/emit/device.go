package emit

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/internal/artifact"
	"github.com/opgen/opgen/internal/base/cname"
	"github.com/opgen/opgen/internal/model"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/perm"
)

// device returns the files that launch device code by hand: CUDA C++ around the code, and Go that registers
// it.
func (e *emitter) device() ([]artifact.Artifact, error) {
	d := &deviceEmitter{emitter: e, scalars: e.deviceScalars()}
	source := d.source()
	sum := sha256.Sum256([]byte(source))
	d.hash = hex.EncodeToString(sum[:6])
	source = strings.ReplaceAll(source, hashMark, d.hash)
	files, err := e.files(e.op.Package, e.op.Source, []part{{"cuda.go", "", d.code}})
	return append(files, artifact.Artifact{Path: e.op.Package + "/cuda.cu", Source: e.op.Source, Data: []byte("\n" + source)}), err
}

// hashMark stands for the hash of the device code, which keeps its names apart from those of others.
const hashMark = "@hash@"

// deviceEmitter emits what is around device code.
type deviceEmitter struct {
	*emitter
	scalars []scalar
	hash    string
}

// scalar is a number that device code gets, or the extents of a run of dimensions.
type scalar struct {
	name, typ string // in device code
	code      string // in Go
	doc       string
}

// deviceScalars lists the dimensions, and the attributes that are numbers.
func (e *emitter) deviceScalars() []scalar {
	var out []scalar
	for _, x := range e.op.Dims {
		switch {
		case x.Each:
		case x.Rest:
			out = append(out, scalar{cname.Of(x.Name), "opgen_extents", "d." + x.Name, "the dimensions of the run " + x.Name})
		default:
			out = append(out, scalar{cname.Of(x.Name), "long long", "d." + x.Name, "the dimension " + x.Name})
		}
	}
	for _, a := range e.op.Attrs {
		if a.Optional || a.List {
			continue
		}
		s := scalar{cname.Of(a.Name), "long long", "attrs." + a.GoName, lowerFirst(line(a.Doc))}
		switch a.Type {
		case "float":
			s.typ = "double"
		case "number":
			s.typ, s.code = "double", s.code+".Float()"
		case "bool":
			s.typ = "bool"
		case "int", "axis", "enum":
		default:
			continue
		}
		if a.Type == "enum" {
			s.doc = strings.TrimSuffix(s.doc, ".") + enumNote(a)
		}
		out = append(out, s)
	}
	return out
}

// enumNote lists the numbers of the values of an enum.
func enumNote(a *model.Attr) string {
	if a.Enum == nil {
		return ""
	}
	var list []string
	for i, v := range a.Enum.Values {
		list = append(list, fmt.Sprintf("%d %s", i, v.Name))
	}
	return ": " + strings.Join(list, ", ")
}

// deviceTypes are the types of elements in device code.
var deviceTypes = map[dtype.Type]string{dtype.Bool: "opgen_bool", dtype.I8: "i8", dtype.I16: "i16", dtype.I32: "i32", dtype.I64: "i64", dtype.U8: "u8",
	dtype.U16: "u16", dtype.U32: "u32", dtype.U64: "u64", dtype.F16: "opgen_f16", dtype.BF16: "opgen_bf16", dtype.F32: "float", dtype.F64: "double"}

// deviceView returns the type of a task's view of a tensor.
func (e *emitter) deviceView(p *model.Param) string {
	element := ""
	if p.Slot.Var >= 0 {
		element = e.op.Types[p.Slot.Var].Name
	} else {
		element = deviceTypes[p.Slot.Fixed]
	}
	switch {
	case p.Grad && p.Perm != perm.Read:
		return "opgen_grad<" + element + ">"
	case p.Perm == perm.Read:
		return "opgen_ro<" + element + ">"
	case p.Perm == perm.Write:
		return "opgen_wo<" + element + ">"
	}
	return "opgen_rw<" + element + ">"
}

// deviceParam returns the name of a tensor in device code.
func deviceParam(p *model.Param) string {
	if p.Grad {
		return "grad_" + p.Name
	}
	return cname.Of(p.Name)
}

// source returns the device code of the operator.
func (d *deviceEmitter) source() string {
	o := d.op
	var b strings.Builder
	p := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	p("namespace opgen_%s {\n", hashMark)
	p("namespace %s {\n", cname.Of(o.Operator.Name))
	p("// numbers are the dimensions and the attributes of %s. The host packs them.", o.Name)
	p("struct numbers {")
	for _, s := range d.scalars {
		typ := s.typ
		if typ == "bool" {
			typ = "long long"
		}
		p("\t%s %s; // %s", typ, s.name, s.doc)
	}
	p("\tlong long work; // indices of the step")
	p("};")
	p("static_assert(sizeof(numbers) == %d, \"the host packs as many bytes\");\n", 8*d.words())
	for _, t := range o.CUDA.Tasks {
		p("// %s holds the arguments of the task %s.", t.Name, t.Name)
		if len(o.Types) > 0 {
			p("template <%s> struct %s : numbers {", o.CUDATemplate(), cname.Of(t.Name))
		} else {
			p("struct %s : numbers {", cname.Of(t.Name))
		}
		for _, x := range t.Params {
			p("\t%s %s; // %s", d.deviceView(x), deviceParam(x), tensorsOf(x.Slot))
		}
		for _, a := range t.Blocks() {
			p("\topgen_block %s; // %s", cname.Of(a.Name), argDoc(a))
		}
		p("};\n")
	}
	p("} // namespace %s\n", cname.Of(o.Operator.Name))
	p("#line 1 \"%s\"", o.CUDA.Path)
	p("%s", strings.TrimRight(strings.ReplaceAll(o.CUDA.Text, "\r\n", "\n"), "\n"))
	p("#line 1 \"%s/cuda.cu\"\n", o.Package)
	p("} // namespace opgen_%s\n", hashMark)
	for _, t := range o.CUDA.Tasks {
		for _, s := range t.Steps {
			for _, v := range d.deviceVariants(t) {
				d.entry(p, t, s, v)
			}
		}
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// words returns how many words of 8 bytes the numbers take.
func (d *deviceEmitter) words() int {
	n := 1
	for _, s := range d.scalars {
		if s.typ == "opgen_extents" {
			n += extentWords
		} else {
			n++
		}
	}
	return n
}

// extentWords is how many words opgen_extents has: the rank, the product, and eight extents.
const extentWords = 10

// deviceVariants returns the choices of element types of a task, as they are stored.
func (d *deviceEmitter) deviceVariants(t model.CUDATask) [][]dtype.Type {
	all := [][]dtype.Type{nil}
	for _, v := range d.op.Types {
		var next [][]dtype.Type
		for _, prefix := range all {
			for _, typ := range v.Types {
				if deviceTypes[typ] != "" {
					next = append(next, append(append([]dtype.Type{}, prefix...), typ))
				}
			}
		}
		all = next
	}
	var out [][]dtype.Type
	for _, v := range all {
		if t.Signature.Supports(v) {
			out = append(out, v)
		}
	}
	return out
}

// entry emits the function that the host launches for a step and a choice of element types.
func (d *deviceEmitter) entry(p func(string, ...any), t model.CUDATask, s *model.Step, types []dtype.Type) {
	o := d.op
	name := fmt.Sprintf("opgen_%s", o.CUDAFunction(t, s))
	space := "opgen_" + hashMark + "::" + cname.Of(o.Operator.Name)
	var args []string
	of := map[string]string{}
	for i, v := range o.Types {
		name += "_" + types[i].String()
		args = append(args, deviceTypes[types[i]])
		of[v.Name] = deviceTypes[types[i]]
	}
	list := ""
	if len(args) > 0 {
		list = "<" + strings.Join(args, ", ") + ">"
	}
	var params, names, casts, sets []string
	param := func(typ, name string) {
		casts = append(casts, fmt.Sprintf("(%s)args[%d]", strings.TrimSpace(strings.ReplaceAll(typ, "__restrict__", "")), len(params)))
		params, names = append(params, typ+name), append(names, name)
	}
	for _, x := range t.Params {
		element := deviceTypes[x.Slot.Fixed]
		if x.Slot.Var >= 0 {
			element = of[o.Types[x.Slot.Var].Name]
		}
		if x.Perm == perm.Read {
			element = "const " + element
		}
		restrict := "__restrict__ "
		if len(t.Signature.InPlace) > 0 { // tensors may share memory
			restrict = ""
		}
		param(element+" *"+restrict, deviceParam(x))
		if x.Grad && x.Perm != perm.Read {
			param("long long ", "mode_"+deviceParam(x))
			sets = append(sets, fmt.Sprintf("opgen_args.%s = {%s, mode_%s};", deviceParam(x), deviceParam(x), deviceParam(x)))
			continue
		}
		sets = append(sets, fmt.Sprintf("opgen_args.%s = {%s};", deviceParam(x), deviceParam(x)))
	}
	for _, a := range t.Blocks() {
		name := cname.Of(a.Name)
		param("void *", name)
		param("long long ", "bytes_"+name)
		sets = append(sets, fmt.Sprintf("opgen_args.%s = {%s, bytes_%s};", name, name, name))
	}
	param("const "+space+"::numbers *", "opgen_numbers")
	entry := name + "_" + hashMark
	p("OPGEN_DEVICE void %s_body(const opgen_grid &opgen_at, %s) {", entry, strings.Join(params, ", "))
	p("\t%s::%s%s opgen_args;", space, cname.Of(t.Name), list)
	p("\t(%s::numbers &)opgen_args = *opgen_numbers;", space)
	for _, set := range sets {
		p("\t%s", set)
	}
	first, stride := "opgen_thread(opgen_at)", "opgen_threads(opgen_at)"
	if t.PerBlock {
		first, stride = "opgen_at.block.x", "opgen_at.blocks.x"
	}
	p("\tfor (long long opgen_i = %s; opgen_i < opgen_args.work; opgen_i += %s) opgen_%s::%s%s(opgen_args, opgen_i);", first, stride, hashMark, o.CUDAFunction(t, s), list)
	p("}")
	p("extern \"C\" __global__ void __launch_bounds__(%d) %s(%s) { %s_body(opgen_launched(0), %s); }", t.Block, entry, strings.Join(params, ", "), entry, strings.Join(names, ", "))
	p("struct %s_memory {};", entry)
	p("OPGEN_DEVICE void %s_on(const opgen_grid &opgen_at, const u64 *args) { %s_body(opgen_at, %s); }\n", entry, entry, strings.Join(casts, ", "))
}

// code emits the Go file that registers the device code.
func (d *deviceEmitter) code() {
	o := d.op
	d.embeds = true
	d.p("//go:embed cuda.cu\nvar deviceCode string\n")
	d.comment("RegisterCUDA adds the tasks of %s that have device code by hand to r, for the element types that are stored.", o.Name)
	d.p("func RegisterCUDA(r *task.Registry) error {")
	d.p("return gpu.Register(r, &Operator.Operator, gpu.Code{\nSource: deviceCode,\nHash: %q,\nNumbers: deviceNumbers,\nTasks: []gpu.Task{", d.hash)
	for _, t := range o.CUDA.Tasks {
		per := ""
		if t.PerBlock {
			per = "PerBlock: true, "
		}
		shared := ""
		if t.SharedX != nil {
			shared = fmt.Sprintf(", Shared: shared%s", t.GoName)
		}
		d.p("{ID: %sTask, %sBlock: %d%s},", t.GoName, per, t.Block, shared)
	}
	d.p("},\n})\n}\n")
	d.comment("deviceNumbers packs the dimensions and the attributes that device code gets.")
	d.p("func deviceNumbers(a *task.Accessor) *gpu.Numbers {")
	uses := func(prefix string) bool {
		for _, s := range d.scalars {
			if strings.HasPrefix(s.code, prefix) {
				return true
			}
		}
		return false
	}
	if uses("d.") {
		d.p("d := gpu.DimsOf[Dims](a)")
	}
	if uses("attrs.") {
		d.p("attrs := gpu.AttrsOf[Attrs](a)")
	}
	d.p("return new(gpu.Numbers)")
	text := strings.TrimSuffix(d.text.String(), "\n")
	d.text.Reset()
	d.text.WriteString(text)
	for _, s := range d.scalars {
		switch s.typ {
		case "opgen_extents":
			d.text.WriteString(".\nExtents(" + s.code + "...)")
		case "double":
			d.text.WriteString(".\nFloat(" + s.code + ")")
		case "bool":
			d.text.WriteString(".\nBool(" + s.code + ")")
		default:
			d.text.WriteString(".\nInt(int(" + s.code + "))")
		}
	}
	d.p("\n}")
	x := &exprs{e: d.emitter, plain: true}
	for _, t := range o.CUDA.Tasks {
		if t.SharedX == nil {
			continue
		}
		code := x.as(t.SharedX, expr.Int)
		d.p("")
		d.comment("shared%s returns the bytes of shared memory of a block: %s.", t.GoName, t.Shared)
		param := "_"
		if strings.Contains(code, "d.") || strings.Contains(code, "a.") {
			param = "b"
		}
		d.p("func shared%s(%s *task.Accessor) int {", t.GoName, param)
		if strings.Contains(code, "d.") {
			d.p("d := gpu.DimsOf[Dims](b)")
		}
		if strings.Contains(code, "a.") {
			d.p("a := gpu.AttrsOf[Attrs](b)")
		}
		d.p("return %s\n}", code)
	}
}
