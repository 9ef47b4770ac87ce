"""Between somebody of ours and a ResourceManager: how often that was asked for its nodes. So a test waits for a look, and for no time."""

import tempfile
from pathlib import Path

from support.yarn import Yarn, until
from yarn.recording_proxy import RecordingProxy

ASKED = b"getClusterNodes"


class Looks:
    """`with Looks(yarn) as looks:` Who has looks.configuration as HADOOP_CONF_DIR asks through here."""

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

    def wait_whole(self) -> None:
        """One that begins after now has been answered: the next one begins."""
        before = self.count()
        until("a look at the ResourceManager, and the next one", lambda: self.count() >= before + 2)
