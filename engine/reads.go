package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/dynamic-resource-allocation/cel"
)

// read is an entry of a device's two maps that an expression looks at; "*" is a domain or a key that only
// evaluation can tell.
type read struct {
	Map    string `json:"map"`
	Domain string `json:"domain"`
	Key    string `json:"key"`
}

type reads map[read]bool

// place is what a part of an expression stands for: nothing of interest, the device, one of its maps, or, inside, one
// domain of a map.
type place struct {
	what, domain string
	inside       bool
}

// readsOf finds what an expression reads; one that does not parse reads nothing.
func readsOf(env *celgo.Env, expression string) reads {
	found := reads{}
	if parsed, issues := env.Parse(expression); issues.Err() == nil {
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
	case from.inside:
		r[read{from.what, from.domain, name}] = true
	default:
		return place{from.what, name, true}
	}
	return place{}
}

// escape records that all of the places may be read.
func (r reads) escape(places ...place) {
	for _, at := range places {
		switch {
		case at.what == "device":
			r.escape(place{what: "attributes"}, place{what: "capacity"})
		case at.what != "" && !at.inside:
			r[read{at.what, "*", "*"}] = true
		case at.what != "":
			r[read{at.what, at.domain, "*"}] = true
		}
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
			r.escape(r.walk(entry.AsMapEntry().Key(), scope), r.walk(entry.AsMapEntry().Value(), scope))
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
	if c.IsMemberFunction() {
		args = append([]ast.Expr{c.Target()}, args...)
	}
	places, names := make([]place, len(args)), make([]string, len(args))
	for i, arg := range args {
		places[i] = r.walk(arg, scope)
		if arg.Kind() == ast.LiteralKind {
			names[i], _ = arg.AsLiteral().Value().(string)
		}
	}
	switch name := c.FunctionName(); {
	case (name == operators.Index || name == operators.OptIndex || name == operators.OptSelect) && names[1] != "":
		return r.step(places[0], names[1])
	case name == operators.In && names[0] != "":
		r.escape(r.step(places[1], names[0]))
	default:
		r.escape(places...)
	}
	return place{}
}

// comprehension covers the macros. cel.bind is one whose loop never runs: its variable stands for what it is bound to,
// while those of the others start as literals and get what calls return.
func (r reads) comprehension(c ast.ComprehensionExpr, scope map[string]place) place {
	r.escape(r.walk(c.IterRange(), scope))
	inner := maps.Clone(scope)
	inner[c.IterVar()], inner[c.IterVar2()] = place{}, place{}
	inner[c.AccuVar()] = r.walk(c.AccuInit(), scope)
	r.walk(c.LoopCondition(), inner)
	r.walk(c.LoopStep(), inner)
	return r.walk(c.Result(), inner)
}

// lens finds what reads see of the devices of one driver. It is used by one goroutine.
type lens struct {
	reads
	driver string
	known  map[read]bool
}

func (l lens) sees(what string, name resourceapi.QualifiedName) bool {
	at := read{Map: what, Key: string(name)}
	seen, known := l.known[at]
	if !known {
		domain, id, qualified := strings.Cut(string(name), "/")
		if !qualified {
			domain, id = l.driver, string(name)
		}
		seen = l.reads[read{what, domain, id}] || l.reads[read{what, domain, "*"}] || l.reads[read{what, "*", "*"}]
		l.known[at] = seen
	}
	return seen
}

// names lists the entries of a device that count, sorted. Versions and values of no known type do always, since one
// that does not parse fails every expression.
func (l lens) names(device *resourceapi.Device) (attributes, capacity []resourceapi.QualifiedName) {
	for name, value := range device.Attributes {
		if value.StringValue == nil && value.IntValue == nil && value.BoolValue == nil || l.sees("attributes", name) {
			attributes = append(attributes, name)
		}
	}
	for name := range device.Capacity {
		if l.sees("capacity", name) {
			capacity = append(capacity, name)
		}
	}
	slices.Sort(attributes)
	slices.Sort(capacity)
	return attributes, capacity
}

// look writes down what is seen of a device: devices of one look get the same verdict.
func (l lens) look(device *resourceapi.Device) string {
	var out bytes.Buffer
	out.WriteString(l.driver)
	if device.AllowMultipleAllocations != nil && *device.AllowMultipleAllocations {
		out.WriteByte('+')
	}
	attributes, capacity := l.names(device)
	for _, name := range attributes {
		out.WriteString("\x00a" + string(name))
		switch value := device.Attributes[name]; {
		case value.StringValue != nil:
			out.WriteString("\x00s" + *value.StringValue)
		case value.VersionValue != nil:
			out.WriteString("\x00v" + *value.VersionValue)
		default:
			_ = json.NewEncoder(&out).Encode(value)
		}
	}
	for _, name := range capacity {
		value := device.Capacity[name].Value
		out.WriteString("\x00c" + string(name) + "\x00" + value.String())
	}
	return out.String()
}

// reduce leaves of a device what is seen of it, which is all that evaluation needs.
func (l lens) reduce(device *resourceapi.Device) cel.Device {
	attributes, capacity := l.names(device)
	out := cel.Device{
		Driver: l.driver, AllowMultipleAllocations: device.AllowMultipleAllocations,
		Attributes: make(map[resourceapi.QualifiedName]resourceapi.DeviceAttribute, len(attributes)),
		Capacity:   make(map[resourceapi.QualifiedName]resourceapi.DeviceCapacity, len(capacity)),
	}
	for _, name := range attributes {
		out.Attributes[name] = device.Attributes[name]
	}
	for _, name := range capacity {
		out.Capacity[name] = device.Capacity[name]
	}
	return out
}
