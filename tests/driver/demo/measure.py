"""What is read while a load runs: its own counts, and from the kernel what the machine did."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from driver.console import Failed


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


def during(action: Callable[[], str], batch_seconds: Callable[[], float], wall_s: Callable[[], float]) -> Measured:
    """`action` runs the load and answers what it wrote."""
    before, had, begun = Processors.now(), batch_seconds(), wall_s()
    text = action()
    after, has, ended = Processors.now(), batch_seconds(), wall_s()
    ticks = max(1, after.total - before.total)
    return read(text, 1 - (after.idle - before.idle) / ticks, (after.stolen - before.stolen) / ticks, (has - had) / (ended - begun))


def read(text: str, busy: float, stolen: float, batch_cores: float) -> Measured:
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    seconds = [line for line in lines if "second" in line]
    whole = next((line for line in lines if "second" not in line), None)
    if whole is None:
        raise Failed(f"the load ended without its figures:\n{text[-2000:]}")
    return Measured(
        *(whole[key] for key in ("p50_us", "p99_us", "p999_us", "max_us", "answers")), whole["failures"] + whole["unanswered"],
        busy, stolen, batch_cores, seconds,
    )
