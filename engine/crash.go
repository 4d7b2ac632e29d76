package main

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
)

// orders is in how many orders the slices of a node are tried: a crash that needs one certain order of four pools is
// missed once in 230 times.
const orders = 128

// crash says how 1.34's allocator would end kube-scheduler on a node, whatever it answers otherwise; "" where no order
// was found that does. With DRAConsumableCapacity it takes a request's n-th device for the n-th of that device's slice,
// and panics where the slice has fewer. Pools, and slices within them, come to it in any order, so that the same claim
// may be scheduled many times before it crashes.
func (q *question) crash(ctx context.Context, node *v1.Node) string {
	most := mostDevices(q.claims)
	isSmall := func(s *resourceapi.ResourceSlice) bool {
		return len(s.Spec.Devices) > 0 && int64(len(s.Spec.Devices)) < most
	}
	other := *q
	other.slices = slices.DeleteFunc(slices.Clone(q.slices), func(s *resourceapi.ResourceSlice) bool {
		return s.Spec.NodeName != nil && *s.Spec.NodeName != node.Name
	})
	if len(other.slices) < 2 || !slices.ContainsFunc(other.slices, isSmall) {
		return ""
	}
	random := rand.New(rand.NewPCG(0, 0))
	for range orders {
		random.Shuffle(len(other.slices), func(i, j int) {
			other.slices[i], other.slices[j] = other.slices[j], other.slices[i]
		})
		a, err := other.allocator(ctx)
		if err != nil || ctx.Err() != nil {
			return ""
		}
		if answer := other.one(ctx, a, node); answer.Crash != "" {
			return answer.Crash
		}
	}
	return ""
}

// mostDevices is how many devices one request may take, any number where it takes all.
func mostDevices(claims []*resourceapi.ResourceClaim) (most int64) {
	count := func(mode resourceapi.DeviceAllocationMode, n int64) {
		if mode == resourceapi.DeviceAllocationModeAll {
			n = math.MaxInt64
		}
		most = max(most, n)
	}
	for _, claim := range claims {
		if claim.Status.Allocation != nil {
			continue
		}
		for _, request := range claim.Spec.Devices.Requests {
			if request.Exactly != nil {
				count(request.Exactly.AllocationMode, request.Exactly.Count)
			}
			for _, sub := range request.FirstAvailable {
				count(sub.AllocationMode, sub.Count)
			}
		}
	}
	return most
}
