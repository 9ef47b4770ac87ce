"""./dev bench manager: `tidemark manager` of the release build, a process of its own, on a made-up fleet that another serves.

The API server is bench/manager/fleet_server.cc: kube/memory over TLS and HTTP/2, in memory only, with 10,000 nodes, a NodeMetric of
each and 300,000 pods, no two alike (fleet.h); then with 1,000 nodes, and with half the pods on those. It says when a change was
committed and when the write that answers it was; this script reads all else. The manager logs warnings only; all else, its budget of
requests, its journal and its settings (but mode enforce) included, is as the chart installs it. Each round is a
fresh process of the manager. CPU is what the scheduler gave all of its threads (/proc/PID/task/*/schedstat, kernel part included),
memory is VmRSS and VmHWM of /proc/PID/status. No figure comes from the manager itself.

What is counted is checked: so many updates, so many writes, each node's number by the formula, and so many decisions.

  ready            from exec to the first 200 of /readyz, asked every 20 ms; ready_cpu is what it had spent by then
  settled          from exec until the last node was written: a new leader writes each node once. Every node's number is checked against
                   the formula, written out once more in fleet.cc
  memory           VmRSS 2 s after that; memory_peak is VmHWM at the end of the round
  update_cpu       CPU of 20,000 NodeMetric updates, a thousand a second, divided by 20,000: TLS, decoding, deciding; usage moves by 1 %
                   and no node is written, which is checked
  write_cpu        CPU of an update whose decision is written, less update_cpu: the patch, its answer and the event that comes of it.
                   Every node twice, 500 a second
  write_latency    from the commit of such an update to the commit of the write, by the server's clock
  edit             from the commit of an edit of colocation-config that changes the number of every node until each carries it, with the
                   hash of the new settings; by the server's clock; edit_server_cpu is what the server had of a core meanwhile
  edit_slo         the same of an edit of resource-threshold-config: the NodeSLO of every node is written first, and the node carries the hash
                   when that was seen to stand
  recompute        CPU of deciding every node anew with nothing to write, which is checked: colocation-config becomes a text that is no
                   JSON, and is repaired. Both times all nodes are decided, by the last good settings. From the edit until the manager
                   has come to rest (no more than 1 ms of CPU in 50 ms), which is recompute_wall
  own_…            the same with other settings (OWN) on the 10,000 nodes: profile tidemark, so motion, warm-up and reports that go stale;
                   a calendar; a strict ledger; workloads learned. Growth is slewed there, so no
                   number is checked: the writes are a figure instead, own_update_writes (of 20,000 updates)

TIDEMARK_BENCH_PARTS names some of `large` (the 10,000 nodes), `own` (the same with settings of their own) and `small` (the others). The growth is a figure if both `large` and `small` are measured.
"""

import http.client
import itertools
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.harness import Talker, cpu_seconds, figure, resident_bytes
from driver import processes
from driver.console import Failed

LARGE, SMALL = (10_000, 30), [(1_000, 30), (1_000, 15)]  # nodes, pods on each
PARTS = ("large", "own", "small")
ONLY = os.environ.get("TIDEMARK_BENCH_PARTS", "").split() or PARTS
ROUNDS = 3
UPDATES = 20_000
UPDATE_RATE = 1_000
WRITE_RATE = 500
USUAL, NEAR, FAR = 1000, 1010, 2000  # ‰ of usual use: near is no reason for a write, far is
READY_S = 120
SETTLE_S = 120
REST_S = 2
SAMPLE_S = 0.05
AT_REST_CPU_S = 0.001
MIB = 2**20
# The chart's, with mode enforce and without steps: with them an edit is in force when its last step is due.
SHIPPED = """schema: 1
mode: enforce
pools: []
rollout: {pace: at-once}
"""
OWN = """schema: 1
mode: enforce
profile: tidemark
calendar: night-rise
calendars:
- name: night-rise
  zone: Asia/Shanghai
  lead: 1h
  holidays: {days: [2030-10-01], workdays: []}
  entries:
  - {name: night, cron: "0 22 * * *", until: "0 7 * * *", cpu: 70, memory: 70, rampUp: 30m, rampDown: 30m}
pools:
- name: all
  nodeSelector: {}
  ledger: {kubernetes: {maxPercent: 90}, yarn: {minPercent: 30}}
classes:
- {name: transcode, order: 10}
- {name: spark, order: 30}
profiles: {learn: true}
"""


