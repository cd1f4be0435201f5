// Applies load to envoyproxy/ratelimit over gRPC. Callers, metrics and report are the same as in ../load.ts.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"sort"
	"sync"
	"syscall"
	"time"

	descriptor "github.com/envoyproxy/go-control-plane/envoy/extensions/common/ratelimit/v3"
	ratelimit "github.com/envoyproxy/go-control-plane/envoy/service/ratelimit/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

type order struct {
	Address       string
	Seconds       float64
	WarmUpSeconds float64
	Callers       int
	Prefix        string
	Mode          struct {
		Closed int
		Open   int
	}
	Log bool
}

type sample struct {
	latencyMs float64
	at        float64
	admitted  bool
}

func main() {
	var o order
	if err := json.Unmarshal([]byte(os.Args[1]), &o); err != nil {
		panic(err)
	}
	connection, err := grpc.NewClient(o.Address, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		panic(err)
	}
	client := ratelimit.NewRateLimitServiceClient(connection)
	run(o, client, o.WarmUpSeconds)
	cpu := cpuSeconds()
	began := time.Now()
	samples := run(o, client, o.Seconds)
	report(o, samples, time.Since(began).Seconds(), cpuSeconds()-cpu)
}

func ask(o order, client ratelimit.RateLimitServiceClient) sample {
	began := time.Now()
	entry := &descriptor.RateLimitDescriptor_Entry{Key: "client", Value: fmt.Sprintf("%sc%d", o.Prefix, rand.IntN(o.Callers))}
	answer, err := client.ShouldRateLimit(context.Background(), &ratelimit.RateLimitRequest{
		Domain:      "bench",
		Descriptors: []*descriptor.RateLimitDescriptor{{Entries: []*descriptor.RateLimitDescriptor_Entry{entry}}},
	})
	if err != nil {
		panic(err)
	}
	now := time.Now()
	return sample{
		latencyMs: float64(now.Sub(began).Nanoseconds()) / 1e6,
		at:        float64(now.UnixNano()) / 1e6,
		admitted:  answer.OverallCode == ratelimit.RateLimitResponse_OK,
	}
}

func run(o order, client ratelimit.RateLimitServiceClient, seconds float64) []sample {
	var mutex sync.Mutex
	var group sync.WaitGroup
	var all []sample
	until := time.Now().Add(time.Duration(seconds * float64(time.Second)))
	if o.Mode.Closed > 0 {
		for worker := 0; worker < o.Mode.Closed; worker++ {
			group.Go(func() {
				var own []sample
				for time.Now().Before(until) {
					own = append(own, ask(o, client))
				}
				mutex.Lock()
				all = append(all, own...)
				mutex.Unlock()
			})
		}
	} else {
		began := time.Now()
		for sent := 0; time.Now().Before(until); {
			for due := int(time.Since(began).Seconds() * float64(o.Mode.Open)); sent < due; sent++ {
				group.Go(func() {
					one := ask(o, client)
					mutex.Lock()
					all = append(all, one)
					mutex.Unlock()
				})
			}
			time.Sleep(time.Millisecond)
		}
	}
	group.Wait()
	return all
}

func report(o order, samples []sample, seconds, cpu float64) {
	sort.Slice(samples, func(i, j int) bool { return samples[i].latencyMs < samples[j].latencyMs })
	at := func(part float64) float64 { return samples[min(len(samples)-1, int(part*float64(len(samples))))].latencyMs }
	admitted := 0
	admittedAt := []float64{}
	for _, one := range samples {
		if !one.admitted {
			continue
		}
		admitted++
		if o.Log {
			admittedAt = append(admittedAt, one.at)
		}
	}
	out, _ := json.Marshal(map[string]any{
		"decisions": len(samples), "admitted": admitted, "undecided": 0, "seconds": seconds,
		"p50Ms": at(0.5), "p99Ms": at(0.99), "p999Ms": at(0.999), "greatestMs": at(1), "cpuSeconds": cpu, "admittedAt": admittedAt,
	})
	fmt.Println(string(out))
}

func cpuSeconds() float64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return float64(usage.Utime.Sec+usage.Stime.Sec) + float64(usage.Utime.Usec+usage.Stime.Usec)/1e6
}
