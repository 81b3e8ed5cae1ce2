package task

import (
	"encoding/binary"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"
)

// Resolutions applies operators, and caches the results. Equal uses share one Resolution: the same operator
// with the same attributes, on operands of the same types and shapes. A graph of a million nodes has few
// different uses. The zero Resolutions is ready to use, and nil caches nothing. It is safe for concurrent
// use.
type Resolutions struct {
	mu    sync.Mutex
	known map[likeUse]*Resolution
	key   []byte // that was made last, for its memory
}

// likeUse is what uses of an operator have in common that have the same resolution.
type likeUse struct {
	operator *Operator
	attrs    Attrs
	given    string // what the caller passes, and signs of attributes
}

// Resolve is function Resolve with the cache. It does not keep given, whose memory the caller may reuse.
func (r *Resolutions) Resolve(o *Operator, attrs Attrs, given Given) (*Resolution, error) {
	if r == nil || !hashable(attrs) {
		return Resolve(o, attrs, given.clone())
	}
	r.mu.Lock()
	r.key = appendSigns(given.append(r.key[:0]), reflect.ValueOf(attrs))
	res, ok := r.known[likeUse{o, attrs, string(r.key)}]
	key := ""
	if !ok {
		key = string(r.key)
	}
	r.mu.Unlock()
	if ok {
		return res, nil
	}
	// The rules of an operator may call functions of its module, which no lock is held for.
	res, err := Resolve(o, attrs, given.clone())
	if err != nil || attrs != attrs { // a NaN is like nothing
		return res, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known == nil {
		r.known = map[likeUse]*Resolution{}
	}
	r.known[likeUse{o, attrs, key}] = res
	return res, nil
}

// hashable reports whether attributes can be keys of a map. Those of another type than generated ones may not
// be.
func hashable(attrs Attrs) bool {
	return attrs != nil && reflect.TypeOf(attrs).Comparable() && reflect.ValueOf(attrs).Comparable()
}

// clone returns a copy of a Given. Operands keep their shapes, which nothing changes.
func (g Given) clone() Given {
	c := Given{make([][]Operand, len(g.Operands)), slices.Clone(g.Requested), slices.Clone(g.Values), maps.Clone(g.Places)}
	for i, list := range g.Operands {
		c.Operands[i] = slices.Clone(list)
	}
	return c
}

// append appends to a key what tells a Given from others of the same operator.
func (g Given) append(key []byte) []byte {
	for i, list := range g.Operands {
		key = appendExtents(key, []int{len(list), g.Requested[i], g.Values[i]})
		if places := g.Places[i]; places != nil {
			key = appendExtents(append(key, 'p'), places)
		}
		for _, o := range list {
			key = append(key, byte(o.Type))
			key = appendExtents(key, o.Shape)
		}
	}
	return key
}

// appendExtents appends a list of numbers to a key.
func appendExtents(key []byte, list []int) []byte {
	key = binary.AppendUvarint(key, uint64(len(list)))
	for _, n := range list {
		key = binary.AppendVarint(key, int64(n))
	}
	return key
}

// appendSigns appends the sign of each zero of a value: 0 and -0 are equal, but a formula may tell them
// apart.
func appendSigns(key []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Float32, reflect.Float64:
		if x := v.Float(); x == 0 {
			return append(key, byte(math.Float64bits(x)>>63))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			key = appendSigns(key, v.Field(i))
		}
	case reflect.Array:
		if v.Len() > 0 && mayHaveSigns(v.Type().Elem().Kind()) {
			for i := range v.Len() {
				key = appendSigns(key, v.Index(i))
			}
		}
	case reflect.Interface:
		if !v.IsNil() {
			return appendSigns(key, v.Elem())
		}
	}
	return key
}

// mayHaveSigns reports whether values of a kind may have zeros with signs.
func mayHaveSigns(k reflect.Kind) bool {
	switch k {
	case reflect.Float32, reflect.Float64, reflect.Struct, reflect.Array, reflect.Interface:
		return true
	}
	return false
}
