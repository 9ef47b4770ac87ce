"""What is read while a load runs: its own counts, and from the kernel what the machine did."""

import json
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from driver.console import Failed

LOOK_S = 0.1


@dataclass(frozen=True)
class Processors:
    """/proc/stat, in ticks of all processors together."""

    total: int
    idle: int
    stolen: int

    @staticmethod
    def now() -> "Processors":
        user, nice, system, idle, iowait, irq, softirq, steal = (int(word) for word in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
        return Processors(user + nice + system + idle + iowait + irq + softirq + steal, idle + iowait, steal)


@dataclass
class Measured:
    p50_us: float
    p99_us: float
    p999_us: float
    max_us: float
    answers: int
    failed: int  # refused, cut, or not answered within five seconds after the end
    busy: float  # of the machine's processors, 0 … 1: everything that ran, the load and the system too
    stolen: float  # what the host of a virtual machine gave to others, 0 … 1
    batch_cores: float  # what the offline work had
    seconds: list[dict] = field(default_factory=list)  # the load's lines, one for each second


class Watch:
    """What the machine did and what the offline work had, looked at again and again while a load runs. The figures are those of the load's own counted time, in every
    column alike: what is started, waited for and ended around it is no part of them."""

    def __init__(self, batch_seconds: Callable[[], float] = lambda: 0.0, now_s: Callable[[], float] = time.monotonic, processors: Callable[[], Processors] = Processors.now):
        self._batch_seconds, self._now_s, self._processors = batch_seconds, now_s, processors
        self._looks: list[tuple[float, ...]] = []

    def look(self) -> None:
        found = self._processors()
        self._looks.append((self._now_s(), found.total, found.idle, found.stolen, self._batch_seconds()))

    def until(self, done: Callable[[], bool]) -> None:
        self.look()
        while not done():
            time.sleep(LOOK_S)
            self.look()
        self.look()

    def between(self, begun_s: float, ended_s: float) -> tuple[float, float, float]:
        """The share of the processors that was busy, the share that was stolen, and the cores that the offline work had."""
        total, idle, stolen, batch = (after - before for before, after in zip(self._at(begun_s), self._at(ended_s)))
        return 1 - idle / max(1, total), stolen / max(1, total), batch / (ended_s - begun_s)

    def _at(self, time_s: float) -> list[float]:
        """Of sums that only grow; between two looks, as if evenly."""
        after = next((i for i, look in enumerate(self._looks) if look[0] >= time_s), None)
        if not after:
            raise Failed(f"the load counted at {time_s:.1f} s, and the machine was not measured then")
        (begun, *before), (ended, *behind) = self._looks[after - 1], self._looks[after]
        share = (time_s - begun) / (ended - begun)
        return [low + (high - low) * share for low, high in zip(before, behind)]


def read(text: str, watch: Watch | None = None) -> Measured:
    """What the load wrote, with what `watch` saw in the time of which it tells."""
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    seconds = [line for line in lines if "second" in line]
    whole = next((line for line in lines if "second" not in line), None)
    if whole is None:
        raise Failed(f"the load ended without its figures:\n{text[-2000:]}")
    busy, stolen, batch_cores = watch.between(whole["from_us"] / 1e6, whole["to_us"] / 1e6) if watch else (0.0, 0.0, 0.0)
    return Measured(
        *(whole[key] for key in ("p50_us", "p99_us", "p999_us", "max_us", "answers")), whole["failures"] + whole["unanswered"],
        busy, stolen, batch_cores, seconds,
    )


def median(rounds: list[Measured]) -> Measured:
    """Each figure by itself. What was not answered is not answered, however seldom: that is their sum. The seconds are those of all rounds, one behind the other."""
    seconds = [line for found in rounds for line in found.seconds]
    return Measured(
        *(statistics.median(getattr(found, name) for found in rounds) for name in ("p50_us", "p99_us", "p999_us")),
        max(found.max_us for found in rounds), sum(found.answers for found in rounds), sum(found.failed for found in rounds),
        *(statistics.median(getattr(found, name) for found in rounds) for name in ("busy", "stolen", "batch_cores")),
        [{**line, "second": number} for number, line in enumerate(seconds)],
    )
