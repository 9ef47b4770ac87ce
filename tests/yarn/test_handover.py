"""From Koordinator's YARN operator to ours and back, on a working cluster: a job runs all the time in containers that fill what Koordinator sells, which is more than exists."""

import os
import subprocess
import sys
import time
import unittest

from cluster.colocation import must
from cluster.tidemark_process import Component, wait_for
from support.yarn import Yarn, until
from yarn.operating import ELECTION, LEASE, NODE_ID, POLL_S, SITE, THIRD, Operating, origin
from yarn.peers_operator import PeersOperator, entry

BOOK = "tidemark.io/yarn-book"
# What Koordinator computes from 2001m and 4 GiB (copilot contract 5), and the exact amount.
ORIGIN, PEER_TOTAL, EXACT_TOTAL = (2001, 4096), (4295, 3), (4096, 2)
# Three of these are more than a node has, in both resources, but within Koordinator's offer; the master takes the place of one.
TASK_MIB, TASKS, MASTER_MIB = 1408, 5, 256


class Handover(Operating):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.yarn = cls.enterClassContext(Yarn([SITE, SITE]))
        cls.nms = cls.yarn.nodes

    def setUp(self):
        super().setUp()
        self.addCleanup(self.api.request, "DELETE", LEASE)
        for number, nm in enumerate(self.nms):
            self.put_node(f"yarn-{number}", {NODE_ID: nm.id, **origin(*ORIGIN)})
        self.put_node("no-yarn", origin(*ORIGIN))

    def peer(self) -> PeersOperator:
        return PeersOperator({"yarn-0": self.nms[0], "yarn-1": self.nms[1], "no-yarn": None})

    def wait_pass(self, peer: PeersOperator) -> None:
        """Waits until a pass that begins after now has ended."""
        before = peer.passes
        until("Koordinator's operator completes a pass", lambda: peer.failure or peer.passes >= before + 2)

    def totals(self) -> list[tuple[int, int]]:
        return [nm.total() for nm in self.nms]

    def running(self) -> list[str]:
        return sorted(each["id"] for nm in self.nms for each in nm.containers() if each["state"] == "RUNNING")

    def entries(self) -> list[str | None]:
        return [self.annotation(name, THIRD) for name in self.names]

    def versions(self) -> list[str]:
        return [must(self.api.request("GET", f"/api/v1/nodes/{name}"))["metadata.resourceVersion"] for name in self.names]

    def left_of_ours(self) -> set[str]:
        """Our annotations that are on nodes."""
        return {key for name in self.names for key in self.annotations(name) if "tidemark.io/" in key}

    def updates(self, operator: Component) -> float:
        return operator.metrics()["tidemark_yarn_operator_updates_total"]

    def test_a_job_survives_both_handovers(self):
        gate = self.yarn.layout.scratch / "gate"
        with self.peer() as peer:
            until("the peer's totals", lambda: self.totals() == [PEER_TOTAL] * 2)
            job = self.yarn.submit(f"while [ ! -e {gate} ]; do sleep 0.5; done", containers=TASKS, memory_mib=TASK_MIB, master_memory_mib=MASTER_MIB)
            self.addCleanup(job.end)
            until("all of it runs", lambda: len(self.running()) == 1 + TASKS)
            containers = self.running()
            self.wait_pass(peer)
            self.assertIn(entry(3, 3 * TASK_MIB), self.entries(), "one node is full, above its real size")
            entries = self.entries()
            ours = self.begin("--rounding=peer", *ELECTION)
            wait_for(lambda: ours.ready() and ours.metrics()["tidemark_yarn_operator_nodes"] == 2, "a ready operator", ours)
            versions = self.versions()
            self.wait_pass(peer)
            self.assertEqual((0, versions), (self.updates(ours), self.versions()), "the peer leads")

        wait_for(lambda: any(name.startswith("yarn_node_cpu_resource{") for name in ours.metrics()), "one that leads", ours)
        time.sleep(2 * POLL_S)
        self.assertEqual((0, [PEER_TOTAL] * 2, entries), (self.updates(ours), self.totals(), self.entries()), "no number moves")
        self.assertEqual(0, ours.stop())

        exact, began = self.begin(*ELECTION), time.monotonic()
        for number in (0, 1):
            self.wait_total(number, *EXACT_TOTAL, exact)
            wait_for(lambda: self.annotation(f"yarn-{number}", BOOK), "a book", exact)
        self.right_again("Koordinator's totals become ours", began)
        time.sleep(3 * POLL_S)
        self.assertEqual((containers, entries), (self.running(), self.entries()), "containers above the total run on, and stay reported")
        self.assertEqual(0, exact.metrics()["tidemark_yarn_operator_set_again_total"])
        self.assertEqual(0, exact.stop())

        back = self.begin("--rounding=peer", *ELECTION)
        for number in (0, 1):
            self.wait_total(number, *PEER_TOTAL, back)
            wait_for(lambda: self.annotation(f"yarn-{number}", BOOK) is None, "no book", back)
        self.assertEqual(0, back.stop())
        self.assertFalse(must(self.api.request("GET", LEASE)).get("spec.holderIdentity"), "released: Koordinator need not wait")

        with self.peer() as peer:
            self.wait_pass(peer)
            self.assertEqual(([PEER_TOTAL] * 2, entries, containers), (self.totals(), self.entries(), self.running()))
            gate.touch()
            self.assertEqual("SUCCEEDED", job.wait_for("FINISHED")["finalStatus"], job.tail())
            self.wait_pass(peer)
        report = job.report()
        self.assertEqual((0, 0, 1), (report["numNonAMContainerPreempted"], report["numAMContainerPreempted"], len(job.attempts())))
        self.assertEqual([0] * TASKS, [job.wait_told(each).status for each in containers[1:]], "each ended normally")
        self.assertEqual([entry(0, 0)] * 3, self.entries())
        self.clean_up()
        self.assertEqual(set(), self.left_of_ours())

    def clean_up(self) -> None:
        """With the command of docs/guide/upgrade-and-remove.md, which must remove everything that is left."""
        print(f"left on the nodes: {sorted(self.left_of_ours())}", file=sys.stderr)
        words = ["uninstall", "--keep-shared", "--yes", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]]
        subprocess.run([os.environ["TIDEMARK_BINARY"], *words], stdin=subprocess.DEVNULL, check=True, capture_output=True, timeout=60)



if __name__ == "__main__":
    unittest.main()
