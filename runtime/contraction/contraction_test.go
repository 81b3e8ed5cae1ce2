package contraction

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// Three matrices are multiplied from the left. The product of the first two has memory, and the next one has
// that product as its first factor. Blocks of matrices that lie as they are multiplied are not copied, so
// workers need no memory.
func Example() {
	shapes := [][]int{{64, 32}, {32, 16}, {16, 128}}
	memory, err := Memory("ij,jk,kl->il", shapes)
	fmt.Println(memory, err)
	chain, err := NewChain("ij,jk,kl->il", shapes)
	if err != nil {
		fmt.Println(err)
		return
	}
	p := chain.Product(2)
	for i := 0; i < p.Parts(); {
		var rows, cols Block
		_, rows, cols, i = p.Part(i, i+1)
		fmt.Println(p.Gemm, rows.Size(), cols.Size(), p.Sum.Axes[0].Extent)
	}
	// Output:
	// [1024 0] <nil>
	// true 32 128 16
	// true 32 128 16
}

// TestPlans says which products are computed as products of matrices, and which matrices are copied.
func TestPlans(t *testing.T) {
	for _, tt := range []struct {
		equation string
		shapes   [][]int
		want     string
	}{
		{"ij,jk->ik", [][]int{{64, 64}, {64, 64}}, "matrices"},
		{"ji,jk->ik", [][]int{{64, 64}, {64, 64}}, "matrices"},
		{"ji,kj->ki", [][]int{{64, 64}, {64, 64}}, "matrices"},
		{"bhqd,bhkd->bhqk", [][]int{{2, 3, 20, 10}, {2, 3, 20, 10}}, "matrices"},
		{"bqhd,bkhd->bhqk", [][]int{{2, 20, 3, 10}, {2, 20, 3, 10}}, "matrices"},
		{"bld,dhe->blhe", [][]int{{2, 9, 8}, {8, 3, 5}}, "matrices"},
		{"ij,j->i", [][]int{{64, 64}, {64}}, "matrices"},
		{"ij,jk->ik", [][]int{{4, 8}, {8, 3}}, "boxes"}, // few products
		{"bk,bk->b", [][]int{{9, 64}, {9, 64}}, "boxes"},
		{"bi,bj->bij", [][]int{{9, 64}, {9, 64}}, "boxes"},
		{"ik,kl->i", [][]int{{64, 64}, {64, 64}}, "matrices, copies b"},            // sums of l first
		{"ik,k->i", [][]int{{64, 64}, {64}}, "matrices"},                           //
		{"ikl,k->i", [][]int{{64, 64, 64}, {64}}, "boxes"},                         // no more products than elements
		{"acb,dbe->aedc", [][]int{{9, 8, 7}, {6, 7, 5}}, "matrices, copies a b c"}, // the axes of b are apart
		{"iij,jk->ik", [][]int{{9, 9, 20}, {20, 8}}, "matrices, copies a"},         // the diagonal ends behind the tensor
		{"ij->ji", [][]int{{64, 64}}, "boxes"},
		{"ij->", [][]int{{64, 64}}, "boxes"},
	} {
		c, err := NewChain(tt.equation, tt.shapes)
		if err != nil {
			t.Fatal(err)
		}
		p := c.Product(1)
		got := "boxes"
		if p.Gemm {
			got = "matrices"
		}
		copies := ""
		a, b := p.MatA, p.MatB
		if p.Flipped {
			a, b = b, a
		}
		for i, m := range []Matrix{a, b, p.MatC} {
			if m.Copied {
				copies += " " + "abc"[i:i+1]
			}
		}
		if copies != "" {
			got += ", copies" + copies
		}
		if got != tt.want {
			t.Errorf("%s of %v: got %s, want %s", tt.equation, tt.shapes, got, tt.want)
		}
	}
}

