"""Files of tests dealt from one queue to lanes that run side by side, each a cluster: the longest first, each file whole on one lane, and
every file accounted for. A lane that was lost is a failure and gets no more files; what nobody could run is a failure too."""

import threading
import time
import traceback
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from driver import processes
from driver.console import Failed
from driver.results import FAILED, Case


class Lane(Protocol):
    environment: dict[str, str]  # what the tests on it find

    def put_right(self) -> str:
        """What a file left stopped, started again; empty when nothing was. Failed when it cannot be."""


@dataclass(frozen=True)
class Job:
    name: str
    run: Callable[[Lane], list[Case]]


def longest_first(names: Iterable[str], table: str) -> list[str]:
    """In the order of the table's lines `NAME SECONDS`. What it does not name may be the longest of all, and comes first."""
    seconds = {}
    for line in table.splitlines():
        fields = line.split("#", 1)[0].split()
        if fields:
            seconds[fields[0]] = float(fields[1])
    return sorted(names, key=lambda name: (-seconds.get(name, float("inf")), name))


def deal(group: str, jobs: list[Job], lanes: list[Lane], done: Callable[[int, Job, list[Case], float], None]) -> None:
    """Runs each job once. `done` gets the number of the lane (from 1), the job, its cases (never none) and the seconds, one call at a time."""
    queue, open_jobs, lock = deque(jobs), list(jobs), threading.Lock()
    lost: list[str] = []

    def finish(number: int, job: Job, cases: list[Case], seconds: float) -> None:
        with lock:
            done(number, job, cases, seconds)
            open_jobs.remove(job)

    def work(number: int, lane: Lane) -> None:
        while True:
            with lock:
                if not queue:
                    return
                job = queue.popleft()
            begin = time.monotonic()
            cases = _cases(group, job, lane)
            processes.stop_if_told()
            left, usable = _left_behind(lane)
            if left:
                cases = [*cases, Case(group, job.name, f"(lane {number} afterwards)", FAILED, left)]
            if not usable:
                lost.append(f"lane {number} was lost after {job.name}")
            finish(number, job, cases, time.monotonic() - begin)
            if not usable:
                return

    with ThreadPoolExecutor(len(lanes)) as pool:
        workers = [pool.submit(work, number, lane) for number, lane in enumerate(lanes, 1)]
    crashes = [crash for worker in workers if (crash := worker.exception())]
    for job in list(open_jobs):
        why = "; ".join([*lost, *("".join(traceback.format_exception(crash)) for crash in crashes)]) or "nobody took it"
        finish(0, job, [Case(group, job.name, "(whole file)", FAILED, f"was not run to its end: {why}")], 0.0)
    if crashes:
        raise crashes[0]


def _cases(group: str, job: Job, lane: Lane) -> list[Case]:
    try:
        cases = job.run(lane)
    except Exception:
        return [Case(group, job.name, "(whole file)", FAILED, f"the driver failed:\n{traceback.format_exc()}")]
    return cases or [Case(group, job.name, "(whole file)", FAILED, "ran no test case")]


def _left_behind(lane: Lane) -> tuple[str, bool]:
    """What the last job left stopped, and whether the lane can be used again."""
    try:
        return lane.put_right(), True
    except Exception as error:
        return f"nothing more can be run on it: {error if isinstance(error, Failed) else traceback.format_exc()}", False


def table(folder: Path) -> str:
    file = folder / "longest-first.txt"
    return file.read_text() if file.exists() else ""
