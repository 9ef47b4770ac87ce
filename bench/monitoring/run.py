"""./dev bench monitoring: memory of monitoring, everything in one Prometheus against the split, side by side in one run.

  one     Debian's Prometheus scrapes all series of the kubelets' cAdvisor: 20 for each online pod and offline task
  split   Debian's Prometheus scrapes the same pages without offline pods, and /metrics/offline (sums by class). Debian's vmagent scrapes
          the offline pods alone and sends them to a store, victoria-metrics

The nodes are made by nodes.py: 16 nodes, each with 20 online pods and 30 offline tasks: ten that live 40 s, ten 10 min, ten 2 h. Series
are scraped every 30 s. Time runs 18 times as fast: 3 h take 10 min, and the scrapes, the lives and Prometheus's block of 2 h are so
much shorter. So one Prometheus holds at the end what it holds at most: it keeps each series in memory until its block is written.

  one_…, split_…             resident memory; split_prometheus and split_vmagent are the collectors, split_store the store
  split_of_one_…             both collectors in % of one Prometheus
  split_and_store_of_one_…   with the store
  sums_of_one_…              the Prometheus of the split alone: no series of a single offline task is kept anywhere
  …_30min, …_3h              median of the readings in the ten minutes before, in the nodes' time

Each scrape must succeed, and the split must have the same pods as one Prometheus, or there are no figures.
"""

import json
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from contextlib import ExitStack
from pathlib import Path

from bench.harness import figure, resident_bytes
from bench.monitoring.nodes import LIVES_S, ONLINE_PODS, TASKS_OF_A_LIFE
from driver import deploy_tools, processes
from driver.console import Failed

NODES = 16
FACTOR = 18
SCRAPE_S, BLOCK_S = 30, 2 * 3600
MARKS_S = {"30min": 1800, "3h": 3 * 3600}
WINDOW_S = 600
READ_EVERY_S = 1.0
START_S = 30
SCRAPES_MIN = 0.9  # of those that are due: the machine is shared
MIB = 1 << 20
# As the chart renders them (deploy/chart/templates/monitoring.yaml); `drop` is for the online collector (docs/guide/monitoring.md).
IS_OFFLINE = [
    {"source_labels": ["id"], "regex": "/kubepods.*besteffort.*", "target_label": "__tmp_offline", "replacement": "yes"},
    {"source_labels": ["namespace"], "regex": "kube-system", "target_label": "__tmp_offline", "replacement": ""},
]
NOT_A_LABEL = {"regex": "__tmp_offline", "action": "labeldrop"}


def only(action: str) -> list[dict]:
    return [*IS_OFFLINE, {"source_labels": ["__tmp_offline"], "regex": "yes", "action": action}, NOT_A_LABEL]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def get(port: int, path: str, **query: str) -> bytes:
    url = f"http://127.0.0.1:{port}{path}" + ("?" + urllib.parse.urlencode(query) if query else "")
    with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(url, timeout=60) as answer:
        return answer.read()


def value(port: int, query: str) -> float:
    """A number by PromQL; 0 if there is no series."""
    found = json.loads(get(port, "/api/v1/query", query=query))["data"]["result"]
    return float(found[0]["value"][1]) if found else 0


def series_kept(port: int) -> int:
    """In memory."""
    return json.loads(get(port, "/api/v1/status/tsdb"))["data"]["headStats"]["numSeries"]


