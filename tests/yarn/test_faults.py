"""`tidemark yarn-operator` over two YARN clusters, and what goes away under it: the ResourceManager of one of them, the operator itself, the API server; and
Koordinator's operator before and after it. What one cluster does alone is in test_operator.py, a pair in HA in test_ha.py."""

import datetime
import shutil
import signal
import tempfile
import time
import unittest
from pathlib import Path

from cluster import faulty
from cluster.colocation import MERGE, must
from cluster.tidemark_process import Component, wait_for
from support.yarn import Yarn
from yarn.operating import NODE_ID, POLL_S, SITE, THIRD, Operating, origin

DEFAULT, OTHER = "__default_yarn_cluster__", "other"
CLUSTER_ID = "yarn.hadoop.apache.org/cluster-id"
BOOK = "tidemark.io/yarn-book"
LEASE = "/apis/coordination.k8s.io/v1/namespaces/default/leases/koordinator-yarn-operator"
AT_ONCE_S = 3 * POLL_S
# As the contract has it: what the peer writes onto every node, and what it makes of an origin, by its own rounding.
NOTHING = '{"allocations":[{"name":"hadoop-yarn","priority":"koord-batch","resources":{"kubernetes.io/batch-cpu":"0","kubernetes.io/batch-memory":"0"}}]}'
ORIGIN, PEERS, EXACT = (7001, 10240), (10738, 8), (10240, 7)


