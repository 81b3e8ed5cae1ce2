package randomformula_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/opgen/opgen/internal/diag"
	"github.com/opgen/opgen/internal/driver"
	"github.com/opgen/opgen/internal/live"
	"github.com/opgen/opgen/internal/randomformula"
)

func TestYield(t *testing.T) {
	all, ok := map[string]int{}, map[string]int{}
	why := map[string]int{}
	ex := map[string]string{}
	good := 0
	start := time.Now()
	for i := range 1000 {
		c := randomformula.New(1, uint64(i))
		var list diag.List
	again:
		list = diag.List{}
		_, err := live.New([]driver.Input{{Path: "specs/op.toml", Text: c.Spec()}}, &list)
		if err != nil {
			t.Fatal(err)
		}
		if !list.Empty() {
			if _, rest, ok := strings.Cut(list.Sorted()[0].Message, "gives each element of the gradient of "); ok {
				c.Scatter = append(c.Scatter, strings.Fields(rest)[0])
				goto again
			}
		}
		for f := range c.Features {
			all[f]++
		}
		if list.Empty() {
			good++
			for f := range c.Features {
				ok[f]++
			}
		} else {
			m := list.Sorted()[0].Message
			for _, ch := range "0123456789" {
				m = strings.ReplaceAll(m, string(ch), "")
			}
			m = m[:min(len(m), 40)]
			why[m]++
			ex[m] = list.Sorted()[0].Message + "\n" + strings.Join(c.Lines, "\n")
		}
	}
	t.Log(good, time.Since(start))
	for _, f := range slices.Sorted(maps.Keys(all)) {
		t.Log(f, all[f], ok[f])
	}
	ks := slices.Collect(maps.Keys(why))
	slices.SortFunc(ks, func(a, b string) int { return why[b] - why[a] })
	for _, k := range ks[:min(len(ks), 15)] {
		fmt.Println(why[k], k, "::", ex[k])
	}
}
