package example

import (
	"encoding/json"
	"reflect"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/runtime/attr"
	"github.com/opgen/opgen/runtime/task"
)

// goTypes maps the types of arguments that formulas can use to Go types. Values of other types are not
// decoded.
var goTypes = map[string]reflect.Type{
	"bool": reflect.TypeFor[bool](), "int": reflect.TypeFor[int](), "int8": reflect.TypeFor[int8](), "int16": reflect.TypeFor[int16](),
	"int32": reflect.TypeFor[int32](), "int64": reflect.TypeFor[int64](), "uint8": reflect.TypeFor[uint8](), "uint16": reflect.TypeFor[uint16](),
	"uint32": reflect.TypeFor[uint32](), "float32": reflect.TypeFor[float32](), "float64": reflect.TypeFor[float64](),
}

// setPassed sets the arguments that the caller passes to the values of the example, or to their defaults.
func (u *use) setPassed(x *task.Example) {
	given := map[string]json.RawMessage{}
	if x.Args != "" {
		if err := json.Unmarshal([]byte(x.Args), &given); err != nil {
			u.fail("args: %v", err)
		}
	}
	for _, a := range u.op.Args {
		if a.Source != task.FromCall {
			continue
		}
		p := program.Passed{Name: a.Name, Slot: a.Number, Type: goTypes[a.Type], Variadic: a.Variadic}
		data, ok := given[a.Name]
		switch {
		case !ok && a.Default != "":
			data = json.RawMessage(a.Default)
		case !ok:
			data = []byte("[]")
		}
		var err error
		if p.Values, err = decodeValues(p.Type, data); err != nil {
			u.fail("argument %s: %v", a.Name, err)
		}
		if want := a.Holds(false); !want.Allows(len(p.Values)) {
			u.fail("argument %s: want %v values, got %d", a.Name, want, len(p.Values))
		}
		u.passed = append(u.passed, p)
	}
}

// decodeValues decodes a JSON list of values of type t. If t is nil, the values stay JSON.
func decodeValues(t reflect.Type, data []byte) ([]any, error) {
	if t == nil {
		t = reflect.TypeFor[json.RawMessage]()
	}
	list := reflect.New(reflect.SliceOf(t))
	if err := attr.UnmarshalPlain(data, list.Interface()); err != nil {
		return nil, err
	}
	values := []any{}
	for i := range list.Elem().Len() {
		values = append(values, list.Elem().Index(i).Interface())
	}
	return values, nil
}
