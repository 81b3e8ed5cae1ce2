package exec

import (
	"fmt"
	"reflect"
)

// Plain returns the error of a body as one whose methods can be called: a nil pointer as an error, which a
// function returns by mistake if it declares a variable of a pointer type for its error, becomes an error
// that says so.
func Plain(err error) error {
	if v := reflect.ValueOf(err); v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("want nil or an error, got a nil %T as an error", err)
	}
	return err
}
