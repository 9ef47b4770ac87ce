"""The example from its beginning to its table: how many requests are half of this machine, and by turns the service alone, with unprotected offline work, with Tidemark."""

import os
import tempfile
import time
from collections.abc import Callable

from driver import processes
from driver.console import Failed, step
from demo import measure
from demo.measure import Measured, Watch
from demo.on_tidemark import OnTidemark, serves
from demo.plain_groups import ONLINE_SHARES, Knobs, PlainGroups
from demo.service import Service

WORK = ["sha256sum", "/dev/zero"]  # takes a processor for as long as it gets one
WORK_PER_CORE = 3
HALF = 0.5  # of the machine, for the online side: web server and load together
HALF_WITHIN = 0.02
PROBE_RATE_PER_CORE, PROBE_S = 200, 3
RATE_TRIES, RATE_TRY_S, RATE_FACTOR_MAX = 3, 4, 2
RATE_MAX = 50_000
ROUNDS, ROUND_LEAST_S = 3, 5
SOLD_CORES = 0.4
SETTLE_S = 5  # the agent has seen the work, and made it small
LONG_S = 86_400


def cores() -> int:
    return os.cpu_count() or 1


class PlainSide:
    """The service in groups of its own; offline work beside it, as unprotected as YARN's containers, or below one group with `knobs`."""

    def __init__(self, groups: PlainGroups, service: Service):
        self.groups, self.service = groups, service

    def measure(self, rate: float, length_s: float, seed: int, batch: int = 0, knobs: Knobs | None = None, warm_up_s: float = 1) -> Measured:
        with self._web():
            command = self.service.load_command(rate, length_s, seed, warm_up_s)
            if not batch:
                return self._load(command, Watch())
            with self.groups.batch(batch, WORK, knobs) as batch_seconds:
                return self._load(command, Watch(batch_seconds))

    def request_cost_s(self) -> float:
        """What a request costs of a processor, on both sides of it."""
        rate = PROBE_RATE_PER_CORE * cores()
        with self._web():
            before = self.groups.cpu_seconds("web")
            self.groups.make("load", ONLINE_SHARES)
            had = self.groups.cpu_seconds("load")
            found = self._load(self.service.load_command(rate, PROBE_S, 1, 0), Watch())
            cost = (self.groups.cpu_seconds("web") - before + self.groups.cpu_seconds("load") - had) / max(1, found.answers)
        if found.failed or not cost:
            raise Failed(f"the web server answered {found.answers} requests of a light load, and {found.failed} not")
        return cost

    def _web(self):
        return _Web(self.groups, self.service)

    def _load(self, command: list[str], watch: Watch) -> Measured:
        self.groups.make("load", ONLINE_SHARES)
        with tempfile.TemporaryFile("w+") as output:
            child = self.groups.start("load", command, stdout=output)
            try:
                watch.until(lambda: child.poll() is not None)
            finally:
                processes.kill_group(child)
            output.seek(0)
            return measure.read(output.read(), watch)


class _Web:
    def __init__(self, groups: PlainGroups, service: Service):
        self.groups, self.service = groups, service

    def __enter__(self):
        self.groups.make("web", ONLINE_SHARES)
        with open(self.service.folder / "nginx.log", "ab") as log:
            self.child = self.groups.start("web", self.service.web_command(), stdout=log, stderr=log)
        deadline = time.monotonic() + 20
        while not serves(self.service.port):
            if self.child.poll() is not None or time.monotonic() > deadline:
                self.__exit__()
                raise Failed(f"the web server does not answer: {' '.join(self.service.web_command())}; what it said is in {self.service.folder}/nginx.log")
            time.sleep(0.02)

    def __exit__(self, *_):
        self.groups.end("web")
        processes.kill_group(self.child)


def rate_for_half(plain: PlainSide) -> float:
    """Requests a second that keep the machine about half busy with nothing beside them. What a request costs under a light load says it roughly only: under a heavier one
    it is cheaper. Where others keep the machine busy no rate does it, and one that is too small would show nothing."""
    first = rate = HALF * cores() / plain.request_cost_s()
    for _ in range(RATE_TRIES):
        rate = min(RATE_MAX, rate)
        busy = plain.measure(rate, RATE_TRY_S, 1).busy
        if is_half(busy):
            break
        rate = max(first / RATE_FACTOR_MAX, min(first * RATE_FACTOR_MAX, rate * HALF / busy))
    return min(RATE_MAX, rate)


def is_half(busy: float) -> bool:
    return abs(busy - HALF) <= HALF_WITHIN


def on_tidemark(up: OnTidemark, service: Service, rate: float, length_s: float, seed: int, start_batch: Callable[[], None]) -> Measured:
    up.run_web(service)
    start_batch()
    time.sleep(SETTLE_S)
    return up.load(service.load_command(rate, length_s, seed), length_s)


def rounds_of(length_s: int) -> int:
    """Short rounds by turns rather than long ones: what the machine does by itself meets all three alike, and shows by how far they differ among themselves."""
    return ROUNDS if length_s >= ROUNDS * ROUND_LEAST_S else 1


def in_rounds(groups: PlainGroups, up: OnTidemark, service: Service, length_s: int) -> tuple[float, dict[str, list[Measured]]]:
    """`length_s` in all for each of the three. Leaves `up` up, with the service and its offline work, and a load that goes on."""
    plain, offline = PlainSide(groups, service), WORK_PER_CORE * cores()
    with step("how many requests keep this machine half busy"):
        rate = rate_for_half(plain)
    rounds = rounds_of(length_s)
    each_s = length_s // rounds
    found: dict[str, list[Measured]] = {"alone": [], "unprotected": [], "with Tidemark": []}
    for number in range(1, rounds + 1):
        up.stop()
        of = f"round {number} of {rounds}: " if rounds > 1 else ""
        with step(f"{of}the web server alone, {rate:.0f} requests a second"):
            found["alone"].append(plain.measure(rate, each_s, number))
        with step(f"{of}with {offline} offline processes beside it, unprotected"):
            found["unprotected"].append(plain.measure(rate, each_s, number, offline))
        with step(f"{of}with the same as tasks of `tidemark up`"):
            up.start()
            found["with Tidemark"].append(on_tidemark(up, service, rate, each_s, number, lambda: sold_and_free(up)))
    up.run("load", ["--qos=LS", "--cpu=0.5", "--memory=128Mi"], service.load_command(rate, LONG_S, 1))
    return rate, found


def sold_and_free(up: OnTidemark, work: list[str] = WORK) -> None:
    """More than can be sold, so that some of it waits, and as many that ask for nothing as there are processors."""
    for i in range((WORK_PER_CORE - 1) * cores()):
        up.run(f"crunch-{i}", [f"--cpu={SOLD_CORES}", "--memory=64Mi"], work)
    for i in range(cores()):
        up.run(f"filler-{i}", ["--class=free"], work)
