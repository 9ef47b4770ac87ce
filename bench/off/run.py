"""./dev bench off: `tidemark off cluster --now` of the release build on 10,000 nodes of a real kube-apiserver, with no manager there.

Each node offers batch resources and carries labels and annotations of its own. A round is one `off` and one `on` of the whole
cluster, each a process of its own with its default flags, timed from exec to its end. What it left is checked after each: every
node carries the label and the annotation, after `off` none offers anything, and the order is stored for nodes that join later.

  mark             seconds of `off cluster --now`: store the order, list the nodes, write the mark of each, withdraw what it offers
  lift             seconds of `on cluster`, which writes the marks alone
  read             seconds of `report states` on the same cluster
  cpu              what the command's process had of a core for one node's mark, kernel part included
"""

import json
import resource
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path

from bench.harness import client, figure, main_with_cluster
from contract.client import Client
from driver.console import Failed

NODES = 10_000
ROUNDS = 3
MAKERS = 8
LIMIT_S = 120
AMOUNTS = {"cpu": "32", "memory": "128Gi", "pods": "110", "kubernetes.io/batch-cpu": "8000", "kubernetes.io/batch-memory": "42949672960"}
STATE = "tidemark.io/state"
DETAIL = "tidemark.io/state-detail"


class Fleet:
    def __init__(self, environment: dict[str, str]):
        self._environment = environment
        self._own = threading.local()

    def api(self) -> Client:
        if not hasattr(self._own, "client"):
            self._own.client = client(self._environment)
        return self._own.client

    def make(self) -> None:
        wrong = []

        def some(first: int) -> None:
            for i in range(first, NODES, MAKERS):
                meta = {"name": f"node-{i:05d}", "labels": {"zone": f"z{i % 3}", "kubernetes.io/hostname": f"node-{i:05d}"}, "annotations": {"rack": str(i // 40)}}
                answer = self.api().request("POST", "/api/v1/nodes", {"metadata": meta, "status": {"capacity": AMOUNTS, "allocatable": AMOUNTS}})
                if answer.status != 201:
                    wrong.append(f"{answer.status}: {answer.body[:300]!r}")
                    return

        threads = [threading.Thread(target=some, args=(i,)) for i in range(MAKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        if wrong:
            raise Failed(f"a node was not made: {wrong[0]}")
        self.api().request("POST", "/api/v1/namespaces", {"metadata": {"name": "koordinator-system"}})

    def check(self, label: str) -> None:
        nodes = self.api().request("GET", "/api/v1/nodes").get("items", [])
        if len(nodes) != NODES:
            raise Failed(f"{len(nodes)} nodes are there, not {NODES}")
        for node in nodes:
            meta = node["metadata"]
            offers = [key for key in node["status"]["allocatable"] if key.startswith("kubernetes.io/batch")]
            if meta["labels"].get(STATE) != label or json.loads(meta["annotations"][DETAIL])["state"] != label or offers:
                raise Failed(f"after {label}: {meta['name']} carries {meta['labels'].get(STATE)} and offers {offers}")
        stored = self.api().request("GET", "/api/v1/namespaces/koordinator-system/configmaps/tidemark-state").get("data", {})
        if json.loads(stored["state.json"])["cluster"]["orders"][0]["wish"] != label:
            raise Failed(f"after {label}: the order is not stored")

    def offer_again(self) -> None:
        """What a manager would write back after `on`; none is there."""
        def some(first: int) -> None:
            for i in range(first, NODES, MAKERS):
                status = {"status": {"capacity": AMOUNTS, "allocatable": AMOUNTS}}
                self.api().request("PATCH", f"/api/v1/nodes/node-{i:05d}/status", status, content="application/merge-patch+json")

        threads = [threading.Thread(target=some, args=(i,)) for i in range(MAKERS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def command(program: Path, environment: dict[str, str], *words: str) -> tuple[float, float]:
    """Seconds from exec to the end, and seconds of CPU."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = time.monotonic()
    done = subprocess.run(
        [program, *words, "--kubeconfig", environment["TIDEMARK_TEST_KUBECONFIG"]], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S
    )
    took = time.monotonic() - start
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise Failed(f"{' '.join(words)} ended with {done.returncode}: {done.stderr[-2000:]}")
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def run(program: Path, environment: dict[str, str], _: ExitStack) -> None:
    fleet = Fleet(environment)
    fleet.make()
    off, on, read, cpu = [], [], [], []
    for i in range(ROUNDS):
        if i > 0:
            fleet.offer_again()
        took, spent = command(program, environment, "off", "cluster", "--now", "--yes", "--reason", f"round {i}")
        fleet.check("off")
        off.append(took)
        cpu.append(1e6 * spent / NODES)
        read.append(command(program, environment, "report", "states")[0])
        on.append(command(program, environment, "on", "cluster", "--yes", "--reason", f"round {i}")[0])
        fleet.check("on")
    figure("off.mark_10000_nodes", "s", off)
    figure("off.marks", "nodes/s", [NODES / took for took in off])
    figure("off.cpu_per_node", "µs", cpu)
    figure("off.lift_10000_nodes", "s", on)
    figure("off.read_10000_nodes", "s", read)


if __name__ == "__main__":
    sys.exit(main_with_cluster("off", run))
