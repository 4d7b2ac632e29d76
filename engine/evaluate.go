package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
)

type evaluateBody struct {
	scope
	Within      []string `json:"within"`
	Expressions []string `json:"expressions"`
	List        bool     `json:"list"`
	OneByOne    bool     `json:"oneByOne"`
	LimitMillis int64    `json:"limitMillis"`
}

type tally struct {
	Match   int `json:"match"`
	NoMatch int `json:"noMatch"`
	Error   int `json:"error"`
}

type evaluateError struct {
	Message string `json:"message"`
	Count   int    `json:"count"`
	Example string `json:"example"`
}

type evaluateAnswer struct {
	Engine   identity          `json:"engine"`
	Revision int64             `json:"revision"`
	Compile  []verdict         `json:"compile"`
	Total    int               `json:"total"`
	Devices  *tally            `json:"devices"`
	Nodes    map[string]*tally `json:"nodes"`
	Errors   []evaluateError   `json:"errors"`
	Matches  []string          `json:"matches,omitempty"`
}

type outcome int

const (
	outside outcome = iota
	match
	noMatch
	failed
)

func (t *tally) add(o outcome, n int) {
	switch o {
	case match:
		t.Match += n
	case noMatch:
		t.NoMatch += n
	case failed:
		t.Error += n
	}
}

// look is a set of devices that no expression of the request can tell apart.
type look struct {
	slice   *resourceapi.ResourceSlice
	device  *resourceapi.Device
	outcome outcome
	message string
}

// newest leaves out slices of generations that a pool has left behind.
func newest(all []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
	type pool struct{ driver, name string }
	generation := map[pool]int64{}
	for _, s := range all {
		at := pool{s.Spec.Driver, s.Spec.Pool.Name}
		generation[at] = max(generation[at], s.Spec.Pool.Generation)
	}
	return slices.DeleteFunc(slices.Clone(all), func(s *resourceapi.ResourceSlice) bool {
		return s.Spec.Pool.Generation < generation[pool{s.Spec.Driver, s.Spec.Pool.Name}]
	})
}

// judgeLook asks all expressions of one device: those of within decide whether
// it takes part, the others, in order, whether it matches.
func (l *look) judge(ctx context.Context, within, asked []cel.CompilationResult) error {
	for i, compiled := range slices.Concat(within, asked) {
		matches, _, err := compiled.DeviceMatches(ctx, celDevice(l.slice, l.device))
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			l.outcome, l.message = failed, err.Error()
			return nil
		case !matches && i < len(within):
			return nil
		case !matches:
			l.outcome = noMatch
			return nil
		}
	}
	l.outcome = match
	return nil
}

// group puts the devices of slices into looks; what it returns has the shape of
// the slices' devices.
func group(all []*resourceapi.ResourceSlice, seen reads, oneByOne bool) (looks []*look, of [][]*look) {
	keys := make([][]string, len(all))
	parallel(len(all), func(i int) {
		for d := range all[i].Spec.Devices {
			name := seen.look(all[i].Spec.Driver, &all[i].Spec.Devices[d])
			if oneByOne {
				name = fmt.Sprint(i, " ", d)
			}
			keys[i] = append(keys[i], name)
		}
	})
	known := map[string]*look{}
	of = make([][]*look, len(all))
	for i, slice := range all {
		for d, name := range keys[i] {
			found := known[name]
			if found == nil {
				found = &look{slice: slice, device: &slice.Spec.Devices[d]}
				known[name] = found
				looks = append(looks, found)
			}
			of[i] = append(of[i], found)
		}
	}
	return looks, of
}

// reach finds the names of the nodes from which a slice or a device is reached.
// A node name counts even where there is no such Node object.
func reach(nodes []*v1.Node, name *string, all *bool, selector *v1.NodeSelector) []string {
	if name != nil && *name != "" {
		return []string{*name}
	}
	var names []string
	for _, node := range nodes {
		if ok, err := reaches(node, nil, all, selector); err == nil && ok {
			names = append(names, node.Name)
		}
	}
	return names
}

func (s *store) evaluate(ctx context.Context, _ *http.Request, body evaluateBody) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(cmp.Or(body.LimitMillis, 10_000))*time.Millisecond)
	defer cancel()
	world, err := s.resolve(body.scope)
	if err != nil {
		return nil, err
	}
	k := kitFor(sets.New(body.Gates...))
	out := &evaluateAnswer{Engine: self(), Revision: world.revision, Compile: []verdict{}, Errors: []evaluateError{}}
	seen := reads{}
	var compiled []cel.CompilationResult
	for i, expression := range slices.Concat(body.Within, body.Expressions) {
		compiled = append(compiled, k.cache.GetOrCompile(expression))
		maps.Copy(seen, readsOf(k.env, expression))
		if i >= len(body.Within) {
			out.Compile = append(out.Compile, judge(compiled[i]))
		} else if compiled[i].Error != nil {
			return nil, refuse(http.StatusUnprocessableEntity, "within", "a selector of the class does not compile: %s", *judge(compiled[i]).Error)
		}
	}
	if slices.ContainsFunc(out.Compile, func(v verdict) bool { return !v.OK }) {
		return out, nil
	}
	all := newest(world.slices)
	looks, of := group(all, seen, body.OneByOne)
	errs := make([]error, len(looks))
	parallel(len(looks), func(i int) {
		errs[i] = looks[i].judge(ctx, compiled[:len(body.Within)], compiled[len(body.Within):])
	})
	if err := errors.Join(errs...); err != nil {
		return nil, cmp.Or(ctx.Err(), err)
	}
	out.count(all, of, world.nodes, body.List)
	return out, nil
}

// count adds up the outcomes, over all devices and for each node.
func (a *evaluateAnswer) count(all []*resourceapi.ResourceSlice, of [][]*look, nodes []*v1.Node, list bool) {
	a.Devices, a.Nodes = &tally{}, map[string]*tally{}
	messages := map[string]int{}
	for i, slice := range all {
		each := slice.Spec.PerDeviceNodeSelection != nil && *slice.Spec.PerDeviceNodeSelection
		counts := map[outcome]int{}
		for d, l := range of[i] {
			device := &slice.Spec.Devices[d]
			a.Devices.add(l.outcome, 1)
			id := slice.Spec.Driver + "/" + slice.Spec.Pool.Name + "/" + device.Name
			if l.outcome == match && list {
				a.Matches = append(a.Matches, id)
			}
			if at, known := messages[l.message]; l.outcome == failed && known {
				a.Errors[at].Count++
			} else if l.outcome == failed {
				messages[l.message] = len(a.Errors)
				a.Errors = append(a.Errors, evaluateError{l.message, 1, id})
			}
			if each {
				a.onNodes(reach(nodes, device.NodeName, device.AllNodes, device.NodeSelector), map[outcome]int{l.outcome: 1})
			}
			counts[l.outcome]++
		}
		if !each {
			a.onNodes(reach(nodes, slice.Spec.NodeName, slice.Spec.AllNodes, slice.Spec.NodeSelector), counts)
		}
	}
	a.Total = a.Devices.Match + a.Devices.NoMatch + a.Devices.Error
	if list && a.Matches == nil {
		a.Matches = []string{}
	}
}

func (a *evaluateAnswer) onNodes(names []string, counts map[outcome]int) {
	for _, name := range names {
		if a.Nodes[name] == nil {
			a.Nodes[name] = &tally{}
		}
		for o, n := range counts {
			a.Nodes[name].add(o, n)
		}
	}
}
