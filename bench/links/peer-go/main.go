// A typical redirect service in Go: net/http, one read from Redis per request, and clicks in a bounded channel.
package main

import (
	"encoding/json"
	"flag"
	"log"
	"net/http"
	"time"

	"github.com/redis/go-redis/v9"
)

type link struct {
	URL     string `json:"u"`
	Domain  string `json:"d"`
	Expires int64  `json:"e"`
	Active  *int   `json:"a"`
}

type click struct {
	Code, Agent, Referrer, Address string
	At                             time.Time
}

func main() {
	listen := flag.String("listen", "127.0.0.1:0", "address to listen on")
	store := flag.String("redis", "127.0.0.1:6379", "address of Redis")
	flag.Parse()
	client := redis.NewClient(&redis.Options{Addr: *store})
	clicks := make(chan click, 100_000)
	go func() {
		for range clicks { // Clicks are discarded, so the results of the peer include no cost of Kafka.
		}
	}()
	handler := func(w http.ResponseWriter, r *http.Request) {
		code := r.URL.Path[1:]
		text, err := client.Get(r.Context(), "link:"+code).Result()
		if err == redis.Nil {
			http.Error(w, `{"error":"url_not_found"}`, http.StatusNotFound)
			return
		}
		var found link
		if err != nil || json.Unmarshal([]byte(text), &found) != nil {
			http.Error(w, `{"error":"unavailable"}`, http.StatusServiceUnavailable)
			return
		}
		if found.Domain != r.Host || found.Active != nil || (found.Expires != 0 && found.Expires <= time.Now().UnixMilli()) {
			http.Error(w, `{"error":"url_not_found"}`, http.StatusNotFound)
			return
		}
		w.Header()["Location"] = []string{found.URL}
		w.Header()["Cache-Control"] = []string{"private, no-store"}
		w.WriteHeader(http.StatusFound)
		select {
		case clicks <- click{code, r.UserAgent(), r.Referer(), r.RemoteAddr, time.Now()}:
		default:
		}
	}
	log.Fatal(http.ListenAndServe(*listen, http.HandlerFunc(handler)))
}
