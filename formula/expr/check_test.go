package expr_test

import (
	"testing"

	"github.com/opgen/opgen/formula/expr"
)

// env is a symbol table for tests.
type env map[string]expr.Symbol

func (e env) Lookup(name string) (expr.Symbol, bool) { s, ok := e[name]; return s, ok }

// Names lists the names that hints may suggest.
func (e env) Names() []string { return []string{"kernel", "mode"} }

func dim(k expr.Kind) expr.Symbol  { return expr.Symbol{Class: expr.Dim, Type: expr.Type{Kind: k}} }
func attr(k expr.Kind) expr.Symbol { return expr.Symbol{Type: expr.Type{Kind: k}} }
func opt(k expr.Kind) expr.Symbol {
	return expr.Symbol{Type: expr.Type{Kind: k, Optional: true}}
}
func atLeast(n int64) expr.Symbol {
	return expr.Symbol{Type: expr.Type{Kind: expr.Int}, Min: n, HasMin: true}
}

var (
	modeType = expr.Type{Kind: expr.Enum, Name: "mode", Values: []string{"ADD", "MUL"}}
	names    = env{
		"K": dim(expr.Int), "N": dim(expr.Dims), "M": dim(expr.Dims),
		"T":      {Class: expr.TypeVar, Type: expr.Type{Kind: expr.DType}},
		"kernel": atLeast(1), "pad": atLeast(0), "rate": attr(expr.Float), "use": attr(expr.Bool), "name": attr(expr.String),
		"mode": {Type: modeType}, "other": {Type: expr.Type{Kind: expr.Enum, Name: "other", Values: []string{"ADD"}}},
		"same": {Type: modeType},
		"X":    dim(expr.Shapes), "sizes": {Type: expr.Type{Kind: expr.Dims}, Least: 1, Len: 2}, "dtype": attr(expr.DType), "axes": attr(expr.Dims), "tags": attr(expr.OtherList),
		"opt_int": opt(expr.Int), "opt_rate": opt(expr.Float), "opt_use": opt(expr.Bool), "opt_axes": opt(expr.Dims), "opt_dtype": opt(expr.DType),
		"opt_mode": {Type: expr.Type{Kind: expr.Enum, Name: "mode", Values: []string{"ADD", "MUL"}, Optional: true}},
		"rec": {Type: expr.Type{Kind: expr.Record, Name: "rec", Fields: []expr.Field{
			{Name: "low", Symbol: expr.Symbol{Type: expr.Type{Kind: expr.Float}}}, {Name: "mode", Symbol: expr.Symbol{Type: modeType}}}}},
		"input": {Class: expr.SlotName, Type: expr.Type{Kind: expr.Slot}},
		"step":  {Class: expr.SlotName, Type: expr.Type{Kind: expr.Argument}},
		"bad":   attr(expr.Unknown),
	}
)

