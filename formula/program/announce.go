package program

import (
	"fmt"
	"maps"
	"slices"

	"github.com/opgen/opgen/formula/expr"
	"github.com/opgen/opgen/formula/term"
)

// statements lowers statements of a formula. On an error, it also returns the statement that has the error.
func (b *builder) statements(f *expr.Formula, statements []*expr.Statement) (*expr.Statement, error) {
	if s, err := b.alternatives(statements); err != nil {
		return s, err
	}
	own := &expr.Formula{Functions: f.Functions, Statements: statements}
	groups := own.Recurrences()
	for i := 0; i < len(statements); {
		at := slices.IndexFunc(groups, func(r *expr.Recurrence) bool { return r.First == i })
		if at < 0 {
			if err := b.statement(statements[i], statements[i+1:]); err != nil {
				return statements[i], err
			}
			i++
			continue
		}
		end := i + 1
		for grown := true; grown; { // groups that overlap are lowered together
			grown = false
			for _, r := range groups {
				if r.First < end && r.Last >= end {
					end, grown = r.Last+1, true
				}
			}
		}
		if s, err := b.recurrences(groups, statements, i, end); err != nil {
			return s, err
		}
		i = end
	}
	return nil, nil
}

// recurrences lowers the statements with numbers from up to to, which contain recurrences: groups of
// statements that read each other's results. An intermediate tensor may be read before its definition, so it
// is declared first, with the shape of its left side. Its kind is found by iteration to a fixed point: it
// starts as an integer, and then takes the kind of its definition, until no kind changes.
func (b *builder) recurrences(groups []*expr.Recurrence, statements []*expr.Statement, from, to int) (*expr.Statement, error) {
	kinds := map[string]guess{}
	for left := 2 * (to - from + 1); ; left-- {
		trial := *b
		p := *b.program
		trial.program, trial.byName, trial.inlined = &p, maps.Clone(b.byName), maps.Clone(b.inlined)
		trial.names = newNames()
		trial.ranges, trial.perTensor = maps.Clone(b.ranges), maps.Clone(b.perTensor)
		trial.pairs, trial.seconds = maps.Clone(b.pairs), maps.Clone(b.seconds)
		p.Tensors, p.Statements = slices.Clone(p.Tensors), slices.Clone(p.Statements)
		s, ids, err := trial.announced(groups, statements, from, to, kinds)
		settled := true
		for name, id := range ids {
			for _, s := range p.Statements {
				if now := (guess{s.Value.Kind, p.Unsigned(s.Value)}); s.Target == id && now != kinds[name] {
					kinds[name], settled = now, false
				}
			}
		}
		b.size = trial.size
		if !settled && left > 0 {
			continue
		}
		if err == nil && !settled {
			err = fmt.Errorf("it does not follow of which kind the elements are")
		}
		if err != nil {
			return s, err
		}
		*b.program = p
		trial.program = b.program
		*b = trial
		return nil, nil
	}
}

// guess is the assumed kind of a tensor's elements.
type guess struct {
	kind     term.Kind
	unsigned bool
}

// announced declares the intermediate tensors of recurrences with the assumed kinds, and lowers the
// statements with numbers from up to to. It returns the declared tensors by name.
func (b *builder) announced(groups []*expr.Recurrence, statements []*expr.Statement, from, to int, kinds map[string]guess) (*expr.Statement, map[string]int, error) {
	ids := map[string]int{}
	within := map[*expr.Statement]bool{} // those that a statement above them may need
	for _, s := range statements[from:to] {
		for _, r := range groups {
			if !r.Gives(s) {
				continue
			}
			within[s] = true
			if err := b.announce(s, ids, kinds); err != nil {
				return s, ids, err
			}
		}
	}
	for i, s := range statements[from:to] {
		following := statements[from+i+1:]
		if within[s] {
			following = statements[from:]
		}
		if err := b.statement(s, following); err != nil {
			return s, ids, err
		}
	}
	return nil, ids, nil
}

// announce declares the intermediate tensors that a statement defines, before the statement is lowered. It
// adds them to ids.
func (b *builder) announce(s *expr.Statement, ids map[string]int, kinds map[string]guess) error {
	if counts, err := b.when(s); err != nil || !counts {
		return err
	}
	for _, t := range s.Targets {
		r, ok := t.(*expr.Read)
		if _, known := b.byName[nameOf(t)]; known || !ok {
			continue
		}
		sc := &scope{vars: map[string]*term.Variable{}}
		if err := b.forRanges(s, sc); err != nil {
			return err
		}
		left := &term.Read{}
		if err := b.left(r, -1, left, sc); err != nil {
			return err
		}
		l, err := b.local(r.Name, left, sc)
		if err != nil {
			return err
		}
		if _, guessed := kinds[r.Name]; !guessed {
			kinds[r.Name] = guess{kind: term.Integer}
		}
		l.Kind, l.Unsigned = kinds[r.Name].kind, kinds[r.Name].unsigned
		ids[r.Name] = b.program.Add(l)
		b.byName[r.Name] = ids[r.Name]
	}
	return nil
}
