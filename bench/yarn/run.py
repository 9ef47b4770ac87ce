"""./dev bench yarn: `tidemark yarn-operator` of the release build between a real ResourceManager with 2,000 NodeManagers and an API server with as many nodes.

The ResourceManager is Hadoop's, in a JVM as the tests start it (support/yarn: 256 MiB of heap, the C1 compiler, the serial collector). Its NodeManagers are
bench/yarn/yarn_load.cc: they register and send a heartbeat every 3 s over four connections, and run nothing. The API server is bench/yarn/yarn_fleet.cc:
kube/memory over TLS, in memory only, with the nodes and pods of the manager's bench, of which three in ten hold of batch. It writes each node's status every five
minutes, as kubelets do. The operator stands for no election; all else is as installed, its budget of requests to the API server included. The naive way is yarn_load's too (naive.h), in a process of its own.

No figure comes from the operator itself: CPU is what the scheduler gave all threads of a process (/proc/PID/task/*/schedstat), memory is VmRSS, VmHWM and Private_Dirty
of /proc/PID, calls and connections are the ResourceManager's own counters of its ports for clients and administrators (/jmx), on which NodeManagers do not call. A
change is one of the amount of every node; each node gets another one. That its total is right is read from the ResourceManager, for every node, every 0.1 s.

  start            from exec until the ResourceManager has the totals of all nodes, which another had set before
  change           from the first of 2,000 writes of a node's amount until the ResourceManager has all 2,000 totals; change_half: half of them; change_writing: until
                   the API server had taken the last write, which is within; change_rest: from then on
  change_calls     calls at the ResourceManager for it, until all books are written, less those of the bench, which looks whether it is done
  change_cpu       CPU of the operator for it, until it has come to rest; change_books: until the last node carries the confirmed total in its book, from the first write
  change_rm_cpu    CPU of the ResourceManager from the first write until all totals are right, less its usual share of that time (rm_alone); with the bench's looks,
                   of which there are ten a second
  memory           VmRSS 2 s after all books are written, private_dirty the same of what is its own and written; memory_peak is VmHWM at the end of the round
  waiting_…        while an application waits for its first container, WAITING_S long, from when all books carry that: writes of nodes by the operator, of each node in an
                   hour (books are renewed every ten minutes), calls a minute at the ResourceManager, and CPU of the operator
  copilot_calls    with that operator, while each node's copilot sees a first container of that application, one node after the other within a minute: calls a
                   second at the ResourceManager, of all copilots and the operator; copilot_rm_cpu is what the ResourceManager has of a core meanwhile, less rm_alone.
                   The copilots are yarn_load's: 2,000 of yarn_copilot/application_book.h, which is all that a copilot asks a ResourceManager
  steady_…         where nothing changes, for STEADY_S: CPU of the operator, calls a minute at the ResourceManager, connections that are open at it
  rm_alone, rm_with_operator, rm_with_naive   CPU of the ResourceManager: NodeManagers only; and the operator where nothing changes; and, in its place, the naive way
                   where nothing changes: it asks for all nodes every second, and tells each node its total again whenever the kubelet has reported
  naive_steady_calls   calls a minute at the ResourceManager meanwhile
  naive_change     all totals of a change by a connection and a call for each node, one after the other, beside a look at all nodes each second over a connection of its
                   own, until the ResourceManager has them; naive_change_cpu is the ResourceManager's for it, less its usual share; naive_connections are those it made,
                   naive_left_waiting those in TIME_WAIT after it
  together_…       the same, by the same program, in one call over one connection: what the operator's way is to a ResourceManager, without an API server's time

TIDEMARK_BENCH_PARTS names some of `rounds`, `waiting` (`waiting_…` and `copilot_…`) and `memory` (with other numbers of pods).
"""

import http.client
import os
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.harness import Talker, cpu_seconds, figure, private_dirty_bytes, resident_bytes
from driver import processes, yarn as yarn_world
from driver.console import Failed

