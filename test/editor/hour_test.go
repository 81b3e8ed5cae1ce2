//go:build neovim

package editor

import (
	"math/rand/v2"
	"time"
)

// step is what a user of an editor does. The names are those of client.lua.
type step struct {
	Do      string   `json:"do"`
	Path    string   `json:"path,omitempty"`
	Text    string   `json:"text"`
	Paths   []string `json:"paths,omitempty"`
	Args    []string `json:"args,omitempty"`
	Keys    []string `json:"keys,omitempty"`
	Gaps    []int    `json:"gaps,omitempty"` // milliseconds behind each key
	Seconds int      `json:"seconds,omitempty"`
	Codes   *string  `json:"codes,omitempty"` // of the findings in the present file, sorted
	At      int      `json:"at"`              // of a text, in millionths
	Length  int      `json:"length"`          // in characters
}

// session is a list of steps, with times between keys as in typing by hand.
type session struct {
	steps []step
	*rand.Rand
}

func (s *session) do(x step) { s.steps = append(s.steps, x) }

// gap is the time behind a key: 170 ms as a median, and a quarter of that or some times as much now and then.
func (s *session) gap() int {
	return int(max(45, min(900, 170+60*s.NormFloat64()+max(0, 300*(s.ExpFloat64()-3)))))
}

func (s *session) typed(text string) {
	x := step{Do: "type"}
	for _, r := range text {
		x.Keys, x.Gaps = append(x.Keys, string(r)), append(x.Gaps, s.gap())
	}
	s.do(x)
}

func (s *session) erase(n int) {
	x := step{Do: "erase"}
	for range n {
		x.Gaps = append(x.Gaps, s.gap())
	}
	s.do(x)
}

func (s *session) open(path string)      { s.do(step{Do: "open", Path: path}) }
func (s *session) before(text string)    { s.do(step{Do: "before", Text: text}) }
func (s *session) after(text string)     { s.do(step{Do: "after", Text: text}) }
func (s *session) rest(seconds int)      { s.do(step{Do: "rest", Seconds: seconds}) }
func (s *session) hover(want string)     { s.do(step{Do: "hover", Text: want}) }
func (s *session) complete(label string) { s.do(step{Do: "complete", Text: label}) }
func (s *session) rename(name string)    { s.do(step{Do: "rename", Text: name}) }
func (s *session) fix(title string)      { s.do(step{Do: "fix", Text: title}) }
func (s *session) normal(keys string)    { s.do(step{Do: "normal", Text: keys}) }
func (s *session) command(text string)   { s.do(step{Do: "command", Text: text}) }
func (s *session) run(args ...string)    { s.do(step{Do: "run", Args: args}) }

func (s *session) define(path, text string) { s.do(step{Do: "define", Path: path, Text: text}) }

// refer wants references: paths, each with the name that is there.
func (s *session) refer(places ...string) { s.do(step{Do: "refer", Paths: places}) }

// found rests, and wants findings with these codes in the present file.
func (s *session) found(seconds int, codes string) {
	s.do(step{Do: "rest", Seconds: seconds, Codes: &codes})
}

// took is how long the session takes.
func (s *session) took() (d time.Duration, keys int) {
	ms := 0
	for _, x := range s.steps {
		for _, g := range x.Gaps {
			ms += g
		}
		keys += len(x.Gaps)
		ms += 1000 * x.Seconds
	}
	return time.Duration(ms) * time.Millisecond, keys
}

const (
	squash = "specs/squash.toml"
	gate   = "specs/gate.toml"
	pair   = "specs/gate_pair.toml"
	kernel = "kernels/gate.go"
)

