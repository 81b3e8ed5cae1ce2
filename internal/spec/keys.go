package spec

import (
	"slices"

	"github.com/opgen/opgen/internal/keys"
	"github.com/opgen/opgen/internal/source"
	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/partition"
	"github.com/opgen/opgen/runtime/perm"
)

// Values of keys.
var (
	text       = keys.Value{Type: keys.String}
	integer    = keys.Value{Type: keys.Integer}
	boolean    = keys.Value{Type: keys.Boolean}
	number     = keys.Value{Type: keys.Number}
	expression = keys.Value{Type: keys.Expression}
	anything   = keys.Value{Type: keys.Any}
	texts      = keys.Value{Type: keys.Array, Elem: &text}
	array      = keys.Value{Type: keys.Array}
	domain     = keys.Value{Type: keys.Expression | keys.Array, Elem: &expression} // what a step runs over
)

// known returns a value that is one of some strings, or matches a pattern if there is one.
func known(pattern string, strings ...string) keys.Value {
	return keys.Value{Type: keys.String, Known: strings, Pattern: pattern}
}

// AttrTypes lists the types of attributes.
var AttrTypes = []string{"int", "float", "number", "bool", "string", "enum", "dtype", "axis", "dims", "axes", "record"}

// FieldTypes lists the types of the fields of records.
var FieldTypes = slices.DeleteFunc(slices.Clone(AttrTypes), func(t string) bool { return t == "axis" || t == "record" })

// GradModes lists how a task contributes to a gradient: it writes each element once, or it adds to any
// element any number of times.
var GradModes = []string{"once", "scatter"}

var (
	elementType  = known("", slices.Concat(dtype.Words(), dtype.Names())...)
	elementTypes = keys.Value{Type: keys.Array, Elem: &elementType}
)

func words(w ...string) keys.Value { return keys.Value{Type: keys.String, Words: w} }

// table returns the value of a key that holds a table.
func table(t *keys.Table) keys.Value { return keys.Value{Type: keys.Object, Table: t} }

// tables returns the value of a key that holds an array of tables.
func tables(t *keys.Table) keys.Value {
	v := table(t)
	return keys.Value{Type: keys.Array, Elem: &v}
}

// named returns the value of a key that holds a table with names that the spec gives.
func named(v keys.Value) keys.Value { return table(&keys.Table{Others: &v}) }

// or returns a value of further types.
func or(v keys.Value, more keys.Type) keys.Value {
	v.Type |= more
	return v
}

