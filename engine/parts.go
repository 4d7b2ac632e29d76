package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/parser"
	"k8s.io/apimachinery/pkg/util/sets"
)

// span is a part of an expression's text, from and to which code point, from 0.
type span struct {
	Start int `json:"start"`
	End   int `json:"end"`
}

// spot is where an expression names an entry: its key, and its domain where a literal names that. The parser keeps no
// place of what stands in has().
type spot struct {
	read
	Optional bool  `json:"optional"`
	At       *span `json:"at"`
	DomainAt *span `json:"domainAt"`
}

// dud is a call that fails on every device, since all that it is given is written down.
type dud struct {
	Function string `json:"function"`
	Literal  string `json:"literal"`
	Error    string `json:"error"`
	At       span   `json:"at"`
}

// parts says of what an expression is made, as its own parser sees it: functions by name, whether a loop runs inside a
// loop, where entries are named, and which calls cannot but fail.
type parts struct {
	Calls  []string `json:"calls"`
	Nested bool     `json:"nested"`
	Spots  []spot   `json:"spots"`
	Duds   []dud    `json:"duds"`
}

func (k *kit) partsOf(expression string, tree *ast.AST, found reads) parts {
	out := parts{Calls: []string{}, Spots: []spot{}, Duds: []dud{}}
	if tree == nil {
		return out
	}
	text := source{[]rune(expression), tree.SourceInfo()}
	for at, named := range found {
		for _, each := range named {
			out.Spots = append(out.Spots, spot{at, each.optional, text.span(each.key, at.Key), text.span(each.domain, at.Domain)})
		}
	}
	slices.SortFunc(out.Spots, func(a, b spot) int {
		return cmp.Or(cmp.Compare(a.start(), b.start()), cmp.Compare(a.Key, b.Key), cmp.Compare(a.Domain, b.Domain))
	})
	names := sets.New[string]()
	for _, call := range ast.MatchDescendants(ast.NavigateAST(tree), ast.KindMatcher(ast.CallKind)) {
		names.Insert(call.AsCall().FunctionName())
		if one, ok := k.dud(call, text); ok && !slices.Contains(out.Duds, one) {
			out.Duds = append(out.Duds, one)
		}
	}
	out.Calls, out.Nested = slices.AppendSeq(out.Calls, maps.Keys(names)), nested(tree)
	slices.Sort(out.Calls)
	return out
}

func (s spot) start() int {
	if s.At == nil {
		return -1
	}
	return s.At.Start
}

// source finds expressions in the text that they were read from.
type source struct {
	text []rune
	info *ast.SourceInfo
}

// span returns where a name or a literal stands, with its quotes; nil where the parser keeps no place of it. What it
// keeps of a field is the dot before it.
func (s source) span(id int64, name string) *span {
	at, ok := s.info.GetOffsetRange(id)
	if !ok || at.Start < 0 || int(at.Start) >= len(s.text) {
		return nil
	}
	start, rest := int(at.Start), string(s.text[at.Start:])
	written := rest[:min(int(at.Stop-at.Start), len(rest))] // its length is in bytes
	if written == "." {
		skipped, _, found := strings.Cut(rest, name)
		if !found || strings.TrimSpace(skipped) != "." {
			return nil
		}
		start, written = start+utf8.RuneCountInString(skipped), name
	}
	if !strings.Contains(written, name) {
		return nil
	}
	return &span{start, start + utf8.RuneCountInString(written)}
}

// dud asks a call on literals alone, one of them a string, what it says.
func (k *kit) dud(call ast.NavigableExpr, text source) (dud, bool) {
	c := call.AsCall()
	args := c.Args()
	if c.IsMemberFunction() {
		args = append([]ast.Expr{c.Target()}, args...)
	}
	var literal ast.Expr
	for _, arg := range args {
		if arg.Kind() != ast.LiteralKind {
			return dud{}, false
		}
		if _, ok := arg.AsLiteral().Value().(string); ok && literal == nil {
			literal = arg
		}
	}
	if literal == nil {
		return dud{}, false
	}
	at, failure := text.span(literal.ID(), ""), k.alone(call, text.info)
	if at == nil || failure == "" {
		return dud{}, false
	}
	return dud{c.FunctionName(), literal.AsLiteral().Value().(string), failure, *at}, true
}

// alone returns the error that a part of an expression ends in, which reads nothing; empty where there is none.
func (k *kit) alone(part ast.Expr, info *ast.SourceInfo) string {
	written, err := parser.Unparse(part, info)
	if err != nil {
		return ""
	}
	compiled, issues := k.env.Compile(written)
	if issues.Err() != nil {
		return ""
	}
	program, err := k.env.Program(compiled, celgo.CostLimit(1_000_000))
	if err != nil {
		return ""
	}
	if _, _, err = program.Eval(map[string]any{}); err != nil {
		return err.Error()
	}
	return ""
}

// nested says whether a loop runs inside a loop; cel.bind is none.
func nested(tree *ast.AST) bool {
	loops := func(within ast.NavigableExpr) []ast.NavigableExpr {
		return slices.DeleteFunc(ast.MatchDescendants(within, ast.KindMatcher(ast.ComprehensionKind)), func(e ast.NavigableExpr) bool {
			over := e.AsComprehension().IterRange()
			return over.Kind() == ast.ListKind && over.AsList().Size() == 0
		})
	}
	return slices.ContainsFunc(loops(ast.NavigateAST(tree)), func(e ast.NavigableExpr) bool {
		return len(loops(ast.NavigateExpr(tree, e.AsComprehension().LoopStep()))) > 0
	})
}
