package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strconv"
	"sync"
	"time"
)

const etcdWriters = 32 // parallel puts

// item is one pod of a PodList as bytes, and where the API server keeps it.
type item struct {
	key  string
	body []byte
}

// readItems answers the pods of a PodList as they are stored: with kind and apiVersion, which the items of a list lack.
func readItems(path string) []item {
	data, err := os.ReadFile(path)
	must(err)
	var list struct {
		Items []json.RawMessage `json:"items"`
	}
	must(json.Unmarshal(data, &list))
	var items []item
	for _, raw := range list.Items {
		var named struct {
			Metadata struct {
				Namespace string `json:"namespace"`
				Name      string `json:"name"`
			} `json:"metadata"`
		}
		must(json.Unmarshal(raw, &named))
		body := append([]byte(`{"kind":"Pod","apiVersion":"v1",`), raw[1:]...)
		items = append(items, item{"/registry/pods/" + named.Metadata.Namespace + "/" + named.Metadata.Name, body})
	}
	return items
}

// relabelled is the pod with one more label, so that a cache that missed a change is found out.
func relabelled(body []byte, serial int) []byte {
	return bytes.Replace(body, []byte(`"labels":{`), []byte(`"labels":{"bench.tidemark/serial":"`+strconv.Itoa(serial)+`",`), 1)
}

// store puts objects where the API server reads them from: ten thousand pods with their status, revision by revision, in
// seconds. What the API server then serves and watches is its own affair.
func store(etcd string, items []item) time.Duration {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: etcdWriters}, Timeout: 30 * time.Second}
	work := make(chan item)
	var wait sync.WaitGroup
	begin := time.Now()
	for range etcdWriters {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for it := range work {
				request, err := json.Marshal(map[string]string{
					"key":   base64.StdEncoding.EncodeToString([]byte(it.key)),
					"value": base64.StdEncoding.EncodeToString(it.body),
				})
				must(err)
				answer, err := client.Post(etcd+"/v3/kv/put", "application/json", bytes.NewReader(request))
				must(err)
				text, err := io.ReadAll(answer.Body)
				must(err)
				answer.Body.Close()
				if answer.StatusCode != http.StatusOK {
					fatal(fmt.Errorf("etcd: %s: %s", answer.Status, text))
				}
			}
		}()
	}
	for _, it := range items {
		work <- it
	}
	close(work)
	wait.Wait()
	return time.Since(begin)
}

// change gives the first `count` pods another label value, each once.
func change(etcd, path string, count, serial int) {
	items := readItems(path)
	if count > len(items) {
		fatal(fmt.Errorf("%d changes wanted, %d pods", count, len(items)))
	}
	items = items[:count]
	for i := range items {
		items[i].body = relabelled(items[i].body, serial)
	}
	took := store(etcd, items)
	say(map[string]any{"stored": count, "ms": float64(took.Microseconds()) / 1000})
}
