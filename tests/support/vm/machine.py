"""The fixture: one emulated machine, from its boot to its end."""

import base64
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from support import owners
from support.patience import PATIENCE_S
from support.vm import initramfs

EMULATOR = "qemu-system-x86_64"
GRACE_S = 60.0  # after the deadline of a command until the guest counts as dead; the guest's own clock ends the command
SCRIPT_BYTES = 3000  # limit for a command; its line must fit into a terminal's buffer
TAIL_LINES = 80  # the length of a panic message
# no_timer_check: the check waits for ticks that an emulator on a busy machine does not deliver in time, and the boot hangs.
# panic=-1: a panic reboots, and with -no-reboot that ends the emulator.
KERNEL_LINE = "console=ttyS0 quiet panic=-1 psi=1 no_timer_check mitigations=off"
DISK_LINE = "disk=/dev/nvme0n1"  # unknown to the kernel, so it becomes a variable of process 1
SILENCE, END = "silence", "end"


@dataclass(frozen=True)
class Result:
    code: int  # as in a shell: 128 plus the signal for a killed process
    stdout: bytes
    stderr: bytes

    @property
    def text(self) -> str:
        return self.stdout.decode()


class NotReady(Exception):
    """No guest exists to run anything in."""


class Late(Exception):
    """A command exceeded its deadline and was killed with all its children. The guest is unaffected."""

    def __init__(self, argv: Sequence[str], deadline_s: float, stdout: bytes, stderr: bytes):
        super().__init__(f"not within {deadline_s:g} s: {shlex.join(argv)}\n{stderr.decode(errors='replace')}")
        self.stdout, self.stderr = stdout, stderr


class Lost(Exception):
    """The guest died or fell silent during a command. The command's output is lost; the message has the console's last lines."""


def run(argv: Sequence[str], *, deadline_s: float, **guest) -> Result:
    """One command in its own guest."""
    with Vm(**guest) as vm:
        return vm.run(argv, deadline_s=deadline_s)


