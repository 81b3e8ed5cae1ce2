package formula

import (
	_ "embed"
	"strings"
	"testing"

	"github.com/opgen/opgen/formula/program"
	"github.com/opgen/opgen/runtime/dtype"
)

// TestLoopsOfIntegers compares loops with the interpreter for integers that strips compute, and for
// comparisons of them.
func TestLoopsOfIntegers(t *testing.T) {
	const given = "given[n, k] = j[n] * (k - 3) + n\n"
	formulas := []string{
		given,
		given + "other[n, k] = given[n, k] * given[n, K - 1 - k] - 3 * given[n, k]",
		given + "other[n, k] = quotient(given[n, k], 3) + given[n, k] % 7 + quotient(5 * n + k, j[n] + 1)",
		given + "other[n, k] = max(given[n, k], 2 * k) + min(given[n, k], -j[n]) + abs(given[n, k] - 9)",
		given + "other[n, k] = given[n, k] % 2 == 0 ? given[n, k] : k > j[n] ? -k : quotient(k, j[n] + 1)",
		given + "other[n, k] = x[n, k] > 0.5 && given[n, k] > k ? given[n, k] : 7",
		given + "other[n, k] = given[n, k] > 3 ? quotient(100, given[n, k]) : 0", // only where it is chosen
		given + "other[n, k] = given[n, k]^2 + 2^(k % 9)",
		given + "other[n, k] = convert(given[n, k] > 2, i64) + convert(8 * x[n, k], i64) + convert(x[n, k], i32)",
		given + "other[n, k] = given[n, j[n]] + (given[n, k + 2] else -1)",
		given + "other[k, n] = given[n, k] for n < N, k < K",
		given + "other[n, k] = given[quotient(j[n], K), k]\ny[n, k] = x[j[n] % max(N, 1), k]", // rows that are looked up
		given + "lines[n] = (7 * n + j[n]) % max(N, 1)\nother[n, k] = given[lines[n], k]\ny[n, k] = x[lines[N - 1 - n], k]",
		given + "lines[n, k] = (n + k) % max(N, 1)\nthird[n, m, k] = x[lines[n, m], k] for m < min(K, 3)\nother[k, n, m] = given[lines[m, k], n] for n < min(N, K, 3), k < min(K, 2), m < N",
		given + "other[n] = given[n, 0] - j[n]\ny[n, k] = other[n] == given[n, k] ? 1 : other[n] <= given[n, k] ? 2 : 3",
		given + "other[n] = sum(k: given[n, k] * k) - prod(k < min(K, 9): given[n, k] + 5) + max(k: given[n, k]) - min(k: abs(given[n, k]))",
		given + "other[k] = sum(n: given[n, k])\nthird[] = max(k, n: given[n, k] % 91)",
		given + "other[n] = argmax(k: given[n, k] % 5) + argmin(k: abs(given[n, k]))\nthird[n] = sum(k if given[n, k] > 2: given[n, k])",
		given + "other[n, k] = given[n, k] + max(k': given[n, k'] + sum(i < 3: i * k'))",
		given + "large[n, k] = 2147483647 * 2147483647 * 2 + k % 7\nother[n] = argmax(k: large[n, k]) - argmin(k: -large[n, k])",
		given + "truth[n, k] = given[n, k] % 3 == 1\nother[n, k] = truth[n, k]\ny[n, k] = other[n, k] != (given[n, k] > j[n]) ? x[n, k] : 0",
		given + "truth[n, k] = convert(given[n, k], bool) && convert(x[n, k] - 0.5, bool)\ny[n, k] = convert(truth[n, k], f32) + convert(given[n, k], f64)",
		"given[n, k] = (j[n] % 2 * 2 - 1) * 2147483647 * 2147483647 * 2\ny[n, k] = given[n, k] < -given[n, k] ? 1 : given[n, k] <= 3 - given[n, k] ? 2 : 3",
	}
	compareAll(t, formulas, append(extentsOfTests, [2]int{9, 21}, [2]int{0, 5}, [2]int{5, 0}), false)
}

