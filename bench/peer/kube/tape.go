package main

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
)

const tapeWriteBytes = 64 * 1024 // of events written at once

// tape plays a list and then a watch that were made beforehand, as fast as the client takes them: a server that costs next to
// nothing, so that what is measured is the client. TLS and HTTP/2 as from a real one; JSON only. Standard input:
//
//	play N    N changes into each open watch; answers when all are written
func tape(listPath, kubeconfigPath string) {
	list, err := os.ReadFile(listPath)
	must(err)
	items := readItems(listPath)
	var lock sync.Mutex
	watches := map[chan []byte]bool{}
	mux := http.NewServeMux()
	mux.HandleFunc("/api/v1/namespaces/default", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"kind":"Namespace","apiVersion":"v1","metadata":{"name":"default","resourceVersion":"1"}}`)
	})
	mux.HandleFunc("/api/v1/pods", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if watch := r.URL.Query().Get("watch"); watch != "true" && watch != "1" {
			w.Write(list)
			return
		}
		pieces := make(chan []byte)
		lock.Lock()
		watches[pieces] = true
		lock.Unlock()
		defer func() {
			lock.Lock()
			delete(watches, pieces)
			lock.Unlock()
		}()
		w.(http.Flusher).Flush()
		for {
			select {
			case piece := <-pieces:
				for len(piece) > 0 {
					n := min(len(piece), tapeWriteBytes)
					if _, err := w.Write(piece[:n]); err != nil {
						return
					}
					piece = piece[n:]
				}
				w.(http.Flusher).Flush()
				pieces <- nil // written
			case <-r.Context().Done():
				return
			}
		}
	})
	server := httptest.NewUnstartedServer(mux)
	server.EnableHTTP2 = true
	server.StartTLS()
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	must(os.WriteFile(kubeconfigPath+".crt", authority, 0o600))
	must(os.WriteFile(kubeconfigPath, []byte("apiVersion: v1\nkind: Config\ncurrent-context: tape\nclusters:\n- name: tape\n  cluster:\n    server: "+
		server.URL+"\n    certificate-authority: "+kubeconfigPath+".crt\ncontexts:\n- name: tape\n  context:\n    cluster: tape\n    user: nobody\n"+
		"users:\n- name: nobody\n  user: {}\n"), 0o600))
	say(map[string]any{"serving": server.URL})

	revision, serial := 200000, 0
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		words := strings.Fields(in.Text())
		if len(words) != 2 || words[0] != "play" {
			fatal(fmt.Errorf("unknown line %q", in.Text()))
		}
		count, err := strconv.Atoi(words[1])
		must(err)
		serial++
		var events []byte
		for i := range count {
			revision++
			events = append(events, `{"type":"MODIFIED","object":`...)
			events = append(events, atRevision(relabelled(items[i%len(items)].body, serial), revision)...)
			events = append(events, "}\n"...)
		}
		lock.Lock()
		var open []chan []byte
		for pieces := range watches {
			open = append(open, pieces)
		}
		lock.Unlock()
		for _, pieces := range open {
			pieces <- events
			<-pieces
		}
		say(map[string]any{"played": count, "watches": len(open), "bytes": len(events)})
	}
	server.CloseClientConnections()
}

// atRevision replaces the number in the object's resourceVersion.
func atRevision(body []byte, revision int) []byte {
	const name = `"resourceVersion":"`
	text := string(body)
	begin := strings.Index(text, name) + len(name)
	end := begin + strings.IndexByte(text[begin:], '"')
	return []byte(text[:begin] + strconv.Itoa(revision) + text[end:])
}