class Run:
    def __init__(self, folder: Path, stack: ExitStack):
        self.folder, self.stack = folder, stack
        self.ports, self.pids = {}, {}

    def start(self, name: str, command: list, path: str) -> None:
        child = processes.start(command, stdout=open(self.folder / f"{name}.log", "wb"), stderr=subprocess.STDOUT)
        self.stack.callback(processes.kill_group, child)
        self.pids[name] = child.pid
        deadline = time.monotonic() + START_S
        while True:
            try:
                get(self.ports[name], path)
                return
            except OSError:
                if child.poll() is not None or time.monotonic() > deadline:
                    raise Failed(f"{name} did not start:\n{(self.folder / f'{name}.log').read_text()[-2000:]}")
                time.sleep(0.1)

    def job(self, name: str, page: str, relabel: list[dict]) -> dict:
        targets = [{"targets": [f"127.0.0.1:{self.ports['nodes']}"], "labels": {"node": f"node-{node}", "__metrics_path__": f"/{node}/{page}"}} for node in range(NODES)]
        return {"job_name": name, "static_configs": targets, "metric_relabel_configs": relabel}

    def config(self, name: str, jobs: list[dict]) -> Path:
        every = f"{1000 * SCRAPE_S // FACTOR}ms"
        file = self.folder / f"{name}.json"
        file.write_text(json.dumps({"global": {"scrape_interval": every, "scrape_timeout": every}, "scrape_configs": jobs}))
        return file

    def prometheus(self, name: str, jobs: list[dict]) -> None:
        block = f"{BLOCK_S // FACTOR}s"
        self.start(name, [
            deploy_tools.debian_program("prometheus", "prometheus"), f"--config.file={self.config(name, jobs)}", f"--storage.tsdb.path={self.folder / name}",
            f"--web.listen-address=127.0.0.1:{self.ports[name]}", f"--storage.tsdb.min-block-duration={block}", f"--storage.tsdb.max-block-duration={block}",
        ], "/-/ready")

    def all(self) -> None:
        self.ports = {name: free_port() for name in ("nodes", "one", "split_prometheus", "split_vmagent", "split_store")}
        self.start("nodes", [sys.executable, Path(__file__).with_name("nodes.py"), str(self.ports["nodes"]), str(FACTOR)], "/0/offline")
        self.start("split_store", [
            deploy_tools.debian_program("victoria-metrics", "victoria-metrics"), f"-storageDataPath={self.folder / 'store'}", "-retentionPeriod=1",
            f"-httpListenAddr=127.0.0.1:{self.ports['split_store']}",
        ], "/health")
        self.start("split_vmagent", [
            deploy_tools.debian_program("victoria-metrics", "vmagent"), f"-promscrape.config={self.config('vmagent', [self.job('tasks', 'cadvisor', only('keep'))])}",
            f"-remoteWrite.url=http://127.0.0.1:{self.ports['split_store']}/api/v1/write", f"-remoteWrite.tmpDataPath={self.folder / 'queue'}",
            f"-httpListenAddr=127.0.0.1:{self.ports['split_vmagent']}",
        ], "/health")
        self.prometheus("split_prometheus", [self.job("online", "cadvisor", only("drop")), self.job("offline", "offline", [])])
        self.prometheus("one", [self.job("everything", "cadvisor", [])])


def check(run: Run) -> None:
    """The split has what one Prometheus has, and no scrape failed."""
    pods = "count(count by (pod) (container_last_seen{{{}}}))"
    online, tasks = NODES * ONLINE_PODS, NODES * len(LIVES_S) * TASKS_OF_A_LIFE
    seen = {name: (value(run.ports[name], pods.format('namespace="shop"')), value(run.ports[name], pods.format('namespace="jobs"')))
            for name in ("one", "split_prometheus", "split_store")}
    # The tasks of 40 s end and begin between two scrapes, and the store answers with those of its last minutes.
    if seen["one"][0] != online or not tasks <= seen["one"][1]:
        raise Failed(f"one Prometheus has {seen['one']} pods, wanted {online} and at least {tasks}")
    if seen["split_prometheus"] != (online, 0) or seen["split_store"][0] != 0 or seen["split_store"][1] < tasks:
        raise Failed(f"the split has {seen['split_prometheus']} and {seen['split_store']} pods, wanted {online} and at least {tasks}")
    if value(run.ports["split_prometheus"], "sum(tidemark_offline_tasks)") != tasks:
        raise Failed("the sums by class are not the tasks")
    due = 60 / (SCRAPE_S / FACTOR)
    for name, query in (("one", "up"), ("split_prometheus", 'up{job="online"}'), ("split_store", "up")):
        made = value(run.ports[name], f"min(sum_over_time({query}[1m]))")
        if made < SCRAPES_MIN * due:
            raise Failed(f"{name}: {made} of {due:.0f} scrapes of a node in the last minute succeeded: the machine is too busy")


def report(mark: str, readings: list[dict[str, int]]) -> None:
    for name in ("one", "split_prometheus", "split_vmagent", "split_store"):
        figure(f"monitoring.{name}_{mark}", "MiB", [each[name] / MIB for each in readings])
    parts = {
        "split_of_one": ("split_prometheus", "split_vmagent"), "split_and_store_of_one": ("split_prometheus", "split_vmagent", "split_store"),
        "sums_of_one": ("split_prometheus",),
    }
    for name, sides in parts.items():
        figure(f"monitoring.{name}_{mark}", "%", [100 * sum(each[side] for side in sides) / each["one"] for each in readings])


def main() -> int:
    processes.install_signal_handlers()
    try:
        with ExitStack() as stack:
            run = Run(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidemark-monitoring-"))), stack)
            run.all()
            begin, readings, open_marks = time.monotonic(), [], dict(MARKS_S)
            while open_marks:
                time.sleep(READ_EVERY_S)
                now = (time.monotonic() - begin) * FACTOR
                readings.append((now, {name: resident_bytes(pid) for name, pid in run.pids.items() if name != "nodes"}))
                for mark, at in list(open_marks.items()):
                    if now < at:
                        continue
                    del open_marks[mark]
                    check(run)
                    window = [each for when, each in readings if when > at - WINDOW_S]
                    print(f"after {mark} one Prometheus keeps {series_kept(run.ports['one']):,} series, the one of the split {series_kept(run.ports['split_prometheus']):,}")
                    report(mark, window)
    except Failed as why:
        print(f"bench monitoring: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
