"""kube/memory as its own process: started, killed, restarted on the same data."""

import re
import subprocess
import time
from pathlib import Path

from contract.client import Target
from support.patience import PATIENCE_S as START_S



class Memory:
    def __init__(self, command: list[str], data: Path):
        """`command` prints `API server  https://…` and `kubeconfig  PATH`, and keeps its data, ca.crt and admin.token in `data`."""
        self._command, self._data = command, data
        self._process: subprocess.Popen | None = None
        self.written = data.parent / f"{data.name}.log"
        self.kubeconfig: Path | None = None
        self.server = ""

    @property
    def target(self) -> Target:
        return Target(self.server, str(self._data / "ca.crt"), (self._data / "admin.token").read_text().strip())

    @property
    def log(self) -> str:
        return self.written.read_text(errors="replace")

    def start(self) -> None:
        self._data.mkdir(parents=True, exist_ok=True)
        with open(self.written, "wb") as log:
            self._process = subprocess.Popen(
                ["setpriv", "--pdeathsig", "KILL", "--", *self._command], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT
            )
        deadline = time.monotonic() + START_S
        while True:
            text = self.log
            server, kubeconfig = re.search(r"^API server +(\S+)$", text, re.M), re.search(r"^kubeconfig +(\S+)$", text, re.M)
            if server and kubeconfig:
                self.server, self.kubeconfig = server[1], Path(kubeconfig[1])
                return
            if self._process.poll() is not None or time.monotonic() > deadline:
                raise AssertionError(f"{' '.join(self._command)} did not start:\n{text[-4000:]}")
            time.sleep(0.01)

    def alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def kill(self) -> None:
        """SIGKILL: no handler runs, nothing is flushed."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None
