package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	resourceapi "k8s.io/api/resource/v1"
)

// read is one entry of a device that an expression looks at; "*" stands for a
// key, or for a domain, that only evaluation can tell.
type read struct {
	Map    string `json:"map"`
	Domain string `json:"domain"`
	Key    string `json:"key"`
}

type reads map[read]bool

// place is what a part of an expression stands for: nothing of interest, the
// device, one of its two maps, or one domain of such a map.
type place struct {
	what   string
	domain string
	inside bool
}

// readsOf finds what an expression reads. An expression that does not parse
// reads nothing.
func readsOf(env *celgo.Env, expression string) reads {
	found := reads{}
	parsed, issues := env.Parse(expression)
	if issues.Err() == nil {
		found.escape(found.walk(parsed.NativeRep().Expr(), map[string]place{"device": {what: "device"}}))
	}
	return found
}

func (r reads) list() []read {
	sorted := slices.AppendSeq([]read{}, maps.Keys(r))
	slices.SortFunc(sorted, func(a, b read) int {
		return cmp.Or(cmp.Compare(a.Map, b.Map), cmp.Compare(a.Domain, b.Domain), cmp.Compare(a.Key, b.Key))
	})
	return sorted
}

// step follows a field or a constant index.
func (r reads) step(from place, name string) place {
	switch {
	case from.what == "device" && (name == "attributes" || name == "capacity"):
		return place{what: name}
	case from.what == "" || from.what == "device":
		return place{}
	case !from.inside:
		return place{what: from.what, domain: name, inside: true}
	}
	r[read{from.what, from.domain, name}] = true
	return place{}
}

// escape records that all of a place may be read.
func (r reads) escape(at place) {
	switch {
	case at.what == "device":
		r[read{"attributes", "*", "*"}] = true
		r[read{"capacity", "*", "*"}] = true
	case at.inside:
		r[read{at.what, at.domain, "*"}] = true
	case at.what != "":
		r[read{at.what, "*", "*"}] = true
	}
}

func (r reads) walk(e ast.Expr, scope map[string]place) place {
	switch e.Kind() {
	case ast.IdentKind:
		return scope[e.AsIdent()]
	case ast.SelectKind:
		return r.step(r.walk(e.AsSelect().Operand(), scope), e.AsSelect().FieldName())
	case ast.CallKind:
		return r.call(e.AsCall(), scope)
	case ast.ComprehensionKind:
		return r.comprehension(e.AsComprehension(), scope)
	case ast.ListKind:
		for _, element := range e.AsList().Elements() {
			r.escape(r.walk(element, scope))
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			r.escape(r.walk(entry.AsMapEntry().Key(), scope))
			r.escape(r.walk(entry.AsMapEntry().Value(), scope))
		}
	case ast.StructKind:
		for _, field := range e.AsStruct().Fields() {
			r.escape(r.walk(field.AsStructField().Value(), scope))
		}
	}
	return place{}
}

func (r reads) call(c ast.CallExpr, scope map[string]place) place {
	args := c.Args()
	switch c.FunctionName() {
	case operators.Index, operators.OptIndex, operators.OptSelect:
		if name, ok := text(args[1]); ok {
			return r.step(r.walk(args[0], scope), name)
		}
	case operators.In:
		if name, ok := text(args[0]); ok {
			r.escape(r.step(r.walk(args[1], scope), name))
			return place{}
		}
	}
	if c.IsMemberFunction() {
		r.escape(r.walk(c.Target(), scope))
	}
	for _, arg := range args {
		r.escape(r.walk(arg, scope))
	}
	return place{}
}

// comprehension covers the macros; cel.bind is one whose loop never runs, so
// that its variable keeps standing for what it was bound to.
func (r reads) comprehension(c ast.ComprehensionExpr, scope map[string]place) place {
	r.escape(r.walk(c.IterRange(), scope))
	inner := maps.Clone(scope)
	delete(inner, c.IterVar())
	delete(inner, c.IterVar2())
	inner[c.AccuVar()] = r.walk(c.AccuInit(), scope)
	r.walk(c.LoopCondition(), inner)
	if step := c.LoopStep(); step.Kind() != ast.IdentKind {
		r.escape(inner[c.AccuVar()])
		r.escape(r.walk(step, inner))
	}
	return r.walk(c.Result(), inner)
}

func text(e ast.Expr) (string, bool) {
	if e.Kind() != ast.LiteralKind {
		return "", false
	}
	value, ok := e.AsLiteral().Value().(string)
	return value, ok
}

// look writes what the reads see of a device: two devices of one look get the
// same verdict. Versions count always, because one that does not parse fails
// every expression.
func (r reads) look(driver string, device *resourceapi.Device) string {
	var out bytes.Buffer
	out.WriteString(driver)
	if device.AllowMultipleAllocations != nil && *device.AllowMultipleAllocations {
		out.WriteByte('+')
	}
	names := make([]string, 0, len(device.Attributes)+len(device.Capacity))
	for name, value := range device.Attributes {
		scalar := value.StringValue != nil || value.IntValue != nil || value.BoolValue != nil
		if !scalar || r.sees("attributes", driver, name) {
			names = append(names, "a"+string(name))
		}
	}
	for name := range device.Capacity {
		if r.sees("capacity", driver, name) {
			names = append(names, "c"+string(name))
		}
	}
	slices.Sort(names)
	for _, name := range names {
		out.WriteByte(0)
		out.WriteString(name)
		out.WriteByte('=')
		if name[0] == 'c' {
			capacity := device.Capacity[resourceapi.QualifiedName(name[1:])]
			out.WriteString(capacity.Value.String())
		} else {
			writeAttribute(&out, device.Attributes[resourceapi.QualifiedName(name[1:])])
		}
	}
	return out.String()
}

func (r reads) sees(what, driver string, name resourceapi.QualifiedName) bool {
	domain, id, qualified := strings.Cut(string(name), "/")
	if !qualified {
		domain, id = driver, string(name)
	}
	return r[read{what, domain, id}] || r[read{what, domain, "*"}] || r[read{what, "*", "*"}]
}

func writeAttribute(out *bytes.Buffer, value resourceapi.DeviceAttribute) {
	switch {
	case value.StringValue != nil:
		out.WriteByte('"')
		out.WriteString(*value.StringValue)
	case value.IntValue != nil:
		out.WriteString(strconv.FormatInt(*value.IntValue, 10))
	case value.BoolValue != nil:
		out.WriteString(strconv.FormatBool(*value.BoolValue))
	case value.VersionValue != nil:
		out.WriteByte('v')
		out.WriteString(*value.VersionValue)
	default:
		_ = json.NewEncoder(out).Encode(value)
	}
}