// Tables of specs. The order of keys is that in which opgen fmt writes them.
var (
	dtypeKeys = &keys.Table{What: "a dtype variable", Keys: []keys.Key{
		{Name: "in", Value: elementTypes, Required: true, Doc: "the allowed element types"},
		{Name: "from", Value: or(texts, keys.String), Doc: "what binds the variable where no input does: attributes, dtype variables or element types"},
	}}
	fieldKeys = &keys.Table{What: "a field", Keys: []keys.Key{
		{Name: "type", Value: known("", FieldTypes...), Required: true, Doc: "the attribute's type"},
		{Name: "enum", Value: text, Doc: "of an enum: the name of an enum spec"},
		{Name: "values", Value: texts, Doc: "of an enum: the names"},
		{Name: "list", Value: boolean, Doc: "whether the value is a list of values of the type"},
		{Name: "len", Value: integer, Doc: "how many values a list has"},
		{Name: "min", Value: number, Doc: "the least value"},
		{Name: "max", Value: number, Doc: "the largest value"},
		{Name: "optional", Value: boolean, Doc: "whether the attribute may be absent, as it is by default"},
		{Name: "default", Value: anything, Doc: "the value of an attribute that is not given"},
		{Name: "doc", Value: text, Doc: "what the value means"},
	}}
	attrKeys = &keys.Table{What: "an attribute", Keys: slices.Concat([]keys.Key{
		{Name: "type", Value: known("", AttrTypes...), Required: true, Doc: "the attribute's type"},
		{Name: "of", Value: text, Doc: "of an axis: the slot; by default, the first whose shape the caller gives"},
		{Name: "binds", Value: text, Doc: "of an axis: the dimension that it names"},
		{Name: "end", Value: boolean, Doc: "of an axis: whether it is the end of a range, so that it may equal the rank"},
	}, fieldKeys.Keys[1:9], []keys.Key{
		{Name: "fields", Value: named(table(fieldKeys)), Doc: "of a record: its fields"},
	}, fieldKeys.Keys[9:])}
	dimKeys = &keys.Table{What: "a dimension", Keys: []keys.Key{
		{Name: "shape_func", Value: text, Required: true, Doc: "the call of a Go function that computes the dimensions"},
	}}
	slotVariadicKeys = &keys.Table{What: "variadic", Keys: slices.Concat(argVariadicKeys.Keys, []keys.Key{
		{Name: "count", Value: expression, Doc: "the number of an output's tensors"},
		{Name: "optional", Value: boolean, Doc: "of an input: whether single tensors of the list may be absent"},
		{Name: "mixed", Value: boolean, Later: true, Doc: "whether tensors may have different element types"},
	})}
	argVariadicKeys = &keys.Table{What: "variadic", Keys: []keys.Key{
		{Name: "min", Value: integer, Doc: "the least number"},
		{Name: "max", Value: integer, Doc: "the largest number"},
	}}
	initKeys = &keys.Table{What: "init", Others: &anything, Keys: []keys.Key{
		{Name: "use", Value: text, Required: true, Doc: "the name of the initializer"},
	}}
	slotKeys = &keys.Table{What: "a slot", Instead: map[string]string{
		"optional": "present = \"use_bias\" is the condition on attributes under which it is there, and present = \"caller\" leaves that to the caller",
	}, Keys: []keys.Key{
		{Name: "role", Value: words(Roles...), Required: true, Doc: "input, weight, output, saved or scratch"},
		{Name: "type", Value: known("^[A-Z][A-Za-z0-9_]*$", dtype.Names()...), Doc: "an element type or a dtype variable; by default the only dtype variable"},
		{Name: "shape", Value: keys.Value{Type: keys.Array, Elem: &keys.Value{Type: keys.String | keys.Integer}}, Required: true, Doc: "the dimensions, slowest first; [] for a scalar"},
		{Name: "variadic", Value: table(slotVariadicKeys), Doc: "how many tensors the slot has, if it may have several"},
		{Name: "count", Value: text, Doc: "of an output: the output that holds how many of its rows count"},
		{Name: "per", Value: known("", "worker"), Doc: "of a scratch slot: worker, if each has its own"},
		{Name: "present", Value: expression, Doc: "the condition under which the slot exists, or caller"},
		{Name: "trainable", Value: boolean, Doc: "whether an input or a weight gets a gradient"},
		{Name: "below", Value: expression, Doc: "of an input of integers: the bound of the values, which lie in [0, below)"},
		{Name: "except", Value: expression, Doc: "of an input with below: the one value outside of [0, below) that is allowed"},
		{Name: "aux_loss", Value: boolean, Doc: "of an output: whether training adds the scalar to the loss"},
		{Name: "init", Value: or(table(initKeys), keys.String), Doc: "of a weight: the initializer"},
		{Name: "saved", Value: keys.Value{Type: keys.String | keys.Boolean}, Doc: "whether backward is given the value: true, false or a condition"},
		{Name: "doc", Value: text, Doc: "what the tensor holds"},
	}}
	argKeys = &keys.Table{What: "an argument", Instead: map[string]string{
		"optional": "default = 0.5 is what it is if the caller passes nothing, and variadic = { max = 1 } lets it have no value",
	}, Keys: []keys.Key{
		{Name: "type", Value: text, Doc: "the type in Go; it may be left out where from determines it"},
		{Name: "from", Value: expression, Required: true, Doc: "where its value comes from"},
		{Name: "variadic", Value: table(argVariadicKeys), Doc: "how many values it has, if it may have several"},
		{Name: "default", Value: anything, Doc: "the value that it has if the caller passes none"},
		{Name: "unchecked", Value: boolean, Doc: "whether the type is taken as it is, without a check"},
		{Name: "doc", Value: text, Doc: "what the value means"},
	}}
	requireKeys = &keys.Table{What: "a requirement", Keys: []keys.Key{
		{Name: "that", Value: text, Required: true, Doc: "the condition"},
		{Name: "message", Value: text, Required: true, Doc: "what to tell the user"},
	}}
	stepKeys = &keys.Table{What: "a step", Keys: []keys.Key{
		{Name: "over", Value: domain, Required: true, Doc: "how many indices the step runs over"},
		{Name: "grain", Value: expression, Doc: "indices of a range"},
		{Name: "when", Value: expression, Doc: "the condition under which the step runs"},
		{Name: "elementwise", Value: boolean, Doc: "whether index i touches element i only"},
		{Name: "doc", Value: text, Doc: "what the step computes"},
	}}
	taskKeys = &keys.Table{What: "a task", Keys: []keys.Key{
		{Name: "kind", Value: text, Later: true, Doc: "the kind of the task"},
		{Name: "over", Value: domain, Doc: "how many indices the task runs over"},
		{Name: "grain", Value: expression, Doc: "indices of a range"},
		{Name: "elementwise", Value: boolean, Doc: "whether index i touches element i only"},
		{Name: "args", Value: texts, Doc: "the arguments that the task gets"},
		{Name: "returns", Value: or(texts, keys.String), Doc: "of init: the argument that it makes, or several"},
		{Name: "access", Value: named(known(`^reduce\(.+\)$`, perm.Names()...)), Doc: "permissions of slots"},
		{Name: "grads", Value: named(known("", GradModes...)), Doc: "how gradients of slots are given"},
		{Name: "steps", Value: named(table(stepKeys)), Doc: "the steps of the task, in order"},
		{Name: "constraints", Value: tables(constraintKeys(partition.Kinds()...)), Doc: "how launches divide tensors"},
		{Name: "doc", Value: text, Doc: "what the task computes"},
	}}
	windowKeys = &keys.Table{What: "a window", Keys: []keys.Key{
		{Name: "of", Value: text, Required: true, Doc: "the dimension with which the window moves"},
		{Name: "scale", Value: expression, Doc: "elements by which an index moves the window"},
		{Name: "shift", Value: expression, Doc: "where the window of index 0 begins"},
		{Name: "size", Value: expression, Doc: "how many elements an index touches"},
	}}
	windowsKeys = &keys.Table{What: "a slot's windows", Others: &keys.Value{Type: keys.Object, Table: windowKeys}}
	tilesKeys   = &keys.Table{What: "a task's tiles", Keys: []keys.Key{
		{Name: "step", Value: text, Doc: "the step, if the task has several"},
		{Name: "size", Value: keys.Value{Type: keys.Array, Elem: &expression}, Required: true, Doc: "the extents of a tile"},
		{Name: "slots", Value: named(table(windowsKeys)), Doc: "what an index touches along the axes of slots"},
	}}
	cudaTaskKeys = &keys.Table{What: "the launch of a task", Keys: []keys.Key{
		{Name: "per", Value: known("", "thread", "block"), Doc: "what computes an index: a thread or a block"},
		{Name: "block", Value: integer, Doc: "threads of a block: a multiple of 32 up to 1024"},
		{Name: "shared", Value: expression, Doc: "bytes of dynamic shared memory of a block"},
	}}
	cudaKeys = &keys.Table{What: "kernels.cuda", Others: &keys.Value{Type: keys.Object, Table: cudaTaskKeys}, Keys: []keys.Key{
		{Name: "file", Value: text, Required: true, Doc: "the file with the device code, in the folder of kernels"},
	}}
	kernelsKeys = &keys.Table{What: "kernels", Keys: []keys.Key{{Name: "cuda", Value: table(cudaKeys), Doc: "device code for NVIDIA GPUs"}}}
	costKeys    = &keys.Table{What: "a task's cost", Keys: []keys.Key{
		{Name: "flops", Value: expression, Required: true, Doc: "how many floating-point operations the task takes"},
		{Name: "bytes", Value: expression, Doc: "bytes that the task moves; by default those of the tensors that it reads and writes"},
	}}
	shardKeys = &keys.Table{What: "a dimension of sharding", Keys: []keys.Key{
		{Name: "dim", Value: text, Required: true, Doc: "the dimension that may be divided"},
		{Name: "when", Value: expression, Doc: "the condition under which it may be"},
	}}
	shards       = keys.Value{Type: keys.Array, Elem: &keys.Value{Type: keys.String | keys.Object, Table: shardKeys}}
	shardingKeys = &keys.Table{What: "sharding", Keys: []keys.Key{
		{Name: "split", Value: shards, Doc: "dimensions that may be divided among devices"},
		{Name: "reduce", Value: shards, Doc: "dimensions whose division leaves partial sums"},
	}}
	inPlaceKeys = &keys.Table{What: "an in-place slot", Keys: []keys.Key{
		{Name: "of", Value: text, Required: true, Doc: "the slot whose tensor lay there"},
		{Name: "view", Value: boolean, Doc: "whether the elements are the same, in the same order"},
	}}
	inPlace      = or(table(inPlaceKeys), keys.String)
	inPlaceSlots = &keys.Table{What: "inplace", Others: &inPlace, Keys: []keys.Key{
		{Name: "backward", Value: named(inPlace), Doc: "gradients of inputs, with the outputs in whose gradients they may lie"},
	}}
	fuseKeys = &keys.Table{What: "a fusion", Keys: []keys.Key{
		{Name: "other", Value: text, Required: true, Doc: "the operator whose work this one does as well"},
		{Name: "share", Value: named(text), Required: true, Doc: "the other's inputs, with the slots of this operator that hold the same tensors"},
		{Name: "make", Value: named(text), Required: true, Doc: "the other's outputs, with the slots of this operator that make them"},
		{Name: "when", Value: named(anything), Doc: "attributes of the other operator, with the values that they may have"},
		{Name: "own", Value: named(anything), Doc: "attributes of this operator, with the values that they may have"},
		{Name: "absent", Value: texts, Doc: "attributes of this operator that must not be given"},
		{Name: "set", Value: named(anything), Doc: "attributes of this operator: a value, or the name of the other's attribute"},
		{Name: "tolerance", Value: number, Doc: "how much rounding may change"},
		{Name: "doc", Value: text, Doc: "what the fusion changes"},
	}}
	onnxOperandKeys = &keys.Table{What: "an input or output of ONNX", Keys: []keys.Key{
		{Name: "slot", Value: text, Doc: "the slot that takes or makes the tensor"},
		{Name: "const", Value: text, Doc: "the name by which expressions read an input, whose value is known when a graph is built"},
		{Name: "type", Value: text, Doc: "the element type that the slot's tensor has, or that of the output"},
		{Name: "shape", Value: text, Doc: "the shape that the slot's tensor has, or that of the output"},
		{Name: "expand", Value: text, Doc: "the shape to which an input is repeated"},
		{Name: "permute", Value: text, Doc: "the order of the dimensions of the slot's tensor, or of the output"},
	}}
	onnxOperands = keys.Value{Type: keys.Array, Elem: &keys.Value{Type: keys.String | keys.Object, Table: onnxOperandKeys}}
	onnxKeys     = &keys.Table{What: "an operator of ONNX", Keys: []keys.Key{
		{Name: "op", Value: keys.Value{Type: keys.String | keys.Object, Table: named(text).Table}, Doc: "the name of the operator in ONNX; of several, names with what op is in expressions"},
		{Name: "domain", Value: text, Doc: "the domain of the operator; by default ai.onnx"},
		{Name: "since", Value: integer, Doc: "the first version of the operator set; by default 1"},
		{Name: "until", Value: integer, Doc: "the last version of the operator set"},
		{Name: "when", Value: text, Doc: "the condition under which the entry applies"},
		{Name: "let", Value: named(text), Doc: "names of expressions, which the other expressions read"},
		{Name: "times", Value: text, Doc: "integers i, for each of which the operator is applied once more, to its output"},
		{Name: "inputs", Value: onnxOperands, Doc: "the inputs in ONNX's order; by default inputs and weights in the order of the spec"},
		{Name: "outputs", Value: onnxOperands, Doc: "the outputs in ONNX's order; by default those of the spec"},
		{Name: "attrs", Value: named(keys.Value{Type: keys.String | keys.Number | keys.Boolean}), Doc: "attributes, and arguments that the caller passes, as expressions"},
		{Name: "ignore", Value: texts, Doc: "attributes of ONNX that change nothing"},
		{Name: "save", Value: named(text), Doc: "attributes and constants of ONNX, as expressions of the operator's attributes and slots"},
		{Name: "body", Value: text, Doc: "instead of op, nodes of ONNX that compute what the operator does"},
	}}
	exampleKeys = &keys.Table{What: "an example", Others: &anything, Keys: []keys.Key{
		{Name: "attrs", Value: named(anything), Doc: "values of attributes"},
		{Name: "args", Value: named(anything), Doc: "what the caller passes"},
	}}
)

