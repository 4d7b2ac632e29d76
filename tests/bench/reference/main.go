// Command reference times Kubernetes' own allocator on one problem, node after node, with nothing around it: what a
// preview's time is compared with.
//
// It reads {"classes", "slices", "nodes", "allocated", "claims"} on standard input and writes {"micros": 0}. For every
// further value it asks for each node once and writes {"micros", "fits": nodes that can hold the claims}, so
// that whoever compares can take turns with it.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"time"

	core "k8s.io/api/core/v1"
	resource "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

type problem struct {
	Classes   []*resource.DeviceClass
	Slices    []*resource.ResourceSlice
	Nodes     []*core.Node
	Allocated []*resource.ResourceClaim
	Claims    []*resource.ResourceClaim
}

type byName []*resource.DeviceClass

func (c byName) List() ([]*resource.DeviceClass, error) { return c, nil }

func (c byName) Get(name string) (*resource.DeviceClass, error) {
	for _, class := range c {
		if class.Name == name {
			return class, nil
		}
	}
	return nil, fmt.Errorf("no class %s", name)
}

func held(claims []*resource.ResourceClaim) sets.Set[structured.DeviceID] {
	devices := sets.New[structured.DeviceID]()
	for _, claim := range claims {
		for _, result := range claim.Status.Allocation.Devices.Results {
			devices.Insert(structured.MakeDeviceID(result.Driver, result.Pool, result.Device))
		}
	}
	return devices
}

func once(p problem) (micros int64, fits int, err error) {
	ctx := context.Background()
	started := time.Now()
	state := structured.AllocatedState{
		AllocatedDevices: held(p.Allocated), AllocatedSharedDeviceIDs: sets.New[structured.SharedDeviceID](),
		AggregatedCapacity: structured.NewConsumedCapacityCollection(),
	}
	features := structured.Features{
		AdminAccess: true, PrioritizedList: true, PartitionableDevices: true, DeviceTaints: true, ConsumableCapacity: true,
	}
	cache := cel.NewCache(100, cel.Features{EnableConsumableCapacity: true})
	allocator, err := structured.NewAllocator(ctx, features, state, byName(p.Classes), p.Slices, cache)
	if err != nil {
		return 0, 0, err
	}
	for _, node := range p.Nodes {
		results, err := allocator.Allocate(ctx, node, p.Claims)
		if err != nil {
			return 0, 0, err
		}
		if results != nil {
			fits++
		}
	}
	return time.Since(started).Microseconds(), fits, nil
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	var p problem
	var answer struct {
		Micros int64 `json:"micros"`
		Fits   int   `json:"fits"`
	}
	var turn any
	for err := in.Decode(&p); err != io.EOF; err = in.Decode(&turn) {
		if err == nil && turn != nil {
			answer.Micros, answer.Fits, err = once(p)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		out.Encode(answer)
	}
}
