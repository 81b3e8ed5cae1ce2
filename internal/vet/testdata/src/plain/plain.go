package plain

import (
	"reflect"

	"github.com/opgen/opgen/runtime/task"
)

type config struct {
	Name  string
	Sizes [][3]int
	Tags  tags
}

type tags struct{ Of map[string]int }

// Mode holds what JSON keeps.
type Mode struct {
	Level int
	Own   ownForm
	Rest  []Mode
}

type ownForm struct{ text string }

func (f ownForm) MarshalText() ([]byte, error) { return []byte(f.text), nil }

type hidden struct{ level int }

type node struct {
	Value float64
	Next  []node
}

const slotConfig = 3

var _ = []task.Arg{
	{Slot: 0, Type: reflect.TypeFor[int]()},
	{Slot: 1, Type: reflect.TypeFor[[]float64]()},
	{Slot: 2, Type: reflect.TypeFor[node]()},
	{Slot: slotConfig, Type: reflect.TypeFor[config]()}, // want `argument slotConfig is of type plain.config, which is not plain data: field Of is a map; declare it unchecked, or pass something else`
	{Slot: 4, Type: reflect.TypeFor[*config]()},         // want `argument 4 is of type \*plain.config, which is not plain data: it is a pointer`
	{Slot: 5, Type: reflect.TypeFor[[]error]()},         // want `argument 5 is of type \[\]error, which is not plain data: an element of it is an interface`
	{Type: reflect.TypeFor[func()]()},                   // want `an argument is of type func\(\), which is not plain data: it is a function`
	{Slot: 6, Type: reflect.TypeFor[chan int]()},        // want `a channel`
	{Slot: 7, Type: reflect.TypeFor[*config](), Unchecked: true},
	{Slot: 8, Type: reflect.TypeFor[*config](), Unchecked: false}, // want `it is a pointer`
	{Slot: 9},
	{Slot: 10, Type: reflect.TypeFor[Mode](), From: task.FromCall},
	{Slot: 11, Type: reflect.TypeFor[[]hidden](), From: task.FromCall},  // want `argument 11 is of type \[\]plain.hidden, which plans cannot carry: field level is not exported; export the fields, or pass something else`
	{Slot: 12, Type: reflect.TypeFor[complex64](), From: task.FromCall}, // want `it is a complex number`
	{Slot: 13, Type: reflect.TypeFor[hidden]()},
	{Slot: int(slotConfig), Type: reflect.TypeFor[*int](), From: task.FromCall}, // want `argument slotConfig is of type \*int, which is not plain data: it is a pointer; pass something else, since plans carry what a caller passes`
}

type other struct{ Type reflect.Type }

var _ = other{Type: reflect.TypeFor[*config]()}
