// Command engine answers questions about device selectors and device allocation with Kubernetes' own code,
// k8s.io/dynamic-resource-allocation. It speaks HTTP/1.1 and JSON; README.md has the calls.
package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// failure is an answer other than 200.
type failure struct {
	status   int
	Code     string `json:"code"`
	Message  string `json:"message"`
	Revision *int64 `json:"revision,omitempty"`
}

func (f *failure) Error() string { return f.Message }

func refuse(status int, code, format string, args ...any) *failure {
	return &failure{status: status, Code: code, Message: fmt.Sprintf(format, args...)}
}

type identity struct {
	Minor     string `json:"minor"`
	Library   string `json:"library"`
	Allocator string `json:"allocator,omitempty"`
	PID       int    `json:"pid,omitempty"`
}

// self says which library this binary was built with: minor "1.37" for v0.37.2.
var self = sync.OnceValue(func() (who identity) {
	info, _ := debug.ReadBuildInfo()
	for _, module := range info.Deps {
		if module.Path == "k8s.io/dynamic-resource-allocation" {
			who = identity{Minor: "1." + strings.Split(module.Version, ".")[1], Library: module.Version}
		}
	}
	return who
})

// parallel calls work for 0 … n-1 on as many goroutines as there are CPUs.
func parallel(n int, work func(int)) {
	var next atomic.Int64
	var group sync.WaitGroup
	for range min(n, runtime.GOMAXPROCS(0)) {
		group.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				work(i)
			}
		})
	}
	group.Wait()
}

// send answers in one piece: hundreds of small ones cost the other side more than the search did.
func send(w http.ResponseWriter, status int, body any) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body)
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(text.Len()))
	w.WriteHeader(status)
	_, _ = w.Write(text.Bytes())
}

// answer makes a handler of a function that takes a decoded body.
func answer[Body any](call func(context.Context, *http.Request, Body) (any, error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if p := recover(); p != nil {
				log.Printf("panic in %s: %v\n%s", r.URL.Path, p, debug.Stack())
				send(w, http.StatusInternalServerError, refuse(0, "internal", "the engine failed on this request: %v", p))
			}
		}()
		var body Body
		if r.Method == http.MethodPost {
			if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
				send(w, http.StatusBadRequest, refuse(0, "body", "the body is not the JSON that %s takes: %v", r.URL.Path, err))
				return
			}
		}
		result, err := call(r.Context(), r, body)
		var refused *failure
		switch {
		case errors.As(err, &refused):
			send(w, refused.status, refused)
		case errors.Is(err, context.DeadlineExceeded):
			send(w, http.StatusGatewayTimeout, refuse(0, "deadline", "no answer within the time that the request allows"))
		case err != nil:
			send(w, http.StatusUnprocessableEntity, refuse(0, "invalid", "%v", err))
		default:
			send(w, http.StatusOK, result)
		}
	}
}

func routes(s *store) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", answer(func(context.Context, *http.Request, struct{}) (any, error) {
		return identity{Minor: self().Minor, Library: self().Library, PID: os.Getpid()}, nil
	}))
	mux.HandleFunc("POST /v1/clusters/{id}/rows", answer(s.update))
	mux.HandleFunc("GET /v1/clusters/{id}", answer(s.describe))
	mux.HandleFunc("DELETE /v1/clusters/{id}", answer(s.forget))
	mux.HandleFunc("POST /v1/cel/check", answer(check))
	mux.HandleFunc("POST /v1/cel/evaluate", answer(s.evaluate))
	mux.HandleFunc("POST /v1/cel/trace", answer(s.trace))
	mux.HandleFunc("POST /v1/allocate", answer(s.allocate))
	mux.HandleFunc("POST /v1/outcomes", answer(s.outcomes))
	mux.HandleFunc("POST /v1/copies", answer(s.copies))
	mux.HandleFunc("/", answer(func(_ context.Context, r *http.Request, _ struct{}) (any, error) {
		return nil, refuse(http.StatusNotFound, "path", "there is no %s %s here", r.Method, r.URL.Path)
	}))
	return mux
}

func listen(socket, address string) (net.Listener, error) {
	if socket == "" {
		return net.Listen("tcp", address)
	}
	if connection, err := net.Dial("unix", socket); err == nil {
		connection.Close()
		return nil, fmt.Errorf("another engine answers on %s", socket)
	}
	_ = os.Remove(socket)
	listener, err := net.Listen("unix", socket)
	if err != nil {
		return nil, err
	}
	listener.(*net.UnixListener).SetUnlinkOnClose(false) // by then a successor may own the path
	return listener, os.Chmod(socket, 0o600)
}

// watch calls stop once no request ran for the time of idle (0 is for ever), or once another binary was put in the
// place of this one: whoever asks next starts that.
func watch(next http.Handler, idle time.Duration, stop func()) http.Handler {
	var running, last atomic.Int64
	last.Store(time.Now().UnixNano())
	own, _ := os.Stat(os.Args[0])
	go func() {
		for {
			time.Sleep(min(cmp.Or(idle/10, time.Second), time.Second))
			late := idle > 0 && time.Since(time.Unix(0, last.Load())) > idle
			if now, err := os.Stat(os.Args[0]); running.Load() == 0 && (late || err == nil && !os.SameFile(own, now)) {
				stop()
			}
		}
	}()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		running.Add(1)
		defer func() { last.Store(time.Now().UnixNano()); running.Add(-1) }()
		next.ServeHTTP(w, r)
	})
}

func main() {
	socket := flag.String("socket", "", "path of the Unix socket to serve on")
	address := flag.String("listen", "127.0.0.1:0", "loopback address and port to serve on, where no socket is given")
	idle := flag.Duration("idle", 0, "end when no request came for this long; 0: never")
	keep := flag.Int("clusters", 64, "clusters kept; the least recently used is dropped")
	flag.Parse()
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(300) // a search leaves much behind: at 100 a sixth of its time goes into collecting that
		debug.SetMemoryLimit(1 << 30)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	listener, err := listen(*socket, *address)
	if err != nil {
		log.Fatalf("engine: cannot serve: %v", err)
	}
	log.Printf("engine %s (%s) serves on %s", self().Minor, self().Library, listener.Addr())
	ended := make(chan struct{})
	server := &http.Server{Handler: watch(routes(&store{keep: *keep}), *idle, stop), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		<-ctx.Done()
		limited, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		if server.Shutdown(limited) != nil {
			_ = server.Close()
		}
		close(ended)
	}()
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		log.Fatalf("engine: %v", err)
	}
	<-ended
}
