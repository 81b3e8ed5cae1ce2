package randomformula

import "strings"

// settings gives values to the attributes that are lists, that may be absent, and that are names.
func (w *writer) settings() {
	list := func(n int, of ...string) string {
		var items []string
		for range n {
			items = append(items, w.pick(of...))
		}
		return "[" + strings.Join(items, ",") + "]" // without blanks, as Tidy wants
	}
	set := []string{strings.Trim(w.c.Attrs, "{}"),
		`"shares": ` + list(w.IntN(5), "0.5", "0.25", "-1.5", "0.3", "2", "0"),
		`"steps": ` + list(w.IntN(4), "0", "1", "-1", "2", "3", "-3"),
		`"signed": ` + list(3, "true", "false"),
		`"mode": ` + w.pick(`"NEAR"`, `"FAR"`),
	}
	if w.one(2) {
		set = append(set, `"cap": `+w.pick("0.5", "0.3", "1"))
	}
	w.c.Attrs = "{" + strings.Join(set, ", ") + "}"
}

// seed gives the attribute seed a value, of all sizes.
func (w *writer) seed() {
	w.c.Attrs = strings.TrimSuffix(w.c.Attrs, "}") + `, "seed": ` + w.pick("0", "1", "7", "-1", "4294967295", "4294967296", "9223372036854775807", "-9223372036854775808") + "}"
}

// records gives values to records. The optional one is absent in half of the uses.
func (w *writer) records() {
	record := func() string {
		fields := []string{ // without blanks behind commas, as Tidy wants
			`"gamma":` + w.pick("0.5", "-1.25", "2", "0"), `"power":` + w.pick("1", "2", "3"), `"on":` + w.pick("true", "false"), `"kind":` + w.pick(`"TANH"`, `"SIN"`, `"ABS"`),
			`"parts":` + w.pick("[]", "[0.5]", "[0.5,-2,0.3]", "[1,0,0.25,4]"),
		}
		if w.one(2) {
			fields = append(fields, `"cap":`+w.pick("0.5", "0.3", "1"))
		}
		var given []string
		for _, f := range fields {
			if !w.one(4) { // or its default
				given = append(given, f)
			}
		}
		return "{" + strings.Join(given, ",") + "}"
	}
	w.c.Attrs = strings.TrimSuffix(w.c.Attrs, "}") + `, "rec": ` + record()
	if w.one(2) {
		w.c.Attrs += `, "alt": ` + record()
	}
	w.c.Attrs += "}"
}