func TestCheck(t *testing.T) {
	tests := []struct {
		text string
		want expr.Kind // what the key takes, and what the expression is
	}{
		{"K + 1", expr.Int}, {"-K", expr.Int}, {"K * rate", expr.Float}, {"-rate", expr.Float}, {"1 - 0.5", expr.Float},
		{"K / kernel", expr.Int}, {"K % kernel", expr.Int}, {"K / max(pad, 1)", expr.Int}, {"K / (kernel * 2)", expr.Int},
		{"K / min(kernel, 3)", expr.Int}, {"rate / pad", expr.Float}, {"K / 0.5", expr.Float},
		{"prod(N)", expr.Int}, {"sum(axes)", expr.Int}, {"len(N[1:])", expr.Int}, {"ceildiv(K, 2)", expr.Int},
		{"min(K, 1, 2)", expr.Int}, {"max(K, rate)", expr.Float}, {"sqrt(K)", expr.Float}, {"sqrt(rate)", expr.Float}, {"ceil(rate * K)", expr.Int},
		{"N", expr.Dims}, {"N[0]", expr.Int}, {"N[:K]", expr.Dims}, {"[K, 2]", expr.Dims}, {"[]", expr.Dims}, {"broadcast(N, M)", expr.Dims},
		{"keep(N, axes)", expr.Dims}, {"drop(N, [0])", expr.Dims}, {"ones(N, axes)", expr.Dims}, {"insert(N, axes)", expr.Dims}, {"permute(N, M)", expr.Dims},
		{"use ? K : 1", expr.Int}, {"use ? K : rate", expr.Float}, {"use ? 1.5 : K", expr.Float}, {"use ? N : M", expr.Dims}, {"use ? true : use", expr.Bool},
		{"or(opt_int, 1)", expr.Int}, {"or(opt_rate, 1)", expr.Float}, {"or(opt_use, true)", expr.Bool},
		{"rec.low", expr.Float},
		{"min(N)", expr.Int}, {"max(axes)", expr.Int}, {"len(tags)", expr.Int}, {"len(X)", expr.Int},
		{"sum(i: prod(X[i]))", expr.Int}, {"prod(j < K: N[j] + j)", expr.Int}, {"max(i: sum(j: X[i][j] + N[j]))", expr.Int},
		{"min(i: len(X[i]))", expr.Int}, {"sum(N[:K])", expr.Int}, {"sum(use ? N : M)", expr.Int}, {"K / sizes[1]", expr.Int},
		{"all(i: N[i] <= K)", expr.Bool}, {"any(i < 2: N[i] % 2 == 0) && use", expr.Bool},

		{"true", expr.Bool}, {"!use", expr.Bool}, {"use && K > 0 || rate <= 1", expr.Bool}, {"K == 1", expr.Bool}, {"K != rate", expr.Bool},
		{"N == M", expr.Bool}, {"N != [1]", expr.Bool}, {"name == 'x'", expr.Bool}, {"use == true", expr.Bool},
		{"mode == 'ADD'", expr.Bool}, {"'MUL' != mode", expr.Bool}, {"opt_mode == 'ADD'", expr.Bool}, {"mode == same", expr.Bool},
		{"rec.mode == 'MUL'", expr.Bool}, {"mode in ['ADD', 'MUL']", expr.Bool}, {"K in [1, 2.5]", expr.Bool},
		{"T == 'f32'", expr.Bool}, {"'i64' == dtype", expr.Bool}, {"opt_dtype == T", expr.Bool}, {"T in ['f32', 'f64']", expr.Bool},
		{"has(opt_int)", expr.Bool}, {"has(opt_mode) && !has(opt_axes)", expr.Bool}, {"present(input)", expr.Bool}, {"count(input)", expr.Int},

		// An expression of unknown type, which has an error already, fits every type.
		{"bad + 1", expr.Int}, {"-bad", expr.Int}, {"K / bad", expr.Int}, {"bad == 'ADD'", expr.Bool}, {"K in [bad]", expr.Bool}, {"has(bad)", expr.Bool},
		{"prod(bad)", expr.Int}, {"bad[0]", expr.Int}, {"use ? bad : 1", expr.Int}, {"use ? 1 : bad", expr.Int}, {"or(bad, K)", expr.Int}, {"bad.x.y == 1", expr.Bool},
		{"!bad", expr.Bool}, {"bad && use", expr.Bool}, {"bad < 1", expr.Bool},
	}
	for _, tt := range tests {
		n, err := expr.Parse(tt.text)
		if err == nil {
			err = expr.Check(n, names, tt.want)
		}
		if err != nil {
			t.Errorf("%s: %s", tt.text, err.Message)
			continue
		}
		if got := n.Type().Kind; got != tt.want {
			t.Errorf("%s is of kind %v, want %v", tt.text, expr.Type{Kind: got}, expr.Type{Kind: tt.want})
		}
	}
	// An Int converts to a Float where a Float is wanted.
	n, _ := expr.Parse("K")
	if err := expr.Check(n, names, expr.Float); err != nil || n.Type().Kind != expr.Int {
		t.Errorf("K as a float: %v, of kind %v", err, n.Type())
	}
}

// TestLiteralTypes checks that a string literal takes the type of the operand with which it is compared.
func TestLiteralTypes(t *testing.T) {
	tests := []struct {
		text string
		want expr.Type
	}{
		{"mode == 'ADD'", modeType}, {"'ADD' == mode", modeType}, {"opt_mode == 'ADD'", modeType},
		{"T == 'f32'", expr.Type{Kind: expr.DType}}, {"name == 'f32'", expr.Type{Kind: expr.String}},
	}
	for _, tt := range tests {
		n, err := expr.Parse(tt.text)
		if err == nil {
			err = expr.Check(n, names, expr.Bool)
		}
		if err != nil {
			t.Errorf("%s: %s", tt.text, err.Message)
			continue
		}
		b := n.(*expr.Binary)
		l, ok := b.Y.(*expr.Lit)
		if !ok {
			l = b.X.(*expr.Lit)
		}
		if got := l.Type(); got.Kind != tt.want.Kind || got.Name != tt.want.Name || got.Optional {
			t.Errorf("the string in %s is %v, want %v", tt.text, got, tt.want)
		}
	}
}

