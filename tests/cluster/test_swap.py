"""Koordinator's manager → ours → Koordinator's, on a loaded cluster: no number moves, and nothing of ours is left.

What Koordinator's manager leaves on the nodes, and what it would write again, are the golden vectors: they were recorded from it.
Its part is played from that record; ours is the real thing.
"""

import json
import os
import re
import subprocess
import threading
import unittest
from pathlib import Path

from cluster import colocation
from cluster.colocation import MERGE, ORIGIN, SETTINGS, must
from cluster.manager_case import LEASES, WithManager
from cluster.test_manager import GOLDEN, amounts
from cluster.tidemark_process import wait_for

ROOT = Path(__file__).parents[2]
NORMALIZATION = "node.koordinator.sh/cpu-normalization-ratio"
EXTENDED = "kubernetes.io/"
OURS = {"tidemark.io/capacity-epoch", "tidemark.io/config-hash"}
LEASE = {"metadata": {"name": "koordinator-manager"}, "spec": {"holderIdentity": "koord-manager-0", "leaseDurationSeconds": 120, "leaseTransitions": 3}}


def clean_up_commands() -> str:
    """The block of the guide that takes away every trace of ours."""
    guide = (ROOT / "docs" / "guide" / "roll-back.md").read_text()
    return re.search(r"^## 3\..*?^```sh run cluster\n(.*?)^```", guide, re.M | re.S)[1]


class Watched:
    """Every state that the nodes go through, as any other reader of the API server would see it."""

    def __init__(self, version: str):
        self._api = colocation.client()
        self._watch = self._api.watch("/api/v1/nodes", resourceVersion=version, allowWatchBookmarks="false")
        self.seen: list[dict] = []
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            while event := self._watch.event():
                if event["type"] in ("ADDED", "MODIFIED", "DELETED"):
                    self.seen.append(event)
        except (OSError, ValueError, AttributeError):
            pass  # closed; http.client trips over its own end

    def close(self) -> None:
        self._watch.close()
        self._thread.join(10)
        self._api.close()


def numbers(node: dict) -> dict:
    """What schedulers, quotas and the YARN operator read."""
    status, origin = node["status"], node["metadata"].get("annotations", {}).get(ORIGIN)
    extended = {
        side: amounts({name: amount for name, amount in status.get(side, {}).items() if name.startswith(EXTENDED)}) for side in ("capacity", "allocatable")
    }
    return {**extended, "origin": amounts(json.loads(origin)["resources"]) if origin else None}


def plain(node: dict) -> dict:
    """All of a node but who wrote it and when."""
    kept = json.loads(json.dumps(node))
    for key in ("resourceVersion", "managedFields"):
        kept["metadata"].pop(key, None)
    for key in ("labels", "annotations"):
        if not kept["metadata"].get(key):
            kept["metadata"].pop(key, None)
    return kept