class Manager:
    """The process that is measured."""

    def __init__(self, program: Path, kubeconfig: str, log: Path, *flags: str):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._log_path = log
        self._log = open(log, "ab")
        self.begin = time.monotonic()
        self._child = processes.start([program, "manager", "--kubeconfig", kubeconfig, "--metrics-addr", f"127.0.0.1:{self._port}",
                                       "--log-level", "warn", *flags], stdout=self._log, stderr=subprocess.STDOUT)
        self.pid = self._child.pid

    def _get(self, path: str) -> tuple[int, str]:
        try:
            connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
            connection.request("GET", path)
            answer = connection.getresponse()
            return answer.status, answer.read().decode()
        except OSError:
            return 0, "it does not answer"

    def ready(self) -> float:
        """Seconds from exec."""
        text = ""
        while time.monotonic() - self.begin < READY_S:
            status, text = self._get("/readyz")
            if status == 200:
                return time.monotonic() - self.begin
            if self._child.poll() is not None:
                raise Failed(f"the manager ended with {self._child.returncode}:\n{self._log_path.read_text(errors='replace')[-4000:]}")
            time.sleep(0.02)
        raise Failed(f"the manager is not ready after {READY_S} s: {text}")

    def decided(self) -> int:
        """How many times nodes were taken up for a decision: no figure, but whether one stands for the work that it names."""
        found = re.search(r'^tidemark_work_queue_adds_total\{component="overcommit"\} (\S+)$', self._get("/metrics")[1], re.M)
        return int(float(found[1]))

    def cpu(self) -> float:
        return cpu_seconds(self.pid)

    def memory(self, field: str = "VmRSS") -> float:
        return resident_bytes(self.pid, field) / MIB

    def come_to_rest(self) -> float:
        """Seconds until it had been busy for the last time."""
        begin = busy = time.monotonic()
        before = self.cpu()
        while (now := time.monotonic()) - busy < 20 * SAMPLE_S and now - begin < SETTLE_S:
            time.sleep(SAMPLE_S)
            used, before = self.cpu() - before, self.cpu()
            if used > AT_REST_CPU_S:
                busy = time.monotonic()
        return busy - begin

    def end(self) -> None:
        processes.kill_group(self._child)
        self._log.close()


