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
)

// row is one object at a revision; an object that is null is gone.
type row struct {
	Kind      string          `json:"kind"`
	Namespace string          `json:"namespace"`
	Name      string          `json:"name"`
	Object    json.RawMessage `json:"object"`
}

type key struct{ kind, namespace, name string }

// snapshot is a cluster at a revision. It is never changed, only replaced.
type snapshot struct {
	revision int64
	objects  map[key]metav1.Object

	once    sync.Once
	classes classes
	slices  []*resourceapi.ResourceSlice
	rules   []*taintRule
	nodes   []*v1.Node
	claims  []*resourceapi.ResourceClaim
}

// scope names the snapshot that a request asks about, and its own changes to it.
type scope struct {
	Cluster  string   `json:"cluster"`
	Revision int64    `json:"revision"`
	Overlay  []row    `json:"overlay"`
	Gates    []string `json:"gates"`
}

func newObject(kind string) metav1.Object {
	switch kind {
	case "DeviceClass":
		return new(resourceapi.DeviceClass)
	case "ResourceSlice":
		return new(resourceapi.ResourceSlice)
	case "DeviceTaintRule":
		return new(taintRule)
	case "Node":
		return new(v1.Node)
	case "ResourceClaim":
		return new(resourceapi.ResourceClaim)
	}
	return nil
}

// with returns a snapshot changed by rows; rows of other kinds are left out.
func (s *snapshot) with(rows []row, revision int64) (*snapshot, error) {
	decoded := make([]metav1.Object, len(rows))
	errs := make([]error, len(rows))
	parallel(len(rows), func(i int) {
		object := newObject(rows[i].Kind)
		if object == nil || len(rows[i].Object) == 0 || string(rows[i].Object) == "null" {
			return
		}
		if err := json.Unmarshal(rows[i].Object, object); err != nil {
			errs[i] = refuse(http.StatusUnprocessableEntity, "object", "%s %s cannot be read: %v", rows[i].Kind, rows[i].Name, err)
			return
		}
		object.SetName(rows[i].Name)
		object.SetNamespace(rows[i].Namespace)
		decoded[i] = object
	})
	next := &snapshot{revision: revision, objects: maps.Clone(s.objects)}
	for i, row := range rows {
		if errs[i] != nil {
			return nil, errs[i]
		}
		if at := (key{row.Kind, row.Namespace, row.Name}); decoded[i] != nil {
			next.objects[at] = decoded[i]
		} else {
			delete(next.objects, at)
		}
	}
	return next, nil
}

// prepare sorts the objects by kind and name, once.
func (s *snapshot) prepare() *snapshot {
	s.once.Do(func() {
		s.classes = classes{}
		for _, object := range s.objects {
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
				if o.Status.Allocation != nil {
					s.claims = append(s.claims, o)
				}
			}
		}
		slices.SortFunc(s.slices, byName)
		slices.SortFunc(s.rules, byName)
		slices.SortFunc(s.nodes, byName)
		slices.SortFunc(s.claims, byName)
	})
	return s
}

func byName[T metav1.Object](a, b T) int {
	return cmp.Or(cmp.Compare(a.GetName(), b.GetName()), cmp.Compare(a.GetNamespace(), b.GetNamespace()))
}

type entry struct {
	*snapshot
	used int64
}

// store keeps the newest snapshot of each cluster.
type store struct {
	mutex    sync.Mutex
	clusters map[string]*entry
	clock    int64
	keep     int
}

func newStore(keep int) *store { return &store{clusters: map[string]*entry{}, keep: max(keep, 1)} }

func (s *store) get(id string) *snapshot {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if found := s.clusters[id]; found != nil {
		s.clock++
		found.used = s.clock
		return found.snapshot
	}
	return &snapshot{objects: map[key]metav1.Object{}}
}

// put stores a snapshot unless another than expected has taken its place.
func (s *store) put(id string, expected, next *snapshot) *failure {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if found := s.clusters[id]; expected != nil && found != nil && found.snapshot != expected {
		return behind(id, found.revision)
	}
	s.clock++
	s.clusters[id] = &entry{next, s.clock}
	for len(s.clusters) > s.keep {
		oldest := id
		for name, e := range s.clusters {
			if e.used < s.clusters[oldest].used {
				oldest = name
			}
		}
		delete(s.clusters, oldest)
	}
	return nil
}

func behind(id string, have int64) *failure {
	f := refuse(http.StatusConflict, "behind", "the engine has revision %d of cluster %s", have, id)
	f.Revision = &have
	return f
}

// resolve returns the snapshot that a request asks about, its overlay applied.
func (s *store) resolve(at scope) (*snapshot, error) {
	base := &snapshot{objects: map[key]metav1.Object{}}
	if at.Cluster != "" {
		if base = s.get(at.Cluster); base.revision < at.Revision {
			return nil, behind(at.Cluster, base.revision)
		}
	}
	if len(at.Overlay) > 0 {
		changed, err := base.with(at.Overlay, base.revision)
		if err != nil {
			return nil, err
		}
		base = changed
	}
	return base.prepare(), nil
}

type update struct {
	From     int64 `json:"from"`
	Revision int64 `json:"revision"`
	Rows     []row `json:"rows"`
}

func (s *store) update(_ context.Context, r *http.Request, body update) (any, error) {
	id := r.PathValue("id")
	if body.Revision <= 0 || body.From > body.Revision {
		return nil, refuse(http.StatusBadRequest, "revision", "revision must be above 0 and not below from, got from %d to %d", body.From, body.Revision)
	}
	have := s.get(id)
	base := have
	if body.From == 0 {
		base, have = &snapshot{objects: map[key]metav1.Object{}}, nil
	} else if body.From != have.revision {
		return nil, behind(id, have.revision)
	}
	next, err := base.with(body.Rows, body.Revision)
	if err != nil {
		return nil, err
	}
	if taken := s.put(id, have, next); taken != nil {
		return nil, taken
	}
	return describe(next), nil
}

func describe(s *snapshot) any {
	counts := map[string]int{"DeviceClass": 0, "ResourceSlice": 0, "DeviceTaintRule": 0, "Node": 0, "ResourceClaim": 0}
	for at := range s.objects {
		counts[at.kind]++
	}
	return map[string]any{"revision": s.revision, "counts": counts}
}

func (s *store) describe(_ context.Context, r *http.Request, _ struct{}) (any, error) {
	found := s.get(r.PathValue("id"))
	if found.revision == 0 {
		return nil, refuse(http.StatusNotFound, "cluster", "the engine holds no cluster %s", r.PathValue("id"))
	}
	return describe(found), nil
}

func (s *store) forget(_ context.Context, r *http.Request, _ struct{}) (any, error) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	delete(s.clusters, r.PathValue("id"))
	return struct{}{}, nil
}

// classes lists device classes for the allocator.
type classes map[string]*resourceapi.DeviceClass

func (c classes) List() ([]*resourceapi.DeviceClass, error) {
	return slices.SortedFunc(maps.Values(c), byName), nil
}

func (c classes) Get(name string) (*resourceapi.DeviceClass, error) {
	if class := c[name]; class != nil {
		return class, nil
	}
	return nil, fmt.Errorf("deviceclass.resource.k8s.io %q not found", name)
}
