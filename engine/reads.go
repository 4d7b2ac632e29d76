package main

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"unique"

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

// reads are all entries that an expression looks at, each with the places where it is named.
type reads map[read][]naming

// naming is one place where an entry is named: by which expressions its key and its domain, and whether it may be
// missing there.
type naming struct {
	key, domain int64
	optional    bool
}

// place is what a part of an expression stands for: nothing of interest, the device, one of its maps, or, inside, one
// domain of a map, which the expression at names.
type place struct {
	what, domain string
	inside       bool
	at           int64
}

// parse returns an expression's tree, nil where it does not parse.
func parse(env *celgo.Env, expression string) *ast.AST {
	if parsed, issues := env.Parse(expression); issues.Err() == nil {
		return parsed.NativeRep()
	}
	return nil
}

// readsOf finds what an expression reads; one that does not parse reads nothing.
func readsOf(env *celgo.Env, expression string) reads { return readsIn(parse(env, expression)) }

func readsIn(tree *ast.AST) reads {
	found := reads{}
	if tree != nil {
		found.escape(found.walk(tree.Expr(), map[string]place{"device": {what: "device"}}))
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

// note records a read, and where it is named, if anywhere.
func (r reads) note(at read, named ...naming) { r[at] = append(r[at], named...) }

// step follows a field or a constant index, which the expression at names.
func (r reads) step(from place, name string, at int64, optional bool) place {
	switch {
	case from.what == "device" && (name == "attributes" || name == "capacity"):
		return place{what: name}
	case from.what == "" || from.what == "device":
	case from.inside:
		r.note(read{from.what, from.domain, name}, naming{at, from.at, optional})
	default:
		return place{from.what, name, true, at}
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
			r.note(read{at.what, "*", "*"})
		case at.what != "":
			r.note(read{at.what, at.domain, "*"})
		}
	}
}

func (r reads) walk(e ast.Expr, scope map[string]place) place {
	switch e.Kind() {
	case ast.IdentKind:
		return scope[e.AsIdent()]
	case ast.SelectKind:
		field := e.AsSelect()
		return r.step(r.walk(field.Operand(), scope), field.FieldName(), e.ID(), field.IsTestOnly())
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
		return r.step(places[0], names[1], args[1].ID(), name != operators.Index)
	case name == operators.In && names[0] != "":
		r.escape(r.step(places[1], names[0], args[0].ID(), true))
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

// always stands for what every expression sees: the driver, whether the device is shared, and versions and values of
// no known type, since one that does not parse fails every expression.
var always = read{Map: "always"}

// sees says whether a read is of an entry that a device of the driver publishes by this name.
func (at read) sees(driver, what string, name resourceapi.QualifiedName) bool {
	domain, id, qualified := strings.Cut(string(name), "/")
	if !qualified {
		domain, id = driver, string(name)
	}
	return at.Map == what && (at.Domain == "*" || at.Domain == domain) && (at.Key == "*" || at.Key == id)
}

func isAlways(value resourceapi.DeviceAttribute) bool {
	return value.StringValue == nil && value.IntValue == nil && value.BoolValue == nil
}

// names lists the entries that a read sees of a device, sorted. What it asks for by name is looked up.
func (at read) names(driver string, device *resourceapi.Device) (attributes, capacity []resourceapi.QualifiedName) {
	if at != always && at.Domain != "*" && at.Key != "*" {
		return at.named(driver, device)
	}
	for name, value := range device.Attributes {
		if at == always && isAlways(value) || at.sees(driver, "attributes", name) {
			attributes = append(attributes, name)
		}
	}
	for name := range device.Capacity {
		if at.sees(driver, "capacity", name) {
			capacity = append(capacity, name)
		}
	}
	slices.Sort(attributes)
	slices.Sort(capacity)
	return attributes, capacity
}

// named is names for a read of one domain and one key: devices may leave their driver's domain out.
func (at read) named(driver string, device *resourceapi.Device) (attributes, capacity []resourceapi.QualifiedName) {
	has := func(name resourceapi.QualifiedName) {
		if at.Map == "attributes" {
			if _, found := device.Attributes[name]; found {
				attributes = append(attributes, name)
			}
		} else if _, found := device.Capacity[name]; found {
			capacity = append(capacity, name)
		}
	}
	if at.Domain == driver {
		has(resourceapi.QualifiedName(at.Key))
	}
	has(resourceapi.QualifiedName(at.Domain + "/" + at.Key))
	return attributes, capacity
}

// views writes down what is seen of each device of a slice: devices of one view are one to whoever reads this alone.
func (at read) views(slice *resourceapi.ResourceSlice) views {
	out := make(views, len(slice.Spec.Devices))
	for i := range slice.Spec.Devices {
		out[i] = unique.Make(at.view(slice.Spec.Driver, &slice.Spec.Devices[i]))
	}
	return out
}

func (at read) view(driver string, device *resourceapi.Device) string {
	var out []byte
	if at == always {
		out = append(out, driver...)
		if device.AllowMultipleAllocations != nil && *device.AllowMultipleAllocations {
			out = append(out, '+')
		}
	}
	attributes, capacity := at.names(driver, device)
	for _, name := range attributes {
		out = append(append(out, "\x00a"...), name...)
		switch value := device.Attributes[name]; {
		case value.StringValue != nil:
			out = append(append(out, "\x00s"...), *value.StringValue...)
		case value.VersionValue != nil:
			out = append(append(out, "\x00v"...), *value.VersionValue...)
		default:
			text, _ := json.Marshal(value)
			out = append(append(out, "\x00j"...), text...)
		}
	}
	for _, name := range capacity {
		value := device.Capacity[name].Value
		out = append(append(out, "\x00c"...), name...)
		out = append(append(out, 0), value.String()...)
	}
	return string(out)
}

// reduce leaves of a device what is seen of it, which is all that evaluation needs.
func (r reads) reduce(driver string, device *resourceapi.Device) cel.Device {
	out := cel.Device{
		Driver: driver, AllowMultipleAllocations: device.AllowMultipleAllocations,
		Attributes: map[resourceapi.QualifiedName]resourceapi.DeviceAttribute{},
		Capacity:   map[resourceapi.QualifiedName]resourceapi.DeviceCapacity{},
	}
	for _, at := range append(r.list(), always) {
		attributes, capacity := at.names(driver, device)
		for _, name := range attributes {
			out.Attributes[name] = device.Attributes[name]
		}
		for _, name := range capacity {
			out.Capacity[name] = device.Capacity[name]
		}
	}
	return out
}