class Fleet:
    """The API server with one fleet, and managers on it."""

    def __init__(self, server_program: Path, nodes: int, pods_a_node: int, folder: Path, own: str):
        self.nodes = nodes
        self._program = server_program.parents[2] / "tidemark"  # of the same build
        self._folder = folder
        self._differ = itertools.count(1)
        self._settings = "settings 60 0.1"
        self.server = Talker([server_program, folder / "api", str(nodes), str(pods_a_node)])
        said = self.server.answer()
        self._kubeconfig = said["kubeconfig"]
        document = folder / "tidemark-config.yaml"
        document.write_text(own)
        self.server.ask(f"own {document}")
        print(f"{nodes} nodes with {pods_a_node} pods each, {said['pod_bytes']} bytes of JSON a pod, {said['metric_bytes']} a NodeMetric, {said['node_bytes']} a node; "
              f"the server holds {resident_bytes(self.server.pid) / MIB:.0f} MiB; load {os.getloadavg()[0]:.1f}", flush=True)

    def manager(self, *flags: str) -> Manager:
        return Manager(self._program, self._kubeconfig, self._folder / "manager.log", *flags)

    def edit(self, reclaim_percent: int) -> None:
        # Another threshold each time, so that no two settings are the same text.
        self._settings = f"settings {reclaim_percent} {0.1 + next(self._differ) / 100_000}"
        self.server.ask(self._settings)

    def edit_slo(self, suppress_percent: int) -> None:
        self.server.ask(f"suppress {suppress_percent}")

    def decide_all(self, manager: Manager, line: str) -> tuple[float, float, int]:
        """CPU and seconds of deciding every node anew, and how many writes there had been before it."""
        decided, before = manager.decided(), manager.cpu()
        writes = self.server.ask(line)["writes"]
        wall = manager.come_to_rest()
        if manager.decided() - decided < self.nodes:
            raise Failed(f"only {manager.decided() - decided} of {self.nodes} nodes were decided anew")
        return manager.cpu() - before, wall, writes

    def recompute(self, manager: Manager, found: dict[str, list]) -> None:
        runs = [self.decide_all(manager, line) for line in ("spoil", self._settings)]
        found["recompute"] += [cpu for cpu, _, _ in runs]
        found["recompute_wall"] += [wall for _, wall, _ in runs]
        if more := self.server.ask(self._settings)["writes"] - runs[0][2]:
            raise Failed(f"{more} nodes were written where nothing had changed")

    def settle(self) -> dict:
        answer = self.server.ask(f"settle {SETTLE_S}")
        if answer["right"] != self.nodes:
            raise Failed(f"{self.nodes - answer['right']} of {self.nodes} nodes do not carry the number that the formula gives {SETTLE_S} s after it was due")
        return answer["since"]

    def update(self, count: int, rate: int, loads: list[int]) -> dict:
        return self.server.ask(f"update {count} {rate} {' '.join(map(str, loads))}")

    def checked_update(self, count: int, rate: int, loads: list[int], writes: int) -> dict:
        answer = self.update(count, rate, loads)
        if answer["writes"] != writes:
            raise Failed(f"{count} updates were {answer['writes']} writes of nodes, {writes} wanted")
        return answer["latency"]

    def round(self, found: dict[str, list]) -> None:
        self.server.ask("mark")
        manager = self.with_journal()
        try:
            found["ready"].append(manager.ready())
            found["ready_cpu"].append(manager.cpu())
            self.settle()
            found["settled"].append(time.monotonic() - manager.begin)
            manager.come_to_rest()
            time.sleep(REST_S)
            found["memory"].append(manager.memory())

            before = manager.cpu()
            self.checked_update(UPDATES, UPDATE_RATE, [USUAL, NEAR], 0)
            found["update_cpu"].append(1e6 * (manager.cpu() - before) / UPDATES)
            before = manager.cpu()
            latencies = [self.checked_update(self.nodes, WRITE_RATE, [load], self.nodes) for load in (FAR, USUAL)]
            found["write_cpu"].append(1e6 * (manager.cpu() - before) / (2 * self.nodes) - found["update_cpu"][-1])
            for part in ("p50", "p99"):
                found[f"write_latency_{part}"].append(statistics.mean(each[part] for each in latencies))

            for name, edit, percents in (("edit", self.edit, (45, 60)), ("edit_slo", self.edit_slo, (70, 65))):
                for percent in percents:
                    before = cpu_seconds(self.server.pid)
                    edit(percent)
                    since = self.settle()
                    for part in ("p50", "p99", "max"):
                        found[f"{name}_{part}"].append(since[part] / 1000)
                    found[f"{name}_server_cpu"].append(cpu_seconds(self.server.pid) - before)
            manager.come_to_rest()
            self.recompute(manager, found)
            found["memory_peak"].append(manager.memory("VmHWM"))
        finally:
            manager.end()

    def with_journal(self) -> Manager:
        return self.manager(f"--journal-dir={self._folder / f'journal-{next(self._differ)}'}")

    def own_round(self, found: dict[str, list]) -> None:
        manager = self.with_journal()
        try:
            found["own_ready"].append(manager.ready())
            manager.come_to_rest()
            time.sleep(REST_S)
            found["own_memory"].append(manager.memory())
            before = manager.cpu()
            answer = self.update(UPDATES, UPDATE_RATE, [USUAL, NEAR])
            found["own_update_cpu"].append(1e6 * (manager.cpu() - before) / UPDATES)
            found["own_update_writes"].append(answer["writes"])
            manager.come_to_rest()
            found["own_recompute"] += [self.decide_all(manager, line)[0] for line in ("spoil", self._settings)]
            found["own_memory_peak"].append(manager.memory("VmHWM"))
        finally:
            manager.end()


