package main

import (
	_ "embed"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// complete is the command by which completion scripts ask for candidates. Help does not show it.
const complete = "__complete"

// anyFile is the candidate that stands for files and folders.
const anyFile = ":files"

var (
	//go:embed completion/bash
	bashCompletion string
	//go:embed completion/zsh
	zshCompletion string
	//go:embed completion/fish
	fishCompletion string
)

// completions holds the scripts, by shell.
var completions = map[string]string{"bash": bashCompletion, "zsh": zshCompletion, "fish": fishCompletion}

// completion prints a completion script.
func (c *command) completion() int {
	script, ok := completions[c.args[0]]
	if !ok {
		return c.fail(fmt.Errorf("completion: want one of %s, got %q", strings.Join(slices.Sorted(maps.Keys(completions)), ", "), c.args[0]))
	}
	fmt.Fprint(c.stdout, script)
	return clean
}

// candidates returns what the last word may become, behind the words before it. Some have a tab and an
// explanation behind them.
func candidates(words []string) []string {
	words, at := separate(words)
	if len(words) == 0 {
		words = []string{""}
	}
	before, word := words[:len(words)-1], words[len(words)-1]
	c := &command{dir: "."}
	var v *verb
	name, _ := splitCommand(before)
	for _, x := range verbs() {
		if x.name == name {
			v = x
		}
	}
	known := []*option{optionDir}
	if v != nil {
		known = v.allOptions()
	}
	var list []string
	of := valued(before, known, c)
	switch {
	case of != nil:
		list = of.values()
	case strings.HasPrefix(word, "-"):
		for _, o := range known {
			list = append(list, "-"+o.name+"\t"+strings.ReplaceAll(o.usage, "`", ""))
		}
	case v == nil:
		for _, v := range verbs() {
			list = append(list, v.name+"\t"+v.forms[0].does)
		}
	default:
		if v.complete != nil {
			list = v.complete(c)
		}
		if v.files {
			list = append(list, anyFile)
		}
	}
	var out []string
	for _, l := range list {
		if l == anyFile || strings.HasPrefix(l, word) {
			out = append(out, at+l)
		}
	}
	return out
}

// separate divides words of the form -flag=value into two. Bash has divided them into three, with = in the
// middle. at is what the last word has in front of the value in a shell that does not divide it.
func separate(words []string) (out []string, at string) {
	for i, w := range words {
		last := i == len(words)-1
		flag, value, ok := strings.Cut(w, "=")
		switch {
		case w == "=" && last:
			out = append(out, "")
		case w == "=":
		case ok && strings.HasPrefix(flag, "-"):
			if out = append(out, flag, value); last {
				at = flag + "="
			}
		default:
			out = append(out, w)
		}
	}
	return out, at
}

// valued returns the flag whose value follows the words; nil if there is none. It notes the folder to work
// in.
func valued(words []string, known []*option, c *command) *option {
	var of *option
	for _, w := range words {
		if of == optionDir {
			c.dir = w
		}
		was := of
		of = nil
		for _, o := range known {
			if was == nil && strings.HasPrefix(w, "-") && strings.TrimLeft(w, "-") == o.name && o.text != nil {
				of = o
			}
		}
	}
	return of
}

// values lists the values of a flag, where they are known.
func (o *option) values() []string {
	switch {
	case o == optionDir:
		return []string{anyFile}
	case strings.Contains(o.value(), "|"):
		return strings.Split(o.value(), "|")
	}
	return nil
}
