package keys

import (
	"bytes"
	"encoding/json"
	"slices"
)

// draft is the version of JSON Schema that editors for TOML read.
const draft = "http://json-schema.org/draft-07/schema#"

// Schema returns the JSON Schema of a file that is described by one of the tables. If there are several,
// their key kind tells which: it has other words in each, and the first one describes a file without the key,
// too.
func Schema(title, id string, tables ...*Table) ([]byte, error) {
	root := object{"$schema": draft, "$id": id, "title": title, "type": "object"}
	if len(tables) == 1 {
		tables[0].add(root)
	} else {
		byKind(tables, root)
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	err := enc.Encode(root)
	return b.Bytes(), err
}

// byKind adds tables to a schema, of which the key kind tells which describes the file. So a validator names
// the place of a mistake in that one, and does not try them all.
func byKind(tables []*Table, to object) {
	var kinds []string
	at := to
	for _, t := range tables {
		kinds = append(kinds, t.Key("kind").Words...)
	}
	for _, t := range tables[1:] {
		then, other := object{}, object{}
		t.add(then)
		at["if"] = object{"properties": object{"kind": object{"enum": t.Key("kind").Words}}, "required": []string{"kind"}}
		at["then"], at["else"] = then, other
		at = other
	}
	tables[0].add(at)
	to["properties"] = object{"kind": object{"enum": kinds}}
}

// object is an object of JSON. Its keys are printed in order.
type object map[string]any

// names lists the types that JSON has, by those of TOML.
var names = []struct {
	is   Type
	name string
}{{String, "string"}, {Number, "number"}, {Integer, "integer"}, {Boolean, "boolean"}, {Array, "array"}, {Object, "object"}}

// add adds what a table may hold to a schema.
func (t *Table) add(to object) {
	properties := object{}
	var required []string
	for _, k := range t.Keys {
		if k.Later {
			continue
		}
		p := k.Value.schema()
		p["description"] = k.Doc
		properties[k.Name] = p
		if k.Required {
			required = append(required, k.Name)
		}
	}
	if len(properties) > 0 {
		to["properties"] = properties
	}
	if required != nil {
		to["required"] = required
	}
	to["additionalProperties"] = false
	if t.Others != nil {
		to["additionalProperties"] = t.Others.schema()
	}
	if t.OneOf != nil {
		var one []object
		for _, key := range t.OneOf {
			one = append(one, object{"required": []string{key}})
		}
		to["oneOf"] = one
	}
}

// schema returns the schema of a value.
func (v Value) schema() object {
	s := object{}
	if v.Type != Any {
		var types []string
		for _, n := range names {
			if v.Type&n.is == n.is && !(n.is == Integer && slices.Contains(types, "number")) {
				types = append(types, n.name)
			}
		}
		if len(types) == 1 {
			s["type"] = types[0]
		} else {
			s["type"] = types
		}
	}
	if v.Words != nil {
		s["enum"] = v.Words
	}
	switch {
	case v.Known != nil && v.Pattern != "":
		s["anyOf"] = []object{{"enum": v.Known}, {"pattern": v.Pattern}}
	case v.Known != nil:
		s["enum"] = v.Known
	}
	if v.Const != nil {
		s["const"] = v.Const
	}
	if v.Elem != nil {
		s["items"] = v.Elem.schema()
	}
	if v.Table != nil {
		v.Table.add(s)
	}
	return s
}
