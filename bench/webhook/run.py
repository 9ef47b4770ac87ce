"""./dev bench webhook: what a pod's creation waits for `tidemark manager`, on a real kube-apiserver with etcd.

One client with one connection creates pods, waits for each answer and deletes each before the next, so that nothing waits behind anything
else. Pods of three kinds take turns within one round, so that whatever else the machine does meets all of them alike:

  none      in a namespace that carries the label `control-plane`: the API server asks no webhook
  plain     asked about twice (/mutate-pod, /validate-pod), and no profile matches
  profile   the same, and a ClusterColocationProfile matches: labels, priority, resources translated, the annotation for the agent

  create_…  from the request until the answer, by the client's clock; p50 and p99 of the pods of a round. `plain` less `none` is what the
            two questions add, the API server's own part (its HTTPS client, encoding, applying the patch) included
  review_cpu  CPU of the manager a review, over pods of kind `profile` alone: what the scheduler gave its threads
            (/proc/PID/task/*/schedstat) over BUSY pods, divided by two reviews each. In it is what else it does with such a pod: the watch of
            pending pods brings it by, and its deletion
  rate      pods created in a second by CLIENTS clients at once, without and with the webhooks, a process of its own for each client

That the webhooks were asked, and did their work, is checked by what the API server answers: no figure comes from the manager.
"""

import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from contract.client import Client
from bench.harness import client, cpu_seconds, figure, resident_bytes
from driver import cluster, processes
from driver.console import Failed

ROUNDS = 5
PODS = 600       # a round and kind
BUSY = 1_000     # pods a round, for CPU
CLIENTS = 4
RATE_PODS = 250  # a client and round
READY_S = 60
NAMESPACES = {"none": "bench-none", "plain": "bench-asked", "profile": "bench-asked"}
MARK = "bench-profile"


def pod(kind: str, name: str) -> dict:
    """Of the size that a Spark executor has: some environment, volumes and labels."""
    container = {
        "name": "executor", "image": "registry.example/spark:3.5", "args": ["executor"],
        "env": [{"name": f"SPARK_{number}", "value": "v" * 40} for number in range(30)],
        "resources": {"requests": {"cpu": "1500m", "memory": "2Gi"}, "limits": {"cpu": "1500m", "memory": "2Gi"}},
        "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
    }
    labels = {"app": "spark" if kind == "profile" else "web", **{f"label-{number}": "x" * 20 for number in range(8)}}
    return {
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": labels},
        "spec": {"containers": [container], "volumes": [{"name": "scratch", "emptyDir": {}}], "automountServiceAccountToken": False},
    }


def must(answer, *allowed: int):
    if answer.status not in (allowed or (200, 201)):
        raise Failed(f"{answer.request} answered {answer.status}: {answer.body[:1000]!r}")
    return answer


def create(api: Client, kind: str, name: str) -> float:
    """Milliseconds."""
    path = f"/api/v1/namespaces/{NAMESPACES[kind]}/pods"
    body = pod(kind, name)
    begin = time.perf_counter()
    made = api.request("POST", path, body)
    took = 1000 * (time.perf_counter() - begin)
    must(made)
    if (made.get("metadata.labels", {}).get("by") == MARK) != (kind == "profile"):
        raise Failed(f"a pod of kind {kind} has the labels {made.get('metadata.labels')}")
    must(api.request("DELETE", f"{path}/{name}", gracePeriodSeconds=0))
    return took


def percentile(values: list[float], percent: int) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * percent // 100)]


def prepare(api: Client) -> None:
    for name, labels in (("koordinator-system", {}), ("bench-none", {"control-plane": "bench"}), ("bench-asked", {})):
        must(api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}}), 201, 409)
    must(api.request("POST", "/apis/scheduling.k8s.io/v1/priorityclasses",
                     {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "koord-batch"}, "value": 5000}))
    spec = {"selector": {"matchLabels": {"app": "spark"}}, "qosClass": "BE", "priorityClassName": "koord-batch", "koordinatorPriority": 1000,
            "schedulerName": "koord-scheduler", "labels": {"by": MARK}}
    must(api.request("POST", "/apis/config.koordinator.sh/v1alpha1/clustercolocationprofiles",
                     {"apiVersion": "config.koordinator.sh/v1alpha1", "kind": "ClusterColocationProfile", "metadata": {"name": "spark"}, "spec": spec}))


