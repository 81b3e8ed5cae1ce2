package task

import "reflect"

type Arg struct {
	Slot      int
	Type      reflect.Type
	Unchecked bool
}
