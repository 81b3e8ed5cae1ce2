package diag

import "strings"

// page lists all rules, under headings that are the codes.
const page = "https://github.com/opgen/opgen/blob/main/docs/diagnostics.md"

// URL returns the address of what the documentation says about the code.
func (c Code) URL() string { return page + "#" + strings.ToLower(string(c)) }

// Rule explains a code: what it reports and why.
type Rule struct {
	Title string
	Doc   string
}

// The codes. The hundreds group them: 0 files, 1 structure, 2 names, 3 types and values, 4 shapes and
// expressions, 5 tasks and permissions, 6 operators among each other, 7 plug-ins and kernels, 9 limits of
// this version.
const (
	Syntax          Code = "OP001"
	FileName        Code = "OP002"
	BadConfig       Code = "OP003"
	UnknownKey      Code = "OP101"
	MissingKey      Code = "OP102"
	WrongKind       Code = "OP103"
	BadValue        Code = "OP104"
	ExclusiveKey    Code = "OP105"
	BadName         Code = "OP201"
	Duplicate       Code = "OP202"
	Undefined       Code = "OP203"
	Reserved        Code = "OP204"
	Unused          Code = "OP205"
	BadType         Code = "OP301"
	BadDefault      Code = "OP302"
	BadRange        Code = "OP303"
	BadExpr         Code = "OP401"
	ExprType        Code = "OP402"
	UnboundDim      Code = "OP403"
	Ambiguous       Code = "OP404"
	Cyclic          Code = "OP405"
	ZeroDivisor     Code = "OP406"
	BadFormula      Code = "OP407"
	BadRole         Code = "OP501"
	BadPerm         Code = "OP502"
	BadTask         Code = "OP503"
	BadGrad         Code = "OP504"
	BadStep         Code = "OP505"
	BadArity        Code = "OP506"
	BadConstraint   Code = "OP507"
	Contradiction   Code = "OP508"
	BadArg          Code = "OP509"
	BadTiles        Code = "OP510"
	BadInit         Code = "OP601"
	Clash           Code = "OP602"
	BadExample      Code = "OP603"
	BadUse          Code = "OP604"
	BadUsedSpec     Code = "OP605"
	SeveralModules  Code = "OP606"
	PluginFailed    Code = "OP701"
	PluginFile      Code = "OP702"
	PluginFinding   Code = "OP703"
	KernelSyntax    Code = "OP710"
	MissingKernel   Code = "OP711"
	MissingMethod   Code = "OP712"
	LeftOver        Code = "OP713"
	KernelType      Code = "OP714"
	KernelSignature Code = "OP715"
	BadTuned        Code = "OP720"
	NotYet          Code = "OP901"
)