def wait_asked(api: Client, child: subprocess.Popen, log: Path) -> None:
    end = time.monotonic() + READY_S
    while time.monotonic() < end:
        if child.poll() is not None:
            break
        made = must(api.request("POST", "/api/v1/namespaces/bench-asked/pods", pod("profile", "probe"), dryRun="All"))
        if made.get("metadata.labels", {}).get("by") == MARK:
            return
        time.sleep(0.1)
    raise Failed(f"the API server does not ask the webhooks:\n{log.read_text(errors='replace')[-4000:]}")


def many(environment: dict, kind: str, number: int, gate, done) -> None:
    api = client(environment)
    gate.wait()
    for each in range(RATE_PODS):
        create(api, kind, f"rate-{number}-{each}")
    done.put(time.monotonic())


def rate(environment: dict, kind: str) -> float:
    gate, done = multiprocessing.Barrier(CLIENTS + 1), multiprocessing.Queue()
    children = [multiprocessing.Process(target=many, args=(environment, kind, number, gate, done), daemon=True) for number in range(CLIENTS)]
    for child in children:
        child.start()
    gate.wait(timeout=READY_S)
    begin = time.monotonic()
    last = max(done.get(timeout=300) for _ in children)
    for child in children:
        child.join()
    return CLIENTS * RATE_PODS / (last - begin)


def measure(program: Path, folder: Path) -> None:
    fixture = cluster.Fixture()
    child = None
    try:
        environment = fixture.start()
        api = client(environment)
        prepare(api)
        log = folder / "manager.log"
        with open(log, "ab") as out:
            child = processes.start([program, "manager", "--kubeconfig", environment["TIDEMARK_TEST_KUBECONFIG"], "--leader-elect=false", "--metrics-addr=127.0.0.1:0",
                                     "--webhooks=on", "--webhook-addr=127.0.0.1:0", "--webhook-host=127.0.0.1", "--log-level=warn"], stdout=out, stderr=subprocess.STDOUT)
        wait_asked(api, child, log)
        print(f"a pod of {len(json.dumps(pod('profile', 'x')))} bytes of JSON; load {os.getloadavg()[0]:.1f}", flush=True)
        found: dict[str, list] = {}
        for number in range(ROUNDS):
            took: dict[str, list] = {kind: [] for kind in NAMESPACES}
            for each in range(PODS):
                for kind in NAMESPACES:
                    took[kind].append(create(api, kind, f"{kind}-{number}-{each}"))
            for kind, values in took.items():
                for part in (50, 99):
                    found.setdefault(f"create_{kind}_p{part}", []).append(percentile(values, part))
            for kind in ("plain", "profile"):
                found.setdefault(f"added_{kind}_p50", []).append(percentile(took[kind], 50) - percentile(took["none"], 50))
            before = cpu_seconds(child.pid)
            for each in range(BUSY):
                create(api, "profile", f"busy-{number}-{each}")
            found.setdefault("review_cpu", []).append(1e6 * (cpu_seconds(child.pid) - before) / (2 * BUSY))
            for kind in ("none", "profile"):
                found.setdefault(f"rate_{kind}", []).append(rate(environment, kind))
            found.setdefault("memory", []).append(resident_bytes(child.pid) / 2**20)
            print({name: round(values[-1], 2) for name, values in found.items()}, f"load {os.getloadavg()[0]:.1f}", flush=True)
        units = {"review_cpu": "µs", "memory": "MiB", "rate_none": "pods/s", "rate_profile": "pods/s"}
        for name, values in found.items():
            figure(f"webhook.{name}", units.get(name, "ms"), values)
    finally:
        if child is not None:
            processes.kill_group(child)
        fixture.stop()


def main() -> int:
    processes.install_signal_handlers()
    program = Path(os.environ["TIDEMARK_BENCH_PROGRAMS"].split(os.pathsep)[0])
    try:
        with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as scratch:
            measure(program, Path(scratch))
    except Failed as why:
        print(f"bench webhook: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