class Vm:
    """`with Vm(files={"/bin/program": path}) as vm:` has a guest that waits for commands. Files are programs, copied with their libraries, or bytes.

    The guest has only cgroup v2 with cpu, cpuset, io, memory and pids for groups below the root, pressure, loopback, and no network; a disk at /disk
    if `disk_mib` gives its size. With systemd.files() among the files systemd is its process 1, and decides which controllers groups have."""

    def __init__(self, files: Mapping[str, Path | bytes] | None = None, memory_mib: int = 512, cpus: int = 2, kernel: Path | None = None, grace_s: float = GRACE_S, disk_mib: int = 0):
        self._files, self._memory_mib, self._cpus, self._grace_s, self._disk_mib = dict(files or {}), memory_mib, cpus, grace_s, disk_mib
        self._kernel = kernel or Path(os.environ["TIDEMARK_VM_KERNEL"])
        self._child: subprocess.Popen | None = None
        self._folder: Path | None = None
        self._said = b""  # unread output of the guest
        self._gone = ""

    def __enter__(self) -> "Vm":
        try:
            self._boot()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_) -> None:
        self.stop()

    def _boot(self) -> None:
        self._folder = Path(tempfile.mkdtemp(prefix=owners.SCRATCH))
        owners.mark(self._folder)
        archive = self._folder / "initramfs"
        archive.write_bytes(initramfs.make(Path(shutil.which("busybox") or initramfs.BUSYBOX), self._files))
        # Emulated even with KVM: under KVM a guest may hang, and a test must be the same on every machine.
        command = [
            EMULATOR, "-accel", "tcg", "-machine", "q35", "-cpu", "max", "-m", str(self._memory_mib), "-smp", str(self._cpus), "-nodefaults", "-no-user-config",
            "-display", "none", "-no-reboot", "-kernel", str(self._kernel), "-initrd", str(archive),
            "-append", " ".join([KERNEL_LINE, *([DISK_LINE] if self._disk_mib else [])]),
            "-chardev", f"file,id=console,path={self.console}", "-serial", "chardev:console", "-chardev", "stdio,id=channel,signal=off", "-serial", "chardev:channel",
            *self._disk(),
        ]
        with open(self._folder / "emulator.log", "wb") as log:  # killed with the thread that starts it, for any reason
            self._child = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, start_new_session=True
            )
        deadline, line = time.monotonic() + PATIENCE_S, b""
        while line != b"ready":
            got = self._line(deadline)
            if got in (SILENCE, END) or got.startswith(b"broken "):
                why = {SILENCE: f"it said nothing for {PATIENCE_S} s", END: "it ended"}.get(got) or f"it could not set up {got.decode()[7:]}"
                raise NotReady(f"no guest: {why}\n{self.tail()}")
            line = got

    def _disk(self) -> list[str]:
        """The kernel has a built-in driver only for this kind; the others are modules."""
        if not self._disk_mib:
            return []
        image = self._folder / "disk"
        with open(image, "wb") as file:
            file.truncate(self._disk_mib << 20)
        return ["-drive", f"file={image},if=none,id=disk,format=raw", "-device", "nvme,drive=disk,serial=disk"]

    # -- commands

    def run(self, argv: Sequence[str], *, deadline_s: float, environment: Mapping[str, str] | None = None) -> Result:
        """Runs it with empty standard input, in /tmp. Its remaining processes are killed. `Late` after the deadline, `Lost` with the guest."""
        if self._gone:
            raise Lost(self._gone)
        exports = "".join(f"export {name}={shlex.quote(value)}\n" for name, value in (environment or {}).items())
        script = f"cd /tmp\n{exports}exec {shlex.join(argv)}\n".encode()
        if len(script) > SCRIPT_BYTES:
            raise ValueError(f"a command of {len(script)} bytes, at most {SCRIPT_BYTES}: hand it in as a file")
        self._send(b"%.3f %s\n" % (deadline_s, base64.b64encode(script)))
        limit = time.monotonic() + deadline_s + self._grace_s
        head = self._heard(self._line(limit), argv)
        shown = re.fullmatch(rb"ended (\d+|late) (\d+) (\d+)", head)
        if not shown:
            self._heard(END, argv, f"it answered `{head.decode(errors='replace')}`")
        stdout = self._heard(self._bytes(int(shown[2]), limit), argv)
        stderr = self._heard(self._bytes(int(shown[3]), limit), argv)
        if shown[1] == b"late":
            raise Late(argv, deadline_s, stdout, stderr)
        return Result(int(shown[1]), stdout, stderr)

    def shell(self, script: str, *, deadline_s: float) -> Result:
        return self.run(["sh", "-c", script], deadline_s=deadline_s)

    def _send(self, line: bytes) -> None:
        try:
            self._child.stdin.write(line)
            self._child.stdin.flush()
        except BrokenPipeError:
            pass  # reported when the answer is read

    def _heard(self, got: bytes | str, argv: Sequence[str], why: str = "") -> bytes:
        if isinstance(got, bytes):
            return got
        self._end()
        why = why or ("it answers no more" if got == SILENCE else "it ended")
        self._gone = f"the guest was lost under {shlex.join(argv)}: {why}\n{self.tail()}"
        raise Lost(self._gone)

    # -- the channel: bytes, or the reason why there are none

    def _more(self, deadline: float) -> str:
        left = deadline - time.monotonic()
        if left <= 0 or not select.select([self._child.stdout], [], [], left)[0]:
            return SILENCE
        got = os.read(self._child.stdout.fileno(), 1 << 16)
        self._said += got
        return "" if got else END

    def _line(self, deadline: float) -> bytes | str:
        while b"\n" not in self._said:
            if why := self._more(deadline):
                return why
        line, self._said = self._said.split(b"\n", 1)
        return line

    def _bytes(self, count: int, deadline: float) -> bytes | str:
        while len(self._said) < count:
            if why := self._more(deadline):
                return why
        got, self._said = self._said[:count], self._said[count:]
        return got

    # -- the end

    @property
    def console(self) -> Path:
        return self._folder / "console.log"

    @property
    def pid(self) -> int:
        return self._child.pid

    def tail(self) -> str:
        """The last output of the kernel and the emulator."""
        logs = [file for file in (self.console, self._folder / "emulator.log") if file.exists()]
        return "\n".join(line for log in logs for line in log.read_text(errors="replace").splitlines()[-TAIL_LINES:])

    def _end(self) -> None:
        try:
            os.killpg(self._child.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self._child.wait()

    def stop(self) -> None:
        """Ends the emulator and removes its directory. A failure to keep logs is printed and hides no test failure."""
        if self._child is not None:
            self._end()
            for pipe in (self._child.stdin, self._child.stdout):
                try:
                    pipe.close()
                except BrokenPipeError:
                    pass  # unread input of the guest
            self._child = None
        if self._folder is None:
            return
        keep = os.environ.get("TIDEMARK_TEST_KEPT_LOGS")
        try:
            for log in self._folder.glob("*.log") if keep else ():
                Path(keep).mkdir(parents=True, exist_ok=True)
                shutil.copy(log, Path(keep) / f"{self._folder.name}-{log.name}")
        except OSError as error:
            print(f"the logs of the guest are not kept in {keep}: {error}", file=sys.stderr)
        finally:
            shutil.rmtree(self._folder, ignore_errors=True)
            self._folder = None
        self._gone = self._gone or "the guest was stopped"
