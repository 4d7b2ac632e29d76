package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"
	"unique"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
)

type evaluateBody struct {
	scope
	Within, Expressions []string
	List, OneByOne      bool
	Measure             bool
	LimitMillis         int64
}

// measured is how many evaluations are timed where that is asked for.
const measured = 512

// tally counts devices by outcome.
type tally map[string]int

type celError struct {
	Message string `json:"message"`
	Count   int    `json:"count"`
	Example string `json:"example"`
	Step    int    `json:"step"`
}

// step says of one expression, those of within first, how many devices came to it and for how many it held.
type step struct {
	Reached int `json:"reached"`
	Match   int `json:"match"`
}

type evaluateAnswer struct {
	Engine   identity         `json:"engine"`
	Revision int64            `json:"revision"`
	Compile  []verdict        `json:"compile"`
	Total    *int             `json:"total"`
	Devices  tally            `json:"devices"`
	Nodes    map[string]tally `json:"nodes"`
	Errors   []*celError      `json:"errors"`
	Steps    []step           `json:"steps"`
	Matches  []string         `json:"matches"`
	Looks    int              `json:"looks"`
	Micros   float64          `json:"micros"`
}

// look is a set of devices that no expression of the request can tell apart. Its outcome is empty where the device
// is outside of what the request asks about.
type look struct {
	device           cel.Device
	outcome, message string
	step             int // of the expression that decided, or their number
}

// judge asks all expressions: those of within decide whether the device takes part, the rest whether it matches.
func (l *look) judge(ctx context.Context, all []cel.CompilationResult, within int) error {
	l.outcome, l.step = "match", len(all)
	for i, compiled := range all {
		matches, _, err := compiled.DeviceMatches(ctx, l.device)
		if err != nil || !matches {
			l.step = i
		}
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			l.outcome, l.message = "error", err.Error()
			return nil
		case !matches && i < within:
			l.outcome = ""
			return nil
		case !matches:
			l.outcome = "noMatch"
			return nil
		}
	}
	return nil
}

// compile prepares the selectors of a class and of a request, which may be faulty, and finds what they read.
func (k *kit) compile(within, expressions []string) (compiled []cel.CompilationResult, seen reads, err error) {
	seen = reads{}
	for i, expression := range slices.Concat(within, expressions) {
		result := k.cache.GetOrCompile(expression)
		if result.Error != nil && i < len(within) {
			return nil, nil, refuse(http.StatusUnprocessableEntity, "within", "a selector of the class does not compile: %s", *judge(result).Error)
		}
		compiled = append(compiled, result)
		maps.Copy(seen, readsOf(k.env, expression))
	}
	return compiled, seen, nil
}

// newest leaves out slices of generations that a pool has left behind.
func newest(all []*resourceapi.ResourceSlice) []*resourceapi.ResourceSlice {
	generation := map[[2]string]int64{}
	for _, s := range all {
		at := [2]string{s.Spec.Driver, s.Spec.Pool.Name}
		generation[at] = max(generation[at], s.Spec.Pool.Generation)
	}
	return slices.DeleteFunc(slices.Clone(all), func(s *resourceapi.ResourceSlice) bool {
		return s.Spec.Pool.Generation < generation[[2]string{s.Spec.Driver, s.Spec.Pool.Name}]
	})
}

// group finds the looks of all devices; of has the shape of the slices' devices. Devices that one read can tell apart
// are put apart, read after read. Where nodes is not nil, slices of other single nodes are left out, as if empty.
func group(all []*resourceapi.ResourceSlice, seen reads, past *memory, nodes sets.Set[string]) (looks []*look, of [][]*look) {
	type part struct {
		number int
		view   unique.Handle[string]
	}
	numbers := make([][]int, len(all))
	for i, slice := range all {
		if on := slice.Spec.NodeName; nodes == nil || on == nil || *on == "" || nodes.Has(*on) {
			numbers[i] = make([]int, len(slice.Spec.Devices))
		}
	}
	for _, at := range append(seen.list(), always) {
		found, known := past.column(at, all), map[part]int{}
		for i := range all {
			for d, view := range found[i][:len(numbers[i])] {
				number, ok := known[part{numbers[i][d], view}]
				if !ok {
					number = len(known)
					known[part{numbers[i][d], view}] = number
				}
				numbers[i][d] = number
			}
		}
	}
	of = make([][]*look, len(all))
	for i, slice := range all {
		of[i] = make([]*look, len(numbers[i]))
		for d, number := range numbers[i] {
			if number == len(looks) { // numbers are given in the order of devices
				looks = append(looks, &look{device: seen.reduce(slice.Spec.Driver, &slice.Spec.Devices[d])})
			}
			of[i][d] = looks[number]
		}
	}
	return looks, of
}

