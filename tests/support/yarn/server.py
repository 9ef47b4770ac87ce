"""One of YARN's programs in a JVM: the same command and the same ports at each start."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from support.patience import PATIENCE_S as READY_S

STOP_S = 20  # a NodeManager without its ResourceManager ignores SIGTERM for 15 minutes
SHOWN_CHARS = 300  # limit for a log line in a failure


class NotReady(Exception):
    pass


class Server:
    def __init__(self, name: str, command: list[str], environment: dict[str, str], log: Path):
        self.name, self.log = name, log
        self._command, self._environment = command, environment
        self._child: subprocess.Popen | None = None
        self.frozen = False

    def launch(self) -> None:
        """Starts it without waiting. The kernel ends it with us, for any reason."""
        if self.alive:
            raise AssertionError(f"{self.name} runs already")
        self.frozen = False
        with open(self.log, "ab") as log:
            self._child = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self._command], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, env=self._environment,
                start_new_session=True,
            )

    @property
    def alive(self) -> bool:
        return self._child is not None and self._child.poll() is None

    @property
    def pid(self) -> int:
        return self._child.pid

    def kill(self) -> None:
        """SIGKILL, like a power loss. Children in their own sessions survive."""
        self._child.kill()
        self._child.wait()

    def stop(self, grace_s: float = STOP_S) -> bool:
        """SIGTERM, and SIGKILL after the grace; returns whether SIGTERM was enough."""
        self.resume()
        self._child.terminate()
        try:
            self._child.wait(grace_s)
            return True
        except subprocess.TimeoutExpired:
            self.kill()
            return False

    def freeze(self) -> None:
        """It keeps its ports and connections but does not answer."""
        self._child.send_signal(signal.SIGSTOP)
        self.frozen = True
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        self._child.send_signal(signal.SIGCONT)
        self.frozen = False

    def end(self) -> None:
        """SIGKILL to it and to the children in its own group, which may outlive it."""
        if self._child is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._child.wait()

    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def tail(self, lines: int = 30) -> str:
        return f"---- {self.log.name}\n" + "\n".join(line[:SHOWN_CHARS] for line in self.said().splitlines()[-lines:])

    def until(self, what: str, question: Callable, limit_s: float = READY_S):
        """Polls until the condition is true, and returns its value. A refused connection counts as no answer yet."""
        return until(what, question, limit_s, [self])


def until(what: str, question: Callable, limit_s: float = READY_S, servers: list[Server] = []):
    """The same, but a failure shows the end of these programs' output; the end of one of them is a failure too."""
    deadline, refused = time.monotonic() + limit_s, ""
    while True:
        try:
            if answer := question():
                return answer
        except OSError as error:
            refused = f" ({error})"
        ended = [server.name for server in servers if not server.alive]
        late = time.monotonic() > deadline
        if ended or late:
            why = f"{', '.join(ended)} ended before" if ended else f"not within {limit_s:g} s"
            raise NotReady("\n".join([f"{why}: {what}{refused}", *(server.tail() for server in servers)]))
        time.sleep(0.1)
