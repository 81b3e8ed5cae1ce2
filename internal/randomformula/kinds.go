package randomformula

// words are what texts of kinds share. Each place of a word is drawn anew.
var words = map[string]string{
	"f":    "tanh | sin | cos | exp | sigmoid | abs",
	"ext":  "max | min",
	"arg":  "argmax | argmin",
	"red":  "sum | sum | max | min | mean | logsumexp | prod | variance | norm",
	"fold": "sum | max | min | prod",
	"cmp":  "< | <= | > | >= | == | !=",
	// Values with and without a gradient.
	"grows": "x[n, k] | x[n, k] | tanh(x[n, k]) | x[n, k] * 2 | x[n, k] * v[k]",
	"held":  "rate | (rate / 3)^1 | 0.1 | 0.3 * k | (259 + k) | still[n, k] | still[n, k] / 3 | free[n, k] / 3 | max(still[n, k], 0.1)",
	// Integers, and numbers that are the same for all k.
	"int": "0 | 1 | 2 | size | N - 1 | K / 2",
	"one": "limit[] | limit[] | (v[0] else 0.5) | rate | 0.5 | u[n] | (x[n, 0] else 2)",
	// Values at n and k, and at n and k'.
	"nk": "x[n, k] | x[n, k] | w[n, k] | v[k] | u[n] | x[n, k] * v[k] | still[n, k] * x[n, k]",
	"nkk": "tanh(x[n, k'] * 2) | exp(sin(x[n, k'])) | x[n, k'] * 3 | x[n, k'] - (k - k') * {0.25 | u[n] | u[n]^2} | sigmoid(x[n, k'] + v[k']) | x[n, k'] * v[k'] | " +
		"abs(x[n, k']) | sqrt(1 + x[n, k']^2) | v[k'] / (2 + x[n, k']^2) | x[n, k'] + w[n, k'] | x[n, k']",
	// Ranges of k' beside k, of n' beside n, and of a and b around k.
	"run":   "0 .. k + 1 | 0 .. k + 1 | 0 .. k | k .. K | k + 1 .. K | max(0, k - 2) .. K | 0 .. K - k | 1 .. k + 1",
	"runn":  "0 .. n + 1 | n .. N | n + 1 .. N | 0 .. n",
	"wink":  "k .. k + 2 | k - 1 .. k + 2 | 2 * k .. 2 * k + 2 | k * 2 - 1 .. k * 2 + size | k * K / size .. ceildiv((k + 1) * K, size) | k / 2 .. k / 2 + 2 | 0 .. k + 1 | k .. K",
	"winn":  "n .. n + 2 | n - 1 .. n + 2 | 2 * n .. 2 * n + 2 | n * 2 - 1 .. n * 2 + size | n * N / size .. ceildiv((n + 1) * N, size) | n / 2 .. n / 2 + 2 | 0 .. n + 1 | n .. N",
	"shift": "k .. k + 3 | k - 1 .. k + 2 | k + 1 .. K | k - 2 .. k + 1 | 0 .. k + 1 | -2 .. k | 2 * k - 1 .. 2 * k + 2",
	"none":  "k .. 3 | 2 .. k | k + 2 .. k | k - 4 .. 0 | 0 .. k - 2 | 3 .. k + 1 | k + 1 .. K - k",
}

