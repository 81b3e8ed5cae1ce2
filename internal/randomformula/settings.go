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