// TestParts cuts ranges of parts at random. Together they have each element of the result once.
func TestParts(t *testing.T) {
	for i, tt := range []struct {
		equation string
		shapes   [][]int
	}{
		{"ij,jk->ik", [][]int{{100, 7}, {7, 600}}},
		{"ibj,kjb->bki", [][]int{{50, 20, 9}, {30, 9, 20}}},
		{"acb,dbe->aedc", [][]int{{9, 8, 7}, {6, 7, 5}}},
		{"bi,bj->bij", [][]int{{90, 64}, {90, 64}}},
		{"abc->cba", [][]int{{30, 40, 50}}},
	} {
		c, err := NewChain(tt.equation, tt.shapes)
		if err != nil {
			t.Fatal(err)
		}
		p := c.Product(1)
		random := rand.New(rand.NewPCG(uint64(i), 5))
		all := c.output.size
		cuts := []int{0, all}
		for range 5 {
			cuts = append(cuts, random.IntN(all))
		}
		slices.Sort(cuts)
		seen := make([]int, all)
		for k := range len(cuts) - 1 {
			at, end := Share(p.Parts(), cuts[k], cuts[k+1], all)
			for at < end {
				var batch, rows, cols Block
				batch, rows, cols, at = p.Part(at, end)
				for x := range batch.Size() {
					for y := range rows.Size() {
						for z := range cols.Size() {
							to := batch.C + rows.C + cols.C
							for b, n := range map[*Block]int{&batch: x, &rows: y, &cols: z} {
								c, _, _ := b.Index(n)
								to += c
							}
							seen[to]++
						}
					}
				}
			}
		}
		if slices.Min(seen) != 1 || slices.Max(seen) != 1 {
			t.Errorf("%s of %v: an element is computed %d to %d times, want once", tt.equation, tt.shapes, slices.Min(seen), slices.Max(seen))
		}
	}
}

// TestGaps lists the elements that nothing reads, of ranges of an input.
func TestGaps(t *testing.T) {
	for _, tt := range []struct {
		equation string
		shape    []int
	}{
		{"ij->", []int{3, 4}}, {"ii->", []int{5, 5}}, {"iji->", []int{4, 3, 4}}, {"iij->", []int{4, 4, 3}}, {"jii->", []int{3, 4, 4}}, {"iii->", []int{3, 3, 3}},
		{"ijij->", []int{2, 3, 2, 3}}, {"i->", []int{1}}, {"->", nil},
	} {
		c, err := NewChain(tt.equation, [][]int{tt.shape})
		if err != nil {
			t.Fatal(err)
		}
		labels, _, _ := strings.Cut(tt.equation, "->")
		var want []int
		for n := range c.inputs[0].size {
			values := map[byte]int{}
			rest := n
			for d := len(labels) - 1; d >= 0; d-- {
				v := rest % tt.shape[d]
				rest /= tt.shape[d]
				if other, ok := values[labels[d]]; ok && other != v {
					want = append(want, n)
					break
				}
				values[labels[d]] = v
			}
		}
		for lo := range c.inputs[0].size {
			for hi := lo + 1; hi <= c.inputs[0].size; hi++ {
				var got []int
				c.Gaps(0, lo, hi, func(lo, hi int) {
					for n := lo; n < hi; n++ {
						got = append(got, n)
					}
				})
				inside := slices.DeleteFunc(slices.Clone(want), func(n int) bool { return n < lo || n >= hi })
				if !slices.Equal(got, inside) {
					t.Errorf("%s of %v: elements %d to %d: got %v, want %v", tt.equation, tt.shape, lo, hi, got, inside)
				}
			}
		}
	}
}

// TestTooLarge asks for products that no memory holds. Sizes that overflow are errors, too.
func TestTooLarge(t *testing.T) {
	const n = 1 << 30 >> (10 * (1 - math.MaxInt>>62)) // 2^20 where integers have 32 bits
	for _, tt := range []struct {
		equation string
		shapes   [][]int
		want     string
	}{
		{"i,j->ij", [][]int{{n}, {n}}, fmt.Sprintf("a tensor of shape [%d %d] has more than %d elements", n, n, mostElements)},
		{"ij->i", [][]int{{math.MaxInt / 2, 4}}, fmt.Sprintf("has more than %d elements", mostElements)},
		{"i,j,ij->", [][]int{{n}, {n}, {n, 1 << 10}}, fmt.Sprintf("the label j has the extent %d, and 1024 in input 2", n)},
		{"ia,ja,ka,ia,ja,ka->", [][]int{{n, 1}, {n, 1}, {1, 1}, {n, 1}, {n, 1}, {1, 1}}, fmt.Sprintf("the product of the first 2 inputs has more than %d elements", mostElements)},
		{"ij,jk->i", [][]int{{2, 3}, {2, 3}}, "the label j has the extent 3, and 2 in input 1"},
	} {
		if _, err := Memory(tt.equation, tt.shapes); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s of %v: got %v, want an error that says %q", tt.equation, tt.shapes, err, tt.want)
		}
	}
}