// Rules maps every code to its rule. Codes are never given a new meaning.
var Rules = map[Code]Rule{
	Syntax:          {"not TOML", "The file is not valid TOML 1.0, exceeds a limit, or has characters that are not shown. Only the first such error of a file is reported."},
	FileName:        {"file and operator disagree", "A spec's name is the name of its file without .toml, so that it is easy to find. Generated files name the path, so it has letters, digits, spaces and some other characters only."},
	BadConfig:       {"bad opgen.toml", "The configuration at the module's root lacks a key, or a value is impossible."},
	UnknownKey:      {"unknown key", "The key has no meaning here. Unknown keys are errors, because a misspelled key would otherwise have no effect."},
	MissingKey:      {"missing key", "A key without a default is absent."},
	WrongKind:       {"wrong kind of value", "The value is of another TOML type than the key takes."},
	BadValue:        {"impossible value", "The value is not one of those that the key may have."},
	ExclusiveKey:    {"keys exclude each other", "Two keys contradict each other, or one key has no meaning without another."},
	BadName:         {"bad name", "Names are made of lower-case letters, digits and underscores and begin with a letter; names of dtype variables and dimensions begin with an upper-case letter. Generated Go names derive from them."},
	Duplicate:       {"name used twice", "Slots, arguments, attributes, dimensions and dtype variables of an operator share one name space, because expressions refer to all of them. Names that differ may also become the same name in generated Go code, as a_1 and a1 do."},
	Undefined:       {"undefined name", "The name refers to nothing that the spec, or another spec, declares."},
	Reserved:        {"reserved name", "The name has a meaning of its own in expressions or in generated Go code."},
	Unused:          {"unused name", "A declared name is used nowhere. Often a copy was not finished."},
	BadType:         {"bad element type", "A slot's type is neither an element type nor a dtype variable, or it is a dtype variable that nothing determines."},
	BadDefault:      {"bad default", "A default must be a value that the attribute may have."},
	BadRange:        {"empty range", "The lower bound is above the upper one."},
	BadExpr:         {"bad expression", "The text is not an expression of the spec language."},
	ExprType:        {"expression of the wrong type", "Operands must have the types that the operator takes, and the expression as a whole the type that the key takes."},
	UnboundDim:      {"unbound dimension", "Shapes of outputs and weights, and all other expressions, may only use dimensions that the shape of an input slot, or [dims], binds."},
	Ambiguous:       {"ambiguous shape", "A shape pattern must determine its dimensions: at most one open run (N...) unless an axis attribute separates two."},
	Cyclic:          {"cyclic definition", "Dimensions or dtype variables that are defined by one another have no value."},
	ZeroDivisor:     {"divisor may be zero", "A division needs a divisor that cannot be zero: a positive number, an attribute with min = 1 or more, or max(x, 1)."},
	BadFormula:      {"bad formula", "An index or a statement of a formula is wrong. Each index ranges over something, reads lie in their tensors, and statements give each element of an output once. It can be computed at every example, and agrees there with the facts that the spec states: what is saved, in place, element by element, divided or scattered, what tasks run over, tiles, constraints and costs."},
	BadRole:         {"key does not fit the role", "Some keys make sense for some roles of slots only, and optimizers and initializers have certain slots."},
	BadPerm:         {"permission against role", "A task may not do this with a slot of this role: inputs are not overwritten by forward, outputs are not read before they are written, and so on."},
	BadTask:         {"bad task", "The task's kind, or its place in this kind of operator, is wrong."},
	BadGrad:         {"bad gradient", "Only trainable floating-point inputs and weights have gradients, and only backward computes them."},
	BadStep:         {"bad step", "A task is either one step, with over, or several, each with its own."},
	BadConstraint:   {"bad constraint", "A constraint is about tensors that the task is given, and its numbers fit their dimensions: axes that exist, and a factor, an offset or an extent for each. Launches of the examples satisfy it."},
	Contradiction:   {"constraints contradict each other", "The tiles of a tensor follow from those of one other at most, in no circle, and no output is written through tiles that overlap."},
	BadArg:          {"bad argument", "An argument has the type of its source. It is plain data, which plans can carry, unless it is declared unchecked, as a device's handles and per-device state are."},
	BadTiles:        {"bad tiles", "Tiles have an extent of 1 or more for each dimension that the step runs over, and no two tiles write the same element."},
	BadArity:        {"bad arity", "The limits of a variadic slot or argument contradict each other or its other keys."},
	BadInit:         {"bad initializer", "A weight's init must name a spec of kind initializer and give it attributes that it has."},
	Clash:           {"clash between operators", "Two specs have the same name, or would generate the same Go package or the same task id."},
	BadExample:      {"bad example", "An example must give every attribute without default and every necessary input, with values that the spec allows. Its shapes fit the slots, and what the operator requires holds."},
	BadUse:          {"module cannot be used", "The list use of opgen.toml names modules that go.mod requires or replaces and that have specs and generated packages of their own. Opgen asks the go command where they are."},
	BadUsedSpec:     {"mistake in a used module", "The opgen.toml or a spec of a used module has findings of its own. They are reported once, at the name of the module, with the first of them."},
	SeveralModules:  {"name of several modules", "Specs of several used modules have the name. The name of the module in front says which is meant, as in nn.softmax. A spec of this module comes before those of used modules."},
	PluginFailed:    {"plug-in failed", "A plug-in of opgen.toml gave no answer: its program was not found, ended with an error or took too long, or what it wrote is no response."},
	PluginFile:      {"file of a plug-in", "A plug-in may write files within its own folder only, none in the folder of a repository, each once, and no two plug-ins may write the same file."},
	PluginFinding:   {"finding of a plug-in", "A plug-in does not accept what a spec says. The message is its own."},
	KernelSyntax:    {"kernel is not Go", "A file in the folder of kernels does not parse."},
	MissingKernel:   {"missing kernel", "An operator without a formula, or with a file of kernels, has a kernel: a type in the folder of kernels with the operator's Go name. Opgen reads the declarations of kernels, and reports what generated code expects of them at their own place. Findings about kernels end opgen generate with status 1, after it has written what changed, since a kernel is written against generated code."},
	MissingMethod:   {"missing step of a kernel", "A kernel has a method for each step of its tasks."},
	LeftOver:        {"left over in a kernel", "A kernel is about an operator or a step that no spec declares, so nothing runs it. Often the spec was renamed, or a step was removed."},
	KernelType:      {"bad type of a kernel", "A kernel has a type parameter for each dtype variable, in the order of the spec, and its methods have values as receivers."},
	KernelSignature: {"bad signature of a kernel", "A step takes the context, the arguments of its task, and the range that it computes."},
	BadTuned:        {"entry of tuned.toml", "The file tuned.toml at the module's root has choices that opgen tune has measured. Each entry is on a line of its own, with all keys, for a task of an operator that there is, with the attributes that the operator has. No two entries are for the same device and uses."},
	NotYet:          {"not supported yet", "The key is part of the language, as docs/spec.md says, but this version of opgen does not generate code for it."},
}