NODES = 2_000
PODS = 30  # on each
OTHER_PODS = (0, 150)  # of which only memory is measured
ROUNDS = 3
ALONE_S, STEADY_S, NAIVE_S = 12, 25, 15
WAITING_S = 720  # longer than the interval in which a book of waiting work is renewed
COPILOTS_S = 60
MASTER_MIB = 4096  # of the application that waits: its queue is smaller
WARM_S = 10  # of heartbeats, before anything is measured
REST_S = 2
READY_S, SETTLE_S = 180, 120
KUBELETS_EVERY_S = 300
SAMPLE_S = 0.05
AT_REST_CPU_S = 0.001
JMX_S = 11  # so long what the ResourceManager shows of its counters may stay as it is
MIB = 2**20
PARTS = ("rounds", "waiting", "memory")
ONLY = os.environ.get("TIDEMARK_BENCH_PARTS", "").split() or PARTS
SITE = {"yarn.resourcemanager.nodemanagers.heartbeat-interval-ms": "3000"}
QUEUE = "yarn.scheduler.capacity.root"
# A scheduler starts a container in a queue that is not full, also if the queue is too small for it. So queue `full` is smaller than a vcore of this cluster.
QUEUES = {f"{QUEUE}.queues": "default,full", f"{QUEUE}.default.capacity": "99.9999", f"{QUEUE}.full.capacity": "0.0001", f"{QUEUE}.full.maximum-capacity": "0.0001",
          f"{QUEUE}.full.maximum-applications": "1"}


class Operator:
    """The process that is measured."""

    def __init__(self, program: Path, kubeconfig: str, hadoop_conf: Path, log: Path, *flags: str):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self._port = free.getsockname()[1]
        self._log_path = log
        self._log = open(log, "ab")
        self.begin = time.monotonic()
        self._child = processes.start([program, "yarn-operator", "--kubeconfig", kubeconfig, "--hadoop-conf-dir", hadoop_conf, "--leader-elect=false",
                                       "--metrics-addr", f"127.0.0.1:{self._port}", *flags], stdout=self._log, stderr=subprocess.STDOUT)
        self.pid = self._child.pid

    def ready(self) -> None:
        while time.monotonic() - self.begin < READY_S:
            try:
                connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=10)
                connection.request("GET", "/readyz")
                if connection.getresponse().status == 200:
                    return
            except OSError:
                pass
            if self._child.poll() is not None:
                break
            time.sleep(0.02)
        raise Failed(f"the operator is not ready:\n{self._log_path.read_text(errors='replace')[-4000:]}")

    def cpu(self) -> float:
        return cpu_seconds(self.pid)

    def come_to_rest(self) -> None:
        """Waits until it has not been busy for a second."""
        begin = busy = time.monotonic()
        before = self.cpu()
        while (now := time.monotonic()) - busy < 20 * SAMPLE_S and now - begin < SETTLE_S:
            time.sleep(SAMPLE_S)
            used, before = self.cpu() - before, self.cpu()
            if used > AT_REST_CPU_S:
                busy = time.monotonic()

    def end(self) -> None:
        processes.kill_group(self._child)
        self._log.close()


class Manager:
    """The ResourceManager, as it is seen from outside."""

    def __init__(self, yarn):
        self._rm = yarn.rm
        self._ports = (yarn.rm.ports.client, yarn.rm.ports.admin)
        self._shown = 0.0

    def cpu(self) -> float:
        return cpu_seconds(self._rm.pid)

    def counters(self) -> tuple[int, int]:
        """Calls so far, and connections that are open now, of clients and administrators. As they are at this moment: it waits until what was shown last is old enough."""
        time.sleep(max(0, self._shown + JMX_S - time.monotonic()))
        beans = [self._rm.get(f"/jmx?qry=Hadoop:service=ResourceManager,name=RpcActivityForPort{port}")["beans"][0] for port in self._ports]
        self._shown = time.monotonic()
        return sum(bean["RpcProcessingTimeNumOps"] for bean in beans), sum(bean["NumOpenConnections"] for bean in beans)

    def share(self, seconds: float) -> float:
        """Of a core, in %."""
        begin, before = time.monotonic(), self.cpu()
        time.sleep(seconds)
        return 100 * (self.cpu() - before) / (time.monotonic() - begin)