// TestLoopsOfNarrowIntegers uses integers of 8 bits. Sums of their products must be exact. Where there are
// many, they are matrix products, in f32, or in f64 if the sums exceed 2^24.
func TestLoopsOfNarrowIntegers(t *testing.T) {
	const given = "tiny[n, k] = (7 * j[n] + 13 * k) % 256 - 128\nbytes[n, k] = (5 * j[n] + k * k + 255 * (k % 3)) % 256\n"
	formulas := []string{
		given + "total[n, m] = sum(k: tiny[n, k] * bytes[m, k]) for m < N",
		given + "total[n, m] = sum(k: (tiny[n, k] - j[0] % 2) * bytes[m, k]) for m < N", // j may be of any size
		given + "total[n, m] = sum(k: (tiny[n, k] - tiny[0, 0]) * (bytes[m, k] - (bytes[k, m] else 9))) for m < N\ny[n, k] = total[n, n] / 4 + bytes[n, k]",
		given + "total[n, m] = sum(k: (bytes[n, k] + 300) * (bytes[m, k] + 301)) for m < N", // more than float32 holds
		given + "total[n] = sum(m < N, k: (tiny[n, k] - 3) * -bytes[m, k])\ns[n] = total[n] * 0.5",
		given + "y[n, k] = 0.5 * sum(m < N: (k < 2 ? tiny[m, n % max(K, 1)] : bytes[m, n % max(K, 1)]) * (k - tiny[m, k]))",
		given + "total[k, m] = sum(n: tiny[n, k] * tiny[n, m]) for m < K",
		given + "tinys[n, k] = convert(300 * (x[n, k] - w[n, k]), i8)\nbyte[n, k] = convert(100 * x[n, k] - 20, u8)\ntotal[n, k] = tinys[n, k] - byte[n, K - 1 - k]",
		given + "tinys[n, k] = bytes[n, k] > 128 ? 5 : tiny[n, K - 1 - k]\ntotal[n] = max(k: tinys[n, k]) * 1000 + argmax(k: bytes[n, k])",
		given + "tinys[k, n] = tiny[n, k] for n < N, k < K\nbyte[n, k] = bytes[N - 1 - n, k]\ny[n, k] = x[n, byte[n, k] % max(K, 1)] + tinys[k, n]",
	}
	compareAll(t, formulas, append(extentsOfTests, [2]int{5, 190}, [2]int{0, 5}, [2]int{5, 0}), false)
}

// TestLoopsOfStoredIntegers uses signed and unsigned integers of 16 and 32 bits, some of them at the bounds
// of their types.
func TestLoopsOfStoredIntegers(t *testing.T) {
	const given = "shorts[n, k] = (77 * j[n] + 1313 * k) % 2^16 - 2^15\nwords[n, k] = (555 * j[n] + k * k + 65535 * (k % 3)) % 2^16\n" +
		"wides[n, k] = (n + k) % 2 * (2^32 - 1) + (1 - (n + k) % 2) * (j[n] + k)\n"
	formulas := []string{
		given + "total[n, k] = shorts[n, k] - 3 * words[n, K - 1 - k] + quotient(wides[n, k], 7) - wides[n, k] % 5",
		given + "total[n, m] = sum(k: shorts[n, k] * words[m, k]) for m < N\ny[n, k] = total[n, n] * 0.5",
		given + "y[n, k] = words[n, k] * x[n, k] + wides[n, k] / 4 - shorts[n, K - 1 - k] * w[n, k]",
		given + "y[n, k] = wides[n, k] > words[n, k] && wides[n, k] != shorts[n, k] ? x[n, k] : wides[n, k] > 2.5 ? 2 : 3",
		given + "total[n] = max(k: wides[n, k]) - min(k: words[n, k]) + argmax(k: shorts[n, k])\nthird[n, k] = rank(k': wides[n, k'])[k]",
		given + "narrow[n, k] = convert(6e4 * x[n, k], u32) + convert(-9.5 * x[n, k], u16)\nshort[n, k] = convert(1e6 * (x[n, k] - w[n, k]), i16)\ntotal[n, k] = short[n, k] - narrow[n, k]",
		given + "narrow[k, n] = wides[n, k] for n < N, k < K\nshort[n, k] = shorts[N - 1 - n, K - 1 - k]\ntotal[n, k] = (shorts[n, k + 1] else -7)",
		given + "narrow[n, k] = x[n, k] > 0.5 ? wides[n, k] : words[n, k]\ny[n, k] = x[n, words[n, k] % max(K, 1)] + (wides[n + 1, k] else 0.5)",
		given + "narrow[n] = min(k if shorts[n, k] > 5 || k == 0: wides[n, k])\nshort[n] = max(k if k > 2 || k == 0: shorts[n, k])\ntotal[n] = narrow[n] + short[n]",
		given + "narrow[n, k] = max(k' in 0 .. k + 1: wides[n, k'])\ntotal[n, k] = sum(k' in 0 .. k + 1: words[n, k'])",
	}
	compareAll(t, formulas, append(extentsOfTests, [2]int{5, 190}, [2]int{0, 5}), false)
}

