package main

// What kube-scheduler does outside k8s.io/dynamic-resource-allocation, written
// again here. Each function names the place that it must keep agreeing with.

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/component-helpers/scheduling/corev1/nodeaffinity"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// taintRule is a DeviceTaintRule of any version: v1alpha3 (1.34 to 1.36),
// v1beta2 (1.36) or v1 (1.37). A class and selectors exist in 1.34 only.
type taintRule struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		DeviceSelector *struct {
			DeviceClassName      *string
			Driver, Pool, Device *string
			Selectors            []resourceapi.DeviceSelector
		} `json:"deviceSelector"`
		Taint resourceapi.DeviceTaint `json:"taint"`
	} `json:"spec"`
}

// selects is one rule's part of applyPatches in the library's
// resourceslice/tracker. A rule without a selector means every device in 1.34
// and none from 1.35 on.
func (r *taintRule) selects(ctx context.Context, slice *resourceapi.ResourceSlice, device *resourceapi.Device, known classes, cache *cel.Cache) bool {
	s := r.Spec.DeviceSelector
	if s == nil {
		return self().Minor == "1.34"
	}
	other := func(wanted *string, is string) bool { return wanted != nil && *wanted != is }
	if other(s.Driver, slice.Spec.Driver) || other(s.Pool, slice.Spec.Pool.Name) || other(s.Device, device.Name) {
		return false
	}
	if self().Minor != "1.34" {
		return true
	}
	selectors := s.Selectors
	if s.DeviceClassName != nil {
		class := known[*s.DeviceClassName]
		if class == nil {
			return false
		}
		selectors = append(selectors[:len(selectors):len(selectors)], class.Spec.Selectors...)
	}
	for _, selector := range selectors {
		if selector.CEL == nil {
			continue
		}
		compiled := cache.GetOrCompile(selector.CEL.Expression)
		if compiled.Error != nil {
			return false
		}
		if match, _, err := compiled.DeviceMatches(ctx, celDevice(slice, device)); err != nil || !match {
			return false
		}
	}
	return true
}

// taintedSlices is ListPatchedResourceSlices of the library's
// resourceslice/tracker: the slices with the taints of rules added. kube-scheduler
// asks for it when DRADeviceTaintRules is on, in 1.34 when DRADeviceTaints is.
func taintedSlices(ctx context.Context, s *snapshot, gates sets.Set[string], cache *cel.Cache) []*resourceapi.ResourceSlice {
	gate := "DRADeviceTaintRules"
	if self().Minor == "1.34" {
		gate = "DRADeviceTaints"
	}
	if len(s.rules) == 0 || !gates.Has(gate) {
		return s.slices
	}
	patched := make([]*resourceapi.ResourceSlice, len(s.slices))
	for i, slice := range s.slices {
		patched[i] = slice
		for d := range slice.Spec.Devices {
			for _, rule := range s.rules {
				if !rule.selects(ctx, slice, &slice.Spec.Devices[d], s.classes, cache) {
					continue
				}
				if patched[i] == slice {
					patched[i] = slice.DeepCopy()
				}
				patched[i].Spec.Devices[d].Taints = append(patched[i].Spec.Devices[d].Taints, rule.Spec.Taint)
			}
		}
	}
	return patched
}

// take counts an allocation as taken: foreachAllocatedDevice in allocateddevices.go of the dynamicresources plugin,
// as GatherAllocatedState and ListAllAllocatedDevices of its dra_manager.go use it.
func take(s structured.AllocatedState, allocation *resourceapi.AllocationResult, consumable bool) {
	for _, r := range allocation.Devices.Results {
		if r.AdminAccess != nil && *r.AdminAccess {
			continue
		}
		id := structured.MakeDeviceID(r.Driver, r.Pool, r.Device)
		if !consumable || r.ShareID == nil {
			s.AllocatedDevices.Insert(id)
			continue
		}
		s.AllocatedSharedDeviceIDs.Insert(structured.MakeSharedDeviceID(id, r.ShareID))
		if r.ConsumedCapacity != nil {
			s.AggregatedCapacity.Insert(structured.NewDeviceConsumedCapacity(id, r.ConsumedCapacity))
		}
	}
}

// precheck is the check of requests in PreFilter of the scheduler's
// dynamicresources plugin, with validateDeviceClass: what it finds ends
// scheduling on every node, before any device is looked at.
func precheck(claim *resourceapi.ResourceClaim, known classes, prioritizedList bool) error {
	missing := func(class, request string) error {
		if class == "" {
			return fmt.Errorf("request %s: unsupported request type", request)
		}
		if known[class] == nil {
			return fmt.Errorf("request %s: device class %s does not exist", request, class)
		}
		return nil
	}
	full := claim.Namespace + "/" + claim.Name
	for _, request := range claim.Spec.Devices.Requests {
		if request.Exactly != nil {
			if err := missing(request.Exactly.DeviceClassName, request.Name); err != nil {
				return err
			}
			continue
		}
		if len(request.FirstAvailable) == 0 {
			return fmt.Errorf("resource claim %s, request %s: unknown request type", full, request.Name)
		}
		if !prioritizedList {
			return fmt.Errorf("resource claim %s, request %s: has subrequests, but the DRAPrioritizedList feature is disabled", full, request.Name)
		}
		for _, sub := range request.FirstAvailable {
			if err := missing(sub.DeviceClassName, request.Name+"/"+sub.Name); err != nil {
				return err
			}
		}
	}
	return nil
}

// score is computeScore of the scheduler's dynamicresources plugin, which 1.34
// does not have: 8 for a first alternative, 7 for a second, and so on.
func score(claims []*resourceapi.ResourceClaim, results []resourceapi.AllocationResult) *int64 {
	if self().Minor == "1.34" {
		return nil
	}
	var total int64
	for i, claim := range claims {
		allocated := sets.New[string]()
		for _, result := range results[i].Devices.Results {
			allocated.Insert(result.Request)
		}
		for _, request := range claim.Spec.Devices.Requests {
			for rank, sub := range request.FirstAvailable {
				if allocated.Has(request.Name + "/" + sub.Name) {
					total += int64(resourceapi.FirstAvailableDeviceRequestMaxSize - rank)
				}
			}
		}
	}
	return &total
}

// reaches is NodeMatches of the library's structured package, which 1.34 keeps to itself, and for the selector of
// an allocation the match that Filter of the dynamicresources plugin makes: is this to be had from the node?
func reaches(node *v1.Node, name *string, all *bool, selector *v1.NodeSelector) (bool, error) {
	switch {
	case name != nil && *name != "":
		return node.Name == *name, nil
	case all != nil && *all:
		return true, nil
	case selector == nil:
		return false, nil
	}
	parsed, err := nodeaffinity.NewNodeSelector(selector)
	if err != nil {
		return false, fmt.Errorf("node selector: %w", err)
	}
	return parsed.Match(node), nil
}