def left_waiting(port: int) -> int:
    """Connections to a port that have ended and are remembered by the kernel, on either side."""
    lines = Path("/proc/net/tcp").read_text().splitlines()[1:]
    return sum(words[3] == "06" and f":{port:04X}" in (words[1][8:], words[2][8:]) for words in map(str.split, lines))


class Bench:
    def __init__(self, load_program: Path, fleet_program: Path, yarn, folder: Path):
        self._fleet_program = fleet_program
        self._program = fleet_program.parents[2] / "tidemark"  # of the same build
        self._yarn, self._conf, self._folder = yarn, yarn.configuration, folder
        self._ports = yarn.rm.ports
        self.rm = Manager(yarn)
        self._talkers: list[Talker] = []
        self.found: dict[str, list] = {}
        ports = [str(port) for port in (self._ports.tracker, self._ports.client, self._ports.admin)]
        self.load = self._talker(load_program, str(NODES), *ports)
        self.naive = self._talker(load_program, str(NODES), *ports)
        took = self.load.ask("register")["us"] / 1e6
        self.load.ask("confirm 0 0")  # its own connection is there from now on, and in all counts of them
        print(f"{NODES} NodeManagers registered in {took:.1f} s, load {os.getloadavg()[0]:.1f}", flush=True)
        self._step = 0  # of the nodes' amounts
        self._step_told = 500  # by others than the operator

    def _talker(self, program: Path, *words: str) -> Talker:
        talker = Talker([program, *words])
        self._talkers.append(talker)
        talker.hello = talker.answer()
        return talker

    def serve(self, pods: int) -> None:
        """Another API server in the place of the last."""
        self.fleet = self._talker(self._fleet_program, str(self._folder / f"api-{pods}"), str(NODES), str(pods))
        self._step = 0
        self.fleet.ask(f"kubelets {KUBELETS_EVERY_S}")
        said = self.fleet.hello
        print(f"{said['pods']} pods, {said['batch_pods']} of them hold of batch; the API server holds {resident_bytes(self.fleet.pid) / MIB:.0f} MiB", flush=True)

    def retire(self) -> None:
        self.fleet.end()
        self._talkers.remove(self.fleet)

    def end(self) -> None:
        for talker in self._talkers:
            talker.end()

    def note(self, name: str, value: float) -> None:
        self.found.setdefault(name, []).append(value)

    def operator(self) -> Operator:
        return Operator(self._program, self.fleet.hello["kubeconfig"], self._conf, self._folder / "operator.log")

    def confirmed(self, answer: dict) -> dict:
        if answer["right"] != NODES:
            raise Failed(f"{NODES - answer['right']} of {NODES} totals are not right at the ResourceManager after {SETTLE_S} s")
        return answer

    def booked(self) -> float:
        answer = self.fleet.ask(f"books {self._step} {SETTLE_S}")
        if answer["right"] != NODES:
            raise Failed(f"{NODES - answer['right']} of {NODES} nodes do not carry the confirmed total after {SETTLE_S} s")
        return answer["at"]

    def start(self) -> tuple[Operator, float]:
        operator = self.operator()
        operator.ready()
        answer = self.confirmed(self.load.ask(f"confirm {self._step} {SETTLE_S}"))
        self.booked()
        operator.come_to_rest()
        time.sleep(REST_S)
        return operator, answer["at"] / 1e6 - operator.begin

    def change(self) -> tuple[dict, dict]:
        """When writing began and ended, and when the ResourceManager had all of it."""
        self._step += 1
        self.load.tell(f"confirm {self._step} {SETTLE_S}")
        written = self.fleet.ask(f"totals {self._step}")
        return written, self.confirmed(self.load.answer())

    def change_with(self, operator: Operator, alone: float, calls: int) -> None:
        cpu, rm_cpu = operator.cpu(), self.rm.cpu()
        begin = time.monotonic()
        written, seen = self.change()
        rm_cpu, took = self.rm.cpu() - rm_cpu, time.monotonic() - begin
        books = self.booked()
        operator.come_to_rest()
        first = written["first"]
        self.note("change", (seen["at"] - first) / 1e6)
        self.note("change_half", (seen["half_at"] - first) / 1e6)
        self.note("change_writing", (written["last"] - first) / 1e6)
        self.note("change_rest", (seen["at"] - written["last"]) / 1e6)
        self.note("change_books", (books - first) / 1e6)
        self.note("change_cpu", operator.cpu() - cpu)
        self.note("change_rm_cpu", rm_cpu - alone / 100 * took)
        self.note("change_calls", self.rm.counters()[0] - calls - seen["looks"])

    def memory(self, operator: Operator, suffix: str) -> None:
        self.note(f"memory{suffix}", resident_bytes(operator.pid) / MIB)
        self.note(f"private_dirty{suffix}", private_dirty_bytes(operator.pid) / MIB)

    def round(self) -> None:
        alone = self.rm.share(ALONE_S)
        self.note("rm_alone", alone)
        _, connections = self.rm.counters()
        operator, took = self.start()
        try:
            self.note("start", took)
            self.memory(operator, "")
            (calls, _), cpu, begin = self.rm.counters(), operator.cpu(), time.monotonic()
            self.note("rm_with_operator", self.rm.share(STEADY_S))
            took = time.monotonic() - begin
            self.note("steady_cpu", 100 * (operator.cpu() - cpu) / took)
            before, (calls, open_now) = calls, self.rm.counters()
            self.note("steady_calls", 60 * (calls - before) / took)
            self.note("steady_connections", open_now - connections)
            self.change_with(operator, alone, calls)
            self.note("memory_peak", resident_bytes(operator.pid, "VmHWM") / MIB)
        finally:
            operator.end()
        self.without_it(alone)

    def told(self, way: str) -> dict:
        """A change of all totals without the operator, and what it took of the ResourceManager."""
        self._step_told += 1
        begin, cpu = time.monotonic(), self.rm.cpu()
        answer = self.naive.ask(f"{way} {self._step_told}")
        seen = self.confirmed(self.load.ask(f"confirm {self._step_told} {SETTLE_S}"))
        return {**answer, "took": (seen["at"] - answer["begin"]) / 1e6, "cpu": self.rm.cpu() - cpu, "whole": time.monotonic() - begin, "looks": seen["looks"]}

    def without_it(self, alone: float) -> None:
        before, waiting = self.rm.counters()[0], left_waiting(self._ports.admin)
        naive = self.told("naive")
        self.note("naive_change", naive["took"])
        self.note("naive_change_cpu", naive["cpu"] - alone / 100 * naive["whole"])
        self.note("naive_connections", naive["connections"])
        self.note("naive_left_waiting", left_waiting(self._ports.admin) - waiting)
        # The ResourceManager's counters are what calls are counted by: they are to know of these.
        counted, made = (calls := self.rm.counters()[0]) - before, naive["calls"] + naive["looks"]
        if abs(counted - made) > 1:
            raise Failed(f"the ResourceManager counted {counted} calls, of {made} that were made")
        begin = time.monotonic()
        self.naive.tell(f"naive_rest {self._step_told} {NAIVE_S}")
        self.note("rm_with_naive", self.rm.share(NAIVE_S))
        self.naive.answer()
        took = time.monotonic() - begin
        self.note("naive_steady_calls", 60 * (self.rm.counters()[0] - calls) / took)
        together = self.told("together")
        self.note("together_change", together["took"])
        self.note("together_change_cpu", together["cpu"] - alone / 100 * together["whole"])

    def waiting(self) -> None:
        alone = self.rm.share(ALONE_S)
        job = self._yarn.submit_by_rest("sleep 1000", memory_mib=MASTER_MIB, queue="full")
        job.wait_for("ACCEPTED")
        operator, _ = self.start()
        try:
            (calls, _), cpu, writes, begin = self.rm.counters(), operator.cpu(), self.fleet.ask("writes")["writes"], time.monotonic()
            time.sleep(WAITING_S)
            took, writes, cpu = time.monotonic() - begin, self.fleet.ask("writes")["writes"] - writes, operator.cpu() - cpu
            self.note("waiting_writes", 3600 * writes / took / NODES)
            self.note("waiting_cpu", 100 * cpu / took)
            before, (calls, _) = calls, self.rm.counters()
            self.note("waiting_calls", 60 * (calls - before) / (time.monotonic() - begin))
            if writes < NODES:
                raise Failed(f"{writes} writes of {NODES} nodes: not each book of waiting work was renewed")
            if job.state != "ACCEPTED":
                raise Failed(f"{job.id} was to wait, and is {job.state}")
            self.copilots(job.id, alone, calls)
        finally:
            operator.end()
            job.end()

    def copilots(self, application: str, alone: float, calls: int) -> None:
        begin, cpu = time.monotonic(), self.rm.cpu()
        answer = self.load.ask(f"copilots {COPILOTS_S} {application}")
        if answer["known"] != NODES:
            raise Failed(f"{NODES - answer['known']} of {NODES} copilots do not know the application")
        took, cpu = time.monotonic() - begin, self.rm.cpu() - cpu
        self.note("copilot_calls", (self.rm.counters()[0] - calls) / took)
        self.note("copilot_rm_cpu", 100 * cpu / took - alone)

    def only_memory(self, pods: int) -> None:
        operator, _ = self.start()
        try:
            self.memory(operator, f"_{pods * NODES}_pods")
        finally:
            operator.end()

    def heartbeats(self) -> None:
        beats = self.load.ask("beats")
        print(f"{beats['answered']} heartbeats, {beats['late']} of them answered late", flush=True)