// unsignedOfTests defines a tensor of uint64 with elements on both sides of 2^63.
const unsignedOfTests = "longs[n, k] = j[n] + 1313 * k - 2000 * (k % 2)\n"

// TestLoopsOfUnsigned uses uint64 in operations whose bits are the same for signed integers.
func TestLoopsOfUnsigned(t *testing.T) {
	formulas := []string{
		"long[n, k] = longs[n, k]",
		"long[k, n] = longs[n, k] for n < N, k < K",
		"long[n, k] = longs[N - 1 - n, K - 1 - k]",
		"long[n, k] = longs[N - 1 - n, K - 1 - k] * 3 + j[n] - longs[n, k]\ntotal[n, k] = -long[n, k]",
		"long[n, k] = x[n, k] > 0.5 ? longs[n, k] : 7\ny[n, k] = long[n, k] == 7 || long[n, k] != longs[n, k] ? x[n, k] : 2",
		"long[n, k] = (longs[n, k + 1] else 5)\ntotal[n, k] = long[n, k] - 1",
		"y[n, k] = longs[n, k] * x[n, k] + (longs[n + 1, k] else 0.5)\ntotal[n] = sum(k: longs[n, k] == 3 ? 1 : 0)",
		"y[n, k] = convert(longs[n, k], 'f64') / 4 + sum(k': longs[n, k'] * w[n, k'])",
		"y[n, k] = longs[n, k] > 2.5 ? x[n, k] : longs[n, K - 1 - k]",
		"long[n, k] = convert(1e19 * x[n, k] - 1e18, 'u64')\ny[n, k] = long[n, k]",
		"long[n, k] = convert(1e19 * x[n, k] * w[n, K - 1 - k], 'u64') + longs[n, k]",
		"total[n, k] = longs[n, k]\nthird[n, k] = longs[n, k] + k",
		"long[n, k] = j[n] + k\ny[n, k] = x[n, long[n, k] - j[n]]\ntotal[n, k] = (longs[n, long[n, k]] else 3)",
		"y[n, k] = sum(k' if longs[n, k'] == k: x[n, k'])\ntotal[n] = count(k if longs[n, k] != 3)",
	}
	for i, f := range formulas {
		formulas[i] = unsignedOfTests + f
	}
	compareAll(t, formulas, append(extentsOfTests, [2]int{5, 190}, [2]int{0, 5}, [2]int{5, 0}), false)
}

// TestUnsignedWithoutLoops uses uint64 in operations whose bits differ for signed integers, such as division:
// the interpreter computes them.
func TestUnsignedWithoutLoops(t *testing.T) {
	for _, text := range []string{
		"total[n, k] = quotient(longs[n, k], 7)",
		"total[n, k] = longs[n, k] % 7",
		"total[n, k] = max(longs[n, k], 5)",
		"total[n, k] = abs(longs[n, k])",
		"total[n, k] = longs[n, k] > 5 ? 1 : 0",
		"total[n, k] = longs[n, k] == k - 1 ? 1 : 0",
		"total[n] = max(k: longs[n, k])",
		"total[n] = argmin(k: longs[n, k])",
		"third[n, k] = rank(k': longs[n, k'])[k]",
		"total[n] = sum(k if longs[n, k] < 5: k)",
		"y[n, k] = longs[n, k] + 1",
		"y[n, k] = (longs[n, k] + k) * x[n, k]",
		"y[n, k] = (longs[n, k + 1] else -1) * x[n, k]",
		"y[n, k] = (longs[n, k + 1] else longs[n, 0] + k) * x[n, k]",
		"y[n, k] = (longs[n, k + 1] else count(k' if k' > 0))",
		"y[n, k] = x[n, longs[n, k] % 3]",
		"long[n] = max(k: j[n] + k)",
		"y[n, k] = sum(k': longs[n, k'])",
	} {
		p, err := program.Build(useOfTest(t, used(unsignedOfTests+text), dtype.F64, 3, 5))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if err := compareProgram(t, p, dtype.F64, 5, false, roundingOfSums); err == nil || !strings.Contains(err.Error(), "integers of type u64") {
			t.Errorf("%s: want no loops for integers of type u64, got the error %v", text, err)
		}
	}
}
