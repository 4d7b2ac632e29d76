package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"

	v1 "k8s.io/api/core/v1"
	resourceapi "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/dynamic-resource-allocation/structured"
)

// row is one object at a revision; an object that is null is gone.
type row struct {
	Kind, Namespace, Name string
	Object                json.RawMessage
}

type key struct{ kind, namespace, name string }

// snapshot is a cluster at a revision. It is never changed, only replaced.
type snapshot struct {
	revision int64
	objects  map[key]metav1.Object
	past     *memory // shared by all that were made from one another

	once    sync.Once
	classes classes
	slices  []*resourceapi.ResourceSlice
	current []*resourceapi.ResourceSlice // those of their pools' newest generation
	rules   []*taintRule
	nodes   []*v1.Node
	claims  []*resourceapi.ResourceClaim

	held [2]struct { // without consumable capacity, and with it
		sync.Once
		state structured.AllocatedState
	}
}

var kinds = map[string]func() metav1.Object{
	"DeviceClass":     func() metav1.Object { return new(resourceapi.DeviceClass) },
	"ResourceSlice":   func() metav1.Object { return new(resourceapi.ResourceSlice) },
	"DeviceTaintRule": func() metav1.Object { return new(taintRule) },
	"Node":            func() metav1.Object { return new(v1.Node) },
	"ResourceClaim":   func() metav1.Object { return new(resourceapi.ResourceClaim) },
}

// with returns the snapshot changed by rows; rows of other kinds are left out.
func (s *snapshot) with(rows []row, revision int64) (*snapshot, error) {
	decoded, errs := make([]metav1.Object, len(rows)), make([]error, len(rows))
	parallel(len(rows), func(i int) {
		if kinds[rows[i].Kind] == nil || len(rows[i].Object) == 0 || string(rows[i].Object) == "null" {
			return
		}
		decoded[i] = kinds[rows[i].Kind]()
		errs[i] = json.Unmarshal(rows[i].Object, decoded[i])
		decoded[i].SetName(rows[i].Name)
		decoded[i].SetNamespace(rows[i].Namespace)
	})
	next := &snapshot{revision: revision, objects: maps.Clone(s.objects), past: s.past}
	for i, row := range rows {
		if errs[i] != nil {
			return nil, refuse(http.StatusUnprocessableEntity, "object", "%s %s cannot be read: %v", row.Kind, row.Name, errs[i])
		}
		if at := (key{row.Kind, row.Namespace, row.Name}); decoded[i] != nil {
			next.objects[at] = decoded[i]
		} else {
			delete(next.objects, at)
		}
	}
	return next, nil
}

// prepare puts the objects into lists by kind, sorted by name.
func (s *snapshot) prepare() {
	byName := func(a, b metav1.Object) int {
		return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetNamespace(), b.GetNamespace()))
	}
	s.classes = classes{}
	for _, object := range slices.SortedFunc(maps.Values(s.objects), byName) {
		switch o := object.(type) {
		case *resourceapi.DeviceClass:
			s.classes[o.Name] = o
		case *resourceapi.ResourceSlice:
			s.slices = append(s.slices, o)
		case *taintRule:
			s.rules = append(s.rules, o)
		case *v1.Node:
			s.nodes = append(s.nodes, o)
		case *resourceapi.ResourceClaim:
			s.claims = append(s.claims, o)
		}
	}
	s.current = newest(s.slices)
}

// store keeps the newest snapshot of each cluster; ids are in the order of last use.
type store struct {
	sync.Mutex
	clusters map[string]*snapshot
	ids      []string
	keep     int
}

func without(ids []string, id string) []string {
	return slices.DeleteFunc(ids, func(other string) bool { return other == id })
}

func empty() *snapshot { return &snapshot{objects: map[key]metav1.Object{}, past: &memory{}} }

func (s *store) get(id string) *snapshot {
	s.Lock()
	defer s.Unlock()
	if found := s.clusters[id]; found != nil {
		s.ids = append(without(s.ids, id), id)
		return found
	}
	return empty()
}

// put stores a snapshot, unless another than the one it was made from is there by now.
func (s *store) put(id string, from, next *snapshot) error {
	s.Lock()
	defer s.Unlock()
	if found := s.clusters[id]; from.revision != 0 && found != from {
		return behind(id, cmp.Or(found, empty()).revision)
	}
	if s.clusters == nil {
		s.clusters = map[string]*snapshot{}
	}
	s.clusters[id] = next
	s.ids = append(without(s.ids, id), id)
	for len(s.ids) > s.keep {
		delete(s.clusters, s.ids[0])
		s.ids = s.ids[1:]
	}
	return nil
}

func behind(id string, have int64) error {
	f := refuse(http.StatusConflict, "behind", "the engine has revision %d of cluster %s", have, id)
	f.Revision = &have
	return f
}

// scope names the snapshot that a request asks about, and its own changes to it.
type scope struct {
	Cluster  string
	Revision int64
	Overlay  []row
	Gates    []string
}

func (s *store) resolve(at scope) (*snapshot, error) {
	world := empty()
	if at.Cluster != "" {
		if world = s.get(at.Cluster); world.revision < at.Revision {
			return nil, behind(at.Cluster, world.revision)
		}
	}
	if len(at.Overlay) > 0 {
		changed, err := world.with(at.Overlay, world.revision)
		if err != nil {
			return nil, err
		}
		world = changed
	}
	world.once.Do(world.prepare)
	return world, nil
}

type rowsBody struct {
	From, Revision int64
	Rows           []row
}

func (s *store) update(ctx context.Context, r *http.Request, body rowsBody) (any, error) {
	id, from := r.PathValue("id"), empty()
	if body.From != 0 {
		from = s.get(id)
	}
	if body.From != from.revision {
		return nil, behind(id, from.revision)
	}
	if body.Revision <= 0 || body.Revision < body.From {
		return nil, refuse(http.StatusBadRequest, "revision", "revision must be above 0 and not below from, not %d", body.Revision)
	}
	next, err := from.with(body.Rows, body.Revision)
	if err != nil {
		return nil, err
	}
	if err := s.put(id, from, next); err != nil {
		return nil, err
	}
	return s.describe(ctx, r, struct{}{})
}

func (s *store) describe(_ context.Context, r *http.Request, _ struct{}) (any, error) {
	found := s.get(r.PathValue("id"))
	if found.revision == 0 {
		return nil, refuse(http.StatusNotFound, "cluster", "the engine holds no cluster %s", r.PathValue("id"))
	}
	counts := map[string]int{}
	for kind := range kinds {
		counts[kind] = 0
	}
	for at := range found.objects {
		counts[at.kind]++
	}
	return map[string]any{"revision": found.revision, "counts": counts}, nil
}

func (s *store) forget(_ context.Context, r *http.Request, _ struct{}) (any, error) {
	s.Lock()
	defer s.Unlock()
	delete(s.clusters, r.PathValue("id"))
	s.ids = without(s.ids, r.PathValue("id"))
	return struct{}{}, nil
}

// classes lists device classes for the allocator.
type classes map[string]*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) {
	return slices.Collect(maps.Values(c)), nil
}

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if class := c[name]; class != nil {
		return class, nil
	}
	return nil, fmt.Errorf("deviceclass.resource.k8s.io %q not found", name)
}