class TwoClusters(Operating):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.yarns = [cls.enterClassContext(Yarn([SITE])) for _ in range(2)]
        cls.nms = [yarn.nodes[0] for yarn in cls.yarns]
        cls.configuration = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="tidemark-hadoop-conf-")))
        for yarn, prefix in zip(cls.yarns, ("", f"{OTHER}.")):
            for name in ("core-site.xml", "yarn-site.xml"):
                shutil.copy(yarn.configuration / name, cls.configuration / f"{prefix}{name}")

    def setUp(self):
        for yarn in self.yarns:  # what a test that failed left
            for server in (yarn.rm, *yarn.nodes):
                if not server.alive:
                    server.start()
                server.resume()
            yarn.wait_registered()
        super().setUp()
        self.put_node("yarn-0", {NODE_ID: self.nms[0].id, **origin(3500, 3072)})
        self.put_node("yarn-1", {NODE_ID: self.nms[1].id, CLUSTER_ID: OTHER, **origin(3500, 3072)})

    def begin(self, *more: str) -> Component:
        return super().begin(*more, configuration=self.configuration)

    def begin_settled(self, *more: str) -> Component:
        operator = self.begin(*more)
        for number in (0, 1):
            self.wait_total(number, 3072, 3, operator)
        return operator

    def up(self, operator: Component) -> dict[str, int]:
        metrics = operator.metrics()
        return {name: int(metrics[f'tidemark_yarn_operator_cluster_up{{cluster="{name}"}}']) for name in (DEFAULT, OTHER)}

    def follows(self, number: int, cpu_milli: int, memory_mib: int, operator: Component) -> float:
        """Seconds until a total has followed what its node may sell."""
        self.annotate(f"yarn-{number}", origin(cpu_milli, memory_mib))
        begin = time.monotonic()
        self.wait_total(number, memory_mib, cpu_milli // 1000, operator)
        return time.monotonic() - begin

    def test_while_one_cluster_is_away_the_other_follows_at_once(self):
        operator = self.begin_settled()
        rm = self.yarns[1].rm
        self.addCleanup(rm.resume)
        for way, totals in (("kill", (2000, 1024)), ("freeze", (3000, 2048))):
            getattr(rm, way)()
            self.assertLess(self.follows(0, *totals, operator), AT_ONCE_S)
            wait_for(lambda: self.up(operator) == {DEFAULT: 1, OTHER: 0}, "the one that is away", operator)
            self.assertEqual(1, operator.metrics()["tidemark_yarn_operator_clusters_away"])
            self.assertTrue(operator.ready())
            self.assertRegex(operator.log, rf"{OTHER}\W.*its ResourceManager does not answer")
            self.annotate("yarn-1", origin(*totals))
            self.assertLess(self.follows(0, 1000, 512, operator), AT_ONCE_S)
            if way == "kill":
                before = self.nms[1].registrations()
                rm.start()
                self.nms[1].wait_registered(before)
            else:
                rm.resume()
            self.wait_total(1, totals[1], totals[0] // 1000, operator)
            wait_for(lambda: self.up(operator) == {DEFAULT: 1, OTHER: 1}, "both", operator)

    def test_an_operator_that_was_frozen_puts_right_what_changed_meanwhile(self):
        operator = self.begin_settled()
        operator.process.send_signal(signal.SIGSTOP)
        self.annotate("yarn-0", origin(2000, 1024))
        self.assertEqual(200, self.yarns[1].rm.update_total(self.nms[1].id, 4000, 4).status)
        time.sleep(2 * POLL_S)
        self.assertEqual((3072, 3), self.nms[0].total())
        operator.process.send_signal(signal.SIGCONT)
        self.wait_total(0, 1024, 2, operator)
        self.wait_total(1, 3072, 3, operator)

    def test_without_an_api_server_what_is_known_is_kept_in_force(self):
        operator = self.begin_settled()
        time.sleep(2 * POLL_S)  # a report has shown it
        faulty.control("kill", "apiserver")
        try:
            self.nms[0].kill()
            self.nms[0].start()
            self.wait_total(0, 3072, 3, operator)
        finally:
            faulty.control("start", "apiserver")
            self.api.close()  # its connection went with the server
        print(f"API server back: a total right after {self.follows(0, 2000, 1024, operator):.1f} s")
        self.assertLess(self.follows(1, 2000, 1024, operator), AT_ONCE_S)

    def test_from_koordinators_operator_to_ours_and_back(self):
        """It tells by its own rounding, has an entry on every node, and holds the lease. Ours was measured against it on these amounts in policy/yarn_total."""
        self.put_node("no-yarn", origin(*ORIGIN))
        self.addCleanup(self.api.request, "DELETE", LEASE)
        for number, nm in enumerate(self.nms):
            self.annotate(f"yarn-{number}", origin(*ORIGIN))
            self.assertEqual(200, nm.manager.update_total(nm.id, *PEERS, over_commit_ms=0).status)
        for name in self.names:
            self.annotate(name, {THIRD: NOTHING})
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
        lease = {"holderIdentity": "koord-yarn-operator-0_1", "leaseDurationSeconds": 60, "acquireTime": now, "renewTime": now, "leaseTransitions": 3}
        must(self.api.request("POST", "/apis/coordination.k8s.io/v1/namespaces/default/leases", {"metadata": {"name": LEASE.rsplit("/", 1)[1]}, "spec": lease}), 201)
        election = ("--leader-elect=true", "--leader-election-namespace=default")

        ours = self.begin("--rounding=peer", *election)
        wait_for(ours.ready, "a ready operator", ours)
        versions = self.versions()
        time.sleep(3 * POLL_S)
        self.assertEqual((0, versions), (ours.metrics()["tidemark_yarn_operator_updates_total"], self.versions()), "the peer leads")
        must(self.api.request("PATCH", LEASE, {"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}}, content=MERGE))  # as it does when it ends
        self.wait_leads(ours)
        time.sleep(2 * POLL_S)
        self.assertEqual((0, [PEERS] * 2), (ours.metrics()["tidemark_yarn_operator_updates_total"], [nm.total() for nm in self.nms]), "no number moves")
        self.assertEqual([NOTHING] * 3, [self.annotation(name, THIRD) for name in self.names])
        self.assertEqual(0, ours.stop())

        exact = self.begin(*election)
        for number in (0, 1):
            self.wait_total(number, *EXACT, exact)
            wait_for(lambda: self.annotation(f"yarn-{number}", BOOK), "a book", exact)
        self.assertEqual(0, exact.stop())

        back = self.begin("--rounding=peer", *election)
        for number in (0, 1):
            self.wait_total(number, *PEERS, back)
            wait_for(lambda: self.annotation(f"yarn-{number}", BOOK) is None, "no book", back)
        self.assertEqual(0, back.stop())
        self.assertFalse(must(self.api.request("GET", LEASE)).get("spec.holderIdentity"), "given back: the peer need not wait")
        self.assertEqual([NOTHING] * 3, [self.annotation(name, THIRD) for name in self.names])

    def versions(self) -> list[str]:
        return [must(self.api.request("GET", f"/api/v1/nodes/{name}"))["metadata.resourceVersion"] for name in self.names]

    def annotation(self, name: str, key: str) -> str | None:
        return must(self.api.request("GET", f"/api/v1/nodes/{name}")).get("metadata.annotations", {}).get(key)

    def wait_leads(self, operator: Component) -> None:
        wait_for(lambda: any(name.startswith("yarn_node_cpu_resource{") for name in operator.metrics()), "one that leads", operator)


if __name__ == "__main__":
    unittest.main()
