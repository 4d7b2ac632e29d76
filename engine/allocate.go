package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"path"
	"reflect"
	"slices"
	"time"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/structured"
)

type allocateBody struct {
	scope
	Claims       []*resourceapi.ResourceClaim `json:"claims"`
	Nodes        []string                     `json:"nodes"`
	BudgetMillis int64                        `json:"budgetMillis"`
	LimitMillis  int64                        `json:"limitMillis"`
	Max          int                          `json:"max"`
}

type nodeAnswer struct {
	Outcome string                         `json:"outcome"`
	Message string                         `json:"message"`
	Results []resourceapi.AllocationResult `json:"results"`
	Score   *int64                         `json:"score"`
}

type aloneAnswer struct {
	Claim   string                 `json:"claim"`
	Request string                 `json:"request"`
	Nodes   map[string]*nodeAnswer `json:"nodes"`
}

type copiesAnswer struct {
	Copies  int    `json:"copies"`
	AtLeast bool   `json:"atLeast"`
	Message string `json:"message"`
}

// question is what the allocator is asked: the claims of one pod, on nodes, in
// the world that a snapshot, its overlay and the gates make.
type question struct {
	*snapshot
	engine   identity
	features structured.Features
	kit      *kit
	slices   []*resourceapi.ResourceSlice
	state    allocatedState
	claims   []*resourceapi.ResourceClaim
	nodes    []*v1.Node
	budget   time.Duration
	limit    time.Duration
}

// ask reads a request body into a question.
func (s *store) ask(ctx context.Context, body allocateBody) (*question, error) {
	world, err := s.resolve(body.scope)
	if err != nil {
		return nil, err
	}
	gates := sets.New(body.Gates...)
	q := &question{
		snapshot: world, engine: self(), features: allocatorFeatures(gates), kit: kitFor(gates), claims: body.Claims, nodes: world.nodes,
		budget: time.Duration(cmp.Or(body.BudgetMillis, 2_000)) * time.Millisecond,
		limit:  time.Duration(cmp.Or(body.LimitMillis, 10_000)) * time.Millisecond,
	}
	if len(q.claims) == 0 {
		return nil, refuse(http.StatusUnprocessableEntity, "claims", "claims must name at least one ResourceClaim")
	}
	for i, claim := range q.claims {
		claim.UID = cmp.Or(claim.UID, types.UID(fmt.Sprintf("unnamed-%d", i)))
	}
	if body.Nodes != nil {
		q.nodes = nil
	}
	for _, name := range body.Nodes {
		node, ok := world.objects[key{"Node", "", name}].(*v1.Node)
		if !ok {
			return nil, refuse(http.StatusNotFound, "node", "the snapshot has no node %s", name)
		}
		q.nodes = append(q.nodes, node)
	}
	q.slices = taintedSlices(ctx, world, gates, q.kit.cache)
	q.state = newAllocatedState()
	for _, claim := range slices.Concat(world.claims, q.claims) {
		if claim.Status.Allocation != nil {
			q.state.add(claim.Status.Allocation, q.features.ConsumableCapacity)
		}
	}
	return q, nil
}

// allocator builds the library's allocator, whose package names its channel.
func (q *question) allocator(ctx context.Context) (structured.Allocator, error) {
	for _, claim := range q.claims {
		if claim.Status.Allocation == nil {
			if err := precheck(claim, q.classes, q.features.PrioritizedList); err != nil {
				return nil, err
			}
		}
	}
	a, err := structured.NewAllocator(ctx, q.features, q.state.AllocatedState, q.classes, q.slices, q.kit.cache)
	if err == nil {
		q.engine.Allocator = path.Base(reflect.TypeOf(a).Elem().PkgPath())
	}
	return a, err
}

