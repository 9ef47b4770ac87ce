"""How a server is made to forget: all earlier revisions are removed from its history, whatever its storage."""

import base64
import json
import time
import urllib.request
from typing import TYPE_CHECKING, Callable

from contract.client import Answer

if TYPE_CHECKING:
    from contract.suite import T

FORGOTTEN_S = 300  # a kube-apiserver drops its cached lists within fifteen seconds of a compaction
COMPACTOR_KEY = b"compact_rev_key"  # key in which the compactors of several kube-apiservers share their progress


class History:
    def forget(self, t: "T") -> None:
        """Removes earlier revisions, or a part of them: call it until that has an effect."""
        raise NotImplementedError

    def until(self, t: "T", shows: Callable[[], Answer]) -> Answer:
        """Forgets until `shows` answers 410."""
        deadline = time.monotonic() + FORGOTTEN_S
        while (answer := shows()).status != 410:
            if time.monotonic() > deadline:
                raise AssertionError(f"the server still knows after {FORGOTTEN_S} s: {answer.status} to {answer.request}")
            self.forget(t)
        return answer


class CompactedEtcd(History):
    """A kube-apiserver's history is in etcd, with copies of lists in its memory. It drops those too after another server's
    compactor has reported its progress."""

    def __init__(self, url: str):
        self._url = url
        self._done = False

    def forget(self, t: "T") -> None:
        if not self._done:
            self._done = True
            revision = self._ask("range", key=_encoded(COMPACTOR_KEY))["header"]["revision"]
            self._ask("put", key=_encoded(COMPACTOR_KEY), value=_encoded(revision.encode()))
            self._ask("compaction", revision=revision, physical=True)
        time.sleep(0.2)

    def _ask(self, verb: str, **body) -> dict:
        with urllib.request.urlopen(f"{self._url}/v3/kv/{verb}", json.dumps(body).encode(), timeout=10) as response:
            return json.load(response)


class FilledRing(History):
    """kube/memory keeps a fixed number of bytes of changes: new ones displace the oldest of the kind with the most bytes."""

    def forget(self, t: "T") -> None:
        value = str(time.monotonic_ns()) + "x" * 900_000
        path = t.cm("filler")
        if t.api.merge(path, {"data": {"x": value}}).status == 404:
            t.make_cm("filler", {"x": value})
        t.api.transcript.clear()


def _encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()
