package a64

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// assembler is a program that assembles for arm64, such as aarch64-linux-gnu-as. TestWords compares its words
// with those of the list.
var (
	assembler = flag.String("as", "", "an assembler for arm64, whose words the list must have")
	update    = flag.Bool("update", false, "write the list with the words of the assembler")
)

// cases are all instructions, each with some registers and sizes, as assemblers write them.
func cases() (words []uint32, texts []string) {
	add := func(w uint32, format string, args ...any) {
		words, texts = append(words, w), append(texts, fmt.Sprintf(format, args...))
	}
	three := map[Op]string{Fadd: "fadd", Fsub: "fsub", Fmul: "fmul", Fdiv: "fdiv", Fmax: "fmax", Fmin: "fmin", Fmla: "fmla", Fmls: "fmls", Fcmeq: "fcmeq",
		Fcmge: "fcmge", Fcmgt: "fcmgt", And: "and", Orr: "orr", Eor: "eor", Bic: "bic", Bsl: "bsl", Bit: "bit", Bif: "bif", Add: "add", Sub: "sub"}
	two := map[Op]string{Fneg: "fneg", Fabs: "fabs", Fsqrt: "fsqrt", Frintn: "frintn", Frintm: "frintm", Frintp: "frintp", Not: "not", Cmlt: "cmlt"}
	for _, double := range []bool{false, true} {
		of, element := "4s", "s"
		if double {
			of, element = "2d", "d"
		}
		shape := func(op Op) string {
			if op.bitwise() {
				return "16b"
			}
			return of
		}
		for _, op := range []Op{Fadd, Fsub, Fmul, Fdiv, Fmax, Fmin, Fmla, Fmls, Fcmeq, Fcmge, Fcmgt, And, Orr, Eor, Bic, Bsl, Bit, Bif, Add, Sub} {
			s := shape(op)
			add(Three(op, double, 1, 30, 7), "%s v1.%s, v30.%s, v7.%s", three[op], s, s, s)
			add(Three(op, double, 31, 2, 16), "%s v31.%s, v2.%s, v16.%s", three[op], s, s, s)
		}
		for _, op := range []Op{Fneg, Fabs, Fsqrt, Frintn, Frintm, Frintp, Not, Cmlt} {
			s, rest := shape(op), ""
			if op == Cmlt {
				rest = ", #0"
			}
			add(Two(op, double, 3, 29), "%s v3.%s, v29.%s%s", two[op], s, s, rest)
		}
		for i := range 128 / width(double) {
			add(MulAddElement(double, 9, 21, 30, i), "fmla v9.%s, v21.%s, v30.%s[%d]", of, of, element, i)
		}
		for _, n := range []int{1, 3, 23, width(double) - 1} {
			add(Up(double, 4, 17, n), "shl v4.%s, v17.%s, #%d", of, of, n)
			add(Down(double, 4, 17, n), "ushr v4.%s, v17.%s, #%d", of, of, n)
		}
		add(Repeat(double, 24, 5), "dup v24.%s, v5.%s[0]", of, element)
		add(LoadRepeat(double, 19, 13), "ld1r {v19.%s}, [x13]", of)
	}
	add(Ext(3, 18, 29, 8), "ext v3.16b, v18.16b, v29.16b, #8")
	add(Move(3, 28), "mov v3.16b, v28.16b")
	add(Zero(22), "movi v22.2d, #0")
	add(LoadNear(20, 1048572), "ldr q20, . + 1048572")
	add(LoadWord(26, 3, 32760), "ldr x26, [x3, #32760]")
	add(StoreWord(5, 19, 8), "str x5, [x19, #8]")
	add(AddNumber(16, 9, 4095), "add x16, x9, #4095")
	add(AddPages(16, 9, 77), "add x16, x9, #77, lsl #12")
	add(AddWord(16, 9, 25), "add x16, x9, x25")
	add(SetWord(2, 0), "mov x2, #0")
	add(Decrement(17, 16), "subs x17, x16, #1")
	add(AndOnes(3, 2, 255), "and x3, x2, #255")
	add(AndOnes(3, 2, 511), "and x3, x2, #511")
	add(Compare(2, 17), "cmp x2, x17")
	add(Jump(NotEqual, -1048576), "b.ne . - 1048576")
	add(Jump(AtLeast, 8), "b.hs . + 8")
	add(Jump(Below, -4), "b.lo . - 4")
	add(Return(), "ret")
	add(Prefetch(17), "prfm pldl2keep, [x17]")
	for _, s := range []Size{Single, Double, Vector} {
		name := map[Size]string{Single: "s", Double: "d", Vector: "q"}[s]
		for _, offset := range []int{0, 1, 4095} {
			add(Load(s, 27, 14, offset*int(s)), "ldr %s27, [x14, #%d]", name, offset*int(s))
			add(Store(s, 4, 3, offset*int(s)), "str %s4, [x3, #%d]", name, offset*int(s))
		}
		add(LoadAt(s, 27, 14, 5), "ldr %s27, [x14, x5]", name)
		add(StoreAt(s, 4, 3, 15), "str %s4, [x3, x15]", name)
	}
	return words, texts
}

// TestWords compares the words of instructions with those that GNU's assembler gives, which are in a list.
func TestWords(t *testing.T) {
	words, texts := cases()
	const list = "testdata/words.txt"
	if *assembler != "" {
		said := assembled(t, texts)
		if *update {
			if err := os.WriteFile(list, []byte(said), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if want, err := os.ReadFile(list); err != nil || string(want) != said {
			t.Fatalf("the assembler's words are not those of %s (%v): go test ./internal/base/a64 -as %s -update writes them", list, err, *assembler)
		}
	}
	want, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(string(want)), "\n")
	if len(lines) != len(words) {
		t.Fatalf("%s has %d instructions, want %d", list, len(lines), len(words))
	}
	for i, line := range lines {
		if got := fmt.Sprintf("%08x %s", words[i], texts[i]); got != line {
			t.Errorf("got %s, want %s", got, line)
		}
	}
}

// assembled returns a line for each text, with the word that the assembler gives.
func assembled(t *testing.T, texts []string) string {
	folder := t.TempDir()
	source, listing := filepath.Join(folder, "words.s"), filepath.Join(folder, "words.lst")
	if err := os.WriteFile(source, []byte(strings.Join(texts, "\n")+"\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command(*assembler, "-aln="+listing, "-o", filepath.Join(folder, "words.o"), source).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	printed, err := os.ReadFile(listing)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	found := regexp.MustCompile(`(?m)^\s*\d+ [0-9a-f]{4} ([0-9A-F]{2})([0-9A-F]{2})([0-9A-F]{2})([0-9A-F]{2})`).FindAllStringSubmatch(string(printed), -1)
	if len(found) != len(texts) {
		t.Fatalf("%d words for %d instructions", len(found), len(texts))
	}
	for i, m := range found { // the bytes, the lowest first
		fmt.Fprintf(&out, "%s %s\n", strings.ToLower(m[4]+m[3]+m[2]+m[1]), texts[i])
	}
	return out.String()
}
