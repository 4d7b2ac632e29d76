package main

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
)

type traceBody struct {
	scope
	Nodes       []string
	Asks        []struct{ Within, Expressions []string }
	LimitMillis int64
}

// traced says of one ask which of its expressions leaves out which devices of the class. Stopped is null where an
// expression does not compile; else it names those that stop at each, and those that match last.
type traced struct {
	Reads   [][]read   `json:"reads"`
	Stopped [][]string `json:"stopped"`
}

type traceAnswer struct {
	Engine   identity `json:"engine"`
	Revision int64    `json:"revision"`
	Asks     []traced `json:"asks"`
}

func (s *store) trace(ctx context.Context, _ *http.Request, body traceBody) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, time.Duration(cmp.Or(body.LimitMillis, 10_000))*time.Millisecond)
	defer cancel()
	world, err := s.resolve(body.scope)
	if err != nil {
		return nil, err
	}
	k := kitFor(sets.New(body.Gates...))
	all := world.current
	var nodes sets.Set[string]
	if body.Nodes != nil {
		nodes = sets.New(body.Nodes...)
	}
	out := traceAnswer{Engine: self(), Revision: world.revision, Asks: make([]traced, len(body.Asks))}
	errs := make([]error, len(body.Asks))
	parallel(len(body.Asks), func(i int) {
		ask := body.Asks[i]
		out.Asks[i], errs[i] = k.trace(ctx, ask.Within, ask.Expressions, all, world.past, nodes)
	})
	return out, errors.Join(errs...)
}

func (k *kit) trace(
	ctx context.Context, within, expressions []string, all []*resourceapi.ResourceSlice, past *memory, nodes sets.Set[string],
) (out traced, err error) {
	compiled, seen, err := k.compile(within, expressions)
	if err != nil {
		return out, err
	}
	sound := true
	for i, result := range compiled[len(within):] {
		out.Reads, sound = append(out.Reads, readsOf(k.env, expressions[i]).list()), sound && result.Error == nil
	}
	if !sound {
		return out, nil
	}
	looks, of := group(all, seen, past, nodes)
	for _, each := range looks {
		if err := each.judge(ctx, compiled, len(within)); err != nil {
			return out, err
		}
	}
	out.Stopped = make([][]string, len(expressions)+1)
	for i, slice := range all {
		prefix := slice.Spec.Driver + "/" + slice.Spec.Pool.Name + "/"
		for d, l := range of[i] {
			if at := l.step - len(within); at >= 0 {
				out.Stopped[at] = append(out.Stopped[at], prefix+slice.Spec.Devices[d].Name)
			}
		}
	}
	return out, nil
}
