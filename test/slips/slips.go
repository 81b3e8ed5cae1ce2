package main

import (
	"maps"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
)

// slip changes a text as an author may by mistake.
type slip struct {
	name string
	make func(*maker, string) string
}

// maker makes slips.
type maker struct {
	*rand.Rand
	words []string // of all specs
}

// slips lists the kinds of slips.
var slips = []slip{
	{"dropped line", func(m *maker, text string) string { return m.lines(text, 0) }},
	{"doubled line", func(m *maker, text string) string { return m.lines(text, 2) }},
	{"dropped table", func(m *maker, text string) string { return m.tables(text, 0) }},
	{"doubled table", func(m *maker, text string) string { return m.tables(text, 2) }},
	{"exchanged words", (*maker).exchange},
	{"other word", (*maker).otherWord},
	{"wrong value", (*maker).wrongValue},
	{"misspelled name", (*maker).misspell},
}

// repeat returns parts with one of them as often as times says.
func repeat(parts []string, i, times int) string {
	return strings.Join(slices.Concat(parts[:i], slices.Repeat(parts[i:i+1], times), parts[i+1:]), "")
}

// pick returns the number of a part that is not blank, or -1.
func (m *maker) pick(parts []string) int {
	var full []int
	for i, p := range parts {
		if strings.TrimSpace(p) != "" {
			full = append(full, i)
		}
	}
	if len(full) == 0 {
		return -1
	}
	return full[m.IntN(len(full))]
}

// lines drops or doubles a line.
func (m *maker) lines(text string, times int) string {
	parts := strings.SplitAfter(text, "\n")
	i := m.pick(parts)
	if i < 0 {
		return text
	}
	return repeat(parts, i, times)
}

var header = regexp.MustCompile(`(?m)^\[`)

// tables drops or doubles a table, which reaches from its header to the next one.
func (m *maker) tables(text string, times int) string {
	var parts []string
	from := 0
	for _, at := range header.FindAllStringIndex(text, -1) {
		parts = append(parts, text[from:at[0]])
		from = at[0]
	}
	if parts == nil {
		return text
	}
	parts = append(parts, text[from:])
	return repeat(parts, 1+m.IntN(len(parts)-1), times)
}

var word = regexp.MustCompile(`[A-Za-z_][A-Za-z0-9_]*`)

// find returns the place of a random match of a pattern, or nil.
func (m *maker) find(text string, r *regexp.Regexp) []int {
	all := r.FindAllStringIndex(text, -1)
	if all == nil {
		return nil
	}
	return all[m.IntN(len(all))]
}

// exchange exchanges two words.
func (m *maker) exchange(text string) string {
	a, b := m.find(text, word), m.find(text, word)
	if a == nil || a[0] == b[0] {
		return text
	}
	if a[0] > b[0] {
		a, b = b, a
	}
	return text[:a[0]] + text[b[0]:b[1]] + text[a[1]:b[0]] + text[a[0]:a[1]] + text[b[1]:]
}

// otherWord puts a word of any spec in the place of one.
func (m *maker) otherWord(text string) string {
	return m.replace(text, word, func(string) string { return m.words[m.IntN(len(m.words))] })
}

// value matches what may be a value: a string, a number, a boolean or a list without lists in it.
var value = regexp.MustCompile(`"[^"\n]*"|'[^'\n]*'|-?\b[0-9][0-9.e-]*\b|\b(true|false)\b|\[[^\[\]\n]*\]`)

// values are the texts that stand in the place of values.
var values = []string{"0", "-1", "1", "2", "64", "3000000000", "1.5", "1e30", "nan", "inf", "true", "false", "[]", "{}", `""`, `"T"`, `["N..."]`,
	`"f32"`, `"i64"`, `"bool"`, `"bf16"`, `"input"`, `"output"`, `"weight"`, `"saved"`, `"scratch"`, `"prod(N)"`, `"K"`, `["A...", "R", "B..."]`, `"has(activation)"`, `"x.Y"`}

// wrongValue puts another value in the place of one.
func (m *maker) wrongValue(text string) string {
	return m.replace(text, value, func(string) string { return values[m.IntN(len(values))] })
}

// misspell leaves out, doubles or exchanges letters of a word.
func (m *maker) misspell(text string) string {
	return m.replace(text, word, func(w string) string {
		i := m.IntN(len(w))
		switch m.IntN(4) {
		case 0:
			return w[:i] + w[i+1:]
		case 1:
			return w[:i+1] + w[i:]
		case 2:
			return w[:i] + string(rune('a'+m.IntN(26))) + w[i+1:]
		}
		if i == 0 {
			return strings.ToUpper(w[:1]) + w[1:]
		}
		return w[:i-1] + w[i:i+1] + w[i-1:i] + w[i+1:]
	})
}

// replace replaces a match of a pattern.
func (m *maker) replace(text string, r *regexp.Regexp, by func(string) string) string {
	at := m.find(text, r)
	if at == nil {
		return text
	}
	return text[:at[0]] + by(text[at[0]:at[1]]) + text[at[1]:]
}

// wordsOf returns the words of texts, sorted.
func wordsOf(texts map[string]string) []string {
	words := map[string]bool{}
	for _, text := range texts {
		for _, w := range word.FindAllString(text, -1) {
			words[w] = true
		}
	}
	return slices.Sorted(maps.Keys(words))
}

// change returns the files of catalogue number n that differ from the originals, and the names of the slips.
func change(seed, n uint64, originals map[string]string, words []string) (changed map[string]string, made []string) {
	m := &maker{rand.New(rand.NewPCG(seed, n)), words}
	files := slices.Sorted(maps.Keys(originals))
	m.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	files = files[:1+m.IntN(3)]
	changed = map[string]string{}
	count := max(len(files), 1+m.IntN(4))
	for i := range count {
		f, s := files[i%len(files)], slips[m.IntN(len(slips))]
		text, ok := changed[f]
		if !ok {
			text = originals[f]
		}
		changed[f] = s.make(m, text)
		made = append(made, f+": "+s.name)
	}
	return changed, made
}