UNITS = {"waiting_writes": "writes/h", "waiting_calls": "calls/min", "waiting_cpu": "% of a core", "copilot_calls": "calls/s", "copilot_rm_cpu": "% of a core",
         "change_calls": "calls", "steady_calls": "calls/min", "naive_steady_calls": "calls/min", "steady_connections": "connections", "steady_cpu": "% of a core",
         "naive_connections": "connections", "naive_left_waiting": "connections"}


def unit(name: str) -> str:
    if name in UNITS:
        return UNITS[name]
    return "MiB" if name.startswith(("memory", "private_dirty")) else "% of a core" if name.startswith("rm_") else "s"


def run(load_program: Path, fleet_program: Path, folder: Path) -> dict[str, list]:
    from support.yarn import Yarn

    with Yarn([], site=SITE, capacity=QUEUES) as yarn:
        bench = Bench(load_program, fleet_program, yarn, folder)
        try:
            bench.serve(PODS)
            time.sleep(WARM_S)
            for number in range(ROUNDS if "rounds" in ONLY else 0):
                bench.round()
                print({name: round(values[-1], 3) for name, values in bench.found.items()}, f"load {os.getloadavg()[0]:.1f}", flush=True)
            if "waiting" in ONLY:
                bench.waiting()
            bench.retire()
            for pods in OTHER_PODS if "memory" in ONLY else ():
                bench.serve(pods)
                bench.only_memory(pods)
                bench.retire()
            bench.heartbeats()
        finally:
            bench.end()
        return bench.found


