package taskgraph_test

import (
	"fmt"

	"github.com/opgen/opgen/runtime/dtype"
	"github.com/opgen/opgen/runtime/taskgraph"
)

// Two layers whose blocks divide one tensor into p and into c parts. MPK has an event for each of gcd(p, c)
// groups of blocks, so all blocks of a group wait for all of the group before. Blocks here wait for those
// whose elements they read.
func ExampleEvents_Pairs() {
	exact := func(p, c int) (pairs, fanIn int, err error) {
		g := taskgraph.New("layers")
		n := p / gcd(p, c) * c
		x, h, y := g.NewInput("x", dtype.F32, n), g.NewTensor("h", dtype.F32, n), g.NewOutput("y", dtype.F32, n)
		for _, l := range []struct {
			blocks   int
			from, to *taskgraph.DTensor
		}{{p, x, h}, {c, h, y}} {
			b := taskgraph.NewBlock(taskgraph.Dim3{X: l.blocks}, taskgraph.Dim3{X: 32}, 1, 0)
			b.NewInput(l.from, taskgraph.Along(0), -1)
			b.NewOutput(l.to, taskgraph.Along(0), nil)
			if err := g.Customized([]*taskgraph.DTensor{l.from}, []*taskgraph.DTensor{l.to}, b); err != nil {
				return 0, 0, err
			}
		}
		tg, err := g.Tasks()
		if err != nil {
			return 0, 0, err
		}
		e := taskgraph.EventsOf(tg.Plan)
		return e.Pairs(), e.MaxFanIn(), nil
	}
	fmt.Println("   p,c    by gcd: pairs, fan-in   exact: pairs, fan-in   too many")
	for _, d := range [][2]int{{12, 4}, {96, 8}, {96, 48}, {600, 128}, {96, 64}, {7, 5}, {148, 132}} {
		p, c := d[0], d[1]
		pairs, fanIn, err := exact(p, c)
		if err != nil {
			fmt.Println(err)
			return
		}
		groups := gcd(p, c)
		fmt.Printf("%7s %16d %7d %14d %7d %9.1fx\n", fmt.Sprintf("%d,%d", p, c), p*c/groups, p/groups, pairs, fanIn, float64(p*c/groups)/float64(pairs))
		if pairs != p+c-groups {
			fmt.Println("want", p+c-groups, "pairs")
		}
	}
	// Output:
	//    p,c    by gcd: pairs, fan-in   exact: pairs, fan-in   too many
	//    12,4               12       3             12       3       1.0x
	//    96,8               96      12             96      12       1.0x
	//   96,48               96       2             96       2       1.0x
	// 600,128             9600      75            720       6      13.3x
	//   96,64              192       3            128       2       1.5x
	//     7,5               35       7             11       3       3.2x
	// 148,132             4884      37            276       3      17.7x
}

func gcd(a, b int) int {
	for b > 0 {
		a, b = b, a%b
	}
	return a
}
