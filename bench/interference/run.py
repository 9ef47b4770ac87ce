"""./dev bench interference: what offline work costs the online side that it shares a machine with, and what each knob of the kernel gives.

A web server compresses a page for each request, with a worker for each processor; an open loop of requests (demo/load) keeps the machine half busy with nothing
beside them: the rate is corrected until it does, and where it did not over all rounds there are no figures. A latency goes from when a request was due, drawn
before the run, to the last byte of its answer, read by the load. Beside them run three processes a processor that take all they can get (sha256sum of /dev/zero). ROUNDS rounds of SECONDS s a column, in an order that is drawn anew for
each round; the same requests in all columns of a round. A ratio is of the same round: to the mean of its two columns without offline work.

  p99_…, p999_…   percentile of the column, in % of that of the service alone
  busy_…          of the machine's processors, from /proc/stat: everything that ran
  batch_…         cores that the offline work had, from its groups; both over the time in which the load counts, in every column
  p99_alone       not a ratio: the service alone, in ms
  noise_p99, …    one column without offline work against the other one of its round: what the machine does by itself
  waits_…         only with TIDEMARK_BENCH_TRACE=1: what waits of online threads of 1 ms and more took together
  stolen_…        of the processors' time, what the host of the virtual machine gave to others

Columns: `unprotected` (each process in its own group of 1024 shares beside the service's), `nothing` (all below one group of 2 shares: what the kernel gives for
nothing), `each_idle` (below it each process's own group is idle, which is all that can be done beside a kubelet), knobs on that group (`idle`; `idle_half`, and on half of the processors only, as policy `cpuset` does; `quota`, to 90 % of the machine),
`tidemark` (the tasks of `tidemark up` as it is: offline work runs last, no quota), `tidemark_sold` (a third of them, and as `./dev up` has it, of the class that takes what is free, the others as jobs that are sold what is
idle: some wait in the queue), `tidemark_quota` (as the first, held by a quota to a line of 98 %), `tidemark_line_70` and so on (as `tidemark_sold`, held to that line). Neighbours of other kinds in the same mix as `tidemark_sold`: `tidemark_memory` (each streams through 48 MiB of memory),
`tidemark_disk` (each writes a file of 256 MiB again and again, through the page cache), `tidemark_fork` (each starts one short process after the other, as a build does). On a cluster's
node (kubelet_node.py): `kubelet` (kubelet, containerd, API server and agent, no offline work) and `tidemark_kubelet` (the same with the mix of `tidemark_sold` in pods), `tidemark_kubelet_chart` (with the settings that the chart installs). TIDEMARK_BENCH_COLUMNS names some of them, TIDEMARK_BENCH_ROUNDS fewer rounds; TIDEMARK_BENCH_TRACE=1 shows what online threads wait for (waits.py). Another process on the machine spoils it all, and so
does a busy host of a virtual machine: a column of which more than STOLEN_MAX was stolen is measured again, up to TRIES times in all, and the one with the least stolen counts.
"""

import os
import random
import secrets
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack, nullcontext
from pathlib import Path

from bench.harness import figure
from bench.interference import kubelet_node
from bench.interference.kubelet_node import KubeletNode, offline_pods
from bench.interference.waits import Tracer
from driver import build, processes
from driver.console import Failed, say
from demo import service, show
from demo.measure import Measured
from demo.on_tidemark import OnTidemark
from demo.plain_groups import Knobs, PlainGroups
from support.node import pods

ROUNDS = int(os.environ.get("TIDEMARK_BENCH_ROUNDS", "10"))
ONLY = os.environ.get("TIDEMARK_BENCH_COLUMNS", "").split()  # beside the two without offline work; none: all
TRACE = os.environ.get("TIDEMARK_BENCH_TRACE") == "1"
SECONDS = 20  # p99.9 wants thousands of requests; all rounds together are to stay below an hour
WARM_UP_S = 1
STOLEN_MAX, TRIES = 0.02, 3
LINE = 98
LINES = (70, 80, 90)  # water lines of the mix that is sold: what a user gets for what price
SETTINGS = """apiVersion: v1
kind: ConfigMap
metadata:
  name: slo-controller-config
data:
  colocation-config: |
    {"enable": true, "cpuReclaimThresholdPercent": %(line)d, "memoryReclaimThresholdPercent": 85}
  resource-threshold-config: |
    {"clusterStrategy": {"enable": true, "cpuSuppressThresholdPercent": %(line)d, "cpuSuppressPolicy": "cfsQuota"}}
  resource-qos-config: |
    {"clusterStrategy": {"lsClass": {"cpuQOS": {"enable": true, "groupIdentity": 2}}, "beClass": {"cpuQOS": {"enable": true, "groupIdentity": -1}}}}
"""
ALONE, AGAIN = "alone", "alone_again"
NEIGHBOURS = {
    "memory": ["dd", "if=/dev/zero", "of=/dev/null", "bs=48M"],
    "disk": ["sh", "-c", "file=$(mktemp) && exec 3<>$file && rm $file && while :; do dd if=/dev/zero of=/dev/fd/3 bs=1M count=256 conv=notrunc 2>/dev/null; done"],
    "fork": ["sh", "-c", "while :; do /bin/true; done"],
}