def main() -> int:
    processes.install_signal_handlers()
    if missing := [part for part in ONLY if part not in PARTS]:
        print(f"bench yarn: TIDEMARK_BENCH_PARTS: no part `{missing[0]}`; there are {', '.join(PARTS)}", file=sys.stderr)
        return 1
    environment, remedy = yarn_world.java_and_hadoop()
    if remedy:
        print(f"bench yarn: {remedy}", file=sys.stderr)
        return 1
    os.environ.update(environment)
    load_program, fleet_program = map(Path, os.environ["TIDEMARK_BENCH_PROGRAMS"].split(os.pathsep))
    with tempfile.TemporaryDirectory(prefix="tidemark-bench-") as scratch:
        try:
            found = run(load_program, fleet_program, Path(scratch))
        except (Failed, AssertionError, OSError) as why:
            print(f"bench yarn: {why}", file=sys.stderr)
            return 1
    for name, values in found.items():
        figure(f"yarn.{name}", unit(name), values)
    for name, more in {"rm_operator_adds": "rm_with_operator", "rm_naive_adds": "rm_with_naive"}.items() if "rounds" in ONLY else ():
        figure(f"yarn.{name}", "% of a core", [a - b for a, b in zip(found[more], found["rm_alone"])])
    return 0


if __name__ == "__main__":
    sys.exit(main())
