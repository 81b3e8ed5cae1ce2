package task

import (
	"encoding/json"

	"github.com/opgen/opgen/runtime/op"
)

// Passed returns, by slot, the values of arguments that the caller passes in an example of an operator.
func (x *Example) Passed(o *Operator) (map[int][]any, error) {
	if x.Args == "" {
		return nil, nil
	}
	var given map[string]json.RawMessage
	if err := json.Unmarshal([]byte(x.Args), &given); err != nil {
		return nil, &op.Error{Operator: o.FullName(), Want: "values of arguments as JSON", Got: err.Error()}
	}
	out := map[int][]any{}
	for _, s := range o.Signatures {
		for i := range s.Args {
			a := &s.Args[i]
			data, ok := given[o.Slots[a.Slot].Name]
			if _, known := out[a.Slot]; known || !ok || a.From != FromCall {
				continue
			}
			values, err := a.Decode(s, data)
			if err != nil {
				return nil, err
			}
			out[a.Slot] = values
		}
	}
	return out, nil
}
