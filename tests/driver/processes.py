"""Child processes that never outlive the driver.

Every child is the leader of its own process group. Ctrl-C, SIGTERM and a normal end kill all groups that are left; when the
driver itself is killed with SIGKILL, the kernel kills the children (PR_SET_PDEATHSIG, set by setpriv of util-linux).
"""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

GRACE_S = 3.0  # between SIGTERM and SIGKILL

_lock = threading.RLock()  # the signal handler takes it too, and may interrupt its holder
_running: set[subprocess.Popen] = set()
_stopping = threading.Event()
_clean_up: list[Callable[[], None]] = []


def start(command, **options) -> subprocess.Popen:
    """Popen in its own group, reading nothing from our stdin unless asked to."""
    options.setdefault("stdin", subprocess.DEVNULL)
    with _lock:  # under the lock: a child started while everything is being killed would be forgotten
        stop_if_told()
        child = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "--", *map(str, command)], start_new_session=True, **options
        )
        _running.add(child)
    return child


def stop_if_told() -> None:
    """For threads: what was killed by a signal to us is no result of a test."""
    if _stopping.is_set():
        raise KeyboardInterrupt


def forget(child: subprocess.Popen) -> None:
    with _lock:
        _running.discard(child)


def kill_group(child: subprocess.Popen, grace_s: float = GRACE_S) -> None:
    """Ends a child and everything it started. The leader may be gone already: its group can still have members."""
    _signal_group(child.pid, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    while _group_alive(child) and time.monotonic() < deadline:
        time.sleep(0.02)
    _signal_group(child.pid, signal.SIGKILL)
    child.wait()
    forget(child)


def kill_everything() -> None:
    with _lock:
        _stopping.set()
        children = list(_running)
    for child in children:
        _signal_group(child.pid, signal.SIGTERM)
    deadline = time.monotonic() + GRACE_S
    while any(_group_alive(child) for child in children) and time.monotonic() < deadline:
        time.sleep(0.02)
    for child in children:
        _signal_group(child.pid, signal.SIGKILL)


@contextmanager
def cleaned_up(action: Callable[[], None]):
    """`action` is called at the end of the block, and also where a signal ends the driver in the middle of it."""
    with _lock:
        _clean_up.append(action)
    try:
        yield
    finally:
        with _lock:
            _clean_up.remove(action)
        action()


def install_signal_handlers() -> None:
    def stop(number, _frame):
        for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):  # a second one, of another kind, would cut the cleaning short
            signal.signal(each, signal.SIG_IGN)
        kill_everything()
        for action in _clean_up[::-1]:
            try:
                action()
            except Exception as error:  # the others still get their turn
                print(f"dev: left behind: {error}", file=sys.stderr, flush=True)
        # Worker threads may be waiting for children that are gone now; there is nothing left to unwind for them.
        print(f"dev: stopped by {signal.Signals(number).name}", file=sys.stderr, flush=True)
        os._exit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, stop)


def _signal_group(group: int, number: int) -> None:
    try:
        os.killpg(group, number)
    except (ProcessLookupError, PermissionError):
        pass


def _group_alive(child: subprocess.Popen) -> bool:
    child.poll()  # reaps the leader, which would otherwise hold its group alive as a zombie
    try:
        os.killpg(child.pid, 0)
        return True
    except (ProcessLookupError, PermissionError):
        return False


@dataclass
class Outcome:
    code: int
    seconds: float
    timed_out: bool = False


def run(command, *, timeout_s: float | None = None, **options) -> Outcome:
    """Runs to the end, output wherever `options` send it. What the command left running in its group is killed."""
    begin = time.monotonic()
    child = start(command, **options)
    timed_out = False
    try:
        child.wait(timeout=timeout_s)
    except subprocess.TimeoutExpired:
        timed_out = True
    finally:
        kill_group(child, grace_s=GRACE_S if child.poll() is None else 0.0)
    return Outcome(child.returncode, time.monotonic() - begin, timed_out)


def run_logged(command, log: Path, *, timeout_s: float | None = None, **options) -> Outcome:
    log.parent.mkdir(parents=True, exist_ok=True)
    with open(log, "wb") as out:
        return run(command, timeout_s=timeout_s, stdout=out, stderr=subprocess.STDOUT, **options)


def capture(command, *, timeout_s: float = 120, **options) -> str:
    """Standard output of a short command; raises CalledProcessError with its stderr when it fails."""
    done = subprocess.run(
        list(map(str, command)), stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=timeout_s, check=True, **options
    )
    return done.stdout
