"""Koordinator's YARN operator, simulated from its known behavior (its numbers, its entry on every node, its lease): it writes every second, whether or not anything changed."""

import json
import math
import threading
from datetime import datetime, timezone

from cluster import colocation
from cluster.colocation import MERGE, must
from yarn.operating import LEASE, THIRD, amounts

PASS_S = 1
LEASE_S = 15
KILLS_AT_ONCE = 0  # the timeout of an update without a timeout


def total_of(origin: dict[str, str]) -> tuple[int, int]:
    """Both rounded up, and the memory in millions, which a ResourceManager reads as MiB. `origin` in thousandths of a core and in Mi."""
    memory_bytes = int(origin["kubernetes.io/batch-memory"].removesuffix("Mi")) << 20
    return math.ceil(memory_bytes / 1_000_000), math.ceil(int(origin["kubernetes.io/batch-cpu"]) / 1000)


def entry(vcores: int, memory_mib: int) -> str:
    """The exact text that it writes on a node."""
    held = {"name": "hadoop-yarn", "priority": "koord-batch", "resources": amounts(vcores, memory_mib)}
    return json.dumps({"allocations": [held]}, separators=(",", ":"))


class PeersOperator:
    """`with PeersOperator({"node": nm, "one-without": None}) as peer:` leads when no other does, and releases the lease at the end."""

    NAME = "koord-yarn-operator-0_1"

    def __init__(self, nodes: dict):
        self._nodes, self._api, self._ended = nodes, colocation.client(), threading.Event()
        self.passes = 0  # each pass sets all totals and writes all entries
        self.failure: Exception | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "PeersOperator":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self._thread.join()
        must(self._api.request("PATCH", LEASE, {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}, content=MERGE))
        self._api.close()
        if self.failure:
            raise self.failure

    def _run(self) -> None:
        try:
            while not self._ended.wait(PASS_S):
                if self._leads():
                    for name, nm in self._nodes.items():
                        self._tell(name, nm)
                    self.passes += 1
        except Exception as failure:  # an exception of a thread would be lost
            self.failure = failure

    def _leads(self) -> bool:
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        mine = {"holderIdentity": self.NAME, "leaseDurationSeconds": LEASE_S, "acquireTime": now, "renewTime": now, "leaseTransitions": 1}
        leases, name = LEASE.rsplit("/", 1)
        if must(self._api.request("POST", leases, {"metadata": {"name": name}, "spec": mine}), 201, 409).status == 201:
            return True
        if must(self._api.request("GET", LEASE)).get("spec.holderIdentity") not in (None, "", self.NAME):
            return False
        must(self._api.request("PATCH", LEASE, {"spec": mine}, content=MERGE))
        return True

    def _tell(self, name: str, nm) -> None:
        used = (0, 0)
        if nm is not None:
            answer = nm.manager.update_total(nm.id, *total_of(colocation.origin(self._api, name)), KILLS_AT_ONCE)
            if answer.status != 200:
                raise AssertionError(f"{name}: {answer.text}")
            seen = nm.seen()
            used = seen["usedVirtualCores"], seen["usedMemoryMB"]
        must(self._api.request("PATCH", f"/api/v1/nodes/{name}", {"metadata": {"annotations": {THIRD: entry(*used)}}}, content=MERGE))
