"""What the threads of the service and of its load wait for: TIDEMARK_BENCH_TRACE=1 ./dev bench interference.

The kernel's scheduler events of one column. A wait begins when a thread becomes runnable (woken or pre-empted) and ends when it runs. Each wait is divided by what ran
meanwhile on the processor in whose queue the thread stands, and on the others. A trace costs time itself: latencies of a traced column are no figures.
"""

import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterable
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from driver.console import Failed

EVENTS = ("sched_switch", "sched_wakeup", "sched_wakeup_new", "sched_migrate_task")
BUFFER_KIB_PER_CPU = 128 * 1024
LONG_S = 0.001  # at 10,000 requests a second a wait of one thread then delays ten requests
ONLINE, OFFLINE = ("nginx", "tidemark_load"), ("sha256sum", "work")
EVENT = re.compile(r"\[(\d+)\]\s+\S+\s+([\d.]+): (\w+): (.*)$")
SWITCH = re.compile(r"prev_comm=(.*) prev_pid=(\d+) prev_prio=\d+ prev_state=(\S+) ==> next_comm=(.*) next_pid=(\d+)")
WAKEUP = re.compile(r"comm=(.*) pid=(\d+) prio=\d+ target_cpu=(\d+)")
MIGRATION = re.compile(r"pid=(\d+) prio=\d+ orig_cpu=\d+ dest_cpu=(\d+)")


@dataclass
class Wait:
    since: float
    cpu: int
    meanwhile: Counter = field(default_factory=Counter)  # (own processor runs, another one runs) → seconds


def kind(command: str) -> str:
    for name, commands in (("online", ONLINE), ("offline", OFFLINE), ("idle", ("swapper",))):
        if command.startswith(commands):
            return name
    return "other"


def waits(lines: Iterable[str]) -> list[tuple[float, Counter]]:
    """Length and content of each wait of an online thread."""
    running: dict[int, str] = {}
    threads: dict[int, str] = {}  # the thread that each processor runs
    waiting: dict[str, Wait] = {}
    found = []
    last = 0.0
    for line in lines:
        event = EVENT.search(line)
        if not event:
            continue
        cpu, now, name, text = int(event[1]), float(event[2]), event[3], event[4]
        for wait in waiting.values():
            others = {what for number, what in running.items() if number != wait.cpu}
            busiest = next((what for what in ("offline", "idle", "other", "online") if what in others), "unknown")
            wait.meanwhile[(running.get(wait.cpu, "unknown"), busiest)] += now - max(last, wait.since)
        last = now
        if name == "sched_switch" and (switch := SWITCH.match(text)):
            running[cpu], threads[cpu] = kind(switch[4]), switch[5]
            waiting.pop(switch[2], None)
            if kind(switch[1]) == "online" and switch[3].startswith("R"):
                waiting[switch[2]] = Wait(now, cpu)
            if wait := waiting.pop(switch[5], None):
                found.append((now - wait.since, wait.meanwhile))
        elif name.startswith("sched_wakeup") and (woken := WAKEUP.match(text)):
            if kind(woken[1]) == "online" and woken[2] not in waiting and woken[2] not in threads.values():
                waiting[woken[2]] = Wait(now, int(woken[3]))
        elif name == "sched_migrate_task" and (moved := MIGRATION.search(text)) and moved[1] in waiting:
            waiting[moved[1]].cpu = int(moved[2])
    return found


def summary(column: str, found: list[tuple[float, Counter]]) -> str:
    lengths = [length for length, _ in found if length >= LONG_S]
    content: Counter = Counter()
    for length, meanwhile in found:
        if length >= LONG_S:
            content += meanwhile
    lines = [f"{column}: {len(found)} waits; {len(lengths)} of {LONG_S * 1e3:g} ms and more, {sum(lengths):.2f} s together"]
    lines += [f"  {seconds:6.2f} s  own processor runs {own}, another one runs {other}" for (own, other), seconds in content.most_common(6)]
    return "\n".join(lines)


class Tracer:
    """One instance of the kernel's tracing for this run; removed at the end."""

    def __init__(self, name: str):
        self.mount = Path(tempfile.mkdtemp(prefix="tidemark-trace-"))
        self.instance = self.mount / "instances" / name
        self.long_s: dict[str, list[float]] = {}  # by column: of each round, what long waits took together

    def __enter__(self) -> "Tracer":
        if subprocess.run(["mount", "-t", "tracefs", "tracefs", str(self.mount)], capture_output=True).returncode:
            self.mount.rmdir()
            raise Failed("tracefs cannot be mounted: TIDEMARK_BENCH_TRACE needs root and a kernel with tracing")
        self.instance.mkdir()
        self._set("tracing_on", 0)
        self._set("buffer_size_kb", BUFFER_KIB_PER_CPU)
        for event in EVENTS:
            self._set(f"events/sched/{event}/enable", 1)
        return self

    def __exit__(self, *_) -> None:
        self._set("tracing_on", 0)
        self.instance.rmdir()
        subprocess.run(["umount", str(self.mount)], check=True)
        self.mount.rmdir()

    @contextmanager
    def column(self, name: str):
        (self.instance / "trace").write_text("")
        self._set("tracing_on", 1)
        yield
        self._set("tracing_on", 0)
        with open(self.instance / "trace", errors="replace") as trace:
            found = waits(trace)
        print(summary(name, found), flush=True)
        self.long_s.setdefault(name, []).append(sum(length for length, _ in found if length >= LONG_S))

    def _set(self, file: str, value: int) -> None:
        (self.instance / file).write_text(str(value))