// Tables of files.
var (
	editionKey = keys.Key{Name: "edition", Value: keys.Value{Type: keys.Integer, Const: 1}, Doc: "the edition of the spec language, as opgen.toml says: 1"}
	nameKey    = keys.Key{Name: "name", Value: text, Doc: "the operator's name, which is the file's"}
	docKey     = keys.Key{Name: "doc", Value: text, Required: true, Doc: "one or more sentences about what it computes"}
	formulaKey = keys.Key{Name: "formula", Value: text, Doc: "what each element of an output is"}

	enumKeys = &keys.Table{What: "an enum spec", Keys: []keys.Key{editionKey,
		{Name: "kind", Value: words(string(Enum)), Required: true, Doc: "what the spec declares"},
		nameKey, docKey, formulaKey,
		{Name: "values", Value: keys.Value{Type: keys.Array | keys.Object, Elem: &text, Table: named(text).Table}, Required: true, Doc: "the names, each with a sentence about it"},
	}}
	specKeys = &keys.Table{What: "a spec", Keys: []keys.Key{editionKey,
		{Name: "kind", Value: words(string(Operator), string(Optimizer), string(Initializer)), Doc: "what the spec declares; by default an operator"},
		nameKey,
		{Name: "family", Value: text, Doc: "a group of operators that differ by attributes"},
		{Name: "category", Value: text, Doc: "the group of the operator's reference page"},
		{Name: "since", Value: text, Doc: "the version that the operator came with"},
		{Name: "deprecated", Value: text, Doc: "what to do instead"},
		docKey,
		formulaKey,
		{Name: "validate", Value: text, Doc: "the call of a Go function that checks attributes"},
		{Name: "dtypes", Value: named(keys.Value{Type: keys.Object | keys.Array, Table: dtypeKeys, Elem: &elementType}), Doc: "dtype variables with their element types"},
		{Name: "attrs", Value: named(table(attrKeys)), Doc: "attributes"},
		{Name: "dims", Value: named(or(table(dimKeys), keys.Expression)), Doc: "dimensions that expressions define, in order"},
		{Name: "args", Value: named(table(argKeys)), Doc: "arguments that tasks get besides tensors and attributes"},
		{Name: "slots", Value: named(table(slotKeys)), Doc: "tensors"},
		{Name: "require", Value: named(table(requireKeys)), Doc: "conditions of a use, with messages"},
		{Name: "inplace", Value: table(inPlaceSlots), Doc: "outputs, with the inputs in whose memory they may lie"},
		{Name: "inference", Value: named(anything), Doc: "attributes, with their values in inference"},
		{Name: "tasks", Value: named(table(taskKeys)), Doc: "what runs"},
		{Name: "tiles", Value: named(table(tilesKeys)), Doc: "how steps are cut into tiles that may be tasks of their own"},
		{Name: "kernels", Value: table(kernelsKeys), Doc: "kernels for other targets"},
		{Name: "cost", Value: named(table(costKeys)), Doc: "what tasks cost"},
		{Name: "sharding", Value: table(shardingKeys), Doc: "dimensions that may be divided among devices"},
		{Name: "fuse", Value: named(table(fuseKeys)), Doc: "operators whose work this one does as well"},
		{Name: "onnx", Value: tables(onnxKeys), Doc: "operators of ONNX that the operator computes"},
		{Name: "examples", Value: tables(exampleKeys), Doc: "uses from which tests are made"},
		{Name: "numerics", Value: anything, Later: true},
		{Name: "expand", Value: anything, Later: true},
		{Name: "shape_func", Value: anything, Later: true},
	}}
)