// hour is an hour in which a user writes three specs from nothing: an enum with functions, an operator that
// has an attribute of it, and one that applies the operator twice; then a kernel by hand for the operator.
// The user misspells names, takes completions and fixes, looks up what names mean, undoes, moves lines,
// renames and formats.
func hour() *session {
	s := &session{Rand: rand.New(rand.NewPCG(1, 42))}

	// The enum. The characters of its texts take one to four bytes, and one or two units of UTF-16.
	s.open("opgen.toml") // whose findings come with those of files that are not open
	s.open(squash)
	s.rest(76)
	s.typed("kind = \"enm")
	s.found(8, "OP001")
	s.typed("\"\n")
	s.found(14, "OP102 OP102 OP104")
	s.before("enm")
	s.fix("enum")
	s.found(20, "OP102 OP102")
	s.bottom()
	s.typed("doc = \"Brings numbers between bounds: \U0001d54a maps ℝ to [0, 1].\"\n")
	s.before("kind")
	s.hover("what the spec declares")
	s.rest(34)
	s.bottom()
	s.typed("\n[values]\nHARD = \"min(max(x, 0), 1)\"\nSOFT = \"1 / (1 + exp(-x)), σ of x\"\nTANH = \"the hyperbolic tangent\"\n")
	s.found(153, "")
	s.before("\n[values]")
	s.typed("formula = '''\nHARD(x) = min(mx(x, 0), 1) # x \U0001d54a\n")
	s.rest(17)
	s.typed("SOFT(x) = 1 / (1 + exp(-x)\nTANH(x) = tanh(x)'''\n")
	s.found(26, "OP401 OP401")
	s.after("exp(-x)\nT")
	s.erase(2)
	s.typed(")\nT")
	s.found(20, "OP401")
	s.after("1) # x \U0001d54a")
	s.erase(6)
	s.found(12, "OP203")
	s.before("x(x, 0), 1)\nSOFT")
	s.typed("a")
	s.found(76, "")
	s.do(step{Do: "format"})
	s.found(51, "")
	s.do(step{Do: "save"})

	// The operator.
	s.open(gate)
	s.rest(102)
	s.typed("doc = \"Multiplies rows by a gate of them: \U0001d454 ⊙ x, where \U0001d454 = \U0001d460(Wx + b).\"\n")
	s.typed("\n[slots]\ninput = { role = \"inp")
	s.complete("input")
	s.typed("\", shape = [\"N...\", \"K\"], doc = \"rows\" }\n")
	s.rest(34)
	s.typed("wieght = { role = \"input\", shape = [\"K\", \"K\"] }\n")
	s.rest(17)
	s.typed("bias = { role = \"input\", shape = [\"K\"] }\n")
	s.typed("output = { role = \"ouptut\", shape = [\"N...\", \"K\"] }")
	s.rest(10)
	s.before("ouptut")
	s.fix("output")
	s.rest(68)
	s.before("\n[slots]")
	s.typed("formula = '''\npre[n, o] = sum(k: input[n, k] * weight[o, k]) + bias[o] for o < K\n")
	s.typed("output[n, o] = input[n, o] * pre[n, o]'''\n")
	s.rest(51)
	s.before("wieght")
	s.normal("ciwweight\\<Esc>")
	s.rest(51)
	s.before("input[n, k]")
	s.hover("input")
	s.define(gate, "input = {")
	s.refer(gate+":input", gate+":input", gate+":input")
	s.rest(102)
	s.after("[\"K\", \"K\"]")
	s.typed(", init = \"kaimin")
	s.rest(26)
	s.erase(len(", init = \"kaimin"))
	s.rest(34)
	s.before("\n[slots]")
	s.typed("\n[attrs]\nsquash = { type = \"enum\", enum = \"squ")
	s.complete("squash")
	s.typed("\", default = \"HRAD\" }\n")
	s.rest(14)
	s.before("HRAD")
	s.fix("HARD")
	s.rest(42)
	s.before("pre[n, o]'''")
	s.typed("squash(")
	s.rest(7)
	s.after("squash(pre[n, o]")
	s.typed(")")
	s.rest(85)
	s.before("\n[attrs]")
	s.typed("examples = [{ input = [2, 3], weight = [3, 3], bias = [3] }, { attrs = { squash = \"SOFT\" }, input = [4], weight = [4, 4], bias = [4] }]\n")
	s.found(128, "")
	s.before("squash(pre")
	s.hover("squash")
	s.define(gate, "squash = {")
	s.rest(51)
	s.do(step{Do: "format"})
	s.rest(51)
	s.do(step{Do: "symbols", Text: "input"})

	// Lines go, come back and move, as in any text.
	s.before("bias   = ")
	s.normal("dd")
	s.rest(17)
	s.normal("u")
	s.rest(17)
	s.normal("\\<C-r>")
	s.rest(8)
	s.normal("u")
	s.found(17, "")
	s.normal("ddkP")
	s.rest(17)
	s.normal("u")
	s.found(8, "")
	s.command("%s/rows/rows \U0001d54f/g")
	s.rest(17)
	s.normal("gg0ywP")
	s.rest(8)
	s.normal("u")
	s.rest(8)
	s.before("pre[n, o] = ")
	s.normal("yyp")
	s.rest(17)
	s.normal("dd")
	s.found(34, "")
	s.do(step{Do: "save"})

	// A spec that applies the operator twice.
	s.open(pair)
	s.rest(102)
	s.typed("doc = \"A gate of the rows of another gate.\"\n")
	s.typed("formula = '''\nfirst[n, k] = gate(input, inner, shift)[n, k]\noutput[n, k] = gate(first, outer, shift, squash = 'SOFT')[n, k]'''\n")
	s.rest(51)
	s.typed("\n[slots]\ninput = { role = \"input\", shape = [\"N...\", \"K\"] }\ninner = { role = \"input\", shape = [\"K\", \"K\"] }\n")
	s.typed("outer = { role = \"input\", shape = [\"K\", \"K\"] }\nshift = { role = \"input\", shape = [\"K\"] }\noutput = { role = \"output\", shape = [\"N...\", \"K\"] }\n")
	s.rest(102)
	s.before("\n[slots]")
	s.typed("examples = [{ input = [2, 3], inner = [3, 3], outer = [3, 3], shift = [3] }]\n")
	s.found(153, "")
	s.before("gate(first")
	s.hover("gate")
	s.define(gate, "doc")
	s.rest(51)
	s.before("SOFT")
	s.normal("ciwTAHN\\<Esc>")
	s.rest(14)
	s.before("TAHN")
	s.fix("TANH")
	s.found(34, "")

	// Names change in all specs, of which the user writes none to disk.
	s.open(squash)
	s.rest(34)
	s.before("TANH = ")
	s.refer(squash+":TANH", squash+":TANH", pair+":TANH")
	s.rename("TANGENT")
	s.found(51, "")
	s.open(gate)
	s.before("squash = {")
	s.refer(gate+":squash", gate+":squash", gate+":squash", pair+":squash")
	s.rename("curve")
	s.found(68, "")
	s.open(pair)
	s.found(17, "")
	s.before("shift = {")
	s.hover("shift")
	s.rename("bias")
	s.found(51, "")
	s.do(step{Do: "format"})
	s.do(step{Do: "save"})
	s.run("generate")
	s.found(102, "")

	// A kernel by hand takes the place of the formula of the operator.
	s.open(kernel)
	s.rest(102)
	s.typed("package kernels\n\nimport (\n\t\"example.com/m/generated/gate\"\n\t\"github.com/opgen/opgen/runtime/dtype\"\n\t\"github.com/opgen/opgen/runtime/op\"\n)\n\n")
	s.typed("// Gate is the kernel of gate: \U0001d454 ⊙ x.\ntype Gate[T dtype.Float] struct{}\n\n")
	s.rest(153)
	s.typed("// Forward computes some rows.\nfunc (Gate[T]) Forwrd(_ *op.Ctx, a *gate.Forward[T], r op.Range) error {\n")
	s.typed("\tfor i := r.Lo; i < r.Hi; i++ {\n\t\trow, out := a.Input.Lane(i), a.Output.Lane(i)\n")
	s.rest(102)
	s.typed("\t\tfor o := range out.Len() {\n\t\t\tsum := a.Bias.At(o)\n\t\t\tfor k := range row.Len() {\n\t\t\t\tsum += T(row.At(k) * a.Weight.Lane(o).At(k))\n\t\t\t}\n")
	s.typed("\t\t\tout.Set(o, row.At(o)*min(max(sum, 0), 1)) // \U0001d460, as if \U0001d454 were HARD\n\t\t}\n\t}\n\treturn nil\n}\n")
	s.rest(76)
	s.before("wrd(_")
	s.typed("a")
	s.rest(102)
	s.before("Weight.Lane")
	s.define(gate, "weight")
	s.before("Input.Lane")
	s.define(gate, "input")
	s.open(gate)
	s.before("weight = {")
	s.refer(gate+":weight", gate+":weight", gate+":weight", gate+":weight", kernel+":Weight")
	s.rename("mixing")
	s.rest(102)
	s.open(kernel)
	s.before("Mixing.Lane")
	s.define(gate, "mixing")
	s.rest(204)
	s.open(pair)
	s.rest(102)
	return s
}

func (s *session) bottom() { s.do(step{Do: "bottom"}) }
