// A typical swipe endpoint in Go: net/http, and one record per request that all in-sync replicas
// acknowledge before the response. It checks no token, no limit and no profile.
package main

import (
	"encoding/json"
	"flag"
	"fmt"
	"log"
	"net"
	"net/http"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

type swipe struct {
	Target    string `json:"target_user_id"`
	Direction string `json:"direction"`
}

func main() {
	brokers := flag.String("brokers", "127.0.0.1:9092", "address of Kafka")
	topic := flag.String("topic", "bench-swipes", "topic to write to")
	flag.Parse()
	client, err := kgo.NewClient(kgo.SeedBrokers(*brokers), kgo.DefaultProduceTopic(*topic), kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ProducerLinger(0), kgo.ProducerBatchCompression(kgo.NoCompression()))
	if err != nil {
		log.Fatal(err)
	}
	handler := func(w http.ResponseWriter, r *http.Request) {
		var given swipe
		if json.NewDecoder(r.Body).Decode(&given) != nil {
			http.Error(w, `{"error":"invalid_request"}`, http.StatusBadRequest)
			return
		}
		swiper := r.Header.Get("X-User")
		value, _ := json.Marshal(map[string]any{"swiper_id": swiper, "target_id": given.Target, "direction": given.Direction, "ts": time.Now().UnixMilli()})
		if err := client.ProduceSync(r.Context(), &kgo.Record{Key: []byte(swiper), Value: value}).FirstErr(); err != nil {
			http.Error(w, `{"error":"unavailable"}`, http.StatusServiceUnavailable)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		w.Write([]byte(`{"match":null}`))
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("{\"event\":\"peer_started\",\"url\":\"http://%s\"}\n", listener.Addr())
	log.Fatal(http.Serve(listener, http.HandlerFunc(handler)))
}
