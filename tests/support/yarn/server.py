"""One of YARN's programs in a JVM: the same command and the same ports each time that it is started."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from support.patience import PATIENCE_S as READY_S

STOP_S = 20  # a NodeManager whose ResourceManager is gone takes no notice of SIGTERM for a quarter of an hour
SHOWN_CHARS = 300  # of a line of a log in a failure


class NotReady(Exception):
    pass


class Server:
    def __init__(self, name: str, command: list[str], environment: dict[str, str], log: Path):
        self.name, self.log = name, log
        self._command, self._environment = command, environment
        self._child: subprocess.Popen | None = None
        self.frozen = False

    def launch(self) -> None:
        """Starts it and waits for nothing. The kernel ends it with us, however we end."""
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
        """SIGKILL, as a machine that loses power would. What it had started in sessions of their own lives on."""
        self._child.kill()
        self._child.wait()

    def stop(self, grace_s: float = STOP_S) -> bool:
        """SIGTERM, and SIGKILL for who is still there after the grace; whether that was not needed."""
        self.resume()
        self._child.terminate()
        try:
            self._child.wait(grace_s)
            return True
        except subprocess.TimeoutExpired:
            self.kill()
            return False

    def freeze(self) -> None:
        """It holds its ports and its connections, and answers nobody."""
        self._child.send_signal(signal.SIGSTOP)
        self.frozen = True
        os.waitid(os.P_PID, self.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def resume(self) -> None:
        self._child.send_signal(signal.SIGCONT)
        self.frozen = False

    def end(self) -> None:
        """SIGKILL to it and to what it has started in its own group, which may outlive it."""
        if self._child is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL)
            self._child.wait()

    def said(self) -> str:
        return self.log.read_text(errors="replace") if self.log.exists() else ""

    def tail(self, lines: int = 30) -> str:
        return f"---- {self.log.name}\n" + "\n".join(line[:SHOWN_CHARS] for line in self.said().splitlines()[-lines:])

    def until(self, what: str, question: Callable, limit_s: float = READY_S):
        """Asks until the answer is true, and returns it. Whoever does not listen yet has not answered."""
        return until(what, question, limit_s, [self])


def until(what: str, question: Callable, limit_s: float = READY_S, servers: list[Server] = []):
    """The same, with the end of what these programs said in the failure; that one of them ended is one."""
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
