// Package keys describes the keys of the tables in files of TOML: which keys there are, in which order they
// are written, and of which types their values are. The readers of specs and of opgen.toml find unknown keys
// with it, opgen fmt orders keys by it, and opgen schema prints it as a JSON Schema.
package keys

import "slices"

// Table describes a table.
type Table struct {
	What string // the table as a finding names it, such as "a slot"
	Keys []Key  // in the order in which they are written
	// Others describes the values of all further keys, which are names that the file gives. Without it, there
	// are no others.
	Others *Value
	// OneOf lists keys of which the table has one.
	OneOf []string
	// Instead says what to write instead of keys that people expect and that there are not.
	Instead map[string]string
}

// Key is a key of a table.
type Key struct {
	Name string
	Value
	Required bool
	Later    bool // it is read only to be refused as not supported yet
	Doc      string
}

// Type is a set of types that a value may have.
type Type int

// The types of TOML. An integer is no float here, and dates have no type, since no key has one.
const (
	String Type = 1 << iota
	Integer
	Float
	Boolean
	Array
	Object
)

// Types that readers take together.
const (
	Number     = Integer | Float
	Expression = String | Integer | Boolean // of the spec language
	Any        = String | Number | Boolean | Array | Object
)

// Value describes the values of a key.
type Value struct {
	Type  Type
	Words []string // the strings that there are; nil if any string is allowed
	// Known lists strings that there are, of a value whose reader tells more about others. With a Pattern, a
	// regular expression, strings that it matches are allowed, too: names that the file gives.
	Known   []string
	Pattern string
	Const   any    // the only value; nil if there are others
	Elem    *Value // of an array, its elements; nil if they may be anything
	Table   *Table // of an Object; nil if it may hold anything
}

// Names returns the names of the keys, in order.
func (t *Table) Names() []string {
	var names []string
	for _, k := range t.Keys {
		names = append(names, k.Name)
	}
	return names
}

// Key returns the key of a name, or nil.
func (t *Table) Key(name string) *Key {
	if i := t.index(name); i >= 0 {
		return &t.Keys[i]
	}
	return nil
}

func (t *Table) index(name string) int {
	return slices.IndexFunc(t.Keys, func(k Key) bool { return k.Name == name })
}

// Below returns the description of the table, or of the tables of an array, that a key holds; nil if there is
// none. A nil table describes nothing.
func (t *Table) Below(name string) *Table {
	if t == nil {
		return nil
	}
	v := t.Others
	if k := t.Key(name); k != nil {
		v = &k.Value
	}
	for v != nil && v.Table == nil {
		v = v.Elem
	}
	if v == nil {
		return nil
	}
	return v.Table
}

// Rank returns the place of a key in the order of its table, and whether the table has the key.
func (t *Table) Rank(name string) (int, bool) {
	if t == nil {
		return 0, false
	}
	i := t.index(name)
	return i, i >= 0
}
