"""Counts the polls of the nodes at a ResourceManager, as a proxy in front of it. So a test can wait for a poll instead of a time."""

import tempfile
import time
from pathlib import Path

from support.yarn import Yarn, until
from yarn.recording_proxy import RecordingProxy

ASKED = b"getClusterNodes"


class Looks:
    """`with Looks(yarn) as looks:` A program with looks.configuration as HADOOP_CONF_DIR sends its requests through here."""

    def __init__(self, yarn: Yarn):
        self._proxy = RecordingProxy()
        self._folder = tempfile.TemporaryDirectory(prefix="tidemark-conf-")
        self.configuration = Path(self._folder.name)
        at = yarn.rm.ports
        through = {f"127.0.0.1:{port}": f"127.0.0.1:{self._proxy.to(port)}" for port in (at.client, at.admin)}
        for file in yarn.configuration.glob("*.xml"):
            text = file.read_text()
            for address, ours in through.items():
                text = text.replace(f">{address}<", f">{ours}<")
            (self.configuration / file.name).write_text(text)

    def __enter__(self) -> "Looks":
        return self

    def __exit__(self, *_) -> None:
        self._proxy.__exit__()
        self._folder.cleanup()

    def count(self) -> int:
        return self._proxy.recorded().count(ASKED)

    def wait_none(self, seconds: float) -> None:
        """Waits until no poll began for so long."""

        def none() -> bool:
            before = self.count()
            time.sleep(seconds)
            return self.count() == before

        until("no poll", none)

    def wait_whole(self) -> None:
        """Waits until a poll that begins after now was answered: the next one begins."""
        before = self.count()
        until("a poll of the ResourceManager, and the next one", lambda: self.count() >= before + 2)
