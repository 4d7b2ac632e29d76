package main

import (
	"fmt"
	"slices"
	"sync"
	"unique"
	"weak"

	resourceapi "k8s.io/api/resource/v1"
)

// remembered is for how many different sets of reads a cluster's looks are kept.
const remembered = 8

// lookNames are the looks of a slice's devices, in their order.
type lookNames []unique.Handle[string]

// memory keeps the looks of the devices of a cluster's slices, for what was read last: slices are replaced and never
// changed, and a keystroke mostly reads what the one before it did. It holds no slice that is gone.
type memory struct {
	sync.Mutex
	looks map[string]map[weak.Pointer[resourceapi.ResourceSlice]]lookNames
	order []string // of last use
}

// recall returns the looks that are known, by slice; they are not to be changed.
func (m *memory) recall(seen reads) map[weak.Pointer[resourceapi.ResourceSlice]]lookNames {
	m.Lock()
	defer m.Unlock()
	return m.looks[fmt.Sprint(seen.list())]
}

// keep puts the looks of slices in the place of those that were known for these reads.
func (m *memory) keep(seen reads, all []*resourceapi.ResourceSlice, names []lookNames) {
	known := make(map[weak.Pointer[resourceapi.ResourceSlice]]lookNames, len(all))
	for i, slice := range all {
		known[weak.Make(slice)] = names[i]
	}
	m.Lock()
	defer m.Unlock()
	if m.looks == nil {
		m.looks = map[string]map[weak.Pointer[resourceapi.ResourceSlice]]lookNames{}
	}
	at := fmt.Sprint(seen.list())
	m.looks[at], m.order = known, append(without(m.order, at), at)
	if len(m.order) > remembered {
		delete(m.looks, m.order[0])
		m.order = slices.Delete(m.order, 0, 1)
	}
}
