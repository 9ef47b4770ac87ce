"""The states of a node as any reader of the API server sees them, and how long a part of it was wrong.

A loss begins when the watch shows the damaged node and ends when the watch shows the whole node. Both times are from the clock of one
process that only reads this watch.
"""

import threading
import time
from typing import Callable

from cluster import colocation
from cluster.colocation import must
from contract.client import Broken


class NodeStates:
    """All states of one node from now on, each with the time at which the watch delivered it."""

    def __init__(self, node: str, whole: Callable[[dict], bool]):
        self._whole = whole
        self._api = colocation.client()
        version = must(self._api.get("/api/v1/nodes", limit="1"))["metadata.resourceVersion"]
        self._watch = self._api.watch("/api/v1/nodes", fieldSelector=f"metadata.name={node}", resourceVersion=version)
        self.seen: list[tuple[float, str, dict]] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def __enter__(self) -> "NodeStates":
        return self

    def __exit__(self, *_) -> None:
        self._watch.close()
        self._thread.join(10)
        self._api.close()

    def _read(self) -> None:
        try:
            while event := self._watch.event():
                self.seen.append((time.monotonic(), event["type"], event["object"]))
        except (Broken, OSError, ValueError, AttributeError):
            pass  # closed; http.client fails on its own close

    def reach(self, version: str) -> bool:
        return any(int(node["metadata"]["resourceVersion"]) >= int(version) for _, _, node in list(self.seen))

    def losses(self) -> list[tuple[float, float | None]]:
        """When the node was damaged and when it was whole again; None: not yet."""
        found: list[tuple[float, float | None]] = []
        for moment, kind, node in list(self.seen):
            if kind == "DELETED":
                continue  # a deleted node carries nothing
            lost, whole = bool(found) and found[-1][1] is None, self._whole(node)
            if lost and whole:
                found[-1] = (found[-1][0], moment)
            elif not lost and not whole:
                found.append((moment, None))
        return found
