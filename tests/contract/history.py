"""How a server is made to forget: everything before now is taken from its history, however it keeps one."""

import base64
import json
import time
import urllib.request
from typing import TYPE_CHECKING, Callable

from contract.client import Answer

if TYPE_CHECKING:
    from contract.suite import T

FORGOTTEN_S = 300  # a kube-apiserver drops its cached lists within fifteen seconds of a compaction
COMPACTOR_KEY = b"compact_rev_key"  # where the compactors of several kube-apiservers tell each other how far they came


class History:
    def forget(self, t: "T") -> None:
        """Takes away what was before this call, or a part of it: to be called until that shows."""
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
    """A kube-apiserver's history lies in etcd, and copies of lists in its memory. It drops those too where another server's
    compactor says how far it compacted."""

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
    """kube/memory keeps a number of bytes of changes: new ones push out the oldest of the kind that has most."""

    def forget(self, t: "T") -> None:
        value = str(time.monotonic_ns()) + "x" * 900_000
        path = t.cm("filler")
        if t.api.merge(path, {"data": {"x": value}}).status == 404:
            t.make_cm("filler", {"x": value})
        t.api.transcript.clear()


def _encoded(text: bytes) -> str:
    return base64.b64encode(text).decode()
