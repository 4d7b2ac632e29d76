package main

import (
	"slices"
	"sync"
	"sync/atomic"
	"unique"
	"weak"

	resourceapi "k8s.io/api/resource/v1"
)

// remembered is how many columns of a cluster are kept.
const remembered = 64

// views are what a read sees of the devices of a slice, in their order.
type views []unique.Handle[string]

// column is what a read sees of all slices.
type column map[weak.Pointer[resourceapi.ResourceSlice]]views

// memory keeps the columns that were read last: slices are replaced and never changed, and a keystroke mostly reads
// what the one before it did, or one key more. It holds no slice that is gone.
type memory struct {
	sync.Mutex
	columns map[read]column
	order   []read // of last use
}

// column returns what a read sees of slices. Only what is not known yet is looked at.
func (m *memory) column(at read, all []*resourceapi.ResourceSlice) []views {
	m.Lock()
	before := m.columns[at]
	m.Unlock()
	found := make([]views, len(all))
	var looked atomic.Bool
	parallel(len(all), func(i int) {
		if found[i] = before[weak.Make(all[i])]; found[i] == nil {
			found[i] = at.views(all[i])
			looked.Store(true)
		}
	})
	now := before
	if looked.Load() || len(before) != len(all) {
		now = make(column, len(all))
		for i, slice := range all {
			now[weak.Make(slice)] = found[i]
		}
	}
	m.keep(at, now)
	return found
}

// keep puts a column in the place of the one that was known, and the one that was used least out.
func (m *memory) keep(at read, now column) {
	m.Lock()
	defer m.Unlock()
	if m.columns == nil {
		m.columns = map[read]column{}
	}
	m.order = append(slices.DeleteFunc(m.order, func(other read) bool { return other == at }), at)
	if m.columns[at] = now; len(m.order) > remembered {
		delete(m.columns, m.order[0])
		m.order = slices.Delete(m.order, 0, 1)
	}
}