// Tables describes the specs of all kinds: those of enums, and others.
func Tables() []*keys.Table { return []*keys.Table{specKeys, enumKeys} }

// constraintKeys describes the constraints of some kinds.
func constraintKeys(kinds ...string) *keys.Table {
	t := &keys.Table{What: "a constraint", OneOf: kinds}
	var fields []keys.Key
	for _, name := range kinds {
		kind, _ := partition.ParseKind(name)
		form := kind.Form()
		v := text
		switch form.Terms {
		case partition.AnyTerms:
			v = texts
		case partition.SourceTarget:
			v = table(linkKeys(kind))
		default:
			for _, f := range fieldsOf(kind, false) {
				if !slices.ContainsFunc(fields, func(k keys.Key) bool { return k.Name == f.Name }) {
					fields = append(fields, f)
				}
			}
		}
		t.Keys = append(t.Keys, keys.Key{Name: name, Value: v, Doc: "the tensors, of a constraint of this kind"})
	}
	t.Keys = append(t.Keys, fields...)
	return t
}

// linkKeys describes what a constraint holds that leads from a tensor to another.
func linkKeys(kind partition.Kind) *keys.Table {
	t := &keys.Table{What: kind.Form().Name, Keys: slices.Concat([]keys.Key{
		{Name: "from", Value: text, Required: true, Doc: "the tensor whose tiles are known"},
		{Name: "to", Value: text, Required: true, Doc: "the tensor whose tiles follow"},
	}, fieldsOf(kind, true))}
	if kind.Form().Hints {
		t.Keys = append(t.Keys, keys.Key{Name: "hint", Value: words(partition.Hints()...), Doc: "how many elements point to the same one"})
	}
	return t
}

// fieldsOf describes the lists of a kind of constraints. Among kinds that share a table, one may require what
// others do not have.
func fieldsOf(kind partition.Kind, alone bool) []keys.Key {
	var list []keys.Key
	for _, f := range kind.Form().Fields {
		numbers := keys.Value{Type: keys.Array, Elem: &keys.Value{Type: keys.Integer | keys.String}}
		list = append(list, keys.Key{Name: f.Name, Value: numbers, Required: alone && f.Required, Doc: "one number for each dimension"})
	}
	return list
}

// KeysOf describes the spec that a file holds.
func KeysOf(file *source.Table) *keys.Table {
	if e := file.Get("kind"); e != nil {
		if s, ok := e.Value.(*source.Scalar); ok && s.Value == string(Enum) {
			return enumKeys
		}
	}
	return specKeys
}
