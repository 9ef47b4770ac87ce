"""A simulated terminal: runs a program in it, sends keys, resizes it, and reads the screen."""

import contextlib
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
import time

from support.patience import PATIENCE_S

OTHER_SCREEN, OWN_SCREEN = b"\x1b[?1049h", b"\x1b[?25h\x1b[?1049l"
# As `tidemark top` and `tidemark local top` draw: from the first line on, each to its end, and nothing below.
FRAME = re.compile(rb"\x1b\[H((?:(?!\x1b\[H).)*?)\x1b\[J", re.S)
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class Terminal:
    def __init__(self, rows: int, columns: int):
        self.read = b""
        self._keys, self._side = pty.openpty()
        self.resize(rows, columns)

    def close(self) -> None:
        os.close(self._side)
        os.close(self._keys)

    @contextlib.contextmanager
    def start(self, *words: str, env: dict | None = None):
        """The program owns the terminal, so it gets SIGWINCH on resize, and a typed ^C ends it. A failed block ends it too."""
        self.read = b""
        with subprocess.Popen(["setsid", "--ctty", *words], stdin=self._side, stdout=self._side, env=env) as program:
            try:
                yield program
            finally:
                program.kill()

    def resize(self, rows: int, columns: int) -> None:
        fcntl.ioctl(self._keys, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def type(self, keys: bytes) -> None:
        os.write(self._keys, keys)

    def settings(self) -> list:
        return termios.tcgetattr(self._side)

    def wait_for(self, answer, what: str):
        """Reads until the condition is true, and returns its value."""
        deadline = time.monotonic() + PATIENCE_S
        while not (found := answer()):
            if time.monotonic() > deadline:
                raise AssertionError(f"no {what} within {PATIENCE_S} s: {self.read[-3000:]!r}")
            if select.select([self._keys], [], [], 0.2)[0]:
                self.read += os.read(self._keys, 65536)
        return found

    def read_until(self, wanted: bytes) -> bytes:
        self.wait_for(lambda: wanted in self.read, repr(wanted))
        return self.read

    def screen(self) -> list[str]:
        """The lines of the last drawing."""
        frames = FRAME.findall(self.read)
        return re.split(r"\r*\n", COLOUR.sub("", frames[-1].decode()).replace("\x1b[K", "")) if frames else []