func TestCheckErrors(t *testing.T) {
	const (
		absent = "it may be absent: test it with has(...), or give a value for that case with or(..., value)"
		has    = "it may be absent: test it with has(...)"
		zero   = "give the attribute min = 1, and a list also len, or divide by max(..., 1)"
		slot   = "expressions refer to the dimensions of slots, or to present(slot)"
		arg    = "the values of arguments are known only when a task runs"
	)
	tests := []struct {
		text          string
		want          expr.Kind
		code          expr.Code
		message, hint string
	}{
		{"»kernl« + 1", expr.Int, expr.UnknownName, "kernl is not defined", "did you mean kernel?"},
		{"K + »zzz«", expr.Int, expr.UnknownName, "zzz is not defined", ""},
		{"»ceildvi«(K, 2)", expr.Int, expr.UnknownName, "there is no function ceildvi", "did you mean ceildiv?"},
		{"1 + »trunc«(K)", expr.Int, expr.UnknownName, "there is no function trunc", "functions are all, any, broadcast, ceil, ceildiv, count, drop, has, insert, keep, len, log2, max, min, ones, or, permute, places, present, prod, sqrt, sum"},
		{"rec.»lwo« > 0", expr.Bool, expr.UnknownName, "the record rec has no field lwo", "did you mean low?"},
		{"(rec).»x« > 0", expr.Bool, expr.UnknownName, "the record rec has no field x", ""},
		{"K.»x«", expr.Int, expr.UnknownName, "an integer has no field x", ""},

		{"»all(N)«", expr.Bool, expr.BadType, "want all(i: condition)", ""},
		{"sum(»k«: K)", expr.Int, expr.BadType, "the range of k is not known", "write k < n, or select an element of a list by it"},
		{"sum(»kernel«: N[kernel])", expr.Int, expr.BadType, "kernel is in use already, so it cannot be an index here", ""},
		{"sum(»I« < 2: N[I])", expr.Int, expr.BadSyntax, "the name of an index is in lower case, not I", ""},
		{"sum(i: sum(»i«: N[i]) + N[i])", expr.Int, expr.BadType, "i is in use already, so it cannot be an index here", ""},
		{"all(i: »N[i]«)", expr.Bool, expr.BadType, "want a boolean, got an integer", ""},
		{"sum(i < »use«: N[i])", expr.Int, expr.BadType, "want an integer, got a boolean", ""},
		{"»mean«(i: N[i])", expr.Int, expr.UnknownName, "no function mean goes over an index", "such functions are all, any, max, min, prod, sum"},
		{"»sum(i, j: N[i])«", expr.Int, expr.BadSyntax, "want one index, such as sum(i: ...) or sum(i < n: ...)", ""},
		{"K / »sizes[2]«", expr.Int, expr.ZeroDivisor, "this divisor may be zero or negative", zero},
		{"»max(K)«", expr.Int, expr.BadType, "want max(a, b, ...) or max(dims), got 1 argument", ""},

		{"»K«", expr.Bool, expr.BadType, "want a boolean, got an integer", ""},
		{"»K > 1«", expr.Int, expr.BadType, "want an integer, got a boolean", ""},
		{"»K * 0.5«", expr.Int, expr.BadType, "want an integer, got a float", ""},
		{"»N«", expr.Int, expr.BadType, "want an integer, got dims", "the number of its elements is prod(N), that of its dimensions len(N)"},
		{"»'a'«", expr.Dims, expr.BadType, "want dims, got a string", ""},
		{"tags == »N«", expr.Bool, expr.BadType, "cannot compare a list with dims", ""},
		{"»mode«", expr.Bool, expr.BadType, "want a boolean, got the enum mode", ""},
		{"K + »use«", expr.Int, expr.BadType, "want a number, got a boolean", ""},
		{"»use« - 1", expr.Int, expr.BadType, "want a number, got a boolean", ""},
		{"-»use«", expr.Int, expr.BadType, "want a number, got a boolean", ""},
		{"!»K«", expr.Bool, expr.BadType, "want a boolean, got an integer", ""},
		{"»K« && use", expr.Bool, expr.BadType, "want a boolean, got an integer", ""},
		{"use || »K«", expr.Bool, expr.BadType, "want a boolean, got an integer", ""},
		{"»N« < 1", expr.Bool, expr.BadType, "want a number, got dims", "the number of its elements is prod(N), that of its dimensions len(N)"},
		{"1 < »N«", expr.Bool, expr.BadType, "want a number, got dims", "the number of its elements is prod(N), that of its dimensions len(N)"},
		{"»K % 0.5« == 0", expr.Bool, expr.BadType, "want integers for %, got an integer and a float", ""},
		{"»K« ? 1 : 2", expr.Int, expr.BadType, "want a boolean, got an integer", ""},
		{"»use ? 1 : N«", expr.Int, expr.BadType, "want two numbers, booleans or dims around ':', got an integer and dims", ""},
		{"»use ? 'a' : 'b'«", expr.Bool, expr.BadType, "want two numbers, booleans or dims around ':', got a string and a string", ""},
		{"»K«[0]", expr.Int, expr.BadType, "want dims, got an integer", ""},
		{"N[»0.5«]", expr.Int, expr.BadType, "want an integer, got a float", ""},
		{"»K«[1:]", expr.Dims, expr.BadType, "want dims, got an integer", ""},
		{"N[:»use«]", expr.Dims, expr.BadType, "want an integer, got a boolean", ""},
		{"[1, »use«]", expr.Dims, expr.BadType, "want an integer, got a boolean", ""},

		{"K == »'2'«", expr.Bool, expr.BadType, "cannot compare an integer with a string", ""},
		{"mode == »1«", expr.Bool, expr.BadType, "cannot compare the enum mode with an integer", ""},
		{"mode == »other«", expr.Bool, expr.BadType, "cannot compare the enum mode with the enum other", ""},
		{"mode == »name«", expr.Bool, expr.BadType, "cannot compare the enum mode with a string", ""},
		{"rec == »rec«", expr.Bool, expr.BadType, "cannot compare the record rec with the record rec", ""},
		{"tags == »tags«", expr.Bool, expr.BadType, "cannot compare a list with a list", ""},
		{"»K in []«", expr.Bool, expr.BadType, "nothing is in an empty list", ""},
		{"K in [1, »'a'«]", expr.Bool, expr.BadType, "cannot compare an integer with a string", ""},
		{"mode == »'DIVIDE'«", expr.Bool, expr.BadType, "the enum mode has no value 'DIVIDE'", "values are ADD, MUL"},
		{"»'ADDD'« == mode", expr.Bool, expr.BadType, "the enum mode has no value 'ADDD'", "did you mean 'ADD'?"},
		{"opt_mode in [»'mul'«]", expr.Bool, expr.BadType, "the optional enum mode has no value 'mul'", "did you mean 'MUL'?"},
		{"T == »'f23'«", expr.Bool, expr.BadType, "there is no element type 'f23'", "did you mean 'f32'?"},
		{"T == »name«", expr.Bool, expr.BadType, "cannot compare an element type with a string", ""},
		{"»input« == 1", expr.Bool, expr.BadType, "want an integer, got a slot", slot},
		{"»input« == input", expr.Bool, expr.BadType, "want an integer, got a slot", slot},
		{"»T«", expr.Int, expr.BadType, "want an integer, got an element type", "T is the element type of tensors here: a dimension needs another name, such as S"},
		{"1 == »step«", expr.Bool, expr.BadType, "want an integer, got an argument", arg},
		{"»step« + 1", expr.Int, expr.BadType, "want a number, got an argument", arg},

		{"»opt_int« + 1", expr.Int, expr.BadType, "want a number, got an optional integer", absent},
		{"»opt_rate«", expr.Float, expr.BadType, "want a float, got an optional float", absent},
		{"»opt_use«", expr.Bool, expr.BadType, "want a boolean, got an optional boolean", absent},
		{"len(»opt_axes«)", expr.Int, expr.BadType, "want dims, got optional dims", has},
		{"»opt_int« == 3", expr.Bool, expr.BadType, "want an integer, got an optional integer", absent},
		{"3 == »opt_int«", expr.Bool, expr.BadType, "want an integer, got an optional integer", absent},
		{"use ? »opt_int« : 1", expr.Int, expr.BadType, "want an integer, got an optional integer", absent},
		{"use ? 1 : »opt_int«", expr.Int, expr.BadType, "want an integer, got an optional integer", absent},

		{"»max(K)«", expr.Int, expr.BadType, "want max(a, b, ...) or max(dims), got 1 argument", ""},
		{"»prod()«", expr.Int, expr.BadType, "want prod(dims), got 0 arguments", ""},
		{"»ceildiv(K, 2, 3)«", expr.Int, expr.BadType, "want ceildiv(a, b), got 3 arguments", ""},
		{"»has()«", expr.Bool, expr.BadType, "want has(attribute), got 0 arguments", ""},
		{"»or(opt_int)«", expr.Int, expr.BadType, "want or(attribute, value), got 1 argument", ""},
		{"max(K, »use«)", expr.Int, expr.BadType, "want a number, got a boolean", ""},
		{"has(»K«)", expr.Bool, expr.BadType, "want an optional attribute, got an integer", ""},
		{"or(»K«, 1)", expr.Int, expr.BadType, "want an optional number or boolean, got an integer", ""},
		{"or(»opt_axes«, N)", expr.Dims, expr.BadType, "want an optional number or boolean, got optional dims", ""},
		{"or(opt_int, »0.5«)", expr.Int, expr.BadType, "want an integer, got a float", ""},
		{"present(»K«)", expr.Bool, expr.BadType, "want a slot, got an integer", ""},

		{"K / »K«", expr.Int, expr.ZeroDivisor, "this divisor may be zero or negative", zero},
		{"K % »pad«", expr.Int, expr.ZeroDivisor, "this divisor may be zero or negative", zero},
		{"K / »0«", expr.Int, expr.ZeroDivisor, "this divisor may be zero or negative", zero},
		{"K / »-1«", expr.Int, expr.ZeroDivisor, "this divisor may be zero or negative", zero},
		{"K / »(kernel - 1)«", expr.Int, expr.ZeroDivisor, "this divisor may be zero or negative", zero},
		{"K / »min(kernel, pad)«", expr.Int, expr.ZeroDivisor, "this divisor may be zero or negative", zero},
		{"K / »or(opt_int, 1)«", expr.Int, expr.ZeroDivisor, "this divisor may be zero or negative", zero},
		{"ceildiv(K, »pad«)", expr.Int, expr.ZeroDivisor, "this divisor may be zero or negative", zero},
		{"rate / »0«", expr.Float, expr.ZeroDivisor, "this divisor is zero", ""},
		{"1.5 / »0.0«", expr.Float, expr.ZeroDivisor, "this divisor is zero", ""},
	}
	for _, tt := range tests {
		text, pos, end := at(t, tt.text)
		n, err := expr.Parse(text)
		if err != nil {
			t.Errorf("%s: %s", text, err.Message)
			continue
		}
		err = expr.Check(n, names, tt.want)
		if err != nil && err.New != "" {
			err.Hint = "did you mean " + err.New + "?"
		}
		switch {
		case err == nil:
			t.Errorf("%s is of type %v, want the error %q", text, n.Type(), tt.message)
		case err.Message != tt.message || err.Hint != tt.hint || err.Pos != pos || err.End != end || err.Code != tt.code:
			t.Errorf("%s: %q (hint %q) at %d to %d, code %d; want %q (hint %q) at %d to %d, code %d",
				text, err.Message, err.Hint, err.Pos, err.End, err.Code, tt.message, tt.hint, pos, end, tt.code)
		}
	}
}

// TestUnknownNames checks that an undefined name is told apart from an undefined function or field,
// because it may be a dimension.
func TestUnknownNames(t *testing.T) {
	for text, want := range map[string]string{"Q + 1": "Q", "Q(1)": "", "rec.Q": ""} {
		n, err := expr.Parse(text)
		if err == nil {
			err = expr.Check(n, names, expr.Int)
		}
		if err == nil || err.Code != expr.UnknownName || err.Name != want {
			t.Errorf("%s: %+v, want the unknown name %q", text, err, want)
		}
	}
}
