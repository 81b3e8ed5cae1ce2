package cpu_test

import (
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/opgen/opgen/runtime/plan"
)

// checkedBy says for each field of a plan what checks it: verify.Plan, for any operators; Engine.Load,
// against the registered signatures; validate.Plan, against the program. A field without a check says why it
// needs none.
var checkedBy = map[string]string{
	"Plan.Format":      "Decode",
	"Plan.Name":        "validate: nothing, it is for messages",
	"Plan.Target":      "Load",
	"Plan.Devices":     "verify, and Load against the backend",
	"Plan.Roots":       "verify",
	"Plan.Calls":       "Load: each runs all of its steps",
	"Plan.Tasks":       "verify",
	"Plan.States":      "Load, validate",
	"Plan.ArenaBytes":  "verify: it ends with a tensor",
	"Plan.WorkerBytes": "Load: what calls need",
	"Plan.Deps":        "verify",
	"Plan.Schedule":    "verify",

	"Root.Name":   "verify: one of its own if the caller sees the root; validate",
	"Root.Type":   "verify: its size; Load: that of the slot; validate",
	"Root.Shape":  "verify: it can be addressed; Load: that of the slot",
	"Root.Use":    "verify: what is read was written; validate",
	"Root.Device": "verify",
	"Root.Place":  "verify",
	"Root.First":  "verify",
	"Root.Last":   "verify",
	"Place.Space": "verify",
	"Place.Off":   "verify",
	"Place.Bytes": "verify",

	"Call.Node":        "Load: its state; validate",
	"Call.Operator":    "Load",
	"Call.Task":        "Load",
	"Call.ID":          "Load",
	"Call.Phase":       "validate",
	"Call.Device":      "verify",
	"Call.Attrs":       "Load: the operator's rules; validate",
	"Call.Types":       "Load",
	"Call.Given":       "Load: slots, and what follows for all tensors; validate",
	"Call.Requested":   "Load, validate",
	"Call.Values":      "Load, validate",
	"Call.Seed":        "Load: 0 if the task draws nothing; validate",
	"Call.Passed":      "Load: slots, types and numbers; validate",
	"Call.Added":       "verify: their form; Load: the tensors; validate",
	"Call.Places":      "Load: the slots and their numbers; validate: Resolve",
	"Call.Wholes":      "Load: slots; validate",
	"Call.WorkerBytes": "Load: what the call needs",
	"Call.Params":      "verify: roots; Load: numbers, types and shapes",
	"Call.Slots":       "Load",
	"Call.InPlace":     "Load: the signature's pairs; verify: others share nothing",
	"Pair.Param":       "Load",
	"Pair.Of":          "Load",
	"Pair.Tensor":      "Load",
	"Operand.Type":     "Load, validate",
	"Operand.Shape":    "Load, validate",
	"Bound.Root":       "verify, Load",
	"Bound.Mode":       "Load: what the parameter may have; validate",
	"Bound.Shape":      "Load",

	"State.Node":    "Load, validate",
	"State.Init":    "Load: the operator's task; validate",
	"State.Cleanup": "Load: the operator's task; validate",

	"Task.Call":        "verify",
	"Task.Step":        "Load: each step once, in order",
	"Task.Device":      "verify",
	"Task.Builtin":     "Load",
	"Task.Group":       "verify",
	"Task.Over":        "Load: the operator's work; verify: that of groups",
	"Task.Grain":       "verify; Load: one range if the task folds; other ranges compute the same",
	"Task.Inner":       "Load: the operator's work",
	"Task.Tile":        "verify: all tiles of a step, each once",
	"Task.Access":      "Load: one for each tensor, as the signature says",
	"Task.After":       "verify, validate",
	"Task.Elementwise": "Load: the signature",
	"Builtin.Op":       "Load",
	"Builtin.Value":    "validate",
	"Builtin.Redop":    "Load: it exists; validate",
	"Builtin.Peer":     "verify.Ranks: where the message is received",
	"Builtin.Message":  "verify.Ranks: the same at both ends",
	"Group.Form":       "verify",
	"Group.Parts":      "verify: they may run as one task",
	"Axis.Over":        "Load: the operator's work",
	"Axis.Grain":       "verify",

	"Access.Region":    "verify; Load: all of the tensor",
	"Access.Perm":      "Load: the signature",
	"Access.Redop":     "Load: the signature",
	"Access.Footprint": "verify: its form; Load: the operator's",
	"Access.Least":     "verify: tiles keep to it; Load: it is what constraints demand",
	"Region.Root":      "verify",
	"Region.Box":       "verify",
	"Box.Lo":           "verify",
	"Box.Hi":           "verify",
	"Span.Of":          "verify: its form; Load: the operator's",
	"Span.Scale":       "Load: the operator's",
	"Span.Shift":       "Load: the operator's",
	"Span.Size":        "verify: its form; Load: the operator's",
	"Span.Grow":        "Load: the operator's",

	"Constraint.Kind":    "verify: the form; Load; validate",
	"Constraint.Terms":   "verify: the form; Load; validate",
	"Constraint.Axes":    "verify: the form; Load; validate",
	"Constraint.Dims":    "Load: numbers of the use; validate",
	"Constraint.Extents": "verify: the form; Load; validate",
	"Constraint.Factors": "verify: the form; Load; validate",
	"Constraint.Low":     "verify: the form; Load; validate",
	"Constraint.High":    "verify: the form; Load; validate",
	"Constraint.Hint":    "Load; validate",
	"Constraint.Exprs":   "Load: numbers of the use; validate",
	"Term.Name":          "verify: the form; Load; validate",
	"Term.Index":         "verify: the form; Load; validate",
	"Partition.Extents":  "validate",
	"Partition.Degrees":  "validate",
	"Partition.Replicas": "validate",
	"Partition.Sums":     "validate",
	"Partition.Tiles":    "validate",
	"Graph.Start":        "verify",
	"Graph.Pred":         "verify",
	"Schedule.Tasks":     "verify",
	"Schedule.Queues":    "verify",
	"Schedule.Waits":     "verify",
	"Schedule.Shared":    "verify",
	"Wait.Worker":        "verify",
	"Wait.Position":      "verify",
}

// TestF4Fields checks that checkedBy has each field of a plan and of what it holds, and no others.
func TestF4Fields(t *testing.T) {
	t.Parallel()
	found := map[string]bool{}
	fields(reflect.TypeFor[plan.Plan](), map[reflect.Type]bool{}, found)
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if checkedBy[name] == "" {
			t.Errorf("%s: want what checks it", name)
		}
	}
	for name := range checkedBy {
		if !found[name] {
			t.Errorf("%s: want a field of a plan", name)
		}
	}
}

// fields adds the exported fields of the structs that a type holds.
func fields(typ reflect.Type, seen map[reflect.Type]bool, found map[string]bool) {
	switch typ.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		fields(typ.Elem(), seen, found)
	case reflect.Map:
		fields(typ.Elem(), seen, found)
	case reflect.Struct:
		if seen[typ] {
			return
		}
		seen[typ] = true
		name, _, _ := strings.Cut(typ.Name(), "[")
		for f := range typ.Fields() {
			if f.IsExported() {
				found[name+"."+f.Name] = true
				fields(f.Type, seen, found)
			}
		}
	}
}