UNITS = {"memory": "MiB", "memory_peak": "MiB", "update_cpu": "µs", "write_cpu": "µs", "write_latency_p50": "ms", "write_latency_p99": "ms",
         "own_memory": "MiB", "own_memory_peak": "MiB", "own_update_cpu": "µs", "own_update_writes": "writes"}


def tell(found: dict[str, list]) -> None:
    print({name: round(values[-1], 3) for name, values in found.items()}, f"load {os.getloadavg()[0]:.1f}", flush=True)


OF_A_ROUND = ("ready", "ready_cpu", "settled", "memory", "memory_peak", "update_cpu", "write_cpu", "write_latency_p50", "write_latency_p99",
              "edit_p50", "edit_p99", "edit_max", "edit_server_cpu", "edit_slo_p50", "edit_slo_p99", "edit_slo_max", "edit_slo_server_cpu", "recompute", "recompute_wall")
OF_AN_OWN_ROUND = ("own_ready", "own_memory", "own_memory_peak", "own_update_cpu", "own_update_writes", "own_recompute")


def measure(server_program: Path, fleet_of: tuple[int, int], plain: bool, own: bool) -> dict[str, list]:
    nodes, pods_a_node = fleet_of
    found: dict[str, list] = {}
    parts = [(plain, SHIPPED, OF_A_ROUND, Fleet.round), (own, OWN, OF_AN_OWN_ROUND, Fleet.own_round)]
    for _, settings, names, run in (each for each in parts if each[0]):
        values: dict[str, list] = {name: [] for name in names}
        with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as scratch:
            fleet = Fleet(server_program, nodes, pods_a_node, Path(scratch), settings)
            try:
                for _ in range(ROUNDS):
                    run(fleet, values)
                    tell(values)
            finally:
                fleet.server.end()
        found.update(values)
    suffix = f"{nodes}_nodes" + ("" if pods_a_node == LARGE[1] else f"_{pods_a_node * nodes}_pods")
    for name, values in found.items():
        figure(f"manager.{name}_{suffix}", UNITS.get(name, "s"), values)
    return found


def tell_growth(large: dict[str, list], small: dict[str, list]) -> None:
    more = LARGE[0] - SMALL[0][0]
    figure("manager.memory_a_node", "KiB", [1024 * (a - b) / more for a, b in zip(large["memory"], small["memory"])])
    figure("manager.memory_growth_10_times_the_nodes", "×", [a / b for a, b in zip(large["memory"], small["memory"])])
    figure("manager.update_cpu_growth_10_times_the_nodes", "×", [a / b for a, b in zip(large["update_cpu"], small["update_cpu"])])


def main() -> int:
    processes.install_signal_handlers()
    server_program = Path(os.environ["TIDEMARK_BENCH_PROGRAMS"].split(os.pathsep)[0])
    try:
        if missing := [part for part in ONLY if part not in PARTS]:
            raise Failed(f"TIDEMARK_BENCH_PARTS: no part `{missing[0]}`; there are {', '.join(PARTS)}")
        with_large, with_own, with_small = (part in ONLY for part in PARTS)
        large = measure(server_program, LARGE, with_large, with_own) if with_large or with_own else {}
        small = [measure(server_program, fleet, True, False) for fleet in SMALL] if with_small else []
    except Failed as why:
        print(f"bench manager: {why}", file=sys.stderr)
        return 1
    if with_large and small:
        tell_growth(large, small[0])
    return 0


if __name__ == "__main__":
    sys.exit(main())
