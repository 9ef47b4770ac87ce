// The peer of the kube bench: what client-go does with the same bytes and the same server.
//
//	peer decode FILE ROUNDS          decodes a PodList by client-go's JSON codec; one line of JSON with each round's time
//	peer kept FILE OUT               the kept fields of every pod in FILE, a line each (bench/kube/kept.h tells the form)
//	peer cache KUBECONFIG json|protobuf
//	                                 a shared informer on pods; obeys lines on standard input:
//	                                   list       starts the informer; must be the first line
//	                                   expect N   answers when N more changes arrived, with the time from the first to the last
//	                                   kept FILE  writes the kept fields of what the cache holds
//	                                   end of input: exit
//	peer load ETCD FILE              stores the pods of FILE where a kube-apiserver on that etcd finds them (etcd.go)
//	peer change ETCD FILE N SERIAL   changes a label of the first N of them in the same way
//	peer tape FILE KUBECONFIG        serves FILE and a made-up watch at full speed; writes KUBECONFIG to reach it (tape.go)
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
)

func fatal(err error) {
	fmt.Fprintln(os.Stderr, "peer:", err)
	os.Exit(1)
}

func must(err error) {
	if err != nil {
		fatal(err)
	}
}

func say(v any) {
	out, err := json.Marshal(v)
	must(err)
	fmt.Println(string(out))
}

func decodeList(data []byte) *corev1.PodList {
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(data, nil, nil)
	must(err)
	list, ok := object.(*corev1.PodList)
	if !ok {
		fatal(fmt.Errorf("not a PodList: %T", object))
	}
	return list
}

func decode(path string, rounds int) {
	data, err := os.ReadFile(path)
	must(err)
	var ms []float64
	pods := 0
	for i := 0; i < rounds; i++ {
		runtime.GC()
		start := time.Now()
		list := decodeList(data)
		ms = append(ms, float64(time.Since(start).Microseconds())/1000)
		pods = len(list.Items)
	}
	say(map[string]any{"pods": pods, "bytes": len(data), "ms": ms})
}

func amounts(list corev1.ResourceList) string {
	var parts []string
	for name, quantity := range list {
		amount := quantity.Value()
		if name == corev1.ResourceCPU {
			amount = quantity.MilliValue()
		}
		parts = append(parts, fmt.Sprintf("%s=%d", name, amount))
	}
	sort.Strings(parts)
	return strings.Join(parts, ",")
}

func when(t *metav1.Time) string {
	if t == nil || t.IsZero() {
		return "-"
	}
	return strconv.FormatInt(t.Unix(), 10)
}

func kept(pod *corev1.Pod) string {
	owner := metav1.OwnerReference{}
	for i, reference := range pod.OwnerReferences {
		if i == 0 || (reference.Controller != nil && *reference.Controller) {
			owner = reference
		}
		if reference.Controller != nil && *reference.Controller {
			break
		}
	}
	priority := "-"
	if pod.Spec.Priority != nil {
		priority = strconv.Itoa(int(*pod.Spec.Priority))
	}
	ready := "Unknown"
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			ready = string(condition.Status)
		}
	}
	var labels []string
	for key, value := range pod.Labels {
		labels = append(labels, key+"="+value)
	}
	sort.Strings(labels)
	containers := func(list []corev1.Container) string {
		var parts []string
		for _, c := range list {
			always := c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways
			parts = append(parts, fmt.Sprintf("%s{%s}{%s}%t", c.Name, amounts(c.Resources.Requests), amounts(c.Resources.Limits), always))
		}
		return strings.Join(parts, ";")
	}
	var statuses []string
	add := func(list []corev1.ContainerStatus, init bool) {
		for _, s := range list {
			statuses = append(statuses, fmt.Sprintf("%s:%d:%t:%t:%t", s.Name, s.RestartCount, s.Ready, s.Started != nil && *s.Started, init))
		}
	}
	add(pod.Status.InitContainerStatuses, true)
	add(pod.Status.ContainerStatuses, false)
	sort.Strings(statuses)
	podRequests, podLimits := "", ""
	if pod.Spec.Resources != nil {
		podRequests, podLimits = amounts(pod.Spec.Resources.Requests), amounts(pod.Spec.Resources.Limits)
	}
	return strings.Join([]string{pod.Namespace, pod.Name, string(pod.UID), pod.ResourceVersion, when(&pod.CreationTimestamp),
		when(pod.DeletionTimestamp), owner.Kind, owner.Name, strings.Join(labels, ","), pod.Spec.NodeName, pod.Spec.SchedulerName,
		priority, string(pod.Status.Phase), string(pod.Status.QOSClass), ready, strconv.FormatBool(pod.Spec.HostNetwork),
		containers(pod.Spec.Containers), containers(pod.Spec.InitContainers), amounts(pod.Spec.Overhead), podRequests, podLimits,
		strings.Join(statuses, ";"), when(pod.Status.StartTime)}, "\t")
}

