"""The example from its beginning to its table: how much a request costs here, the service alone, with unprotected offline work, with Tidemark."""

import os
import subprocess
import time
from collections.abc import Callable

from driver import processes
from driver.console import Failed, step
from driver.demo import measure
from driver.demo.measure import Measured
from driver.demo.on_tidemark import OnTidemark, serves
from driver.demo.plain_groups import ONLINE_SHARES, Knobs, PlainGroups
from driver.demo.service import Service

WORK = ["sha256sum", "/dev/zero"]  # takes a processor for as long as it gets one
WORK_PER_CORE = 3
HALF = 0.5  # of the machine, for the online side: web server and load together
PROBE_RATE_PER_CORE, PROBE_S = 200, 3
RATE_MAX = 50_000
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
                return measure.during(lambda: self._load(command), lambda: 0.0, time.monotonic)
            with self.groups.batch(batch, WORK, knobs) as batch_seconds:
                return measure.during(lambda: self._load(command), batch_seconds, time.monotonic)

    def request_cost_s(self) -> float:
        """What a request costs of a processor, on both sides of it."""
        rate = PROBE_RATE_PER_CORE * cores()
        with self._web():
            before = self.groups.cpu_seconds("web")
            self.groups.make("load", ONLINE_SHARES)
            had = self.groups.cpu_seconds("load")
            found = measure.read(self._load(self.service.load_command(rate, PROBE_S, 1, 0)), 0, 0, 0)
            cost = (self.groups.cpu_seconds("web") - before + self.groups.cpu_seconds("load") - had) / max(1, found.answers)
        if found.failed or not cost:
            raise Failed(f"the web server answered {found.answers} requests of a light load, and {found.failed} not")
        return cost

    def _web(self):
        return _Web(self.groups, self.service)

    def _load(self, command: list[str]) -> str:
        self.groups.make("load", ONLINE_SHARES)
        child = self.groups.start("load", command, stdout=subprocess.PIPE, text=True)
        try:
            return child.communicate()[0]
        finally:
            processes.kill_group(child)


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


def rate_for_half(cost_s: float) -> float:
    return min(RATE_MAX, HALF * cores() / cost_s)


def on_tidemark(up: OnTidemark, service: Service, rate: float, length_s: float, seed: int, start_batch: Callable[[], None]) -> Measured:
    up.run_web(service)
    start_batch()
    time.sleep(SETTLE_S)
    return measure.during(lambda: up.load(service.load_command(rate, length_s, seed), length_s), up.batch_seconds, time.monotonic)


def three_stages(groups: PlainGroups, up: OnTidemark, service: Service, length_s: float) -> tuple[float, dict[str, Measured]]:
    """Leaves `up` up, with the service and its offline work, and a load that goes on."""
    plain = PlainSide(groups, service)
    with step("how much a request costs here"):
        rate = rate_for_half(plain.request_cost_s())
    stages = {}
    with step(f"the web server alone, {rate:.0f} requests a second"):
        stages["alone"] = plain.measure(rate, length_s, 1)
    with step(f"with {WORK_PER_CORE * cores()} offline processes beside it, unprotected"):
        stages["unprotected"] = plain.measure(rate, length_s, 1, WORK_PER_CORE * cores())
    with step("with the same as tasks of `tidemark up`"):
        up.start()
        stages["with Tidemark"] = on_tidemark(up, service, rate, length_s, 1, lambda: _sold_and_free(up))
    up.run("load", ["--qos=LS", "--cpu=0.5", "--memory=128Mi"], service.load_command(rate, LONG_S, 1))
    return rate, stages


def _sold_and_free(up: OnTidemark) -> None:
    """More than can be sold, so that some of it waits, and as many that ask for nothing as there are processors."""
    for i in range((WORK_PER_CORE - 1) * cores()):
        up.run(f"crunch-{i}", [f"--cpu={SOLD_CORES}", "--memory=64Mi"], WORK)
    for i in range(cores()):
        up.run(f"filler-{i}", ["--class=free"], WORK)
