package task

import "reflect"

type Arg struct {
	Slot      int
	Type      reflect.Type
	From      Source
	Unchecked bool
}

type Source uint8

const FromCall Source = 7
