package main

import (
	"cmp"
	"context"
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
	Claims                    []*resourceapi.ResourceClaim
	Nodes                     []string
	BudgetMillis, LimitMillis int64
	Max                       int
}

type nodeAnswer struct {
	Outcome string                         `json:"outcome"`
	Message string                         `json:"message"`
	Results []resourceapi.AllocationResult `json:"results"`
	Score   *int64                         `json:"score"`
	Crash   string                         `json:"crash,omitempty"`
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
	placed  []placed
}

// placed is one copy on a node: what it would hold.
type placed struct {
	Node    string                         `json:"node"`
	Results []resourceapi.AllocationResult `json:"results"`
}

// question is what the allocator is asked: the claims of one pod, on nodes, in a world with its gates.
type question struct {
	*snapshot
	features      structured.Features
	kit           *kit
	slices        []*resourceapi.ResourceSlice
	state         structured.AllocatedState
	claims        []*resourceapi.ResourceClaim
	nodes         []*v1.Node
	budget, limit time.Duration
}

func (s *store) ask(ctx context.Context, body allocateBody) (*question, error) {
	world, err := s.resolve(body.scope)
	if err != nil {
		return nil, err
	}
	gates := sets.New(body.Gates...)
	q := &question{snapshot: world, features: allocatorFeatures(gates), kit: kitFor(gates), claims: body.Claims, nodes: world.nodes}
	q.budget = time.Duration(cmp.Or(body.BudgetMillis, 2_000)) * time.Millisecond
	q.limit = time.Duration(cmp.Or(body.LimitMillis, 10_000)) * time.Millisecond
	if len(q.claims) == 0 || slices.Contains(q.claims, nil) {
		return nil, refuse(http.StatusUnprocessableEntity, "claims", "claims must hold at least one ResourceClaim, and no null")
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
	q.state = world.taken(q.features.ConsumableCapacity)
	if slices.ContainsFunc(q.claims, func(c *resourceapi.ResourceClaim) bool { return c.Status.Allocation != nil }) {
		q.state = cloned(q.state)
		for _, claim := range q.claims {
			if claim.Status.Allocation != nil {
				take(q.state, claim.Status.Allocation, q.features.ConsumableCapacity)
			}
		}
	}
	return q, nil
}

func cloned(s structured.AllocatedState) structured.AllocatedState {
	return structured.AllocatedState{
		AllocatedDevices: s.AllocatedDevices.Clone(), AllocatedSharedDeviceIDs: s.AllocatedSharedDeviceIDs.Clone(),
		AggregatedCapacity: s.AggregatedCapacity.Clone(),
	}
}

// taken is what all claims of the snapshot hold. It is counted once, and never changed.
func (s *snapshot) taken(consumable bool) structured.AllocatedState {
	at := &s.held[0]
	if consumable {
		at = &s.held[1]
	}
	at.Do(func() {
		at.state = structured.AllocatedState{
			AllocatedDevices: sets.New[structured.DeviceID](), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
			AggregatedCapacity: structured.NewConsumedCapacityCollection(),
		}
		for _, claim := range s.claims {
			if claim.Status.Allocation != nil {
				take(at.state, claim.Status.Allocation, consumable)
			}
		}
	})
	return at.state
}

func (q *question) allocator(ctx context.Context) (structured.Allocator, error) {
	for _, claim := range q.claims {
		if err := precheck(claim, q.classes, q.features.PrioritizedList); err != nil && claim.Status.Allocation == nil {
			return nil, err
		}
	}
	return structured.NewAllocator(ctx, q.features, q.state, q.classes, q.slices, q.kit.cache)
}

// engine names the allocator by its package: stable, incubating or experimental.
func (q *question) engine(ctx context.Context) identity {
	who := self()
	if a, err := structured.NewAllocator(ctx, q.features, q.state, q.classes, nil, q.kit.cache); err == nil {
		who.Allocator = path.Base(reflect.TypeOf(a).Elem().PkgPath())
	}
	return who
}

// one asks for one node, as Filter of kube-scheduler's plugin does: claims that are allocated only have to be
// available there.
func (q *question) one(ctx context.Context, a structured.Allocator, node *v1.Node) (out *nodeAnswer) {
	defer func() {
		if p := recover(); p != nil {
			out = &nodeAnswer{Outcome: "error", Message: fmt.Sprintf("the allocator failed: %v", p), Crash: fmt.Sprint(p)}
		}
	}()
	var open []*resourceapi.ResourceClaim
	for _, claim := range q.claims {
		if claim.Status.Allocation == nil {
			open = append(open, claim)
		} else if selector := claim.Status.Allocation.NodeSelector; selector != nil {
			if ok, err := reaches(node, nil, nil, selector); err != nil || !ok {
				return &nodeAnswer{Outcome: "no", Message: "resourceclaim not available on the node"}
			}
		}
	}
	limited, cancel := context.WithTimeout(ctx, q.limit)
	defer cancel()
	found, err := a.Allocate(limited, node, open)
	switch {
	case err != nil && limited.Err() != nil:
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
			out.Results = append(out.Results, *claim.Status.Allocation.DeepCopy())
		} else {
			out.Results, found = append(out.Results, found[0]), found[1:]
		}
	}
	out.Score = score(q.claims, out.Results)
	return out
}