// each gives every device a look of its own, whole.
func each(all []*resourceapi.ResourceSlice) (looks []*look, of [][]*look) {
	of = make([][]*look, len(all))
	for i, slice := range all {
		for d := range slice.Spec.Devices {
			looks = append(looks, &look{device: celDevice(slice, &slice.Spec.Devices[d])})
			of[i] = append(of[i], looks[len(looks)-1])
		}
	}
	return looks, of
}

func (s *store) evaluate(ctx context.Context, _ *http.Request, body evaluateBody) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(cmp.Or(body.LimitMillis, 10_000))*time.Millisecond)
	defer cancel()
	world, err := s.resolve(body.scope)
	if err != nil {
		return nil, err
	}
	k := kitFor(sets.New(body.Gates...))
	out := &evaluateAnswer{Engine: self(), Revision: world.revision, Compile: []verdict{}, Errors: []*celError{}, Steps: []step{}}
	compiled, seen, err := k.compile(body.Within, body.Expressions)
	if err != nil {
		return nil, err
	}
	sound := true
	for _, result := range compiled[len(body.Within):] {
		out.Compile, sound = append(out.Compile, judge(result)), sound && result.Error == nil
	}
	if !sound {
		return out, nil
	}
	all := world.current
	var looks []*look
	var of [][]*look
	if body.OneByOne {
		looks, of = each(all)
	} else {
		looks, of = group(all, seen, world.past, nil)
	}
	errs := make([]error, len(looks))
	took, repeat := make([]time.Duration, len(looks)), time.Duration(1)
	if body.Measure && len(looks) > 0 {
		repeat = time.Duration(max(1, measured/len(looks))) // once says little: caches are cold
	}
	parallel(len(looks), func(i int) {
		start := time.Now()
		for range repeat {
			errs[i] = looks[i].judge(ctx, compiled, len(body.Within))
		}
		took[i] = time.Since(start) / repeat
	})
	out.Looks = len(looks)
	for _, each := range took {
		out.Micros += float64(each.Nanoseconds()) / 1000
	}
	out.Steps = make([]step, len(compiled))
	out.count(all, of, world.nodes, body.List)
	return out, cmp.Or(ctx.Err(), errors.Join(errs...))
}

// count adds up the outcomes, over all devices and for each node that reaches them. The name of a node counts even
// where there is no such Node object.
func (a *evaluateAnswer) count(all []*resourceapi.ResourceSlice, of [][]*look, nodes []*v1.Node, list bool) {
	a.Devices, a.Nodes = tally{"match": 0, "noMatch": 0, "error": 0}, map[string]tally{}
	type fault struct {
		step    int
		message string
	}
	known := map[fault]*celError{}
	for i, slice := range all {
		spec, counts := slice.Spec, tally{}
		each := spec.PerDeviceNodeSelection != nil && *spec.PerDeviceNodeSelection
		for d, l := range of[i] {
			device := &spec.Devices[d]
			id := ""
			if l.outcome == "error" || l.outcome == "match" && list {
				id = spec.Driver + "/" + spec.Pool.Name + "/" + device.Name
			}
			if l.outcome == "match" && list {
				a.Matches = append(a.Matches, id)
			}
			if at := (fault{l.step, l.message}); l.outcome == "error" {
				if known[at] == nil {
					known[at] = &celError{l.message, 0, id, l.step}
					a.Errors = append(a.Errors, known[at])
				}
				known[at].Count++
			}
			for s := range a.Steps[:min(l.step+1, len(a.Steps))] {
				a.Steps[s].Reached++
				if s < l.step {
					a.Steps[s].Match++
				}
			}
			if each {
				a.add(nodes, device.NodeName, device.AllNodes, device.NodeSelector, tally{l.outcome: 1})
			}
			counts[l.outcome]++
		}
		if !each {
			a.add(nodes, spec.NodeName, spec.AllNodes, spec.NodeSelector, counts)
		}
		for outcome := range a.Devices {
			a.Devices[outcome] += counts[outcome]
		}
	}
	total := a.Devices["match"] + a.Devices["noMatch"] + a.Devices["error"]
	a.Total = &total
}

func (a *evaluateAnswer) add(nodes []*v1.Node, name *string, all *bool, selector *v1.NodeSelector, counts tally) {
	if name != nil && *name != "" {
		nodes = []*v1.Node{{}}
		nodes[0].Name = *name
	}
	for _, node := range nodes {
		if ok, err := reaches(node, name, all, selector); err != nil || !ok {
			continue
		}
		if a.Nodes[node.Name] == nil {
			a.Nodes[node.Name] = tally{"match": 0, "noMatch": 0, "error": 0}
		}
		for outcome := range a.Nodes[node.Name] {
			a.Nodes[node.Name][outcome] += counts[outcome]
		}
	}
}