// one asks for one node, as Filter of kube-scheduler's plugin does. Claims that
// are allocated already only have to be available there.
func (q *question) one(ctx context.Context, a structured.Allocator, node *v1.Node) (out *nodeAnswer) {
	defer func() {
		if p := recover(); p != nil {
			out = &nodeAnswer{Outcome: "error", Message: fmt.Sprintf("the allocator failed: %v", p)}
		}
	}()
	var open []*resourceapi.ResourceClaim
	for _, claim := range q.claims {
		if claim.Status.Allocation == nil {
			open = append(open, claim)
		} else if selector := claim.Status.Allocation.NodeSelector; selector != nil {
			if ok, err := selectorMatches(node, selector); err != nil {
				return &nodeAnswer{Outcome: "error", Message: err.Error()}
			} else if !ok {
				return &nodeAnswer{Outcome: "no", Message: "resourceclaim not available on the node"}
			}
		}
	}
	limited, cancel := context.WithTimeout(ctx, q.limit)
	defer cancel()
	found, err := a.Allocate(limited, node, open)
	switch {
	case limited.Err() != nil && err != nil:
		return &nodeAnswer{Outcome: "undecided", Message: fmt.Sprintf("node %s: timed out trying to allocate devices", node.Name)}
	case err != nil && onlyThisNode(err):
		return &nodeAnswer{Outcome: "node-error", Message: err.Error()}
	case err != nil:
		return &nodeAnswer{Outcome: "error", Message: err.Error()}
	case len(found) != len(open):
		return &nodeAnswer{Outcome: "no", Message: "cannot allocate all claims"}
	}
	out = &nodeAnswer{Outcome: "fits"}
	for _, claim := range q.claims {
		if claim.Status.Allocation != nil {
			out.Results = append(out.Results, *claim.Status.Allocation)
		} else {
			out.Results, found = append(out.Results, found[0]), found[1:]
		}
	}
	out.Score = score(q.claims, out.Results)
	return out
}

// everywhere asks for all nodes under one budget. Each node first gets a small
// part of it, so that one hard node does not starve the others.
func (q *question) everywhere(ctx context.Context, budget time.Duration) map[string]*nodeAnswer {
	answers := make([]*nodeAnswer, len(q.nodes))
	a, err := q.allocator(ctx)
	limited, cancel := context.WithTimeout(ctx, budget)
	defer cancel()
	for _, part := range []time.Duration{budget / 16, budget} {
		parallel(len(answers), func(i int) {
			if err != nil {
				answers[i] = &nodeAnswer{Outcome: "error", Message: err.Error()}
			} else if answers[i] == nil || answers[i].Outcome == "undecided" {
				shorter, cancel := context.WithTimeout(limited, part)
				defer cancel()
				answers[i] = q.one(shorter, a, q.nodes[i])
			}
		})
	}
	named := map[string]*nodeAnswer{}
	for i, node := range q.nodes {
		named[node.Name] = answers[i]
	}
	return named
}

// alone asks for each request by itself on the nodes that the budget left
// undecided, without the constraints: a request that has no candidate alone has
// none in company.
func (q *question) alone(ctx context.Context, joint map[string]*nodeAnswer) []aloneAnswer {
	undecided := *q
	undecided.nodes = slices.DeleteFunc(slices.Clone(q.nodes), func(n *v1.Node) bool { return joint[n.Name].Outcome != "undecided" })
	var out []aloneAnswer
	limited, cancel := context.WithTimeout(ctx, q.budget/8)
	defer cancel()
	for _, claim := range q.claims {
		for _, request := range claim.Spec.Devices.Requests {
			if len(undecided.nodes) == 0 || claim.Status.Allocation != nil {
				continue
			}
			single := claim.DeepCopy()
			single.Spec.Devices = resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{request}}
			undecided.claims = []*resourceapi.ResourceClaim{single}
			answers := undecided.everywhere(limited, q.budget/8)
			for _, answer := range answers {
				answer.Results, answer.Score = nil, nil
			}
			out = append(out, aloneAnswer{claim.Name, request.Name, answers})
		}
	}
	return out
}

