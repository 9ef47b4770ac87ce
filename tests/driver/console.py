"""What the driver prints. Progress goes to stderr, results to stdout, so that a pipe gets results only."""

import sys
import threading
import time
from contextlib import contextmanager

_one_at_a_time = threading.RLock()  # what several threads say is not mixed; a signal may come while one speaks


class Failed(Exception):
    """A verb cannot go on; the message says what was wanted, what was found and what to do. Exit code 1."""


class WrongUse(Exception):
    """The command line is wrong. Exit code 2."""


def say(text: str) -> None:
    with _one_at_a_time:
        print(f"dev: {text}", file=sys.stderr, flush=True)


def loud(text: str) -> None:
    """For what must not be overlooked in a long log."""
    bar = "!" * 78
    with _one_at_a_time:
        print(f"{bar}\n!! {text}\n{bar}", file=sys.stderr, flush=True)


@contextmanager
def step(what: str):
    """Says what is being done and how long it took."""
    say(f"{what} …")
    start = time.monotonic()
    yield
    say(f"{what}: {time.monotonic() - start:.1f} s")
