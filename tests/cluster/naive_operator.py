"""A naive operator with four bugs: it sells the same idle capacity to Kubernetes and to YARN, accepts a report of any age, ignores
the water line, and lets offers jump. `tidemark check ledger` must detect it."""

import json
import threading

from cluster import colocation
from cluster.colocation import MERGE, must

FIELD_MANAGER = "naive-operator"


class NaiveOperator:
    def __init__(self, nodes: list[str], every_s: float = 0.3, with_book: bool = False):
        """`with_book`: YARN's part is in the ledger annotation of an operator that takes offers, not in third-party allocations."""
        self._with_book = with_book
        self._nodes = nodes
        self._every_s = every_s
        self._api = colocation.client()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> "NaiveOperator":
        self._thread.start()
        return self

    def __exit__(self, *_) -> None:
        self._ended.set()
        self._thread.join()
        self._api.close()

    def _run(self) -> None:
        while not self._ended.is_set():
            for node in self._nodes:
                self._sell(node)
            self._ended.wait(self._every_s)

    def _sell(self, node: str) -> None:
        capacity = must(self._api.request("GET", f"/api/v1/nodes/{node}")).get("status.capacity")
        used = must(self._api.request("GET", f"{colocation.NODEMETRICS}/{node}")).get("status.nodeMetric.nodeUsage.resources")
        idle = int(capacity["cpu"]) - int(used["cpu"])
        batch = {"kubernetes.io/batch-cpu": str(idle * 1000), "kubernetes.io/batch-memory": str(64 << 30)}
        allocations = '{"allocations": [{"name": "hadoop-yarn", "priority": "koord-batch", "resources": {%s}}]}' % (
            ", ".join(f'"{name}": "{amount}"' for name, amount in batch.items())
        )
        origin = '{"resources": {%s}}' % ", ".join(f'"{name}": "{amount}"' for name, amount in batch.items())
        yarn = {"node.koordinator.sh/thirdPartyAllocations": allocations}
        if self._with_book:
            book = {"schema": 1, "generation": 1, "confirmed": batch, "sold": [{"class": "", "resources": batch}]}
            offer = {"schema": 1, "generation": 1, "resources": batch, "upTo": batch}
            yarn = {"tidemark.io/yarn-book": json.dumps(book), "tidemark.io/yarn-offer": json.dumps(offer)}
        change = {
            "metadata": {"annotations": {colocation.ORIGIN: origin, **yarn}},
            "status": {"capacity": batch, "allocatable": batch},
        }
        must(self._api.request("PATCH", f"/api/v1/nodes/{node}/status", change, content=MERGE, fieldManager=FIELD_MANAGER))