def knobs(cores: int) -> dict[str, Knobs | None]:
    half = ",".join(str(cpu) for cpu in range(cores // 2, cores))
    left = 0.9 * cores - show.HALF * cores
    return {
        "unprotected": None,
        "nothing": Knobs(),
        "each_idle": Knobs(each_idle=True),
        "idle": Knobs(idle=True),
        "idle_half": Knobs(idle=True, cpus=half),
        "quota": Knobs(quota_cores=left),
    }


class Bench:
    def __init__(self, stack: ExitStack, scratch: Path, programs: dict[str, Path]):
        self.cores, self.scratch, self.tidemark = show.cores(), scratch, programs["tidemark"]
        if self.cores < 2:
            raise Failed("one processor has no neighbour to disturb: two at least")
        self.service = service.write(service.provide_nginx(), programs["tidemark_load"], scratch / "web", self.cores)
        groups = stack.enter_context(PlainGroups(f"tidemark-demo-{secrets.token_hex(4)}"))
        self.plain = show.PlainSide(groups, self.service)
        self.rate = self.rate_for_half()
        self.batch = show.WORK_PER_CORE * self.cores
        say(f"{self.rate:.0f} requests a second keep {self.cores} processors half busy; {self.batch} offline processes")

    def rate_for_half(self) -> float:
        """Found in short looks, and put right by those as long as a column: the machine's own pace drifts between them."""
        rate = show.rate_for_half(self.plain)
        for _ in range(TRIES):
            busy = self.plain.measure(rate, SECONDS, 0).busy
            if show.is_half(busy):
                return rate
            rate *= show.HALF / busy
        raise not_half(busy)

    def columns(self) -> dict:
        found = {
            **{name: lambda seed, found=found: self.on_plain(seed, self.batch, found) for name, found in knobs(self.cores).items()},
            "tidemark": lambda seed: self.on_tidemark(seed, None, self.free),
            "tidemark_sold": lambda seed: self.on_tidemark(seed, None, show.sold_and_free),
            **{f"tidemark_{name}": lambda seed, work=work: self.on_tidemark(seed, None, lambda up: show.sold_and_free(up, work)) for name, work in NEIGHBOURS.items()},
            "tidemark_quota": lambda seed: self.on_tidemark(seed, LINE, self.free),
            **{f"tidemark_line_{line}": lambda seed, line=line: self.on_tidemark(seed, line, show.sold_and_free) for line in LINES},
            "kubelet": lambda seed: self.on_kubelet(seed, []),
            "tidemark_kubelet": lambda seed: self.on_kubelet(seed, offline_pods(self.cores)),
            "tidemark_kubelet_chart": lambda seed: self.on_kubelet(seed, offline_pods(self.cores), kubelet_node.CHART),
        }
        if missing := [name for name in ONLY if name not in found]:
            raise Failed(f"TIDEMARK_BENCH_COLUMNS: no column `{missing[0]}`; there are {', '.join(found)}")
        without = lambda seed: self.on_plain(seed, 0, None)
        return {ALONE: without, AGAIN: without, **{name: run for name, run in found.items() if not ONLY or name in ONLY}}

    def on_plain(self, seed: int, batch: int, found: Knobs | None) -> Measured:
        return self.plain.measure(self.rate, SECONDS, seed, batch, found, WARM_UP_S)

    def free(self, up: OnTidemark) -> None:
        up.run_batch(self.batch, ["--class=free"], show.WORK)

    def on_tidemark(self, seed: int, line: int | None, start_batch: Callable[[OnTidemark], None]) -> Measured:
        data = self.scratch / "up"
        more = ()
        if line:
            settings = self.scratch / "settings.yaml"
            settings.write_text(SETTINGS % {"line": line})
            more = ("--settings", str(settings))
        up = OnTidemark(self.tidemark, data, f"tidemark-demo-{secrets.token_hex(4)}", more=more)
        with processes.cleaned_up(up.stop):
            up.start()
            found = show.on_tidemark(up, self.service, self.rate, SECONDS, seed, lambda: start_batch(up))
        shutil.rmtree(data)
        return found

    def on_kubelet(self, seed: int, offline: list[pods.Work], slo: dict = kubelet_node.UP) -> Measured:
        return KubeletNode(self.tidemark, self.service).measure(self.rate, SECONDS, seed, offline, slo)


def not_half(busy: float) -> Failed:
    return Failed(
        f"the service alone keeps the machine {busy:.0%} busy: wanted {show.HALF:.0%}, or {show.HALF_WITHIN:.0%} more or less. Below half of it nobody is in anybody's way; is "
        "something else running here?"
    )


def quietest(run: Callable[[int], Measured], seed: int) -> tuple[Measured, int]:
    """With how often it was run."""
    found: list[Measured] = []
    while len(found) < TRIES and not (found and found[-1].stolen <= STOLEN_MAX):
        found.append(run(seed))
    return min(found, key=lambda each: each.stolen), len(found)


def told(values: list[float]) -> str:
    """The median, and between which two of the values it lies with 95 % of certainty (by their order: binomial)."""
    ordered, count = sorted(values), len(values)
    cut, chance = 0, 0.5**count
    while cut < count // 2 and 2 * chance <= 0.05:
        cut += 1
        chance += _choose(count, cut) * 0.5**count
    low = ordered[max(0, cut - 1)]
    high = ordered[min(count - 1, count - cut)]
    return f"{statistics.median(values):.0f} ({low:.0f} … {high:.0f})"


def _choose(count: int, cut: int) -> float:
    out = 1.0
    for i in range(cut):
        out = out * (count - i) / (i + 1)
    return out


def tell(rounds: list[dict[str, Measured]]) -> None:
    def ratios(column: str, value) -> list[float]:
        return [100 * value(each[column]) / statistics.mean([value(each[ALONE]), value(each[AGAIN])]) for each in rounds]

    values = {"p50": lambda m: m.p50_us, "p99": lambda m: m.p99_us, "p999": lambda m: m.p999_us}
    columns = [name for name in rounds[0] if name not in (ALONE, AGAIN)]
    print(f"\n{'% of alone: median (95 %)':26}{'p50':>22}{'p99':>24}{'p99.9':>24}{'busy %':>9}{'stolen %':>10}{'batch cores':>13}")
    for name in [ALONE, AGAIN, *columns]:
        cells = [told(ratios(name, value)) for value in values.values()]
        busy, stolen, batch = (statistics.median(field(each[name]) for each in rounds) for field in (lambda m: 100 * m.busy, lambda m: 100 * m.stolen, lambda m: m.batch_cores))
        print(f"{name:26}{cells[0]:>22}{cells[1]:>24}{cells[2]:>24}{busy:>9.1f}{stolen:>10.1f}{batch:>13.2f}")
    print()
    for name, value in values.items():
        figure(f"interference.{name}_alone", "ms", [value(each[ALONE]) / 1000 for each in rounds])
        figure(f"interference.noise_{name}", "% of alone", [100 * value(each[AGAIN]) / value(each[ALONE]) for each in rounds])
        for column in columns:
            figure(f"interference.{name}_{column}", "% of alone", ratios(column, value))
    figure("interference.busy_alone", "%", [100 * each[ALONE].busy for each in rounds])
    figure("interference.stolen_alone", "%", [100 * each[ALONE].stolen for each in rounds])
    for column in columns:
        figure(f"interference.busy_{column}", "%", [100 * each[column].busy for each in rounds])
        figure(f"interference.batch_{column}", "cores", [each[column].batch_cores for each in rounds])
        figure(f"interference.stolen_{column}", "%", [100 * each[column].stolen for each in rounds])


def main() -> int:
    processes.install_signal_handlers()
    programs = {path.name: path for _, path in build.listed("release", "benches")}
    chance = random.Random(1)
    rounds: list[dict[str, Measured]] = []
    again = 0
    try:
        with ExitStack() as stack:
            scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tidemark-bench-")))
            bench = Bench(stack, scratch, programs)
            tracer = stack.enter_context(Tracer(f"tidemark-{secrets.token_hex(4)}")) if TRACE else None
            for number in range(ROUNDS):
                columns = list(bench.columns().items())
                chance.shuffle(columns)
                begun = time.monotonic()
                tried = {}
                for name, run in columns:
                    with tracer.column(name) if tracer else nullcontext():
                        tried[name] = quietest(run, number + 1)
                again += sum(tries - 1 for _, tries in tried.values())
                rounds.append({name: found for name, (found, _) in tried.items()})
                failed = {name: found.failed for name, found in rounds[-1].items() if found.failed and name != "unprotected"}
                if failed:
                    raise Failed(f"requests that were not answered: {failed}")
                say(f"round {number + 1} of {ROUNDS}: {time.monotonic() - begun:.0f} s")
            if tracer:
                for name, seconds in tracer.long_s.items():
                    figure(f"interference.waits_{name}", "ms", [1000 * each for each in seconds])
                return 0
            tell(rounds)  # also where none is kept: three quarters of an hour went into it
            busy = statistics.median(each[name].busy for each in rounds for name in (ALONE, AGAIN))
            if not show.is_half(busy):
                raise not_half(busy)
            say(f"{again} measured once more, for what the host had stolen")
    except Failed as why:
        print(f"bench interference: {why}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
