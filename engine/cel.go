package main

import (
	"context"
	"fmt"
	"net/http"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"sync"

	celgo "github.com/google/cel-go/cel"
	resourceapi "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/dynamic-resource-allocation/structured"
)

// set switches on the fields of a Features struct that exist in this minor's
// library; a gate that the library does not know is ignored.
func set(target any, fields map[string]string, names sets.Set[string]) {
	v := reflect.ValueOf(target).Elem()
	for field, gate := range fields {
		if f := v.FieldByName(field); f.IsValid() && names.Has(gate) {
			f.SetBool(true)
		}
	}
}

func allocatorFeatures(gates sets.Set[string]) (f structured.Features) {
	set(&f, map[string]string{
		"AdminAccess": "DRAAdminAccess", "CompatibilityGroups": "DRADeviceCompatibilityGroups",
		"ConsumableCapacity": "DRAConsumableCapacity", "DerivedAttributes": "DRADerivedAttributes",
		"DeviceBindingAndStatus": "DRADeviceBindingConditions", "DeviceBinding": "DRADeviceBindingConditions",
		"DeviceStatus": "DRADeviceBindingConditions", "DeviceTaints": "DRADeviceTaints",
		"FractionalCapacityRange": "DRAFractionalCapacityRange", "ListTypeAttributes": "DRAListTypeAttributes",
		"OptionalNodeOperations": "DRAOptionalNodeOperations", "PartitionableDevices": "DRAPartitionableDevices",
		"PrioritizedList": "DRAPrioritizedList",
	}, gates)
	return f
}

// kit is what compiles expressions for one set of gates.
type kit struct {
	compiler interface {
		CompileCELExpression(string, cel.Options) cel.CompilationResult
	}
	cache *cel.Cache
	env   *celgo.Env
}

var kits = struct {
	sync.Mutex
	known map[cel.Features]*kit
}{known: map[cel.Features]*kit{}}

func kitFor(gates sets.Set[string]) *kit {
	var f cel.Features
	set(&f, map[string]string{"EnableConsumableCapacity": "DRAConsumableCapacity", "EnableListTypeAttributes": "DRAListTypeAttributes"}, gates)
	kits.Lock()
	defer kits.Unlock()
	found := kits.known[f]
	if found == nil {
		found = &kit{compiler: cel.GetCompiler(f), cache: cel.NewCache(1000, f)}
		found.env = found.compiler.CompileCELExpression("true", cel.Options{}).Environment
		kits.known[f] = found
	}
	return found
}

// verdict says whether an expression is accepted; line and column count from 1,
// the column in code points.
type verdict struct {
	OK     bool    `json:"ok"`
	Reason *string `json:"reason"`
	Error  *string `json:"error"`
	Line   *int    `json:"line"`
	Column *int    `json:"column"`
}

func refused(reason, text string) verdict { return verdict{Reason: &reason, Error: &text} }

var (
	position = regexp.MustCompile(`(?m)^(compilation failed: )?ERROR: <input>:(\d+):(\d+): `)
	snippet  = regexp.MustCompile(`(?m)\n \| .*$`)
)

// judge turns a compiler's error text into a verdict: the marks of the first
// place are taken out of the text, later errors keep theirs on their own lines.
func judge(result cel.CompilationResult) verdict {
	if result.Error == nil {
		return verdict{OK: true}
	}
	text := snippet.ReplaceAllString(result.Error.Error(), "")
	v := refused("compile", "")
	if at := position.FindStringSubmatch(text); at != nil {
		line, _ := strconv.Atoi(at[2])
		column, _ := strconv.Atoi(at[3])
		v.Line, v.Column = &line, &column
		text = strings.Replace(text, at[0], "", 1)
	}
	text = position.ReplaceAllString(text, "$2:$3: ")
	v.Error = &text
	return v
}

type checkBody struct {
	Gates       []string `json:"gates"`
	Expressions []string `json:"expressions"`
}

type checkAnswer struct {
	APIServer verdict `json:"apiserver"`
	Scheduler verdict `json:"scheduler"`
	Cost      *uint64 `json:"cost"`
	Limit     uint64  `json:"limit"`
	Length    int     `json:"length"`
	Reads     []read  `json:"reads"`
	Parts     parts   `json:"parts"`
}

// checkOne judges an expression as the API server does when it is written and
// as the scheduler does when it is used.
func checkOne(k *kit, expression string) checkAnswer {
	out := checkAnswer{Limit: resourceapi.CELSelectorExpressionMaxCost, Length: len(expression)}
	written := environment.NewExpressions
	if out.Length > resourceapi.CELSelectorExpressionMaxLength {
		out.APIServer = refused("length", fmt.Sprintf("too long: %d bytes, may not be more than %d", out.Length, resourceapi.CELSelectorExpressionMaxLength))
	} else if write := k.compiler.CompileCELExpression(expression, cel.Options{EnvType: &written}); write.Error != nil {
		out.APIServer = judge(write)
	} else if out.Cost = &write.MaxCost; write.MaxCost > out.Limit {
		out.APIServer = refused("cost", fmt.Sprintf("too complex, exceeds cost limit: estimated at %d of %d", write.MaxCost, out.Limit))
	} else {
		out.APIServer = verdict{OK: true}
	}
	out.Scheduler = judge(k.cache.GetOrCompile(expression))
	tree := parse(k.env, expression)
	found := readsIn(tree)
	out.Reads, out.Parts = found.list(), k.partsOf(expression, tree, found)
	return out
}

func check(_ context.Context, _ *http.Request, body checkBody) (any, error) {
	k := kitFor(sets.New(body.Gates...))
	results := make([]checkAnswer, len(body.Expressions))
	parallel(len(results), func(i int) { results[i] = checkOne(k, body.Expressions[i]) })
	return map[string]any{"engine": self(), "results": results}, nil
}

func celDevice(slice *resourceapi.ResourceSlice, device *resourceapi.Device) cel.Device {
	return cel.Device{
		Driver: slice.Spec.Driver, AllowMultipleAllocations: device.AllowMultipleAllocations,
		Attributes: device.Attributes, Capacity: device.Capacity,
	}
}