func writeKept(path string, pods []*corev1.Pod) {
	var lines []string
	for _, pod := range pods {
		lines = append(lines, kept(pod))
	}
	sort.Strings(lines)
	must(os.WriteFile(path, []byte(strings.Join(lines, "\n")+"\n"), 0o644))
}

// progress counts the changes that the informer handed over.
type progress struct {
	sync.Mutex
	changes     int
	first, last time.Time
	wake        chan struct{}
}

func (p *progress) note() {
	p.Lock()
	p.last = time.Now()
	if p.changes == 0 {
		p.first = p.last
	}
	p.changes++
	p.Unlock()
	select {
	case p.wake <- struct{}{}:
	default:
	}
}

func runCache(kubeconfig, encoding string) {
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	must(err)
	config.QPS, config.Burst = 1000, 1000
	config.ContentType = "application/json"
	if encoding == "protobuf" {
		config.ContentType = "application/vnd.kubernetes.protobuf"
		config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	}
	client, err := kubernetes.NewForConfig(config)
	must(err)
	// The namespace first: connection and TLS are not what is measured.
	_, err = client.CoreV1().Namespaces().Get(context.Background(), "default", metav1.GetOptions{})
	must(err)
	runtime.GC()
	debug.FreeOSMemory()
	say(map[string]any{"ready": true})

	in := bufio.NewScanner(os.Stdin)
	if !in.Scan() || in.Text() != "list" {
		fatal(fmt.Errorf("the first line must be: list"))
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	informer := factory.Core().V1().Pods().Informer()
	seen := &progress{wake: make(chan struct{}, 1)}
	_, err = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		UpdateFunc: func(any, any) { seen.note() },
	})
	must(err)
	stop := make(chan struct{})
	start := time.Now()
	factory.Start(stop)
	// cache.WaitForCacheSync looks ten times a second, which is too coarse for what is measured here.
	for !informer.HasSynced() {
		time.Sleep(time.Millisecond)
	}
	elapsed := time.Since(start)
	runtime.GC()
	debug.FreeOSMemory()
	say(map[string]any{"synced": informer.HasSynced(), "pods": len(informer.GetStore().ListKeys()), "ms": float64(elapsed.Microseconds()) / 1000})

	for in.Scan() {
		words := strings.Fields(in.Text())
		switch {
		case len(words) == 2 && words[0] == "expect":
			want, err := strconv.Atoi(words[1])
			must(err)
			for {
				seen.Lock()
				done := seen.changes >= want
				took := seen.last.Sub(seen.first)
				if done {
					seen.changes = 0
				}
				seen.Unlock()
				if done {
					say(map[string]any{"changes": want, "ms": float64(took.Microseconds()) / 1000})
					break
				}
				<-seen.wake
			}
		case len(words) == 2 && words[0] == "kept":
			var pods []*corev1.Pod
			for _, object := range informer.GetStore().List() {
				if _, err := meta.Accessor(object); err == nil {
					pods = append(pods, object.(*corev1.Pod))
				}
			}
			writeKept(words[1], pods)
			say(map[string]any{"kept": len(pods)})
		default:
			fatal(fmt.Errorf("unknown line %q", in.Text()))
		}
	}
	close(stop)
}

func main() {
	arguments := os.Args[1:]
	switch {
	case len(arguments) == 3 && arguments[0] == "decode":
		rounds, err := strconv.Atoi(arguments[2])
		must(err)
		decode(arguments[1], rounds)
	case len(arguments) == 3 && arguments[0] == "kept":
		data, err := os.ReadFile(arguments[1])
		must(err)
		list := decodeList(data)
		var pods []*corev1.Pod
		for i := range list.Items {
			pods = append(pods, &list.Items[i])
		}
		writeKept(arguments[2], pods)
	case len(arguments) == 3 && arguments[0] == "cache":
		runCache(arguments[1], arguments[2])
	case len(arguments) == 3 && arguments[0] == "load":
		items := readItems(arguments[2])
		took := store(arguments[1], items)
		say(map[string]any{"stored": len(items), "ms": float64(took.Microseconds()) / 1000})
	case len(arguments) == 5 && arguments[0] == "change":
		count, err := strconv.Atoi(arguments[3])
		must(err)
		serial, err := strconv.Atoi(arguments[4])
		must(err)
		change(arguments[1], arguments[2], count, serial)
	case len(arguments) == 3 && arguments[0] == "tape":
		tape(arguments[1], arguments[2])
	default:
		fmt.Fprintln(os.Stderr, "usage: peer decode|kept|cache|load|change|tape …: see main.go")
		os.Exit(2)
	}
}