// everywhere asks for all nodes under one budget. Each node first gets a small part of it, so that one hard node does
// not starve the others.
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
	if err == nil && self().Minor == "1.34" && q.features.ConsumableCapacity {
		parallel(len(answers), func(i int) {
			answers[i].Crash = cmp.Or(answers[i].Crash, q.crash(limited, q.nodes[i]))
		})
	}
	named := map[string]*nodeAnswer{}
	for i, node := range q.nodes {
		named[node.Name] = answers[i]
	}
	return named
}

// alone asks for each request by itself, without constraints, on the nodes that the budget left undecided: a request
// that has no candidate alone has none in company.
func (q *question) alone(ctx context.Context, joint map[string]*nodeAnswer) (out []aloneAnswer) {
	rest := *q
	rest.nodes = slices.DeleteFunc(slices.Clone(q.nodes), func(n *v1.Node) bool { return joint[n.Name].Outcome != "undecided" })
	limited, cancel := context.WithTimeout(ctx, q.budget/8)
	defer cancel()
	for _, claim := range q.claims {
		for _, request := range claim.Spec.Devices.Requests {
			if len(rest.nodes) == 0 || claim.Status.Allocation != nil {
				continue
			}
			single := claim.DeepCopy()
			single.Spec.Devices = resourceapi.DeviceClaim{Requests: []resourceapi.DeviceRequest{request}}
			rest.claims = []*resourceapi.ResourceClaim{single}
			out = append(out, aloneAnswer{claim.Name, request.Name, rest.everywhere(limited, q.budget/8)})
		}
	}
	return out
}

func (s *store) allocate(ctx context.Context, _ *http.Request, body allocateBody) (any, error) {
	q, err := s.ask(ctx, body)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	nodes := q.everywhere(ctx, q.budget)
	alone := q.alone(ctx, nodes)
	none := types.UID("00000000-0000-0000-0000-000000000000") // share ids are random
	for _, answer := range nodes {
		for i := range answer.Results {
			for j := range answer.Results[i].Devices.Results {
				if result := &answer.Results[i].Devices.Results[j]; result.ShareID != nil {
					result.ShareID = &none
				}
			}
		}
	}
	micros := time.Since(start).Microseconds()
	return map[string]any{"engine": q.engine(ctx), "revision": q.revision, "micros": micros, "nodes": nodes, "alone": alone}, ctx.Err()
}

// outcomes is allocate without what it finds.
func (s *store) outcomes(ctx context.Context, _ *http.Request, body allocateBody) (any, error) {
	q, err := s.ask(ctx, body)
	if err != nil {
		return nil, err
	}
	found := make(map[string][]string)
	for name, answer := range q.everywhere(ctx, q.budget) {
		found[answer.Outcome] = append(found[answer.Outcome], name)
	}
	return map[string]any{"engine": q.engine(ctx), "revision": q.revision, "outcomes": found}, ctx.Err()
}

// fill puts copies on the nodes, one node after the other, until no more fits; what a copy takes is gone for the next.
func (q question) fill(ctx context.Context, most int) (out copiesAnswer) {
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
			if out.Copies++; out.Copies == 1 {
				q.state = cloned(q.state)
			}
			out.placed = append(out.placed, placed{node.Name, answer.Results})
			for i := range answer.Results {
				take(q.state, &answer.Results[i], q.features.ConsumableCapacity)
			}
		}
	}
	if out.Copies == most {
		out.AtLeast, out.Message = true, ""
	}
	return out
}

// copies counts how many copies of the claims fit on each node, and on all nodes together in the order of their names.
func (s *store) copies(ctx context.Context, _ *http.Request, body allocateBody) (any, error) {
	q, err := s.ask(ctx, body)
	if err != nil {
		return nil, err
	}
	limited, cancel := context.WithTimeout(ctx, q.budget)
	defer cancel()
	most, each, nodes := cmp.Or(body.Max, 100), make([]copiesAnswer, len(q.nodes)), map[string]copiesAnswer{}
	parallel(len(each), func(i int) {
		local := *q
		local.nodes = q.nodes[i : i+1]
		each[i] = local.fill(limited, most)
	})
	var together copiesAnswer
	for i, node := range q.nodes {
		nodes[node.Name] = each[i]
		together.Copies = min(most, together.Copies+each[i].Copies)
		together.AtLeast = together.AtLeast || each[i].AtLeast || together.Copies == most
		together.Message = cmp.Or(together.Message, each[i].Message)
		together.placed = append(together.placed, each[i].placed...)
	}
	if !q.separate() {
		together = q.fill(limited, most)
	}
	return map[string]any{
		"engine": q.engine(ctx), "revision": q.revision, "nodes": nodes, "together": together,
		"placed": together.placed[:min(len(together.placed), most)],
	}, ctx.Err()
}

// separate says whether no pool reaches more than one node, so that what one node gives takes nothing from another.
func (q *question) separate() bool {
	nodes := map[[2]string]string{}
	for _, s := range q.slices {
		at := [2]string{s.Spec.Driver, s.Spec.Pool.Name}
		if s.Spec.NodeName == nil || nodes[at] != "" && nodes[at] != *s.Spec.NodeName {
			return false
		}
		nodes[at] = *s.Spec.NodeName
	}
	return true
}