class Swap(WithManager):
    def setUp(self):
        recorded = json.loads((GOLDEN / "cases.json").read_text())
        self.expected = json.loads((GOLDEN / "expected.json").read_text())
        self.nodes = [case["node"] for case in recorded["cases"]]
        colocation.put_settings(self.api, recorded["colocation-config"])
        for case in recorded["cases"]:
            colocation.put_case(self.api, case)
            self.write_as_the_peer(case["node"])
        # Whatever other tests left.
        self.api.request("DELETE", f"{LEASES}/koordinator-manager")
        self.api.request("DELETE", f"{SETTINGS}/tidemark-config-revisions")
        must(self.api.request("POST", LEASES, LEASE))

    def write_as_the_peer(self, name: str) -> None:
        wanted = self.expected[name]
        if wanted.get("allocatable") is not None:
            status = {"capacity": wanted["allocatable"], "allocatable": wanted["allocatable"]}
            must(self.api.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, content=MERGE))
        if wanted.get("origin") is not None:
            # Contract 5.7: where normalization is not enabled the ratio says so.
            annotations = {ORIGIN: json.dumps({"resources": wanted["origin"]}, separators=(",", ":")), NORMALIZATION: "1.00"}
            must(self.api.request("PATCH", f"/api/v1/nodes/{name}/status", {"metadata": {"annotations": annotations}}, content=MERGE))

    def read(self) -> tuple[dict[str, dict], str]:
        listed = must(self.api.request("GET", "/api/v1/nodes"))
        return {each["metadata"]["name"]: each for each in listed["items"] if each["metadata"]["name"] in self.nodes}, listed["metadata.resourceVersion"]

    def everything(self) -> set[str]:
        """Names of what is on the cluster of the kinds that a manager writes."""
        found = set()
        for path in (SETTINGS, LEASES, "/api/v1/namespaces/koordinator-system/secrets", "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"):
            found |= {f"{path.rsplit('/', 1)[1]}/{each['metadata']['name']}" for each in must(self.api.request("GET", path)).get("items", [])}
        return found

    def clean_up(self) -> None:
        environment = {**os.environ, "KUBECONFIG": os.environ["TIDEMARK_TEST_KUBECONFIG"], "PATH": f"{Path(os.environ['TIDEMARK_KUBECTL']).parent}:{os.environ['PATH']}"}
        done = subprocess.run(["bash", "-eu", "-c", clean_up_commands()], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)
        self.assertEqual(0, done.returncode, done.stderr)

    def come_and_go(self) -> None:
        """Ours takes the lease that the peer's manager gave back, settles every node, and goes."""
        component = self.run_manager("--leader-election-namespace=koordinator-system", "--kube-api-qps=200", "--kube-api-burst=200")
        self.assertEqual(0, component.metrics()["tidemark_leader"], "the lease is the peer's")
        before, _ = self.read()
        self.assertTrue(all(not OURS & set(node["metadata"].get("annotations", {})) for node in before.values()), "written without the lease")
        must(self.api.request("PATCH", f"{LEASES}/koordinator-manager", {"spec": {"holderIdentity": ""}}, content=MERGE))
        kept = {name for name, wanted in self.expected.items() if wanted.get("allocatable")}

        def settled() -> bool:
            nodes, _ = self.read()
            carried = {name for name, node in nodes.items() if OURS <= set(node["metadata"].get("annotations", {}))}
            return kept <= carried and component.metrics()['tidemark_work_queue_depth{component="overcommit"}'] == 0

        wait_for(settled, "every node to be taken over", component)
        self.assertEqual(0, component.stop())

    def test_peer_ours_peer_moves_no_number_and_leaves_nothing(self):
        before, version = self.read()
        there = self.everything()
        wanted = {name: numbers(node) for name, node in before.items()}
        self.assertEqual({name: amounts(entry.get("allocatable")) or {} for name, entry in self.expected.items()}, {name: one["allocatable"] for name, one in wanted.items()})
        watched = Watched(version)
        self.addCleanup(watched.close)

        self.come_and_go()
        after, _ = self.read()
        for name, node in after.items():
            told = set(node["metadata"].get("annotations", {})) - set(before[name]["metadata"].get("annotations", {}))
            self.assertLessEqual(told, OURS, name)
        # The lease is free for the peer, and holds its place in the count of leaders.
        lease = must(self.api.request("GET", f"{LEASES}/koordinator-manager"))
        self.assertEqual("", lease.get("spec.holderIdentity", ""))
        self.assertEqual(there | {"configmaps/tidemark-config-revisions"}, self.everything())

        self.clean_up()
        clean, _ = self.read()
        self.assertEqual({name: plain(node) for name, node in before.items()}, {name: plain(node) for name, node in clean.items()})
        self.assertEqual(there, self.everything())

        # The peer is back: its inputs are what they were, so it writes what it wrote.
        for name in self.nodes:
            self.write_as_the_peer(name)
        again, _ = self.read()
        self.assertEqual({name: plain(node) for name, node in before.items()}, {name: plain(node) for name, node in again.items()})

        watched.close()
        self.assertGreater(len(watched.seen), len([name for name in self.expected if self.expected[name].get("allocatable")]))
        for event in watched.seen:
            name = event["object"]["metadata"]["name"]
            self.assertEqual(("MODIFIED", wanted[name]), (event["type"], numbers(event["object"])), f"a number of {name} moved")

    def test_off_and_on_leave_no_trace_either(self):
        before, _ = self.read()
        there = self.everything()
        must(self.api.request("PATCH", f"{LEASES}/koordinator-manager", {"spec": {"holderIdentity": ""}}, content=MERGE))
        component = self.run_manager("--leader-election-namespace=koordinator-system", "--kube-api-qps=200", "--kube-api-burst=200")
        node = next(name for name, wanted in self.expected.items() if wanted.get("allocatable"))
        for words in (("off", "node", node, "--now"), ("on", "node", node), ("off", "cluster", "--now", "--yes"), ("on", "cluster", "--yes")):
            done = subprocess.run(
                [os.environ["TIDEMARK_BINARY"], *words, "--reason=test", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
            )
            self.assertEqual(0, done.returncode, done.stderr)

        def back() -> bool:
            nodes, _ = self.read()
            return all(numbers(nodes[name]) == numbers(before[name]) for name in self.nodes)

        wait_for(back, "the numbers of before", component)
        component.stop()
        self.clean_up()
        clean, _ = self.read()
        self.assertEqual({name: plain(node) for name, node in before.items()}, {name: plain(node) for name, node in clean.items()})
        self.assertEqual(there, self.everything())

    def test_ours_a_second_time_finds_its_place(self):
        """Without the clean-up between: what ours left behind is what it goes on from."""
        self.come_and_go()
        first, _ = self.read()
        component = self.run_manager("--leader-election-namespace=koordinator-system", "--kube-api-qps=200", "--kube-api-burst=200")
        kept = [name for name, wanted in self.expected.items() if wanted.get("allocatable")]
        epoch = {name: first[name]["metadata"]["annotations"]["tidemark.io/capacity-epoch"] for name in kept}

        def next_epoch() -> bool:
            nodes, _ = self.read()
            return all(int(nodes[name]["metadata"]["annotations"]["tidemark.io/capacity-epoch"]) == int(epoch[name]) + 1 for name in kept)

        wait_for(next_epoch, "the next epoch on every node", component)
        second, _ = self.read()
        self.assertEqual({name: numbers(node) for name, node in first.items()}, {name: numbers(node) for name, node in second.items()})


if __name__ == "__main__":
    unittest.main()
