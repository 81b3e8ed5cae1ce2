package mistakes

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/opgen/opgen/generate"
	"github.com/opgen/opgen/test/outside"
)

// runAll runs mistakes that nothing was said about, all of them in one module and one program: each has an
// operator of its own.
func runAll(t *testing.T, which []int, changed []map[string]string) map[int]said {
	t.Helper()
	all := base(t)
	for name := range all {
		if strings.Contains(name, "scalenorm") || strings.HasPrefix(name, "use/") {
			delete(all, name)
		}
	}
	var imports, calls strings.Builder
	for _, i := range which {
		own := fmt.Sprintf("sn%d", i)
		rename := strings.NewReplacer("scalenorm", own, "Scalenorm", "Sn"+strconv.Itoa(i), "package use", "package "+own, "Package use", "Package "+own)
		for _, f := range []string{specFile, kernelFile} {
			all[rename.Replace(f)] = rename.Replace(changed[i][f])
		}
		all["use/"+own+"/use.go"] = rename.Replace(changed[i][useFile])
		fmt.Fprintf(&imports, "\t\"example.com/mist/use/%s\"\n", own)
		fmt.Fprintf(&calls, "\tsay(%d, %s.Train)\n", i, own)
	}
	all["main.go"] = fmt.Sprintf(program, imports.String(), calls.String())
	sums, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	all["go.sum"] = string(sums)
	root := write(t, all)
	r, err := generate.Write(t.Context(), generate.Options{Dir: root})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range r.Findings {
		t.Errorf("finding: %s", f.Text())
	}
	cmd := exec.Command("go", "run", ".")
	env, err := outside.Env(filepath.Join(t.TempDir(), "go.work"), repository, root)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Dir, cmd.Env = root, append(env, "XDG_CACHE_HOME="+cacheHome) // where the build cache is
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go run: %v\n%s", err, &stderr)
	}
	results := map[int]said{}
	for lines := bufio.NewScanner(bytes.NewReader(out)); lines.Scan(); {
		number, text, _ := strings.Cut(lines.Text(), "\t")
		mode, text, _ := strings.Cut(text, "\t")
		i, err := strconv.Atoi(number)
		if err != nil || text == "" {
			continue
		}
		if _, ok := results[i]; !ok {
			text = strings.NewReplacer(fmt.Sprintf("sn%d", i), "scalenorm", fmt.Sprintf("Sn%d", i), "Scalenorm", root+"/", "").Replace(text)
			results[i] = said{by: mode, text: text, grade: gradeRun(text)}
		}
	}
	return results
}

// gradeRun grades an error of a run: its place is a line of the program or of a kernel, an operator, a slot
// of a task, or a tensor that the program names.
func gradeRun(text string) string {
	switch {
	case strings.Contains(text, "did you mean"), strings.Contains(text, "; call "):
		return "A"
	case strings.Contains(text, ".go:"), strings.Contains(text, ", slot "), strings.Contains(text, "tensor x"), strings.Contains(text, "input x"), strings.Contains(text, "operator scalenorm"):
		return "B"
	}
	return "D"
}

// program runs each mistake, first as programs do and then in checked mode, and prints the first error.
const program = `// Command mist makes mistakes.
package main

import (
	"fmt"
	"strings"

	"github.com/opgen/opgen"
%s)

func say(number int, train func(...opgen.Option) error) {
	for _, mode := range []struct {
		name string
		opts []opgen.Option
	}{{"a run", nil}, {"a run in checked mode", []opgen.Option{opgen.Checked()}}} {
		if err := train(mode.opts...); err != nil {
			fmt.Printf("%%d\t%%s\t%%s\n", number, mode.name, strings.Join(strings.Fields(err.Error()), " "))
		}
	}
}

func main() {
%s}
`