// kinds are the kinds of formulas. What is after the name says what was wrong in one of them.
var kinds = []kind{
	// A step that goes over rows said that it is elementwise.
	{name: "repeated", run: grouped, texts: []string{
		"y0[n, k] = {$f($nk) | $nk} {- | + | *} {u[n] | mean(k': x[n, k']) | max(k': x[n, k']) | sqrt(1 + sum(k': x[n, k']^2)) | limit[] | v[k]}",
		"y0[n, k] = {$f($nk) | $nk} / {(2 + u[n]^2) | (1 + sum(k': x[n, k']^2)) | (1.5 + tanh(v[k])) | (2 + limit[]^2)}",
		"y0[n, k, m] = {$f(cube[n, k, m]) | cube[n, k, m]} {- | *} {x[n, k] | u[n] | v[k] | z[m, k] | limit[] | mean(m': cube[n, k, m'])}",
		"y0[n, k, m] = cube[n, k, m] / {(2 + x[n, k]^2) | (2 + u[n]^2) | (2 + v[k]^2)}",
		"y0[n, k] = {x[n, k] | $f(x[n, k])} {- | *} u[n] ; y1[n, k] = {w[n, k] | x[n, k]} {+ | *} {v[k] | u[n]}",
	}},
	// A maximum that is computed again was rounded otherwise, and had no gradient.
	{name: "running", texts: []string{
		"y0[n, k] = $ext(k' in $run: $nkk)",
		"y0[n, k] = {logsumexp | sum | mean | prod}(k' in $run: $nkk)",
		"y0[n] = $ext(n' in $runn: {$f(u[n'] * 2) | u[n'] - (n - n') * {0.25 | limit[]} | u[n'] * 3 | u[n']})",
		"y0[k] = $ext(n in (k - k) % 3 .. (k - k) % 3 + size: cos(sin(u[n] else 0.5)))",
		"t0[n, k] = $arg(k' in $run: $nkk) ; y0[n, k] = (x[n, t0[n, k]] else 0)",
		"t0[n, k] = $ext(k' in $run: $nkk) ; y0[n, k] = sum(k' in $run: $nkk * t0[n, k'])",
	}},
	// Equal extremes share the gradient, also in f32.
	{name: "ties", single: true, few: true, texts: []string{
		"y0[n] = $ext(k: {$nk | $nk | x[n, k]^2 | abs(x[n, k]) | round(3 * x[n, k]) / 4 | max(x[n, k], v[k]) | x[n, k] * x[n, K - 1 - k] | x[n, k] - v[k]})",
		"y0[n, k] = $ext({$nk | x[n, k]^2 | abs(x[n, k])}, {$nk | w[n, k]^2 | 0.25 | v[k] * w[n, k]})",
		"y0[{n | k | }] = $ext({n', k' | k', n'} {if x[n', k'] < 0.37 | if mask[n', k'] | }: x[n', k'] {* v[k'] | - u[n'] | })",
		"y0[k] = $ext(n {if x[n, k] > -0.37 | }: {$nk | x[n, k]^2}) ; y1[k] = $ext(n: x[n, k])",
		"t0[n] = $ext(k: x[n, k]^2) ; y0[n, k] = x[n, k]^2 - t0[n]",
		"y0[n, k] = $ext(k' in $run: {x[n, k'] | x[n, k']^2 | x[n, k'] * v[k']})",
		"y0[n, k] = {u[n] > 0.37 | k > 1 | k < K - 1 | true} ? $ext(k' in {$run | $run | 0 .. k + 3 | k - 2 .. K | 0 .. k - 1 | k + 2 .. K | 2 .. k + 1} {if mask[n, k'] | if v[k'] > 0.37 | if x[n, k'] < 0.4 | }: {x[n, k'] | x[n, k']^2 | v[k'] * u[n] | v[k'] | (x[n, k' + 1] else 0.5)}) : {0.5 | $nk}",
		"y0[n, k] = $ext(k' {if k' {< | <= | > | >=} k {| + 1 | - 1 | + 2} {| && mask[n, k']} | if k' != k | if k' < 2 * k}: {x[n, k'] | x[n, k'] * v[k'] | x[n, k']^2 | v[k']})",
		"y0[n, k] = $ext(k' {| if mask[n, k'] | if k' < 3}: k' {< | <= | > | >=} k {| + 1 | - 1 | + 2} ? {x[n, k'] | v[k'] | x[n, k']^2} : {0.5 | u[n] | -1e30 | v[k'] | x[n, k'] * v[k'] | (k' > 1 ? v[k'] : x[n, k'])})",
		"y0[n] = sum(k: $ext(k' in {$run | 0 .. k + 2}: x[n, k'] {| * v[k']}) {| * v[k]})",
		"y0[] = sum(n, k: $ext(k' in {$run | 0 .. k + 2}: x[n, k'] {| * v[k']}) {| * u[n]})",
		"y0[n] = $ext(k: max(m: {cube[n, k, m] | cube[n, k, m] * v[k] | z[m, k] * x[n, k]}))",
	}},
	// An extreme was compared with its operand that has no gradient, which f16 and bf16 round.
	{name: "clipped", texts: []string{
		"y0[n, k] = $ext($grows, $held)",
		"y0[n, k] = min(max($grows, {-0.7 | -rate | -0.3 * k}), {$held | rate})",
		"t0[n, k] = still[n, k] / 3 ; y0[n, k] = $ext($grows, t0[n, k]) {| * v[k]}",
		"y0[n] = sum(k: $ext($grows, $held) * v[k])",
	}},
	// The place of an extreme of several windows, and its number.
	{name: "windows", some: true, once: [][2]string{{"#b", "2 | 3 | 4 | size"}, {"#n", "$winn"}, {"#k", "$wink"}, {"#a", "$arg"}, {"#x", "x[n', k'] | abs(x[n', k']) | x[n', k'] * (1 + k') | x[n', k'] - w[n', k']"}}, texts: []string{
		"y0[n, k] = {x[n, k] * | v[k] - | } {sum | mean | max | variance | logsumexp}(a < {2 | 3 | 4}: (x[n, {k | k + 1 | k - 3} / #b * #b + a] else {0 | 0.5 | v[k]}))",
		"y0[n, k] = {x[n, k] - | } {sum | mean | max}(k' if k' / #b == {k | n} / #b: x[n, k'] {| * v[k] | * v[k']})",
		"y0[n, k] = sum(k' if {k' / #b <= k / #b | k - #b * (k' / #b) < #b | 0 <= k - #b * (k' / #b) | k - k' / #b > 1}: x[n, k'] {| * v[k' / #b] | * v[k'] | * (k' % #b)})",
		"t0[n, k], t1[n, k] = #a(n' in #n, k' in #k: {#x}) ; y0[n, k] = (x[t0[n, k], t1[n, k]] else 0) ; at0[n, k] = t0[n, k] ; at1[n, k] = t1[n, k]",
		"at0[n, k] = #a(n' in #n, k' in #k: {#x})",
		"at0[k] = #a({a < 2 | a < size}, k' in #k: (v[k' + a] else 0)) ; y0[k] = max(k' in #k: v[k'])",
		"t0[k], t1[k] = #a({a < 1 | a < size}, k' in #k: (v[k' + a] else 0)) ; y0[k] = (v[t1[k] {| + t0[k]}] else 0) ; at0[k] = t0[k]",
		"y0[n, k] = {max | min | sum | mean | logsumexp}(n' in #n, k' in #k: {#x})",
	}},
	// A read that only a comparison of several indices, or a rounded quotient, keeps inside was refused.
	{name: "guarded", texts: []string{
		"y0[n, k] = {k - n >= 0 && k - n < K | k >= n | k > n && n - k <= 0} ? {v[k - n] | x[n, k - n] * v[k]} : {0.5 | u[n] | x[n, k]}",
		"y0[n, k] = {n - k < 0 || n - k >= N | 0 > n - k || k > n} ? {x[n, k] | 0} : {u[n - k] | x[n - k, k]}",
		"y0[n, k] = k + n < K {&& x[n, k] > 0 | } ? {v[k + n] | v[k] * x[n, k + n]} : {$one}",
		"y0[{n, k | k}] = {sum | max | mean}(k' if k' - k > 0: {v[k' - 1] | v[k' - k - 1] | v[k'] * k})",
		"t0[p] = {sum | max}(k in p * 2 .. p * 2 + 2: v[k]) for p < ceildiv(K, 2) ; y0[n, k] = {t0[k / 2] | t0[k / 2] * x[n, k / 2 * 2]}",
	}},
	// How many indices an empty range has.
	{name: "counts", texts: []string{
		"y0[k] = $red(k': v[k' / {2 | 3 | size}])",
		"y0[{n | k | }] = {sum | mean}(n', k': u[n' / {2 | 3}] {* v[k' / 2] | + 0.1 * k'})",
		"y0[n] = $red(k: x[n, k / 2])",
		"y0[k] = $red(a in $none {if a != 1 | if a > 0 | if v[k] > a}: {v[k] | v[k / 2] | limit[] | (u[a] else 1)} {| * (1 + a)})",
		"y0[k] = count(a in $none) * v[k]",
		"y0[n, k] = $red(c in {0 .. 2 * n - k | n .. k | k - n .. n}, a < 3: {v[k / 2] | x[n, k] | u[n]} * (1 + c + a))",
		"y0[n, k] = {sum | max}(c in {n .. k | 0 .. k - n | n - k .. 2} if {c != 1 | x[n, k] > 0.37}: u[n])",
	}},
	// An inner range ends at an outer index, which begins at the index of the result.
	{name: "triangles", most: 48, texts: []string{
		"y0[k] = $red(a in $shift, b in {k .. a + 1 | a .. k + 3 | a .. a + 2 | a - 1 .. k + 1 | 0 .. a}: (v[b] else {0 | 0.5}) {| * (1 + a) | * (v[a] else 1)})",
		"y0[n, k] = $red(n' in {n - 1 .. n + 2 | 0 .. n + 1 | n .. N}, k' in {n' .. K | 0 .. n' | k - n' .. k + 1 | n' - 1 .. n' + 2}: x[n', k'] {| * (1 + k')})",
		"y0[n] = {mean | sum | max}(k in n + 1 .. K, a in k - n .. k - n + 3: a * (v[k + n] else 0.5))",
		"y0[k] = {sum | max}(a in $shift: $fold(b in {a .. k + 2 | 0 .. a + 1 | k .. a + 1}: (v[b] else {0 | 1})))",
		"y0[k] = sum(a in $shift, b in k .. a + 1, c in {b .. a + 1 | b - 1 .. b + 1}: (v[c] else 0) * (1 + b))",
	}},
	// A condition on indices of the result was dropped where the value is one number.
	{name: "conditions", texts: []string{
		"y0[n] = $fold(k if n $cmp $int {&& | ||} k $cmp $int: $one)",
		"y0[n, k] = $fold(m if {k $cmp n && m $cmp $int | n $cmp $int || m $cmp k | m $cmp n}: $one)",
		"y0[n, k] = (n $cmp $int {&& | ||} k $cmp {$int | n} ? $one : $nk)",
		"y0[n] = $red(k, m if n $cmp m {&& k $cmp $int | }: {limit[] | u[n] | z[m, k]})",
		"y0[n, k] = (k $cmp $int ? $fold(k' if k' $cmp n: $one) : $nk)",
		"is0[n, k] = {any | all}(m if m $cmp n {|| | &&} k $cmp $int: {on[n] | limit[] > 0.37}) ; y0[n] = u[n]",
	}},
	// A look-up whose row is one number.
	{name: "lookups", some: true, texts: []string{
		"t0[n] = $arg(k: $nk {+ k | }) ; y0[n, k] = {v[t0[n]] | v[t0[n]] * x[n, k] | x[n, t0[n]] | w[n, t0[n]] + v[k]}",
		"y0[n, k] = {v[j[n]] | v[jk[k]] | x[n, jk[k]] | x[n, j[n]] * v[k] | v[jk[j[n]]] | v[jk[jk[k]]]}",
		"y0[n, m] = {z[m, j[n]] | z[m, j[n]] * u[n]}",
		"y0[n, k] = {(v[free[n, k]] else 0.5) | v[free[n, k] % K] | (x[n, free[n, k]] else u[n])}",
		"t0[m] = $arg(k: z[m, k]) ; y0[m, k] = {v[t0[m]] | z[m, t0[m]] | z[m, t0[m]] * v[k]}",
		"t0[n, k] = {argsort | rank}(k': x[n, k'])[k] ; y0[n, k] = {v[t0[n, k]] | x[n, t0[n, k]] | w[n, t0[n, k]] * v[k]}",
		"y0[k] = {v[jk[k]] | sum(m: z[m, jk[k]]) | max(n: x[n, jk[k]])}",
	}},
	// A factor that was moved out of an empty sum.
	{name: "factors", numbers: "zeros", texts: []string{
		"y0[n] = {sum | max | mean}(k {in n .. K | if x[n, k] > 0.37 | if mask[n, k] | }: {w[n, k] | v[k]} {/ u[n] | * (1 / u[n]) | * log(abs(u[n])) | * limit[] / x[n, k]})",
		"t0[n] = sqrt(sum(k: x[n, k]^2)) ; y0[n, k] = u[n] * w[n, k] / t0[n]",
		"t0[n] = {sum(k: x[n, k]) | max(k: x[n, k])} ; y0[n] = sum(k if k $cmp n: w[n, k] {/ t0[n] | * t0[n]})",
		"y0[k] = sum(n if {on[n] | n $cmp $int}: w[n, k] / v[k])",
	}},
	// Rows of zeros that are divided by their norms.
	{name: "zero_rows", numbers: "zeros", texts: []string{
		"t0[n] = {sqrt(sum(k: x[n, k]^2)) | norm(k: x[n, k]) | sum(k: abs(x[n, k])) | max(k: abs(x[n, k]))} ; y0[n, k] = {x[n, k] / max(t0[n], 0.001) | (t0[n] > 0 ? x[n, k] / t0[n] : 0) | x[n, k] / (t0[n] + 0.5) | (t0[n] == 0 ? w[n, k] : x[n, k] / t0[n])}",
		"y0[n] = {sqrt(max(sum(k: x[n, k]^2), 0.01)) | norm(k: x[n, k]) | sum(k: norm(m: {z[m, k] | cube[n, k, m]}))}",
		"t0[n] = norm(k: x[n, k]) ; t1[m] = norm(k: z[m, k]) ; y0[n, m] = sum(k: x[n, k] * z[m, k]) / max(t0[n] * t1[m], 0.01)",
		"y0[n] = u[n] > 0 ? {sqrt(u[n]) | log(u[n]) | 1 / u[n] | u[n]^0.5} : {0 | limit[]}",
	}},
	// Values of the formula's own that are named as temporaries of the compiler are.
	{name: "names", once: [][2]string{{"#t", "t | t2 | t3 | top | rest | t22 | values | mean | extreme"}}, texts: []string{
		"t0[n, k] = x[n, k] * $ext(n' in $runn: x[n', k] * n') - sum(n' in {1 .. n + 1 | $runn}: x[n', k]) ; #t[n, k] = sum(k' in $run: {x[n, k'] | x[n, k] * v[k']}) ; " +
			"y0[n, k] = {variance | sum | norm}(k' in $run: #t[n, k] * k' {/ (2 + t0[n, k]^2) | })",
		"t0[n] = u[n] / (1 + {norm | logsumexp | mean}(k: x[n, k])) + {logsumexp | sum}(k: w[n, k]) ; #t[n] = {$f(u[n] * 2) | mean(k: x[n, k])} ; y0[n, k] = {tanh(#t[n]) | #t[n]^2 | #t[n]} * x[n, k] + t0[n]",
		"y0[n] = {sum | max | variance}(k: x[n, k] * sum(n': x[n', k]^2)) ; #t[n, k] = exp(sin(x[n, k])) ; y1[n, k] = #t[n, k] * {#t[n, k] | (#t[n, k + 1] else 0.5)}",
	}},
	// Elements at constant places, which are there wherever an index is, and read by values of fewer indices.
	{name: "places", texts: []string{
		"y0[n, k] = {$ext($nk, $f(u[0])) | (v[k] > u[0] ? $nk : u[0]) | $ext($nk, (k >= j[0] ? v[k] : 0.3)) | $ext(max(a < 4, k': (a == k ? 0.5 : x[n, 0]) * k'), (k >= j[0] ? v[k] : 0.3))}",
		"y0[n, k] = {x[n, 0] * sum(n': w[n', 0] * n') | variance(k': x[n, k'] * u[0]) | norm(k': x[n, k'] - v[0]) + mean(n': x[n', 0]) | logsumexp(k': x[n, k'] + u[N - 1]) * v[0]}",
		"t0[n, k] = $red(n' in $runn: x[n', 0] * u[n']) ; y0[n, k] = {t0[n, 0] * $nk | t0[0, k] + $f(v[0]) | $ext(t0[n, k], u[0])}",
		"y0[n] = {$ext(k: $ext(x[n, k], u[0])) | sum(k: x[n, k] * (x[n, 0] > u[0] ? v[k] : v[0])) | $red(k: x[n, k] * x[n, 0])} ; y1[k] = sum(n: x[n, k] * {x[n, 0] | $f(v[0]) | u[0]})",
	}},
	// Norms of numbers far from 1, with a factor that the sum does not go over.
	{name: "norms", numbers: "far", plain: true, texts: []string{
		"y0[n] = norm(k: u[n] * {k | (1 + k) | v[k] | 0.5 * v[k]})",
		"y0[n, k] = norm(m: x[n, k] * {m | (1 + m) | z[m, k]}) {| * v[k]}",
		"y0[n] = {norm(k: {x[n, k] | x[n, k] * v[k] | x[n, k] / (2 + v[k]^2)}) {| * 0.5} | n > 0 ? norm(k: u[n] * 0.5 * v[k]) : 0.5}",
		"y0[k] = norm(n: {v[k] * x[n, k] | v[k] * u[n] | 0.5 * u[n] * w[n, k] | u[n] / (2 + v[k]^2) * v[k]}) {| * v[k]}",
		"t0[n] = {norm(k: x[n, k]) | norm(k: u[n] * (1 + k))} ; y0[n, k] = x[n, k] / t0[n]",
	}},
	// Forms of textbooks, whose parts overflow or have kinks where they do not.
	{name: "textbook", numbers: "far", plain: true, texts: []string{
		"y0[n, k] = {max(x[n, k], 0) + log(1 + exp(-abs(x[n, k]))) | log1p(exp(-abs(x[n, k]))) + max(0, x[n, k]) | max(-x[n, k], 0) + log(1 + exp(-abs(x[n, k]))) | -min(x[n, k], 0) + log(exp(-abs(-x[n, k])) + 1)} {| * v[k]}",
		"y0[n, k] = {log(1 + exp(x[n, k])) | log(1 + exp(-x[n, k])) | log1p(exp(x[n, k])) | log(sigmoid(x[n, k])) | log(1 - sigmoid(x[n, k])) | log(sigmoid(-x[n, k])) | log(exp(x[n, k] - v[k]))} {| * v[k] | - w[n, k]}",
		"g(p) = {log(1 + exp(p)) | log(sigmoid(p)) | log(1 - sigmoid(p)) | min(p, 0) - log(1 + exp(-abs(p)))} ; y0[n] = {sum | mean}(k: g(x[n, k]) {| * v[k]}) ; y1[n] = g(u[n])",
	}},
	// Unsigned numbers from 2^63 on.
	{name: "unsigned", numbers: "bits", texts: []string{
		"big0[n] = ceildiv(big[n], {2 | 3 | size}) ; y0[n] = ceildiv(big[n], {3 | size}) {* u[n] | $cmp {2 | big[0]} ? u[n] : 2}",
		"big0[n] = {max(big[n], {3 | big[N - 1 - n]}) | min(big[n], {3 | big[0]}) | quotient(big[n], {2 | 3 | size}) | big[n] % {5 | 2} | max(n' in $runn: big[n']) | big[n] + {1 | big[n]} | (u[n] > 0 ? big[n] : 3)}",
		"y0[n] = {big[n] $cmp {3 | big[N - 1 - n] | big[0]} ? u[n] : 2 | big[n] * u[n] | (big[n] $cmp max(n': big[n']) ? 1 : u[n])}",
		"at0[n] = {rank | argsort}(n': big[n'])[n] ; big0[] = $ext(n: big[n])",
		"at0[] = $arg(n: big[n]) ; y0[n] = (big[n] > 3 && u[n] > 0.37 ? u[n] : 0)",
		"y0[n, k] = {byte[n, k] $cmp {200 | byte[n, 0]} ? x[n, k] : 1 | byte[n, k] * x[n, k]} ; at0[n] = {max | sum | min}(k: byte[n, k])",
	}, some: true},
	// Integers at the bounds of their types are no extremes of nothing.
	{name: "bounds", numbers: "bounds", texts: []string{
		"at0[n] = {max | min | argmax | argmin | sum}(k {if mask[n, k] | if free[n, k] $cmp 0 | }: {free[n, k] | short[n, k]})",
		"at0[n, k] = {$ext(free[n, k], {short[n, k] | 0 | (free[n, k + 1] else 1)}) | free[n, k] {+ | - | *} {1 | short[n, k]} | quotient(free[n, k], {2 | 3})}",
		"at0[n, k] = {prod | sum | max | min}(k' in $run: free[n, k'])",
		"at0[n, k] = {ceildiv | quotient}({free[n, k] | short[n, k] | tiny[k] | free[n, k] - n | (free[n, k] else 0)}, {2 | 3 | size | max(size, 4)}) ; y0[n, k] = x[n, k]",
		"at0[n, k] = {ceildiv | quotient}({min | max}(k' if k' {< n | > k}: {k' | free[n, k']}), {2 | 3 | size})",
		"y0[n, k] = ({k >= n | k < n} ? {1 | size | (n == 0 ? 2 : -1)} : 0.5) {+ | - | *} {min | max}(k' in {0 .. k | k .. K - 1}: {k' | free[n, k']})",
		"y0[n, k] = {ceildiv | quotient}(free[n, k], {2 | size}) {$cmp {short[n, k] | 0} ? x[n, k] : v[k] | * x[n, k]}",
		"short0[n] = {max | min}(k {if mask[n, k] | if k > size | }: {short[n, k] | free[n, k] | tiny[k]})",
		"short0[n, k] = {quotient(short[n, k], {2 | 3}) | short[n, k] % 5 | short[n, k] {+ | - | *} {2 | free[n, k]}} ; y0[n, k] = short[n, k] {/ 2 | * x[n, k] | $cmp 0.37 ? 1 : x[n, k]}",
		"short0[n, k] = {$ext(short[n, k], 0) | (mask[n, k] ? short[n, k] : 1) | (short[n, K - 1 - k] else 0)} ; y0[n, k] = x[n, k]",
		"tiny0[k] = {tiny[k] | $ext(tiny[k], 0) | (v[k] > 0.37 ? tiny[k] : 1)} ; y0[k] = (tiny[k] $cmp {0 | -128 | 127} ? v[k] : 2)",
		"y0[n] = {max | min}(k: free[n, k] $cmp short[n, k] ? x[n, k] : 0) ; at0[n] = max(k: min(free[n, k], short[n, k]))",
		"short0[n, k] = {free[n, k] | short[n, k] * 3 | max(k' in $run: short[n, k']) + 1} ; y0[n, k] = (short0[n, k] $cmp {0 | short[n, k]} ? x[n, k] : v[k]) ; at0[n, k] = {short0[n, k] * 2 | quotient(short0[n, k], 3)}",
		"short0[n, k] = (k == 0 ? short[n, k] : short0[n, k - 1] * {2 | 3} + {short[n, k] | 1}) for n < N, k < K ; y0[n, k] = (short0[n, k] $cmp 0 ? x[n, k] : v[k]) ; at0[n, k] = short0[n, k]",
		"tiny0[k] = {sum(n: short[n, k]) | tiny[k] * 3 | tiny[k] + size} ; at0[k] = {tiny0[k] | sum(k' in $run: tiny0[k'])} ; y0[n, k] = x[n, k] * tiny0[k]",
	}},
	// Integers at the bounds of their types are compared with indices, bound ranges, and are subscripts: what
	// is added to them may wrap around.
	{name: "ends", numbers: "bounds", once: [][2]string{{"#e", "free[n, 0] | short[n, 0] | free[n, k] | big[n] | tiny[k] | free[n, 0] - short[n, k]"}, {"#g", "free[n, 0] | short[n, 0] | free[n, K - 1]"}}, texts: []string{
		"y0[n, k] = #e {| + k | - k | + 1 | + n - k | - 2 * k} $cmp {k | 0 | K - 1 | n - k | #g | #g + 1 | #g + k} ? x[n, k] : v[k]",
		"y0[n, k] = $red(k' if #g {| + k' | - k' | + 1 | + k | + k' - k | + 2 * k'} $cmp {k' | 0 | k | K | free[n, k] | free[n, k] + k' | k' - k}: x[n, k'] {| * v[k']})",
		"y0[n, k] = $red(k' {if k' {> | >=} #g {| + 1 | - k} && k' {< | <=} #g {| + 1 | - 1} | in {#g + 1 .. #g | #g + k .. #g | #g - 1 .. #g - k}}: x[n, k'] {| * v[k']})",
		"y0[n, k] = $red(k' in {#g .. #g + 2 | #g + k .. K | max(#g, n) .. #g + 2 | #g - 1 .. #g + 1 | #g + k .. #g + k + 3 | #g .. k + 1 | k .. #g + 1 | 0 .. #g | #g .. K | #g - k .. #g + 1 | max(0, #g) .. min(K, #g + 2)}: x[n, k'] {| * v[k']})",
		"y0[n, k] = (x[n, {#e | #e + k | #e - k | k - #e | #e + 1 | 2 * k + #e}] else {0 | v[k] | rate})",
		"y0[n, k] = $red(a in {#g {| + k | - 1} .. #g + {1 | 2 | k + 1} | max(0, #g) .. #g + {1 | 2} | #g - 1 .. min(K, #g + 1) | max(#g - 1, n) .. min(#g + {1 | 3}, k + 2)}: {(x[n, a] else {0 | v[k] | rate}) | (x[n, a - #g] else 0.5) * v[k]})",
		"y0[n, k] = {sum | max}(a < 3: (x[n, a] else 0)) + $red(a in #g {| - 1} .. #g + 2: {(x[n, a] else v[k]) | a - #g} * v[k])",
		"at0[n] = $arg(a in short[n, 0] {| - 1} .. short[n, 0] + {2 | 3}{| , a' < 2}: {(x[n, a] else 0) | (x[n, a] else 0.3) * a | (v[a - short[n, 0] + 1] else 0)}) ; y0[n] = u[n]",
		"y0[n, k] = (#e {- k | + k | - 1 | + 1} $cmp #e {| + k | - n | + 1} ? x[n, k] : v[k]) ; at0[n, k] = {max | min}(#e + {k | 1}, #e)",
		"y0[n, m] = sum(k if {#g <= k | k <= #g | #g + k $cmp m | k < #g + m | m == #g + k}: x[n, k] * z[m, k])",
		"at0[n] = {count(k if #g {| + k | - k} $cmp {k | 0 | K}) | $arg(k if k $cmp #g: x[n, k])} ; y0[n, k] = {max | min}({#e | #e + 1 | #e - k}, k) $cmp {0 | K} ? x[n, k] : v[k]",
		"y0[k] = sum(n if {free[n, 0] | short[n, 0] | free[n, 0] + 1 | short[n, 0] - n} {== k | - 1 == k | <= k | > k}: u[n])",
	}},
	// A window read beyond the row of a temporary of which a share keeps one row.
	{name: "kept_rows", texts: []string{
		"t0[n, k] = {$nk | $grows | x[n, k]} {/ (2 + u[n]^2) | * 2 | / 1} ; y0[n, k] = ({v[k] | u[n]} > 0.37 ? ({!(n < 1) | n > 0 | u[n] < 0.5} ? {sum | max}(k': t0[n, k']) : {min | max | sum}(a in 0 .. k {| + 1}: {a | rate * a | a + v[k]})) : $fold(k' in {k .. k + 2 | $wink | max(0, k - 1) .. min(K, k + 2)}: {t0[n, k'] | max(t0[n, k], t0[n, k'])}))",
		"t0[n, k] = {$grows | $nk} {/ (2 + u[n]^2) | * 2 | + v[k]} ; y0[n, k] = {sum | max}(k': t0[n, k']) {+ | *} (n > 0 ? {sum | max}(a in 0 .. k + 1: {a | v[a]}) : $red(k' in {$wink | $shift}: {t0[n, k'] | t0[n, k'] * v[k']}))",
	}},
	// A read that may be outside of one dimension, in loops whose other indices were made one across it.
	{name: "across", some: true, once: [][2]string{{"#a", "n / 2 | n - 1 | n / 3 | 2 * n | n % 2 | j[n] + n | k - 1 | n - k"}, {"#e", "0 | 0.5 | u[n] | 2"}, {"#m", "m % 2 / | m % 2 * | (m % 3 + 1) * | m / 2 * | "}}, texts: []string{
		"y0[n, m] = #m {(1.5 + (cube[n, #a, m] else #e)^2) | (cube[n, {n / 2 | n % 2 | n - 1}, m] else 2)}",
		"y0[n, k, m] = #m {(cube[n, #a, m] else #e) | (1.5 + (cube[#a, k, m] else #e)^2)}",
		"y0[n, k, m] = #m (1.5 + (cube[{n / 2 | n - 1 | n}, {k / 2 | k + 1 | k}, m] else #e)^2) ; y1[n, k] = (x[#a, k] else #e) * {(k % 2) | v[k]}",
		"y0[n, m] = {sum | max | mean}(k: (cube[n, {#a | k / 2 | k + 1}, m] else #e) * {m % 2 | v[k] | k / 2}) {* (m % 2) | }",
		"y0[m, n] = {sum | max}(k: {z[m, k] * | } (cube[n / 2, k, {m | m % 2}] else #e))",
	}},
	// What convert makes of an integer has the last bits of the type.
	{name: "narrowed", numbers: "bits", once: [][2]string{{"#t", "'i8' | 'u8' | 'i16' | 'u16' | 'i32' | 'u32' | 'i64'"}, {"#i", "free[n, k] | short[n, k] | byte[n, k] | tiny[k] | big[n] | 100 * k + size | free[n, k] * free[n, k] | (n - k) * 50 | 3 * free[n, k] - size"}}, texts: []string{
		"at0[n, k] = {convert(#i, #t) | convert(#i, #t) + 1 | convert(convert(#i, #t), 'u8') | $ext(convert(#i, #t), 3) | quotient(convert(#i, #t), 3)}",
		"short0[n, k] = {convert(#i, #t) | convert(convert(#i, 'i8'), #t)} ; y0[n, k] = convert(#i, #t) $cmp {3 | size} ? x[n, k] : v[k]",
		"tiny0[k] = convert({jk[k] * 7 | tiny[k] * 3 | 100 * k}, {'i8' | 'u8' | 'i16'}) ; y0[n, k] = x[n, k] * {convert(#i, #t) | (1 + convert(#i, 'i8') % 3)}",
		"at0[n] = {sum | max | min | argmax}(k: convert(#i, #t)) ; y0[n, k] = (v[convert(#i, #t)] else 0.5)",
		"at0[n, k] = {rank | argsort}(k': {convert(free[n, k'], #t) | convert(byte[n, k'] * 3, 'i8')})[k]",
		"t0[n, k] = convert(#i, #t) ; at0[n, k] = t0[n, k] ; y0[n, k] = {t0[n, k] / 3 | t0[n, k] * x[n, k]}",
		"short0[n, k] = #i ; tiny0[n, k] = 50 * #i ; y0[n, k] = {#i | 50 * #i} $cmp {3 | size} ? x[n, k] : v[k]",
		"y0[k] = sum(n if convert({j[n] | free[n, 0] | byte[n, 0] + 250}, 'u8') {% K == k | == k}: u[n])",
	}, some: true},
	// Integers beside an attribute wrap around, and so do the places and the ranges that they give.
	{name: "wraps", wraps: true, texts: []string{
		"y0[n, k] = (x[{n | n | n - size}, {k + size | k - size | size - k | k * size | k + 2 * size | k + size + size + 2 | size * size - k | k + 1}] else {0 | v[k] | rate})",
		"y0[n, k] = $red(k' in {max(0, k - size) .. k + 1 | k .. min(K, k + size) | k - size .. k + 1 | k .. k + size | k - size .. k + size | size * 2 + k .. K | 0 .. k * size | -size .. k}: x[n, k'] {| * v[k']})",
		"y0[n, k] = {k + size | k - size | size - k | k * size | n + size * 2 | -size} $cmp {size | size + n | K + size | 2 * size | k | size * k | 0} ? x[n, k] : v[k]",
		"y0[n] = $red(k {if k + size $cmp {size | size + n | 2 * size} | if k * size $cmp {size | 0} | if k - size $cmp {0 | -size}}: x[n, k])",
		"y0[n, k] = x[n, {quotient(k + size, size) | (k + size) % size | ceildiv(k, size) | quotient(size - k, size) | (k * size) % max(K, 1) | min(k, size) | max(k - size, 0)}] {| else v[k]}",
		"at0[n, k] = {quotient({k + size | k * size | size + size}, {3 | size}) | ceildiv({k + size | k * size}, {2 | size}) | {k + size | size * size | k - size} % {5 | size} | (k + size) * size | size^{2 | 3} | abs(size * {2 | 4} - k) | $ext(k * size, n - size)} ; y0[n] = u[n]",
		"at0[n] = $arg(k: {k * size | k - size | size - k | (k + size) * 2}) ; at1[n] = $ext(k: {k * size | k - size | free[n, k] + size}) ; y0[n] = u[n]",
		"at0[n, k] = {rank | argsort}(k': {k' * size | (k' + size) % 3 | k' - size})[k] ; y0[n, k] = x[n, k]",
		"short0[n, k] = {k * size - n | size - short[n, k]} ; y0[n, k] = x[n, k] * {size | (k + size) | (size - k) | (size + size)}",
		"y0[n, k] = $red(k' in {free[n, k] .. free[n, k] + size | short[n, 0] - size .. short[n, 0] + 1 | free[n, 0] - n .. min(K, free[n, 0] + k + size)}: x[n, k'] {| * v[k']})",
		"y0[n, k] = sum(a < {2 | 3}: (x[n, {k + a * size | k - a * size | size * a - k | k + a + size}] else {0 | v[k]}))",
		"at0[n] = count(k if {k + size $cmp size | k * size $cmp n | k - size $cmp 0}) ; y0[n] = u[n]",
	}},
	// A tensor that is read at the difference of a window's index and the outer one.
	{name: "convolutions", texts: []string{
		"y0[n] = {sum | max | min | mean | logsumexp}(n' in {n - 1 .. n + 2 | n .. n + 3}: u[n'] {* | + | -} (e[n' - n + 1] else 0.5))",
		"y0[k] = {sum | max | logsumexp}(k' in k - 1 .. k + 2: v[k'] {* | +} e[k' - k + 1])",
		"y0[n, k] = {sum | max}(k' in k - 2 .. k + 1: x[n, k'] * e[k - k'])",
		"y0[k] = {sum | max}(a < 3: (v[{k + a - 1 | 2 * k + a | k - a | k + 2 * a - 2}] else 0) {* | +} e[a])",
		"y0[n, k] = {sum | max | logsumexp}(n' in n - 1 .. n + 2, k' in k .. k + 3: x[n', k'] * e[n' - n + 1] {* | +} e[k' - k])",
		"y0[k] = sum(k' in 2 * k - 1 .. 2 * k + 2: v[k'] * e[k' - 2 * k + 1])",
		"y0[n, m] = sum(k, a < 3: (x[n + a - 1, k] else 0) * z[m, k] * e[a])",
	}},
	// Strides of a read in sums over ranges, whose gradient is a sum for each remainder. It had other bits in
	// tiles.
	{name: "strides", texts: []string{
		"y0[n, k] = $red(k' in $run: (v[{3 * k' + 1 | 2 * k' | 2 * k' - 1 | 1 - 2 * k'}] else {rate | 0.5}))",
		"y0[n, k] = $red(k' in $run: (x[n, {2 * k' + 1 | 3 * k'}] else {0 | 0.5}) {| * v[k'] | + w[n, k']})",
		"y0[n] = $red(n' in $runn: (u[{2 * n' + 1 | 3 * n' - 1 | 2 * n'}] else {rate | 1})) {| * u[n]}",
		"y0[n, m] = {sum | mean}(n' in $runn: (u[2 * n' + 1] else 0.5) * z[m, 0])",
		"y0[n, k] = {sum | mean}(n' in $runn, a < 3: (x[{2 * n' + a | 3 * n' - a}, k] else 0) {* e[a] | })",
	}},
	// A guard that was evaluated outside of its statement's indices.
	{name: "guards", some: true, texts: []string{
		"y0[k] = (v[k] $cmp {0 | 0.37} ? (v[{k - 2 | k + 1 | 2 * k | -k}] else {0 | 0.5}) : {1 | v[k]})",
		"y0[n] = $red(m: abs(x[{-m | m - 1 | n - m}, {0 | n}] else 0.5))",
		"y0[n, k] = (w[{n - 1 | -n | n + 1}, j[n]] else 0.5) {| * x[n, k]}",
		"y0[n, k] = (v[j[n]] < 0.37 ? 1 : (x[n, {k - 2 * n | k + n | k - 1}] else 0))",
		"y0[n] = (u[n] $cmp 0 ? {1 | u[n]} : (x[0, n] else 2))",
		"y0[n] = max(c in 0 .. {1 | size}: (x[c, n] else 0) * 0.5)",
		"y0[n] = $red(k if {(v[k + n] else 0) > 0 | (u[k] else 1) > 0.37 | on[n]}: (x[n, k - 1] else u[n]))",
	}},
	// The softmax of any finite logits, of which rounding takes the logarithm away.
	{name: "softmax", numbers: "great", some: true, once: [][2]string{
		{"#lse", "logsumexp(k': x[n, k'])"}, {"#max", "t7[n] = max(k: x[n, k]) ; t8[n, k] = exp(x[n, k] - t7[n]) ; t9[n] = sum(k: t8[n, k])"},
	}, texts: []string{
		"y0[n, k] = exp(x[n, k] - #lse) => #max ; y0[n, k] = t8[n, k] / t9[n]",
		"t0[n] = logsumexp(k: x[n, k]) ; y0[n, k] = exp(x[n, k] - t0[n]) => #max ; y0[n, k] = t8[n, k] / t9[n]",
		"y0[n, k] = x[n, k] - #lse => #max ; y0[n, k] = x[n, k] - t7[n] - log(t9[n])",
		"y0[n] = logsumexp(k: x[n, k]) - x[n, j[n]] => #max ; y0[n] = log(t9[n]) - (x[n, j[n]] - t7[n])",
		"y0[n, m] = sum(k: exp(x[n, k] - #lse) * z[m, k]) => #max ; y0[n, m] = sum(k: t8[n, k] / t9[n] * z[m, k])",
		"t0[n] = logsumexp(k: x[n, k]) ; t1[n, k] = exp(x[n, k] - t0[n]) ; y0[n, m] = sum(k: t1[n, k] * z[m, k]) => #max ; y0[n, m] = sum(k: t8[n, k] / t9[n] * z[m, k])",
	}},
	// Logarithms beside 1 and exponentials beside 0.
	{name: "logarithms", numbers: "small", once: [][2]string{{"#e", "exp(-abs(20 * x[n, k])) | x[n, k]^2 | x[n, k] * u[n] | exp(-abs(40 * x[n, k])) * u[n]"}}, texts: []string{
		"y0[n, k] = {log(1 + #e) | log(#e + 1)} => y0[n, k] = log1p(#e)",
		"y0[n, k] = exp(#e) - 1 => y0[n, k] = expm1(#e)",
		"y0[n] = sum(k: max(w[n, k], 0) + log(1 + #e)) => y0[n] = sum(k: max(w[n, k], 0) + log1p(#e))",
	}},
	// Gradients of quotients of great and of small numbers.
	{name: "quotients", numbers: "far", some: true, plain: true, texts: []string{
		"y0[n, k] = x[n, k] / {x[n, K - 1 - k] | u[n] | (u[n] * 2) | x[n, 0]}",
		"y0[n] = {sum | max | mean}(k: x[n, k] / u[n])",
		"t0[n] = max(k: abs(x[n, k])) ; y0[n, k] = x[n, k] / t0[n]",
		"y0[n, k] = w[n, k] * x[n, k] / u[n]",
	}},
	// Divisors whose inverse is infinite.
	{name: "denormals", numbers: "tiny", run: divided, some: true, plain: true, texts: []string{
		"y0[n, k] = {x[n, k] / u[n] | u[n] / x[n, k] | (x[n, k] * 2) / u[n] | w[n, k] * (x[n, k] / u[n])}",
		"y0[n] = {sum | max}(k: x[n, k] / u[n])",
		"y0[n, k] = w[n, k] + x[n, k] / u[n]",
	}},
	// Equal rows, whose deviations from their mean are 0.
	{name: "equal_rows", numbers: "equal", some: true, texts: []string{
		"y0[n] = {variance(k: x[n, k]) | variance(k: x[n, k] / 3) | variance(k: x[n, k] * u[n])}",
		"t0[n] = mean(k: x[n, k]) ; t1[n] = variance(k: x[n, k]) ; y0[n, k] = (x[n, k] - t0[n]) * rsqrt(t1[n] + 0.00001) => t8[n, k] = mean(k': x[n, k] - x[n, k']) ; y0[n, k] = t8[n, k] * rsqrt(mean(k': t8[n, k']^2) + 0.00001)",
		"y0[m, n] = variance(k: x[n, k]) {* z[m, 0] | + u[n]}",
	}},
	// NaN and infinity.
	{name: "special", numbers: "special", texts: []string{
		"y0[n, k] = {$ext(x[n, k], {w[n, k] | 0 | u[n]}) | min(max(x[n, k], -1), {1 | u[n]}) | (x[n, k] $cmp {0 | u[n]} ? {x[n, k] | 1} : w[n, k]) | x[n, k] * {w[n, k] | u[n] | 0}}",
		"y0[n] = $fold(k {if mask[n, k] | }: {x[n, k] | x[n, k] * w[n, k] | w[n, k] / (2 + x[n, k]^2)}) ; at0[n] = $arg(k: x[n, k])",
		"y0[n, k] = {tanh | exp | sigmoid | sqrt | abs | Phi | log}(x[n, k]) {| * w[n, k]}",
		"y0[n, k] = $ext(k' in $run: x[n, k']) ; at0[n, k] = {argsort | rank}(k': x[n, k'])[k]",
		"y0[n, k] = {round | floor | ceil}(x[n, k]) ; is0[n, k] = x[n, k] $cmp u[n]",
		"y0[n, k] = {x[n, k] | w[n, k]} {+ | - | /} {u[n] | x[n, K - 1 - k]}",
		"y0[m, n, k] = sum(a < 2 if {mask[n, k] | w[n, k] < 1}: {(w[n, k] * v[k] + a) | (a == 0 ? x[n, k] : w[n, k])} * (cube[m, free[n, k] {+ a | - a}, {free[n, k] | k}] else 0))",
	}},
	// Labels that may lie outside of their bound.
	{name: "exceptions", texts: []string{
		"y0[n] = {(label[n] == -1 ? {0 | 2} : x[n, label[n]]) | (label[n] != -1 ? x[n, label[n]] : 0) | (label[n] >= 0 ? v[label[n]] : u[n])}",
		"y0[k] = $fold(n if label[n] == k: {u[n] | x[n, k] | u[n] * v[k]})",
		"y0[k] = count(n if label[n] == k {&& u[n] > 0.37 | }) * v[k]",
		"y0[k] = (mark[k] != -100 ? u[mark[k]] : {0 | v[k]}) ; y1[n] = $fold(k if mark[k] == n: v[k])",
		"y0[n] = (label[n] == -1 ? 0 : logsumexp(k: x[n, k]) - x[n, label[n]])",
		"y0[n, k] = (label[n] == -1 ? {0 | 1} : x[n, label[n]] * w[n, k])",
	}, some: true},
	// A gradient alone has the bits of one among others.
	{name: "alone", run: alone, texts: []string{
		"y0[n, m] = {rate * tanh(sum(k: x[n, k] * z[m, k]) / 4) | tanh(sum(k: x[n, k] * z[m, k])) | sum(k: x[n, k] * z[m, k]) * u[n]}",
		"y0[n, m] = sum(k {if k <= n | }: exp(x[n, k] - logsumexp(k' {if k' <= n | }: x[n, k'])) * z[m, k])",
		"t0[n, n'] = sum(k: x[n, k] * w[n', k]) ; t1[n] = logsumexp(n' if n' <= n: t0[n, n']) ; t2[n, n'] = (n' <= n ? exp(t0[n, n'] - t1[n]) : 0) ; y0[n, k] = sum(n': t2[n, n'] * {x[n', k] | w[n', k] | v[k]})",
		"t0[n, k] = sum(k' in 0 .. k + 1: exp(x[n, k']) * w[n, k']) ; t1[n, k] = sum(k' in 0 .. k + 1: exp(x[n, k'])) ; y0[n, k] = t0[n, k] / t1[n, k]",
		"y0[n, k] = $f(x[n, k] * u[n] + v[k]) ; y1[n] = {sum | max | mean}(k: x[n, k] * w[n, k])",
		"t0[n] = {norm | max | mean | variance}(k: x[n, k]) ; y0[n, k] = x[n, k] {* | -} t0[n] ; y1[n, k] = w[n, k] * t0[n]",
	}},
	// Gradients by hand.
	{name: "by_hand", texts: []string{
		"y0[n, k] = {x[n, k] * w[n, k] | w[n, k] * x[n, k] + v[k]} ; grad.x[n, k] = grad.y0[n, k] * w[n, k]",
		"y0[n, k] = {max(x[n, k], 0) | round(4 * x[n, k]) / 4 | (x[n, k] > 0 ? 1 : 0)} ; grad.x[n, k] = {grad.y0[n, k] | (abs(x[n, k]) < 1 ? grad.y0[n, k] : 0) | grad.y0[n, k] * w[n, k]} as surrogate",
		"y0[n] = {sum | mean}(k: x[n, k]) * u[n] ; grad.u[n] = {grad.y0[n] * 2 | sum(k: x[n, k] * grad.y0[n])} as surrogate",
		"y0[n, k] = x[n, k] - v[k] ; grad.v[k] = {-sum(n: grad.y0[n, k]) | sum(n if n > 0: grad.y0[n, k])} as surrogate",
	}},
	// Histograms, whose class is also an expression.
	{name: "histograms", some: true, once: [][2]string{{"#c", "j[n] | (j[n] + 1) % K | free[n, 0] | convert(floor(2 * u[n] + 1), 'i64') | (u[n] > 0.37 ? j[n] : 0)"}}, texts: []string{
		"y0[k] = $fold(n if {#c == k | k == #c | #c == k && u[n] > -0.37}: {u[n] | u[n] * v[k] | x[n, k] | 2})",
		"y0[k] = count(n if #c == k) * {v[k] | limit[]} ; y1[k] = {sum | max}(n if #c == k: u[n])",
		"y0[m, k] = $fold(n if #c == k: u[n] * z[m, k])",
		"y0[m, k] = $fold(n if #c == m: {u[n] * | v[k] * | (u[n] > 0.37 ? v[k] : 2) * | } {(x[#c, k] else {0 | 0.5}) | x[#c % N, k] | (x[#c, k] else u[n])})",
	}},
	// Reads at computed places, between elements, also at places that other indices share.
	{name: "samples", some: true, once: [][2]string{
		{"#p", "t0[n, k] = {2 | 3} * w[n, k] ; t1[n, k] = convert(floor(t0[n, k]), 'i64') ; t2[n, k] = convert({floor | round}(2 * x[n, k] + v[k]), 'i64')"},
		{"#c", "cube[m, t2[n, k] + b, t1[n, k] + a] | cube[t2[n, k] + b, m, t1[n, k] + a] | cube[t1[n, k], t2[n, k] + b, a]"},
	}, texts: []string{
		"#p ; y0[m, n, k] = sum(a < 2, b < 2 {if w[n, k] > -0.5 && b <= m | if x[n, k] < 1 | }: (a == 0 ? 1 - (t0[n, k] - t1[n, k]) : t0[n, k] - t1[n, k]) * {(b == 0 ? 0.5 : x[n, k] * v[k]) * | } (#c else {0 | 0.5}) {| * z[m, k]})",
		"#p ; y0[n, k] = {sum | sum | max | mean}(m, a < 2, b < 2 {if t0[n, k] > -0.5 | }: z[m, k] * {(w[n, k] * v[k] - 0.25) * | } (#c else 0))",
		"#p ; y0[m, n, k] = (x[max(min(t1[n, k], N - 1), 0), max(min(t2[n, k], K - 1), 0)] * z[m, k] {| + (x[t2[n, k], t1[n, k]] else 0)}) * (1 - w[n, k] * v[k])",
		"t0[n, k] = floor(2 * w[n, k]) ; t1[n, k] = convert(t0[n, k], 'i64') ; y0[n, k] = sum(a < 2: (v[t1[n, k] + a] else 0) * (a == 0 ? 1 - (2 * w[n, k] - t0[n, k]) : 2 * w[n, k] - t0[n, k]))",
		"t0[n] = convert(floor(3 * u[n]), 'i64') ; y0[n, k] = (x[{t0[n] | t0[n] + 1}, k] else {0 | v[k]})",
		"t0[n, k] = convert({round | floor | ceil}({2 | 3} * w[n, k]), 'i64') ; y0[n, k] = {(x[n, t0[n, k]] else 0) | v[t0[n, k] % K] | (x[t0[n, k], k] else 0.5) * u[n]}",
	}},
	// Reads and sums at rounded places that indices alone decide, as those of resampled images.
	{name: "resampled", some: true, once: [][2]string{
		{"#e", "convert({floor | ceil | round}(n * {0.375 | 1.25 | 0.75 | -0.5 | rate} {+ 0.3 | - 1.1 | + 2.6 | + size | }), 'i64')"},
	}, texts: []string{
		"at(n) = #e ; y0[n, k] = {(x[n, at(k)] else {0 | 0.5 | v[k]}) | x[n, max(min(at(k), K - 1), 0)] | (x[at(n), at(k)] else 0)} {| * v[k] | + x[n, k]}",
		"at(n) = #e ; y0[m, n, k] = {(cube[n, at(k), m] else 0) | (cube[at(k), k, m] else 0.5) | (cube[n, k, at(m)] else 0)} {| * x[n, k]}",
		"at(n) = #e ; y0[m, n] = sum(k {if k < 3 | }: z[m, k] * (x[n, at(k)] else {0 | 0.5})) ; y1[n] = {max | mean}(k: (x[n, at(k)] else {0 | -1}))",
		"at(n) = #e ; y0[n, k] = sum(a < {2 | 3}: (0.3 * a + 0.1) * (x[n, max(min(at(k) + a, K - 1), 0)] else 0)) {| + (x[n, at(at(k))] else 0)}",
		"at(n) = #e ; y0[n, k] = sum(k' if max(min(at(k'), K - 1), 0) == k: x[n, k'])",
		"at(n) = #e ; t0[k] = at(k) ; y0[n, k] = (x[n, t0[k]] else {0 | v[k]}) ; y1[m, k] = (z[m, t0[k]] else 0)",
	}},
	// Results that take the memory of inputs, with attributes and extents that no example has.
	{name: "in_place", run: grouped, texts: []string{
		"y0[n, k] = {floor(3 * rate) * x[n, k] | (rate < 0.37 ? x[n, K - 1 - k] : x[n, k]) | x[n, (3 * k) % K] | (flag ? x[N - 1 - n, k] : x[n, k])}",
		"y0[n, k] = {max | sum}(k' in {k + 1 .. K | k .. k + 2 | 0 .. k + 1} if {rate < 0.37 | flag}: x[n, k']) {| + x[n, k]}",
		"t0[n] = {sum | max | norm}(k: x[n, k]) ; y0[n, k] = {x[n, k] * t0[n] | (flag ? t0[n] * x[N - 1 - n, k] : x[n, k]) | x[n, k] / (2 + t0[n]^2)}",
		"y0[n, k] = {x[n, k] - x[n, 0] | x[n, k] * x[0, k] | x[n, k] + max(n': x[n', k])}",
	}, some: true},
	// The logarithm of a probability of 0, whose label is 0, or which is no label's.
	{name: "probabilities", numbers: "shares", some: true, plain: true, texts: []string{
		"y0[n] = -sum(k: {w[n, k] | max(round(2 * w[n, k]), 0)} == 0 ? 0 : w[n, k] * log(x[n, k]))",
		"t0[n, k] = log(x[n, k]) ; y0[n] = -sum(k: max(round(w[n, k]), 0) == 0 ? 0 : w[n, k] * t0[n, k]) ; is0[n, k] = t0[n, k] < {-1 | -100}",
		"y0[n] = {-log(x[n, j[n]]) | (label[n] == -1 ? 0 : -log(x[n, label[n]])) | (x[n, j[n]] > 0 ? -log(x[n, j[n]]) * v[j[n]] : 0)}",
		"y0[n] = -{sum | mean}(k: x[n, k] > 0 ? x[n, k] * log(x[n, k]) : 0)",
		"t0[n, k] = max(w[n, k], 0) ; y0[n] = sum(k: t0[n, k] > 0 ? t0[n, k] * (log(t0[n, k]) - log(x[n, k])) : 0)",
		"t0[n, k] = max(round(w[n, k]), 0) ; y0[n] = -mean(k: (t0[n, k] == 0 ? 0 : log(x[n, k])) + (t0[n, k] == 1 ? 0 : log(1 - x[n, k])))",
	}},
	// Functions of the table without vector code of their own: those of all numbers, of angles, of what is
	// less than 1, of what is more, and of two numbers.
	{name: "functions", once: [][2]string{
		{"#all", "erf | erfc | atan | asinh | softplus | sign | sinh | cosh"}, {"#less", "asin | acos | atanh | tan | erfinv"}, {"#more", "lgamma | digamma"},
	}, texts: []string{
		"y0[n, k] = #all({$nk | 3 * $nk | $nk - w[n, k]}) {| * v[k] | + #all(w[n, k])}",
		"y0[n, k] = #less({0.75 | 0.5} * {sin | tanh}($nk)) {| * v[k]}",
		"y0[n, k] = #more({1.25 | 2} + $nk^2) {| * u[n]}",
		"y0[n, k] = fmod({4 * $nk | 64 * $nk | v[k]}, {0.75 | u[n] | w[n, k] | 2 + v[k]}) {| * w[n, k]}",
		"y0[n, k] = atan2({$nk | v[k]}, {$nk | u[n] | 0.5 | w[n, k]}) {| * w[n, k]}",
		"t0[n, k] = #all($nk) ; y0[n] = $red(k: t0[n, k] {| * w[n, k]})",
		"y0[n, k] = sum(k' in $run: #all(x[n, k']) * #less(0.5 * sin(w[n, k'])))",
		"y0[n, k] = ($nk > 0.37 ? #all($nk) : #less(0.5 * tanh($nk)))",
	}},
	// Values that read what they give, at an earlier place of one index: both directions, several statements,
	// conditions in place of else, sums and maxima over other indices, gates, and what comes before and
	// behind.
	{name: "recurrences", once: [][2]string{
		{"#s", "n - 1 | n - 1 | n - 2 | n + 1 | n + 2"}, {"#k", "k - 1 | k - 2 | k + 1 | k + 1"},
		{"#0", "0 | 0 | 0.5 | v[k] | limit[] | tanh(v[k])"}, {"#a", "sigmoid(x[n, k]) | tanh(x[n, k]) | sin(w[n, k]) | 0.5 | 0.5 * sin(v[k]) | tanh(u[n])"},
		{"#b", "w[n, k] | x[n, k] | v[k] * w[n, k] | u[n] | 0.25"},
	}, texts: []string{
		"y0[n, k] = #a * (y0[#s, k] else #0) + #b",
		"y0[n, k] = {tanh | sin | sigmoid}(#a * (y0[#s, k] else #0) {+ | -} #b)",
		"t0[n, k] = #a * (t0[#s, k] else #0) + #b ; y0[n, k] = t0[n, k] * {w[n, k] | x[n, k]}",
		"t0[n, k] = #a * (t0[#s, k] else #0) + #b ; y0[{n | k}] = {sum | max | mean | norm}({k' | n' | n', k'}: {t0[n', k'] | 2 * t0[n', k']})",
		"y0[n, k] = #a * (y0[n, #k] else {0 | u[n] | limit[]}) + #b",
		"y0[n, k] = {n > 0 ? y0[n - 1, k] * #a : #b | n > 1 ? sin(y0[n - 2, k]) + #b : #0 | n + 1 < N ? #a * y0[n + 1, k] + #b : #0}",
		"y0[n, k] = {max | min}((y0[#s, k] else #0) {* 0.5 | + #b | - 0.5}, {#b | #a})",
		"t0[n, k] = #a * (y0[#s, k] else #0) {+ #b | } ; y0[n, k] = {tanh | sin}(t0[n, k]) {+ #b | * w[n, k]}",
		"t0[n, k] = sigmoid(x[n, k] + (y0[#s, k] else #0)) ; t1[n, k] = tanh(w[n, k] + t0[n, k] * (y0[#s, k] else #0)) ; y0[n, k] = (1 - t0[n, k]) * t1[n, k] + t0[n, k] * (y0[#s, k] else #0)",
		"t0[n, k] = sigmoid(x[n, k] + (y0[n - 1, k] else 0)) ; t1[n, k] = t0[n, k] * (t1[n - 1, k] else #0) + #b ; y0[n, k] = t0[n, k] * tanh(t1[n, k])",
		"y0[n, k] = tanh(x[n, k] {+ | *} {sum | max | mean | min}(m: z[m, k] * (y0[#s, k] else {0.5 | u[n]})))",
		"t0[n, k] = tanh(x[n, k] + {sum | mean}(k' {| if mask[n, k']}: v[k'] * (t0[#s, k'] else #0) / (1 + K))) ; y0[n, k] = t0[n, k] {| * w[n, k]}",
		"t0[n, k] = {max | min}(k': (t0[#s, k'] else {0 | 0.5 * k'}) {+ | -} v[k'] * {u[n] | 0.25}) + #b ; y0[n, k] = t0[n, k]",
		"t0[n, k] = logsumexp(k': (t0[#s, k'] else 0) + v[k'] * 0.5) - {1 | #a} ; y0[n, k] = t0[n, k]",
		"t0[n, k] = #a * (t0[#s, k] else 0) + 0.5 * (t0[#s, #k] else #0) + #b ; y0[n, k] = t0[n, k]",
		"at0[n] = {(at0[#s] else 3) + (u[n] > 0.37 ? 1 : 2) | (at0[n - 1] else 0) + j[n] | on[n] ? 0 : 1 + (at0[#s] else 0)}",
		"t0[n] = on[n] ? 0 : 1 + (t0[#s] else 0) ; y0[n] = u[n] * t0[n]",
		"is0[n, k] = (is0[#s, k] else {false | true}) {|| | && | !=} (x[n, k] > 0.37)",
		"t0[n, k] = tanh(x[n, k] - sum(n' in {0 .. n | max(0, n - 3) .. n}: w[n, k] * t0[n', k]) / (1 + n)) ; y0[n, k] = t0[n, k]",
		"t0[n, k] = tanh(x[n, k] - sum(n' in {n + 1 .. N | n + 1 .. min(n + 3, N)}: w[n', k] * t0[n', k]) / (1 + N)) ; y0[n, k] = t0[n, k]",
		"t0[n, k] = #a * (t0[n - 1, k] else #0) + #b ; t1[n, k] = #a * (t1[n + 1, k] else 0) + t0[n, k] ; y0[n, k] = t1[n, k] {| - t0[n, k]}",
		"t0[n] = tanh(u[n] * (t0[#s] else 0.5) + {mean | max}(k: x[n, k])) ; y0[n, k] = t0[n] * x[n, k]",
		"t0[n, k, m] = 0.5 * tanh(cube[n, k, m]) * (t0[#s, k, m] else 0) + x[n, k] * z[m, k] ; y0[n, k] = sum(m: t0[n, k, m] * z[m, k])",
		"t0[n, k] = {sin | tanh}((t1[#s, k] else #0)) + #b ; t1[n, k] = #a * t0[n, k] ; y0[n, k] = t0[n, k]",
		"t0[n, k] = n > 0 ? (is1[n - 1, k] ? {0.5 * t2[n - 1, k] | max(t2[n - 1, k], 0.5)} : #b) : #0 ; t2[n, k] = t0[n, k] {+ 1 | * #a} ; is1[n, k] = t2[n, k] > 0.37 ; y0[n, k] = t0[n, k]",
	}},
	// Sums of products whose factors begin with another value, and conditions that narrow a sum.
	{name: "edges", once: [][2]string{{"#e", "0 | 0.5 | u[n] | limit[]"}, {"#c", "k > 0 | k < K - 1 | k != size | k >= 2 && k != 0 | k == K - 1 || k > size"}}, texts: []string{
		"y0[k, m] = sum(n: x[n, k] * (cube[{n - 1 | n - 1 | n + 1 | n - 2 | N - n}, 0, m] else {z[m, 0] | 0 | 0.5}))",
		"y0[n, m] = {sum | mean}(k: (x[n, {k - 1 | k + 2 | K - k}] else #e) * z[m, {k | k | K - 1 - k}])",
		"y0[n, m] = sum(k: x[n, k] * (z[m, {k - 1 | k + 1}] else #e)) {| + limit[] | * u[n]}",
		"y0[k, m] = sum(n {| if n > 0}: (x[n - 1, k] else v[k]) * cube[n, 0, m])",
		"y0[n, m] = sum(k if #c {| && x[n, k] > -0.37}: x[n, k] * z[m, k])",
		"y0[n] = $red(k if #c {| && x[n, k] > -0.37}: {x[n, k] | w[n, k] * v[k]})",
		"t0[n, k] = tanh(x[n, k] + 0.5 * (t0[n - 1, k] else v[k])) ; y0[m, k] = sum(n: cube[n, 0, m] * (t0[n - 1, k] else v[k]))",
	}},
	// Values of recurrences. Other statements add to their gradients at places that values decide.
	{name: "read_behind", texts: []string{
		"t0[n, k] = {tanh(x[n, k]) | 0.5 | sin(v[k])} * (t0[{n - 1 | n + 1 | n - 2}, k] else {0 | v[k] | 0.5}) + {w[n, k] | x[n, k] | u[n]} ; y0[n, k] = (flag ? (t0[{(n - 1) / 2 | n / size | (n + size) / 3 | n / 2 * 2 | n % size | j[n] | n}, {k | k / 2 | 2 * k + 1 | jk[k] | 0 | (k - 1) / 2}] else {0 | 0.5}) : w[n, k])",
		"t0[n, k] = {tanh | sin}((t1[{n - 1 | n + 1 | n - 2}, k] else {0 | v[k] | 0.5})) + {w[n, k] | x[n, k] | u[n]} ; t1[n, k] = {tanh(x[n, k]) | 0.5 | sin(v[k])} * t0[n, k] ; y0[k, n] = (flag ? sum(a < size: ({t0 | t1}[{(n + a) / 2 | n / size + a | abs(n - a)}, jk[k]] else 0)) : 2) ; y1[n, k] = {t0[n, k] | (t1[n % 2, k] else 0)}",
	}},
	// Histograms whose rows are contiguous, by places that a remainder keeps inside.
	{name: "histograms_of_rows", texts: []string{
		"y0[n, k] = {$fold | logsumexp | $ext}(n' if (j[n'] + {1 | n' | size}) % N == n: {x[n', k] | x[n', k] * v[k] | v[k] - u[n'] | w[n', K - 1 - k]})",
		"y0[k, m] = {$fold | logsumexp | $ext}(n if (j[n] + 1) % K == k: {u[n] - z[m, 0] | cube[n, 0, m]})",
	}},
	// Edges that lead from nodes to nodes: several of them lead to a node, to none, or out of all nodes.
	{name: "paths", once: [][2]string{{"#to", "j[n] | label[n] | free[n, 0] | jk[j[n]]"}, {"#from", "(z[m, free[n, K - 1]] else 0) | z[m, j[n]] | (z[m, label[n] {| + 1}] else 0.5)"}}, texts: []string{
		"y0[m, k] = {sum | mean | max | min | logsumexp | prod}(n {if #to == k | if k == #to && u[n] > -0.37 | if on[n] && #to == k}: {u[n] * #from | #from - u[n] | #from | cube[n, k, m] * #from})",
		"y0[k] = {mean | logsumexp}(n if #to == k: {u[n] | n | v[k] * u[n] | x[n, k] | 2})",
		"y0[{k | m, k}] = {sum | mean | logsumexp}(n if {#to | j[n]} <= k && k < {j[n] + 2 | free[n, 0] | j[N - 1 - n]}: {u[n] | x[n, k] | 2}) {* v[k] | + v[k]}",
		"t0[k] = logsumexp(n if #to == k: {tanh(u[n]) | u[n] + v[k]}) ; t1[n] = exp({tanh(u[n]) | u[n] + v[j[n]]} - (t0[#to] else 0)) ; y0[m, k] = sum(n if #to == k: t1[n] * #from)",
		"t0[k] = {max | mean}(n if #to == k: u[n]) ; t1[n] = tanh(u[n] - (t0[#to] else 0)) ; t2[k] = sum(n if #to == k: t1[n]) ; y0[m, k] = sum(n if #to == k: t1[n] * (t2[#to] else 1) * #from) {| * v[k]}",
		"y0[m, k] = {v[k] * | exp(v[k]) + |} sum(n if #to == k: u[n] * #from) / {max(count(n if #to == k), 1) | (2 + sum(n if #to == k: u[n]^2))} {| + mean(n if k == #to: u[n] * #from) | - sum(n: #to == k ? #from : 0)}",
		"y0[k] = {count(n if #to == k) > {0 | 1} | v[k] > 0.37} ? {sum | mean | max}(n if #to == k: {u[n] | x[n, k]}) / {(1 + count(n if #to == k)) | (2 + tanh(sum(n if #to == k: u[n])))} : v[k]",
		"y0[m] = {sum | max | mean}(k: {z[m, k] | v[k]} * {sum | mean | logsumexp}(n if #to == k {| && on[n]}: {u[n] * #from | x[n, k]})) {| * sum(k if v[k] > 0.37: sum(n if #to == k: u[n]))}",
		"t0[k] = {sum(n: #to == k ? u[n] : 0) | prod(n: #to == k && on[n] ? u[n] : 1) | sum(n: #to == k ? (on[n] ? u[n] : 0) : 0)} ; y0[k] = t0[k] * {sum(n if #to == k: u[n]) | v[k]} / (2 + sum(n if #to == k: u[n])^2)",
		"y0[n, m] = sum(k if jk[k] == m {| && mask[n, k]}: x[n, k] * (w[n, {jk[k] | m | 2 * m - k}] else v[k]))",
	}},
	// Outputs on request, of which no example knows: what gradients read, and what may take another's place.
	{name: "requested", asks: true, once: [][2]string{{"#t", "mean | max | norm | logsumexp | sum"}}, texts: []string{
		"y0[n, k] = {$f($nk) | $nk | 2 * x[n, k] | x[n, K - 1 - k]} ; y1[n] = $red(k: x[n, k] * {w[n, k] | v[k] | u[n]})",
		"t0[n] = #t(k: x[n, k]) ; t1[n, k] = x[n, k] {- | *} t0[n] ; y0[n, k] = {t1[n, k] * w[n, k] | t1[n, k]} ; y1[n] = {t0[n] | t0[n] * u[n] | sum(k: t1[n, k]^2)} ; y2[n, k] = {x[n, k] * v[k] | tanh(t1[n, k])}",
		"y0[n, k] = $f($nk) ; y1[k] = $fold(n if j[n] == k: u[n]) ; y2[n, k] = (x[n, free[n, k]] else u[n]) * v[k]",
		"t0[n, k] = tanh($nk) * (t0[n - 1, k] else 0) + w[n, k] ; y0[n, k] = {t0[n, k] | x[n, k] * v[k]} ; y1[n, k] = (t0[{n / 2 | n + 1 | n}, k] else 0) * v[k]",
		"at0[n] = $arg(k: x[n, k]) ; y0[n] = {max | sum}(k: x[n, k]) ; y1[n, k] = x[n, k] * {u[n] | v[k]}",
		"y0[n, k] = {x[n, k] * 2 | w[n, k] + x[n, k]} ; y1[n, k] = $red(k' in $run: x[n, k'] * w[n, k]) ; is0[n] = any(k: x[n, k] > 0.37)",
	}},
	// Inputs of whose extents attributes decide: gradients read other inputs where these differ.
	{name: "sized", some: true, plain: true, once: [][2]string{{"#n", "1 | 3"}}, texts: []string{
		"y0[n, k] = sum(a < size: (x[n, k + a] else 0.5) * taps[a]) when size > 2 ; y0[n, k] = w[n, k] * v[k] * taps[0] when size <= 2",
		"y0[n, k] = (size > {2 | 3} ? x[n, k] * u[n] : w[n, k]) * sum(a < size: taps[a] {| * v[k]})",
		"y0[n, k] = {max | sum}(a < size: (x[n, k * 2 + a - 1] else 0) * taps[a]) {| * (size == #n ? u[n] : 0.5)}",
		"t0[n, k] = {w[n, k] | x[n, k]} when size == #n ; t0[n, k] = x[n, k] * u[n] when size != #n ; y0[n, k] = t0[n, k] * taps[size - 1] * v[k]",
	}},
	// Elements at values of reductions, and ranges up to them. Gradients add to these elements. Where the
	// value of a branch is not saved, the interpreter runs them, too.
	{name: "counted_places", some: true, most: 9, plain: true, run: interpreted, once: [][2]string{
		{"#i", "count(n' if x[n', {k | k'}] > 0.37) | argmax(n': x[n', {k | k'}]) | argmin(n': x[n', {k | k'}]) | any(n': x[n', k'] > 0.37) ? 1 : 0 | sum(n' in 0 .. k': n') | max(n': j[n'] - k')"},
		{"#t", "t0[n, k] < {0.37 | 9} ? w[n, k] : {tanh | sin}(t0[n, k]) | t0[n, k]"},
	}, texts: []string{
		"t0[n, k] = {2 * x[n, k] | x[n, k]} ; y0[n, k] = #t ; y1[m, k] = {sum | mean | max}(k' {| in 0 .. k + 1}: (t0[#i, {k | k'}] else {0.5 | v[k']})) {| * z[m, k]}",
		"t0[n, k] = {2 * x[n, k] | x[n, k]} ; y0[n, k] = #t ; y1[m, k] = (t0[count(m' in 0 .. m if m' {> | <} k), {k | K - 1 - k}] else {0.5 | v[k]}) {| * z[m, k]}",
		"t0[n, k] = {2 * x[n, k] | x[n, k]} ; y0[n, k] = #t ; y1[k] = {sum | mean}(i in 0 .. count(n if x[n, k] > {0.37 | v[k]}): (t0[{(j[i] else 0) | i}, {k | (jk[i] else 0)}] else 0.5))",
		"at0[n] = {label[n] | j[n] | 2 * j[n] | argmax(k: x[n, k])} ; y0[k] = {sum | mean | prod}(i in 0 .. min(at0[{0 | k % N}], N): (x[(free[i, 0] else 0), k] else 0.5))",
	}},
	// Angles of positions around 1,000,000, which f32 would round.
	{name: "angles", some: true, plain: true, apart: 1e-5, once: [][2]string{
		{"#p", "(n + 1000000) | (free[n, 0] + 1000000 * size) | (1000000 * (n + 1) + k)"}, {"#w", "10000 ^ (-k / K) | 100 ^ (-k / K) | (1 / (k + 1))"},
		{"#op", "x[n, K - 1 - k] | w[n, k] | v[k]"}, {"#s", "- | +"},
	}, texts: []string{
		"y0[n, k] = x[n, k] * {cos | sin}(#p * #w)",
		"y0[n, k] = x[n, k] * cos(#p * #w) #s #op * sin(#p * #w)",
		"t0[n, k] = #p * #w ; y0[n, k] = x[n, k] * cos(t0[n, k]) #s #op * sin(t0[n, k])",
		"t0[n, k] = (k < size ? #p * #w : #p / (k + 1)) ; y0[n, k] = x[n, k] * cos(t0[n, k]) #s #op * sin(t0[n, k])",
		"t0[n, 2 * k + i] = #p * #w * (1 + i) for i < 2 ; y0[n, k] = x[n, k] * cos(t0[n, 2 * k]) #s #op * sin(t0[n, 2 * k + 1])",
		"t0[n, k] = #p * #w when flag ; t0[n, k] = #p / (k + 1) when !flag ; y0[n, k] = x[n, k] * cos(t0[n, k]) #s #op * sin(t0[n, k])",
		"t0[n, k] = #p * #w ; t1[n, k] = t0[n, k] * {1.25 | (1 + k)} ; y0[n, k] = x[n, k] * cos(t1[n, k]) #s #op * sin({t1 | t0}[n, k])",
		"t0[n, k] = #p * #w ; y0[n, k] = x[n, k] * cos(t0[n, K - 1 - k]) #s #op * sin((t0[n, k + 1] else 0.5))",
		"t0[n, k] = #p * #w ; y0[n, k] = sum(k' in 0 .. k + 1: x[n, k'] * cos(t0[n, k'])) #s #op * sin(t0[n, k])",
		"t0[n, k] = #p * #w ; y0[n] = {sum | max}(k: x[n, k] * cos(t0[n, k])) ; y1[k] = sum(n: x[n, k] * sin(t0[n, k]))",
		"t0[n, k] = cos(#p * #w) ; t1[n, k] = t0[n, k] * 1000000 + k ; y0[n, k] = x[n, k] * cos(t1[n, k]) #s #op * sin(t1[n, k])",
		"t0[n] = (n + 1000000) * {rate | 0.3} ; y0[n, k] = x[n, k] * cos(t0[n] * #w) #s #op * sin(t0[n])",
		"t0[k] = #w ; y0[n, k] = x[n, k] * cos(t0[k] * #p) #s #op * sin(t0[k] * #p)",
		"t0[] = 1000000.3 * rate ; y0[n, k] = x[n, k] * cos(t0[] * (n + 1)) #s #op * sin(t0[] * #w)",
	}},
	// Windows that borders cut, which are written out or divided into pieces where an index is long.
	{name: "borders", once: [][2]string{
		{"#k", "max(0, k - 1) .. min(K, k + 2) | k - 1 .. k + 2 | k - 2 .. k + 3 | k .. k + 2 | k - 5 .. k + 6 | max(0, k - 9) .. k + 1 | max(0, k - 1) .. k + 1 | k - size .. k + size"},
		{"#n", "max(0, n - 1) .. min(N, n + 2) | n - 1 .. n + 2 | n .. n + 3 | n - 2 .. n + 1"},
		{"#x", "x[n, k'] | x[n, k'] | tanh(x[n, k']) | x[n, k'] - w[n, k] | abs(x[n, k'] - x[n, k]) | x[n, k']^2 | x[n, k'] * v[k'] | k' * x[n, k']"},
		{"#e", "0 | 0 | 0.5 | u[n] | limit[]"},
	}, texts: []string{
		"y0[n, k] = $red(k' in #k {| if mask[n, k'] | if k' != k | if x[n, k'] > 0.37}: {#x})",
		"y0[n, k] = {sum | max}(k' in #k: {#x}) / count(k' in #k)",
		"y0[n, k] = sum(k' in #k: {#x}) / sum(k' in #k: {2 + v[k']^2 | 1})",
		"y0[n, k] = {mean | max | sum}(n' in #n, k' in #k: {x[n', k'] | x[n', k'] * w[n, k] | abs(x[n', k'])})",
		"y0[n, k] = $red({a < 2 | a < 3 | a < 7 | a < 12}: (x[n, k + a - {1 | 2 | 3}] else {#e}) {| * (a + 1) | - x[n, k]})",
		"y0[n, k] = {sum | max | mean}(a < 3, b < {2 | 3}: (x[n + b - 1, k + a - 1] else {#e}))",
		"y0[n, k] = x[n, max(k - {1 | 2}, 0)] {* | - | +} x[n, min(k + {1 | 3}, K - 1)]",
		"y0[n, k] = {x[n, min(max(k - 2, 0), K - 1)] | (k > 0 && k < K - 1 ? x[n, k - 1] - x[n, k + 1] : x[n, k])} * v[k]",
		"t0[n, k] = {mean | max | variance}(k' in #k: {#x}) ; y0[n, k] = x[n, k] - t0[n, k] ; y1[n] = {sum | max}(k: t0[n, k])",
		"at0[n, k] = count(k' in #k {| if x[n, k'] > x[n, k] | if mask[n, k']}) ; y0[n] = u[n]",
		"at0[n, k] = $arg(k' in #k: {#x}) ; y0[n, k] = (x[n, at0[n, k]] else 0)",
		"is0[n, k] = {any | all}(k' in #k: x[n, k'] {> | <=} x[n, k]) ; y0[n] = u[n]",
	}},
	// Tensors of a list, by their number: reads took the extents of the first one, also of others.
	{name: "lists", lists: true, once: [][2]string{
		{"#i", "i < count(xs) | i < count(xs) | i in 0 .. count(xs) | i in 1 .. count(xs) | i in 0 .. count(xs) - 1 | i in max(0, n - 1) .. count(xs) | i in 0 .. min(n + 1, count(xs))"},
		{"#p", "| if i != 1 | if i > n | if x[n, 0] > 0.1 | if on[n]"},
		{"#a", "xs[i][n, k] | xs[i][n, k] | xs[i][n, k] * w[n, k] | xs[i][n, k] * (i + 1) | xs[i][n, k] - v[k] | (present(o) ? xs[i][n, k] * o[k] : xs[i][n, k] + 0.5) | ws[i][n] * xs[i][n, k] | xs[i][n, K - 1 - k] | $f(xs[i][n, k])"},
		{"#b", "xs[l][n, k] | xs[l][n, k] | xs[l][n, k] * w[n, k] | xs[l][n, k] * (l + 1) | ws[l][n] * xs[l][n, k] | $f(xs[l][n, k])"},
		{"#m", "q < C[l] | q < C[l] | q < 3 | q in 1 .. C[l] | q < max(C[l], 2) | q < n + 1"},
		{"#y", "(ys[l][n, q] else {0 | 0.5 | u[n]}) | (ys[l][n, q] else 0) * (q + 1) | (ys[l][n, q] else 1)^2 | (ys[l][n, q] else 0) * (l + 0.5) | (ys[l][n, C[l] - 1 - q] else 0.25) | (ys[l][n, q + 1] else 0)"},
		{"#s", "short[n, k] % count(xs) | (n + k) % count(xs) | count(xs) - 1 - short[n, k] % count(xs)"},
		{"#z", "short[n, k] % count(ys) | k % count(ys) | count(ys) - 1"},
	}, texts: []string{
		"y0[n, k] = $red(#i #p: #a)",
		"y0[{n | k | }] = {sum | max | mean}({n', k', i < count(xs) | i < count(xs), n', k' | k', i < count(xs), n'}: {xs[i][n', k'] | tanh(xs[i][n', k']) * (i + 1) | xs[i][n', k'] * ws[i][n']})",
		"y0[n] = $red(#i, k #p: #a)",
		"t0[n, k] = $arg(i < count(xs): #a) ; y0[n, k] = {xs[t0[n, k]][n, k] | tanh(xs[t0[n, k]][n, k]) * w[n, k]} ; at0[n, k] = t0[n, k]",
		"t0[n, k] = $arg(i < count(xs): #a) ; y0[n, k] = (count(xs) > 0 ? {xs[t0[n, k]][n, k] | xs[t0[n, k]][n, k] * w[n, k]} : {0 | u[n]}) ; at0[n, k] = t0[n, k]",
		"y0[n, k] = (short[n, k] >= 0 && short[n, k] < count(xs) ? xs[short[n, k]][n, k] : {0 | w[n, k]})",
		"each0[i][n, k] = #a {- | * | +} $red(l < count(xs): #b)",
		"each0[i][n, k] = $red(k' in $run: {xs[i][n, k'] | $f(xs[i][n, k'])}) {| * (i + 1) | + C[0]}",
		"t0[i, n] = $red(k: #a) for i < count(xs) ; {y0[n, k] = $fold(i < count(xs): t0[i, n] * xs[i][n, k]) | each0[i][n, k] = xs[i][n, k] / (2 + t0[i, n]^2) | y0[n] = sum(i < count(xs): t0[i, n] * t0[count(xs) - 1 - i, n])}",
		"t0[i, n, k] = (i == 0 ? xs[0][n, k] : t0[i - 1, n, k] * {0.5 | w[n, k] | ws[i][n]} + #a) for i < count(xs), n < N, k < K ; {y0[n, k] = t0[count(xs) - 1, n, k] | y0[n, k] = sum(i < count(xs): t0[i, n, k]) | each0[i][n, k] = t0[i, n, k] * 2}",
		"y0[n, k] = xs[#s][n, k] {| * w[n, k] | + v[k]}",
		"y0[n] = $red(l < count(ys), #m {| if q != 1 | if l > q | if on[n]}: #y)",
		"t0[l, n] = {sum | max | mean | logsumexp}(q < C[l]: ys[l][n, q]) for l < count(ys) ; {y0[n] = sum(l < count(ys): t0[l, n]^2) | own0[i][n, c] = ys[i][n, c] * t0[i, n] | own0[i][n, c] = ys[i][n, c] - max(l < count(ys): t0[l, n])}",
		"own0[i][n, c] = ys[i][n, c] {* | - | +} {sum | mean | max | logsumexp}(l < {i | count(ys) | i + 1}, q < C[l]: {ys[l][n, q] | tanh(ys[l][n, q]) + q}) {| + C[i]}",
		"own0[i][n, c] = ys[i][n, c] {* | -} $red(c': ys[i][n, c'])",
		"own0[i][n, c] = {ys[i][n, c] * u[n] | ys[i][n, c] + (x[n, c] else 0.5) | ys[i][n, C[i] - 1 - c] | ys[i][n, c] * c}",
		"y0[n, k] = {xs[#s][n, k] + | } (ys[#z][n, k] else {0 | 0.5 | w[n, k]})",
		"t0[n, k] = $red(i < count(xs): #a) ; each0[i][n, k] = {xs[i][n, k] - t0[n, k] | xs[i][n, k] * t0[n, k]} ; y0[n, k] = t0[n, k] * 2",
		"y0[n, k] = $red(i < count(xs): {sum | max | mean}(n': {xs[i][n', k] | xs[i][n', k] * ws[i][n'] | tanh(xs[i][n', k])}) * w[n, k])",
		"y0[n, k] = (k < count(xs) ? xs[k][n, k] : {0 | w[n, k]})",
		"y0[n, m] = sum(k: xs[{0 | m % count(xs) | count(xs) - 1}][n, k] * z[m, k])",
		"y0[n, k] = sum(i < count(xs), l < count(xs) {| if i != l | if i < l | if i <= l}: #a * xs[l][n, k])",
		"t0[n] = $arg(l < count(ys), q < C[l]: ys[l][n, q]) ; at0[n] = t0[n] ; y0[n] = u[n]",
		"t0[n], t1[n] = $arg(l < count(ys), q < C[l]: ys[l][n, q]) ; at0[n] = t1[n] ; y0[n] = (ys[t0[n]][n, t1[n]] else 0)",
		"at0[n] = {count(i < count(xs), k if xs[i][n, k] > 0.37) | count(xs) + C[0]} ; is0[n] = {any | all}(i < count(xs): xs[i][n, 0] > 0.1) ; y0[n] = u[n]",
		"y0[n, k] = {present(o) ? x[n, k] * o[k] : w[n, k] | x[n, k] + (present(o) ? o[k] : 0) | sum(k' in $run: x[n, k'] * (present(o) ? o[k'] : u[n])) | max(x[n, k], (present(o) ? o[k] : 0.37))}",
	}},
	// Elements of lists of attributes at all kinds of places, and other types of attributes.
	{name: "settings", sets: true, once: [][2]string{
		{"#x", "x[n, k] | x[n, k] | $f(x[n, k]) | x[n, k] * v[k] | x[n, k] - u[n]"},
		{"#e", "0 | 0.5 | u[n] | x[n, k]"},
		{"#c", "(has(cap) ? cap : {1 | 0.7 | u[n]}) | or(cap, 0.7)"},
	}, texts: []string{
		"y0[n, k] = $red(i < len(shares): shares[i] * (x[n, k + i] else #e))",
		"y0[n, k] = $red(i < len(steps): (x[n, k + steps[i]] else #e) {| * (i + 1) | - steps[i]})",
		"y0[n, k] = #x * (k < len(shares) ? shares[k] : {1 | 0.3})",
		"y0[n, k] = (len(shares) > 0 ? shares[{0 | len(shares) - 1 | k % len(shares) | (n + k) % len(shares)}] : 0.5) {* | -} #x",
		"y0[n, k] = sum(k' in max(0, k - len(shares) + 1) .. k + 1: x[n, k'] * shares[k - k'])",
		"y0[n, k] = sum(i < 3 if signed[i]: {x[n, k] * (i + 1) | (x[n, k - i] else 0)})",
		"y0[n, k] = (signed[{k % 3 | n % 3 | 1}] ? #x : w[n, k]) ; is0[n] = {any | all}(i < 3: signed[i] {&& on[n] | || u[n] > 0.3})",
		"y0[n, k] = {min | max}(#x, #c)",
		"y0[n, k] = {tanh(x[n, k] / (2 + abs(#c))) | x[n, k] * #c | (has(cap) && x[n, k] > 0.37 ? cap * x[n, k] : #x)}",
		"y0[n, k] = (mode == 'NEAR' ? #x : w[n, k] * 2)",
		"t0[n, k] = #x when mode == 'NEAR' ; t0[n, k] = w[n, k] when mode != 'NEAR' ; y0[n, k] = t0[n, k] {| * 2}",
		"t0[i, n] = $red(k: x[n, k] * shares[i]) for i < len(shares) ; y0[n] = {sum | max}(i < len(shares): t0[i, n] {^2 | * u[n] | - i})",
		"t0[n] = $arg(i < len(shares): shares[i] * u[n]) ; y0[n] = u[n] * (len(shares) > 0 ? shares[t0[n]] : 0) ; at0[n] = t0[n]",
		"at0[n] = count(i < len(steps) if steps[i] {<= n | == n}) + sum(i < len(steps): steps[i]) ; y0[n] = u[n]",
		"y0[n] = sum(i < len(steps), k {if k > steps[i] | if k != i | }: x[n, k] * (1 + steps[i]))",
		"y0[n, k] = sum(i < len(shares), l < len(steps): shares[i] * (x[n, k + i - steps[l]] else 0))",
		"t0[n, k] = (k == 0 ? x[n, 0] : t0[n, k - 1] * (k < len(shares) ? shares[k] : 0.5) + #x) for k < K, n < N ; y0[n, k] = t0[n, k]",
	}},
	// Infinite numbers, which masks take.
	{name: "infinite", some: true, once: [][2]string{
		{"#s", "(#m ? x[n, k] : -inf)"},
		{"#m", "mask[n, k] | x[n, k] > 0.37 | k <= n | on[n] | j[n] != k"},
	}, texts: []string{
		"t0[n, k] = #s ; y0[n, k] = exp(t0[n, k] - {max | logsumexp}(k': t0[n, k']))",
		"t0[n, k] = #s ; y0[n] = {max | logsumexp | min}(k: t0[n, k]) ; at0[n] = argmax(k: t0[n, k])",
		"y0[n] = {max | logsumexp}(k: #m ? x[n, k] : -inf)",
		"y0[n, k] = {min(inf, x[n, k]) | max(-inf, $nk) | min(x[n, k], (u[n] > 0.3 ? inf : v[k]))} {| * v[k]}",
		"y0[n, k] = {exp | tanh | sigmoid | softplus | erf}(#m ? $nk : {-inf | inf})",
		"is0[n, k] = x[n, k] {< | > | != | ==} inf ; y0[n, k] = (x[n, k] < inf ? x[n, k] : w[n, k])",
		"y0[n, k] = {max | min}(k' in $run: (mask[n, k'] ? x[n, k'] : {-inf | inf}))",
		"t0[n, k] = #s ; at0[n, k] = {argsort | rank}(k': t0[n, k'])[k] ; y0[n, k] = (x[n, at0[n, k]] else 0)",
		"y0[n, k] = x[n, k] / inf + w[n, k] * exp(-inf)",
		"t0[n, k] = (k == 0 ? -inf : max(t0[n, k - 1], x[n, k])) for k < K, n < N ; y0[n, k] = max(t0[n, k], w[n, k])",
	}},
	// Random numbers, which depend on three integers only. Seeds were rounded to float64, and numbers in rows
	// of a strip were those of the first row.
	{name: "chance", chance: true, once: [][2]string{
		{"#u", "uniform(#d, #t, #i)"},
		{"#r", "uniform(#d, #t, #i) | normal(#d, #t, #i) | normal(#d, #t, #i) * 0.5 | tanh(normal(#d, #t, #i)) | -log(1 - uniform(#d, #t, #i))"},
		{"#d", "seed | seed | 3 | j[n] | free[n, k] | big[n] | seed + n"},
		{"#t", "0 | 1 | iteration | iteration | n | jk[k] | size - 3 | seed | iteration * 2 + k"},
		{"#i", "n * K + k | n * K + k | k | k - n | free[n, k] | K - 1 - k | (n + k) % size"},
		{"#p", "rate | 0.3 | 0.5 | 1 - rate | abs(sin(u[n]))"},
	}, texts: []string{
		"y0[n, k] = (#u {< | >=} #p ? x[n, k] {| * 2 | / 0.7 | * v[k]} : {0 | 0.5 | w[n, k] | u[n]})",
		"t0[n, k] = #u {< | >=} #p ; y0[n, k] = (t0[n, k] ? x[n, k] * {2 | u[n]} : 0) ; is0[n, k] = t0[n, k] {| && mask[n, k]}",
		"t0[n, k] = #u < #p ; y0[n, k] = (t0[n, k] ? x[n, k] : w[n, k]) ; y1[n] = $red(k if t0[n, k]: x[n, k])",
		"y0[n, k] = x[n, k] {+ | *} #r {| * v[k] | * abs(w[n, k])}",
		"y0[n, k] = $f(x[n, k] + rate * #r)",
		"y0[n] = $red(k: x[n, k] {* | +} #r)",
		"t0[n] = $arg(k: x[n, k] {+ | * | -} #r) ; at0[n] = t0[n] ; y0[n] = (x[n, t0[n]] else 0)",
		"y0[n, k] = (x[n, convert(#u * K, 'i64')] else 0) {* v[k] | + w[n, k]}",
		"at0[n] = count(k if #u < #p) ; at1[n, k] = convert(#r * 10, 'i64') ; y0[n] = u[n]",
		"y0[n, k] = {sum | max | mean}(m: cube[n, k, m] * uniform(#d, {m | m + k}, {k | n * K + k | m * K + k}))",
		"t0[n, k] = #r ; y0[n, k] = x[n, k] * t0[n, k] {+ | -} $red(k' in $run: t0[n, k'] * x[n, k'])",
		"t0[n, k] = (k == 0 ? x[n, 0] : t0[n, k - 1] * 0.5 + #r * x[n, k]) for k < K, n < N ; y0[n, k] = t0[n, k] * t0[n, k]",
		"t0[n, k] = (x[n, k] > 0.37 ? #r : #u) ; y0[n, k] = t0[n, k] * x[n, k] {| + (t0[n, k - 1] else 0)}",
		"y0[n, k] = {max | min}(x[n, k], #r) + {u[n] | normal(seed, 1, n) * v[k]}",
		"y0[n, k] = sum(k' in $run if uniform(#d, n, k * K + k') < #p: x[n, k'] * v[k'])",
		"y0[k, n] = x[n, K - 1 - k] * #r ; y1[n, k] = #r * w[n, k]",
		"at0[n, k] = argsort(k': {#r | uniform(seed, n, k')})[k] ; y0[n, k] = (x[n, at0[n, k]] else 0)",
		"y0[n, m] = sum(k: (#u < #p ? x[n, k] * 2 : 0) * z[m, k])",
	}},
	// Fields of records, of all types, at all kinds of places.
	{name: "fields", fields: true, once: [][2]string{
		{"#x", "x[n, k] | x[n, k] | $f(x[n, k]) | x[n, k] * v[k] | x[n, k] - u[n]"},
		{"#r", "rec | rec | rec | (has(alt) ? alt.gamma : 0.25) * rec"},
	}, texts: []string{
		"y0[n, k] = #x {* | + | -} #r.gamma {| / (2 + rec.gamma^2)}",
		"y0[n, k] = {rec.kind(#x) | rec.kind(x[n, k]) * x[n, k] | rec.kind(rec.kind(x[n, k])) | rec.kind(rec.gamma * w[n, k])}",
		"y0[n, k] = (has(alt) ? {alt.gamma * x[n, k] | alt.kind(x[n, k])} : {0.5 | x[n, k] | rec.kind(x[n, k])})",
		"y0[n, k] = $red(i < len(rec.parts): rec.parts[i] * (x[n, k + i] else {0 | 0.5 | u[n]}))",
		"y0[n, k] = #x * (k < len(rec.parts) ? rec.parts[k] : {1 | rec.gamma})",
		"y0[n, k] = x[n, k]^rec.power + {0 | rec.power | rec.power * k}",
		"y0[n, k] = (rec.on ? #x : {w[n, k] | 0 | rec.gamma})",
		"t0[n, k] = #x when rec.on ; t0[n, k] = w[n, k] * 2 when !rec.on ; y0[n, k] = t0[n, k]",
		"t0[n, k] = #x when rec.kind == 'TANH' ; t0[n, k] = w[n, k] * 2 when rec.kind != 'TANH' ; y0[n, k] = t0[n, k]",
		"t0[n, k] = #x when rec.power > 2 ; t0[n, k] = w[n, k] * 2 when rec.power <= 2 ; y0[n, k] = t0[n, k]",
		"t0[n, k] = #x when has(alt) ; t0[n, k] = w[n, k] * 2 when !has(alt) ; y0[n, k] = t0[n, k]",
		"y0[n, k] = {min | max}(#x, {has(rec.cap) ? rec.cap : u[n] | or(rec.cap, 0.6)})",
		"y0[n, k] = (x[n, k {+ | -} rec.power] else {0 | rec.gamma}) * v[k]",
		"y0[n] = sum(k {| if k % rec.power == 0 | if k < rec.power | if rec.on}: #x)",
		"at0[n] = count(k if x[n, k] > rec.gamma) * rec.power + len(rec.parts) ; is0[n] = rec.on {&& | ||} u[n] > 0.3 ; y0[n] = u[n]",
		"t0[n, k] = (k == 0 ? x[n, 0] : t0[n, k - 1] * rec.gamma + rec.kind(#x)) for k < K, n < N ; y0[n, k] = t0[n, k]",
		"y0[n] = sum(i < rec.power, k: (x[n, k + i] else 0) * (i < len(rec.parts) ? rec.parts[i] : 1))",
		"t0[n] = $arg(k: rec.kind(x[n, k])) ; at0[n] = t0[n] ; y0[n] = (x[n, t0[n]] else 0) * rec.gamma",
	}},
	// Runs of dimensions, and functions of their indices.
	{name: "runs", runs: true, once: [][2]string{
		{"#w", "whole[g] | whole[g] | $f(whole[g]) | whole[g]^2 | whole[g] * (1 + #g)"},
		{"#l", "lane[a, r, b] | lane[a, r, b] | $f(lane[a, r, b]) | lane[a, r, b] * bias[r] | lane[a, r, b] * (r + 1) | (lane[a, r + 1, b] else 0.5)"},
		{"#s", "0 .. r + 1 | r .. R | max(0, r - 1) .. R | r - 1 .. r + 2 | 0 .. R"},
		{"#op", "- | * | +"},
	}, texts: []string{
		"y0[drop(g, axes)] = $red(keep(g, axes): #w)",
		"y0[keep(g, axes)] = $red(drop(g, axes): #w)",
		"t0[drop(g, axes)] = $red(keep(g, axes): #w) ; y0[g] = whole[g] #op t0[drop(g, axes)]",
		"t0[keep(g, axes)] = $red(drop(g, axes): #w) ; y0[g] = whole[g] #op t0[keep(g, axes)]",
		"t0[drop(g, axes)] = $red(keep(g, axes): #w) ; y0[#drop(g, axes)] = t0[{drop(g, axes) | #drop(g, axes)}] ; y1[g] = exp(whole[g] - t0[drop(g, axes)])",
		"y0[permute(g, perm)] = #w",
		"t0[permute(g, perm)] = #w ; y0[g] = $f(t0[permute(g, perm)]) * whole[g]",
		"y0[insert(g, places)] = #w",
		"y0[#drop(g, axes)] = $red(keep(g, axes): #w)",
		"at0[drop(g, axes)] = $arg(keep(g, axes): #w) ; y0[g] = #w",
		"y0[g] = whole[g] #op {sum(g': whole[g']) | max(g': whole[g']) | mean(g': whole[g']^2)}",
		"y0[] = $red(g: #w) ; y1[g] = whole[g] * (2 + #g)",
		"y0[a, b] = $red(r: #l)",
		"y0[a, r, b] = {exp(lane[a, r, b] - logsumexp(r': lane[a, r', b])) | lane[a, r, b] / (2 + sum(r': lane[a, r', b]^2))}",
		"y0[a, r, b] = {lane[a, R - 1 - r, b] | (lane[a, r - 1, b] else 0) | lane[a, r, b] #op bias[R - 1 - r]}",
		"y0[a, r, b] = $red(r' in #s: {lane[a, r', b] | lane[a, r', b] * bias[r'] | $f(lane[a, r', b])})",
		"y0[{b, r, a | r, a, b | b, a, r}] = #l",
		"t0[a, b] = $arg(r: lane[a, r, b]) ; y0[a, b] = (lane[a, t0[a, b], b] else 0) ; at0[a, b] = t0[a, b]",
		"at0[a, r, b] = {argsort | rank}(r': lane[a, r', b])[r] ; y0[a, b] = sum(r: #l)",
		"y0[o] = whole[fit(o, G)] #op other[fit(o, Y)]",
		"y0[o] = {tanh(whole[fit(o, G)]) | whole[fit(o, G)]^2} * other[fit(o, Y)] {+ whole[fit(o, G)] | }",
		"y0[a, m, b] = sum(r: lane[a, r, b] * mix[m, r])",
		"t0[r] = {mean | variance | max}(a, b: lane[a, r, b]) ; y0[a, r, b] = lane[a, r, b] #op t0[r] ; y1[r] = t0[r] * bias[r]",
		"y0[r] = $red(a, b: #l)",
		"y0[a, r, b] = (r == 0 ? 0.5 * lane[a, 0, b] : lane[a, r - 1, b]) #op lane[a, r, b]",
		"t0[a, r, b] = (r == 0 ? lane[a, 0, b] : t0[a, r - 1, b] * 0.5 + lane[a, r, b]) for r < R ; y0[a, r, b] = t0[a, r, b]",
		"y0[a] = $red(r, b: #l)",
		"t0[n, k] = {u[n] * 2 | v[k] + 1 | 0.5 | $f(u[n]) | n * 0.1 | mean(m: cube[n, k, m])} ; y0[k, n] = t0[#(k, n)] {| * x[n, k]}",
		"t0[n, k] = {u[n] * 2 | v[k] + 1 | x[n, k] | mean(n': x[n', k]) | max(k' in 0 .. k + 1: x[n, k'])} ; y0[n, k] = {t0[#(k, n)] | x[#(k, n)] * t0[n, k] | t0[#(k, n)] * t0[#(n, k)]}",
		"t0[n, k, m] = {cube[n, k, m] * 2 | $f(cube[n, k, m]) | mean(k': cube[n, k', m]) + k} ; y0[m, k, n] = t0[#(m, k, n)] {| * x[n, k]}",
		"t0[n, k, m] = {cube[n, k, m]^2 | $f(cube[n, k, m])} ; y0[{m, k | k, m}] = {sum | max}(n: t0[#({m, k, n | n, m, k | k, n, m})]) ; y1[k] = {sum | mean}(n, m: t0[#(m, k, n)])",
		"t0[m, k, n] = {sum(n': cube[n', k, m] * x[n, k]) | max(n': cube[n', k, m] - x[n, k])} ; y0[n, k, m] = t0[#(n, k, m)] - cube[n, k, m]",
		"t0[n, k] = {x[n, k] * 2 | $f(x[n, k])} ; y0[k] = sum(n: t0[#(k, n)] {| * x[n, k] | * u[n]}) ; y1[n] = max(k: t0[#(k, n)])",
	}},
	// Formulas of other operators in the place of what is applied.
	{name: "applied", applies: true, some: true, once: [][2]string{
		{"#s", "share(x, dim = {0 | 1 | -1 | -2}) | share(w) | share(turn(x)) | share(share(x, dim = 0), dim = 1) | share(center(x, axes = [1]))"},
		{"#c", "center(x, axes = [{0 | 1 | -1 | 0, 1 | 1, 0 | }]) | center(w, axes = [1], rate = {2.0 | rate | 0.5}) | center(decay(x), axes = [0])"},
		{"#d", "decay(x) | decay(x, rate = {rate | 0.25}) | decay(turn(x, by = {size | 2 | -1})) | decay(share(x)) | turn(decay(w))"},
		{"#t", "$f(x[n, k]) | x[n, k] * w[n, k] | x[n, k] + (v[k - 1] else 0)"},
		{"#at", "j[n] | 0 | K - 1"},
	}, texts: []string{
		"y0[n, k] = {#s | #c | #d}[n, k] {| * w[n, k] | - x[n, k]}",
		"y0[n, k] = {#s | #c | #d}[n, K - 1 - k] * {#s | #c | #d}[n, k]",
		"t0[n, k] = #t ; y0[n, k] = {share(t0, dim = {0 | 1}) | decay(t0) | center(t0, axes = [0]) | turn(t0)}[n, k] {| * t0[n, k]}",
		"y0[n, m] = {affine(x, z) | affine(x, z, mode = 'TANH') | affine(share(x), z, square = true) | affine(decay(x), z)}[n, m] {| * u[n]}",
		"y0[n] = affine(x, {z | w}).length[n] {| * u[n] | + sum(k: x[n, k])}",
		"y0[n, n'] = affine(x, {w | x}, u, mode = {'TANH' | 'NONE'})[n, n']",
		"y0[n, k] = sum(m: affine(x, z)[n, m] * z[m, k]) ; y1[n] = affine(x, z).length[n]",
		"y0[n] = $red(k: {#s | #c | #d}[n, k])",
		"y0[n] = pick({#s | #c | x}, j)[n] * {1 | u[n]} ; at0[n] = pick({x | #c}, j).place[n]",
		"y0[n, k] = #d[n, k] - decay(x).last[n]",
		"y0[n, k] = (k > 0 ? {#d | #s}[n, k] : u[n])",
		"y0[n, k] = (k + 1 < K ? {#d | #c | #s}[n, k + 1] : {0 | v[k]})",
		"y0[n, k] = sum(k' in $run: {#d | #s}[n, k'] {| * v[k']})",
		"y0[n] = (K > 0 ? #d[n, #at] : 0.5)",
		"y0[n, k] = x[n, k] - center(x, axes = [{1 | -1}]).mean[n, 0]",
		"t0[n] = argmax(k: #s[n, k]) ; y0[n] = (x[n, t0[n]] else 0) ; at0[n] = t0[n]",
		"t0[n, k] = #s[n, k] when flag ; t0[n, k] = #d[n, k] when !flag ; y0[n, k] = t0[n, k]",
		"f(p) = p * p - 1 ; y0[n, k] = f(#s[n, k]) + f(#c[n, k])",
	}},
	// Numbers that several indices make up, and parts of an extent that follow each other.
	{name: "joined", lists: true, some: true, once: [][2]string{
		{"#c", "cube[n, k, m] | cube[n, k, m] | $f(cube[n, k, m]) | cube[n, k, m] * x[n, k] | cube[n, k, m] + z[m, k] | cube[n, k, M - 1 - m]"},
		{"#y", "ys[i][n, c] | ys[i][n, c] | $f(ys[i][n, c]) | ys[i][n, c] * (c + 1) | ys[i][n, c] * u[n] | ys[i][n, C[i] - 1 - c]"},
	}, texts: []string{
		"y0[n, k * M + m] = #c",
		"y0[n * K + k, m] = #c {| * v[k]}",
		"t0[n, k * M + m] = #c ; y0[{n, k, m | m, n, k}] = t0[n, k * M + m] {| * x[n, k]}",
		"t0[n, k * M + m] = #c ; y0[n, m] = $red(k: t0[n, k * M + m]) ; y1[n] = {sum | max}(q < K * M: t0[n, q])",
		"t0[n * K + k] = {x[n, k] | $f(x[n, k]) | x[n, k] - u[n]} ; y0[k, n] = t0[n * K + k] ; y1[n] = $red(k: t0[n * K + k])",
		"t0[n, 3 * k + a] = x[n, k] * (a + 1) for a < 3 ; y0[n, k] = {sum | max | mean}(a < 3: t0[n, 3 * k + a] {| * v[k]})",
		"t0[a * K + k, n] = (a == 0 ? x[n, k] : w[n, k] * a) for a < {2 | 3} ; y0[n, k] = t0[k, n] - t0[K + k, n]",
		"t0[n, k * M + m] = #c ; y0[n] = sum(q < K * M if q % M {== 0 | != 1}: t0[n, q] * (v[q / M] else 0))",
		"t0[n, k * M + m] = #c ; y0[n, k * M + m] = t0[n, k * M + m] {- | *} {mean | max | sum}(q < K * M: t0[n, q])",
		"y0[n, k * M + m] = {(x[n, k - m] else 0.5) | x[n, (k * M + m) % K] | x[n, (k * M + m) / M] * z[m, k]}",
		"y0[n, sum(C[:i]) + c] = #y",
		"y0[n, sum(C[:i]) + c] = #y ; y1[n] = {sum | max}(l < count(ys), q < C[l]: ys[l][n, q])",
		"own0[i][n, c] = (x[n, sum(C[:i]) + c] else {0 | 0.5}) {| * ys[i][n, c]}",
		"y0[n, sum(C[:i]) + c] = ys[i][n, c] {- | *} {mean | max | sum}(c': ys[i][n, c'])",
		"y0[k * M + m] = $red(n: #c)",
	}},
	// Weights that the formula reads as they were, gives anew, and reads again.
	{name: "states", states: true, once: [][2]string{
		{"#x", "x[n, k] | x[n, k] | $f(x[n, k]) | x[n, k] * v[k] | x[n, k] - u[n]"},
		{"#o", "old.held[n, k] | old.held[n, k] | (old.held[n, k - 1] else 0.5) | (old.held[n, k + 1] else 0) | old.held[n, K - 1 - k] | old.held[N - 1 - n, k] | (old.held[n + 1, k] else u[n]) | {max | sum}(k' in $run: old.held[n, k']) | mean(n': old.held[n', k]) | sum(k' < k: old.held[n, k'])"},
		{"#h", "held[n, k] | held[n, k] | (held[n, k - 1] else 0) | held[n, K - 1 - k] | held[N - 1 - n, k] | sum(k' in $run: held[n, k'] * x[n, k']) | max(k': held[n, k'])"},
		{"#s", "rate | 0.9 | sigmoid(u[n]) | sigmoid(gain[k])"},
	}, texts: []string{
		"held[n, k] = #s * #o + (1 - #s) * #x ; y0[n, k] = {#h | #h * gain[k] | #x - #h | #x * #h | old.held[n, k] * x[n, k] | #h - old.held[n, k] | #o * #x}",
		"y0[n, k] = {#x * gain[k] | #x + #o | tanh(#o * x[n, k])} ; held[n, k] = {#o + 0.5 * #x | #x | #o * 0.5 | y0[n, k] * 0.5 | y0[n, k] + old.held[n, k]}",
		"mem[k] = rate * {old.mem[k] | (old.mem[k - 1] else 0.5) | old.mem[K - 1 - k]} + {mean | max | sum}(n: {x[n, k] | x[n, k]^2}) ; y0[n, k] = (x[n, k] - {mem[k] | old.mem[k] | mem[K - 1 - k]}) * gain[k]",
		"t0[k] = mean(n: x[n, k]) ; mem[k] = 0.9 * old.mem[k] + 0.1 * t0[k] ; y0[n, k] = (x[n, k] - (flag ? t0[k] : old.mem[k])) * gain[k]",
		"last[] = old.last[] * 0.5 + {sum | max | mean}(n, k: {x[n, k] | x[n, k] * old.held[n, k] | old.held[n, k]}) ; y0[n, k] = x[n, k] * {last[] | old.last[] | (old.last[] + last[])}",
		"ticks[k] = {old.ticks[k] + 1 | old.ticks[k] + count(n if x[n, k] > 0.37) | max(old.ticks[k], tiny[k]) | (old.ticks[k - 1] else 3) | old.ticks[k] * 2} ; y0[n, k] = (ticks[k] > 2 ? x[n, k] : {old.ticks[k] * u[n] | u[n] | ticks[k] * x[n, k]})",
		"held[size % N, k] = {v[k] | v[k] * gain[k] | x[0, k]} ; y0[n, k] = {held[n, k] * x[n, k] | old.held[n, k] + x[n, k] | max(n': held[n', k]) - x[n, k]}",
		"held[n, k] = #x + #o when flag ; y0[n, k] = {old.held[n, k] * x[n, k] | held[n, k] + x[n, k]}",
		"t0[n, k] = (k == 0 ? #o : t0[n, k - 1] * 0.5 + #x) for k < K, n < N ; held[n, k] = t0[n, k] ; y0[n, k] = {t0[n, k] | #h} {| * x[n, k]}",
		"held[n, k] = (n == 0 ? v[k] : old.held[n - 1, k]) ; y0[n] = $fold(k: {#h | old.held[n, k] * x[n, k]})",
		"held[n, k] = #o + #x ; mem[k] = old.mem[k] + {mean | max}(n: {old.held[n, k] | held[n, k]}) ; last[] = {sum | max}(k: {mem[k] | old.mem[k]}) ; y0[n, k] = {x[n, k] * last[] | held[n, k] * mem[k] | old.held[n, k] - mem[k]}",
		"t0[n] = $arg(k: {x[n, k] | old.held[n, k]}) ; held[n, k] = k == t0[n] ? x[n, k] : old.held[n, k] ; y0[n] = (old.held[n, t0[n]] else 0) + u[n] ; at0[n] = t0[n]",
		"held[n, k] = k == j[n] ? {u[n] | old.held[n, k] + u[n]} : old.held[n, k] ; y0[n] = {old.held[n, j[n]] | held[n, j[n]]} * u[n]",
		"y0[n, k] = gain[k] * {sum(k' in $run: x[n, k'] * gain[k']) | x[n, k] | (gain[k - 1] else 0) | max(k': gain[k'] * x[n, k'])} ; mem[k] = old.mem[k] + gain[k]",
		"held[n, k] = {old.held[n, k] | #o} + {1 | x[n, k]} ; grad.x[n, k] = grad.y0[n, k] * {held[n, k] | old.held[n, k]} as surrogate ; y0[n, k] = $f(x[n, k])",
	}},
	// Optimizers, which update a weight that others read.
	{name: "updates", updates: true, plain: true, once: [][2]string{
		{"#g", "grad[n] | grad[n] | grad[n] + 0.1 * old.weight[n] | grad[n] * min(1, 1 / (0.1 + norm(n': grad[n']))) | grad[n] - mean(n': grad[n']) | (present(step) ? grad[n] / (2 + step[]^2) : grad[n])"},
		{"#b", "0.9 | rate | (flag ? 0.5 : 0.75)"},
		{"#r", "0.1 | rate | (present(step) ? step[] : 0.25)"},
		{"#t", "norm(n': old.weight[n']) | max(n': abs(grad[n'])) | mean(n': old.weight[n'] * grad[n']) | sum(n': grad[n'])"},
	}, texts: []string{
		"weight[n] = old.weight[n] - #r * #g",
		"weight[n] = old.weight[n] - #r * #g * #t",
		"first[n] = #b * old.first[n] + (1 - #b) * #g ; weight[n] = old.weight[n] - #r * {first[n] | old.first[n] | (first[n] - old.first[n])}",
		"first[n] = #b * old.first[n] + #g ; second[n] = 0.5 * abs(old.second[n]) + #g^2 ; weight[n] = old.weight[n] - #r * first[n] / (sqrt(second[n]) + 0.1)",
		"first[n] = #b * old.first[n] + #g when flag ; weight[n] = old.weight[n] - #r * (flag ? first[n] : #g)",
		"turns[] = old.turns[] + 1 ; weight[n] = turns[] % 2 == 0 ? old.weight[n] - #r * #g : {old.weight[n] | grad[n]}",
		"tally[] = 0.5 * old.tally[] + #t ; weight[n] = old.weight[n] - #g / (2 + {tally[] | old.tally[]}^2)",
		"t0[n] = #g + #r * old.weight[n] ; t1[] = norm(n: t0[n]) ; weight[n] = old.weight[n] - t0[n] / (t1[] + 0.5)",
		"weight[n] = max(old.weight[n] - #r * #g, {0 | mean(n': old.weight[n']) | -abs(old.first[n])}) ; first[n] = {weight[n] | old.weight[n]} - old.first[n]",
		"first[n] = max(old.first[n], abs(#g)) ; second[n] = old.second[n] + {first[n] | weight[n] | old.weight[n]} ; weight[n] = old.weight[n] - #r * #g / (first[n] + 0.1)",
	}},
}

// The last kind has the texts of all others. It is added here since it is drawn from the others.
func init() { kinds = append(kinds, kind{name: "nothing", any: true}) }
