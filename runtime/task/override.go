package task

import (
	"encoding/json"
	"fmt"

	"github.com/opgen/opgen/runtime/attr"
)

// Override returns attributes of an operator in which those that a JSON object lists have the values
// that it gives. The error names the operator.
func Override(op *Operator, attrs Attrs, changes []byte) (Attrs, error) {
	fail := func(err error) error { return fmt.Errorf("operator %s: %w", op.FullName(), err) }
	object, err := AttrObject(attrs)
	if err != nil {
		return nil, fail(err)
	}
	if err := json.Unmarshal(changes, &object); err != nil {
		return nil, fail(err)
	}
	data, err := json.Marshal(object)
	if err != nil {
		return nil, fail(err)
	}
	return op.DecodeAttrs(data)
}

// AttrObject returns attributes by name, each as JSON; null is absent.
func AttrObject(attrs Attrs) (map[string]json.RawMessage, error) {
	data, err := attr.Marshal(attrs)
	if err != nil {
		return nil, err
	}
	object := map[string]json.RawMessage{}
	return object, json.Unmarshal(data, &object)
}
