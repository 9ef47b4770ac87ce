"""The same work as tasks of `tidemark up`, by the commands that its users type."""

import json
import re
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from driver import processes
from driver.console import Failed
from demo import measure, plain_groups
from demo.measure import Measured, Watch
from demo.plain_groups import cpu_seconds
from demo.service import Service
from support.node import cgroups

START_S = 30
END_S = 60
SERVES_S = 20
AROUND_S = 3  # until the load begins to run, its warm-up, and its last answers


def console_in(output: str) -> str:
    """The address of the console that `tidemark up` printed."""
    found = re.search(r"^console +(\S+)$", output, re.M)
    return found[1] if found else ""


class OnTidemark:
    def __init__(self, binary: Path, data: Path, group: str, listen: str = "127.0.0.1:0", more: tuple[str, ...] = ()):
        self.binary, self.data, self.group = binary, data, group
        self._command = [
            binary, "up", "--data-dir", data, "--listen", listen, "--pod-group", f"/{group}", "--run-dir", data / "run", "--latch-file", data / "off", *more,
        ]
        self.output = data / "up.log"
        self.server: subprocess.Popen | None = None
        self.kubeconfig: Path | None = None
        self.console = ""  # the address of the page

    def add_flags(self, *flags: str) -> None:
        """Before it is started."""
        self._command += flags

    def start(self) -> None:
        self.data.mkdir(parents=True, exist_ok=True)
        self.data.chmod(0o700)
        with open(self.output, "wb") as log:
            self.server = processes.start(self._command, stdout=log, stderr=subprocess.STDOUT)
        self.kubeconfig = Path(self._until("named no kubeconfig", START_S, lambda: (re.search(r"^kubeconfig +(\S+)$", self.log(), re.M) or [None, None])[1]))
        self.console = console_in(self.log())
        self._until("has no node", START_S, lambda: self._answers("ps"))

    def log(self) -> str:
        return self.output.read_text(errors="replace")

    def tidemark(self, *words: str) -> str:
        try:
            return processes.capture([self.binary, *words])
        except subprocess.CalledProcessError as error:
            raise Failed(f"`tidemark {' '.join(words)}` ended with {error.returncode}: {error.stderr.strip()}")

    def local(self, verb: str, *words: str) -> str:
        return self.tidemark("local", verb, f"--data-dir={self.data}", *words)

    def run(self, name: str, flags: list[str], command: list[str]) -> None:
        self.local("run", f"--name={name}", *flags, "--", *command)

    def run_web(self, service: Service) -> None:
        self.run("web", ["--qos=LS", "--cpu=1", "--memory=256Mi"], service.web_command())
        self._until("has no web server that answers", SERVES_S, lambda: serves(service.port))

    def run_batch(self, count: int, flags: list[str], command: list[str]) -> None:
        for i in range(count):
            self.run(f"crunch-{i}", flags, command)

    def load(self, command: list[str], length_s: float) -> Measured:
        """One run of the load. As online work it would be begun again; it is stopped."""
        watch = Watch(self.batch_seconds)
        watch.look()
        self.run("load", ["--qos=LS", "--cpu=0.5", "--memory=128Mi"], command)
        # A command before the end would use CPU of the last seconds.
        ends_s = time.monotonic() + length_s + AROUND_S
        watch.until(lambda: time.monotonic() >= ends_s)

        def written() -> str | None:
            watch.look()
            try:
                text = self.local("logs", "load")
            except Failed:  # nothing yet: it waits for its place
                return None
            return text if any(line.startswith("{") and '"second"' not in line for line in text.splitlines()) else None

        text = self._until("has no figures of the load", END_S, written)
        watch.look()
        self.local("stop", "load", "--now", "--wait")
        return measure.read(text, watch)

    def batch_seconds(self) -> float:
        """What all offline work of it has had; it has none before its first."""
        folders = [top / self.group / "kubepods" / "besteffort" for top in cgroups.hierarchies()]
        return cpu_seconds([folder for folder in folders if folder.is_dir()])

    def tasks(self, keep: tuple[str, ...] = ()) -> list[tuple[str, str]]:
        """Namespace and name of each task except those in `keep`."""
        found = json.loads(self.local("ps", "-a", "--namespace=", "-o", "json"))["tasks"]
        return [(each["namespace"], each["name"]) for each in found if (each["namespace"], each["name"]) not in [("default", name) for name in keep]]

    def end_tasks(self, keep: tuple[str, ...] = ()) -> None:
        for namespace, name in self.tasks(keep):
            try:
                self.local("stop", name, "--now", f"--namespace={namespace}")
            except Failed:
                if (namespace, name) in self.tasks(keep):  # else it went by itself since it was listed
                    raise
        self._until("still has tasks", END_S, lambda: not self.tasks(keep))
        pods = [top / self.group for top in cgroups.hierarchies()]
        if not keep:
            self._until("still has groups of pods", END_S, lambda: not [found for top in pods if top.is_dir() for found in top.glob("kubepods/**/pod*")])

    def stop(self) -> None:
        """Ends all tasks and then itself; nothing of it is left in the kernel."""
        if self.server is None:
            return
        if self.server.poll() is None:
            self.end_tasks()
            self.server.terminate()
            try:
                self.server.wait(END_S)
            except subprocess.TimeoutExpired:
                pass
        else:  # it ended or was killed: its tasks continue
            plain_groups.clear(self.group)
        processes.kill_group(self.server)
        self.server = None
        left = [str(top / self.group) for top in cgroups.hierarchies() if (top / self.group).exists()]
        if left:
            raise Failed(f"`tidemark up` left groups behind: {', '.join(left)}; what it said is in {self.output}")

    def _answers(self, verb: str) -> bool:
        try:
            self.local(verb)
            return True
        except Failed:
            return False

    def _until(self, what_not: str, limit_s: float, question: Callable):
        deadline = time.monotonic() + limit_s
        while not (answer := question()):
            if self.server.poll() is not None:
                raise Failed(f"`tidemark up` ended by itself with {self.server.returncode}:\n{self.log()[-4000:]}")
            if time.monotonic() > deadline:
                raise Failed(f"after {limit_s} s `tidemark up` {what_not}. It said:\n{self.log()[-4000:]}")
            time.sleep(0.1)
        return answer


def serves(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
        return True
    except OSError:
        return False