// blank hides the share ids, which are random.
func blank(answers map[string]*nodeAnswer) {
	none := types.UID("00000000-0000-0000-0000-000000000000")
	for _, answer := range answers {
		for i := range answer.Results {
			answer.Results[i] = *answer.Results[i].DeepCopy()
			for j := range answer.Results[i].Devices.Results {
				if result := &answer.Results[i].Devices.Results[j]; result.ShareID != nil {
					result.ShareID = &none
				}
			}
		}
	}
}

func (s *store) allocate(ctx context.Context, _ *http.Request, body allocateBody) (any, error) {
	q, err := s.ask(ctx, body)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	nodes := q.everywhere(ctx, q.budget)
	alone := q.alone(ctx, nodes)
	blank(nodes)
	return map[string]any{
		"engine": q.engine, "revision": q.revision, "micros": time.Since(start).Microseconds(), "nodes": nodes, "alone": alone,
	}, ctx.Err()
}

// around is the question as one node sees it: only the pools that the node can
// reach, and what is allocated of them.
func (q *question) around(node *v1.Node, all []*resourceapi.ResourceClaim) *question {
	type pool struct{ driver, name string }
	near := map[pool]bool{}
	for _, s := range q.slices {
		if s.Spec.NodeName == nil || *s.Spec.NodeName == "" || *s.Spec.NodeName == node.Name {
			near[pool{s.Spec.Driver, s.Spec.Pool.Name}] = true
		}
	}
	local := *q
	local.nodes, local.slices, local.state = []*v1.Node{node}, nil, newAllocatedState()
	for _, s := range q.slices {
		if near[pool{s.Spec.Driver, s.Spec.Pool.Name}] {
			local.slices = append(local.slices, s)
		}
	}
	for _, claim := range all {
		results := claim.Status.Allocation.Devices.Results
		if slices.ContainsFunc(results, func(r resourceapi.DeviceRequestAllocationResult) bool { return near[pool{r.Driver, r.Pool}] }) {
			local.state.add(claim.Status.Allocation, q.features.ConsumableCapacity)
		}
	}
	return &local
}

// fill puts copies on the question's nodes, one node after the other, until no
// more fits; what a copy takes is gone for the next.
func (q *question) fill(ctx context.Context, most int) (out copiesAnswer) {
	for _, node := range q.nodes {
		for out.Copies < most {
			a, err := q.allocator(ctx)
			if err != nil {
				return copiesAnswer{Message: err.Error()}
			}
			answer := q.one(ctx, a, node)
			if answer.Outcome != "fits" {
				out.AtLeast = out.AtLeast || answer.Outcome == "undecided"
				out.Message = cmp.Or(out.Message, answer.Message)
				break
			}
			out.Copies++
			for i := range answer.Results {
				q.state.add(&answer.Results[i], q.features.ConsumableCapacity)
			}
		}
	}
	if out.Copies == most {
		out.AtLeast, out.Message = true, ""
	}
	return out
}

// copies counts how many copies of the claims fit on each node, and on all
// nodes together, filled in the order of their names.
func (s *store) copies(ctx context.Context, _ *http.Request, body allocateBody) (any, error) {
	q, err := s.ask(ctx, body)
	if err != nil {
		return nil, err
	}
	start, most := time.Now(), cmp.Or(body.Max, 100)
	limited, cancel := context.WithTimeout(ctx, q.budget)
	defer cancel()
	each := make([]copiesAnswer, len(q.nodes))
	parallel(len(each), func(i int) { each[i] = q.around(q.nodes[i], q.snapshot.claims).fill(limited, most) })
	nodes := map[string]copiesAnswer{}
	for i, node := range q.nodes {
		nodes[node.Name] = each[i]
	}
	together := q.fill(limited, most)
	if ctx.Err() == nil && errors.Is(limited.Err(), context.DeadlineExceeded) {
		together.AtLeast = true
	}
	return map[string]any{
		"engine": q.engine, "revision": q.revision, "micros": time.Since(start).Microseconds(), "nodes": nodes, "together": together,
	}, ctx.Err()
}
