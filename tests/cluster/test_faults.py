"""Real faults on a real API server: killed while 5,000 objects change, connections cut in the middle of an object, peers that
fall silent, and a manager that survives all of it."""

import itertools
import os
import random
import re
import signal
import time
import unittest
import urllib.parse
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cluster import colocation, faulty
from cluster.colocation import must
from cluster.reading_proxy import ReadingProxy, Request, Storm, is_patch_of
from cluster.tidemark_process import Component, wait_for
from contract.history import CompactedEtcd

LEASE = "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases/koordinator-manager"
EPOCH = "tidemark.io/capacity-epoch"


def api_address() -> tuple[str, int]:
    url = urllib.parse.urlsplit(os.environ["TIDEMARK_TEST_SERVER"])
    return url.hostname, url.port


class WithApi(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = colocation.client()

    @classmethod
    def tearDownClass(cls):
        cls.api.close()

    def namespace(self, name: str) -> str:
        must(self.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": name}}), 201, 409)
        self.addCleanup(faulty.remove_all, self.api, name)
        return name


class Soak(WithApi):
    def test_the_cache_equals_the_server_after_kills(self):
        """The short form; tests/long/test_soak.py has many seeds."""
        faulty.soak(self, self.api, seed=1, seconds=20)


class Connections(WithApi):
    PING = {"ping_interval": "300ms", "ping_timeout": "700ms"}

    def proxy(self, **options) -> faulty.Proxy:
        made = faulty.Proxy(api_address(), **options)
        self.addCleanup(made.close)
        return made

    def mirror(self, proxy: faulty.Proxy, namespace: str, **flags) -> faulty.Mirror:
        made = faulty.Mirror(proxy.kubeconfig(Path(os.environ["TMPDIR"])), namespace, **self.PING, **flags)
        self.addCleanup(made.end)
        return made

    def test_connections_cut_delayed_and_stalled_anywhere(self):
        namespace = self.namespace("faults-cut")
        writer = faulty.Writer(namespace, seed=3, objects=300, rate=150)
        self.addCleanup(writer.end)
        writer.wait_filled()
        proxy = self.proxy(seed=3)
        mirror = self.mirror(proxy, namespace, page_size=20, seed=3)
        wait_for(lambda: all(times >= 3 for times in proxy.happened.values()), "every kind of fault, three times")
        writer.stop()
        proxy.calm = True
        count = faulty.wait_equal(self, self.api, mirror, namespace)
        self.assertGreater(count, 100)
        self.assertEqual([], [what for what, times in proxy.happened.items() if times == 0], f"{proxy.happened}: not every fault happened")
        stats = mirror.stats()
        self.assertGreater(stats["watches"], 3, stats)
        self.assertLess(proxy.connections, 20 * 10, "connections are made in a tight loop")
        self.assertEqual(0, mirror.end(), mirror.log[-3000:])

    def test_ping_detects_a_silent_peer(self):
        namespace = self.namespace("faults-silent")
        writer = faulty.Writer(namespace, seed=4, objects=50, rate=100)
        self.addCleanup(writer.end)
        writer.wait_filled()
        proxy = self.proxy(seed=4)
        proxy.calm = True
        mirror = self.mirror(proxy, namespace, seed=4)
        mirror.wait_synced()
        for _ in range(3):
            before = mirror.stats()
            self.assertGreaterEqual(proxy.freeze(), 1)
            # 0.3 s of silence and 0.7 s for the answer; then a wait of at most 0.75 s, and a new connection.
            wait_for(lambda: mirror.stats()["events"] > before["events"] + 10, "events over a new connection")
            self.assertEqual(before["lists"], mirror.stats()["lists"], "the watch continues from its revision: no list is needed")
        writer.stop()
        faulty.wait_equal(self, self.api, mirror, namespace)
        self.assertIn("no answer to a PING", mirror.log)
        self.assertEqual(0, mirror.end(), mirror.log[-3000:])


class Storms(WithApi):
    """Answers of an overloaded API server, in place of the real one's answers."""

    def proxy(self) -> ReadingProxy:
        made = ReadingProxy()
        self.addCleanup(made.close)
        return made

    def mirror(self, proxy: ReadingProxy, namespace: str, **flags) -> faulty.Mirror:
        made = faulty.Mirror(proxy.kubeconfig(Path(os.environ["TMPDIR"])), namespace, page_size=20, **flags)
        self.addCleanup(made.end)
        return made

    def writer(self, namespace: str, seed: int) -> faulty.Writer:
        made = faulty.Writer(namespace, seed=seed, objects=200, rate=100)
        self.addCleanup(made.end)
        made.wait_filled()
        return made

    def assert_waited(self, requests: list[Request]) -> None:
        """No sender that got a Retry-After came earlier."""
        shown = 0
        for before, after in zip(requests, requests[1:]):
            if before.retry_after_s:
                shown += 1
                self.assertGreater(after.at - before.at, 0.9 * before.retry_after_s, f"{after.method} {after.path} after {before.status}")
        self.assertGreater(shown, 2, "no Retry-After was sent")

    def test_a_mirror_survives_refusals_and_obeys_retry_after(self):
        namespace = self.namespace("faults-storm")
        writer = self.writer(namespace, seed=6)
        proxy = self.proxy()
        proxy.refuse = storm = Storm(share=0.5, seed=6)
        mirror = self.mirror(proxy, namespace, seed=6)
        deadline = time.monotonic() + 300
        while not storm.enough(3):
            self.assertLess(time.monotonic(), deadline, storm.happened)
            time.sleep(0.5)
            proxy.cut()  # otherwise an accepted watch sends no more requests
        writer.stop()
        requests = list(proxy.requests)
        storm.calm = True
        faulty.wait_equal(self, self.api, mirror, namespace, limit_s=120)
        self.assert_waited(requests)
        self.assertEqual(0, mirror.end(), mirror.log[-3000:])

    def test_an_expired_watch_lists_again(self):
        namespace = self.namespace("faults-expired")
        writer = self.writer(namespace, seed=7)
        proxy = self.proxy()
        mirror = self.mirror(proxy, namespace, seed=7)
        mirror.wait_synced()
        lists = mirror.stats()["lists"]
        mirror.process.send_signal(signal.SIGSTOP)
        try:
            proxy.cut()
            seen = on_page(self.api, namespace)["metadata.resourceVersion"]
            wait_for(lambda: on_page(self.api, namespace)["metadata.resourceVersion"] != seen, "changes that the mirror misses")
            self.assertGreater(writer.stop()["writes"], 0)
            # The earlier revisions are gone from etcd, and with the restart from the API server's memory.
            CompactedEtcd(os.environ["TIDEMARK_TEST_ETCD"]).forget(None)
            faulty.control("kill", "apiserver")
            faulty.control("start", "apiserver")
            self.api.close()
        finally:
            mirror.process.send_signal(signal.SIGCONT)
        faulty.wait_equal(self, self.api, mirror, namespace, limit_s=120)
        self.assertGreater(mirror.stats()["lists"], lists, mirror.log[-3000:])
        self.assertEqual(0, mirror.end(), mirror.log[-3000:])

    def test_a_list_with_expired_pages_begins_again(self):
        namespace = self.namespace("faults-pages")
        writer = self.writer(namespace, seed=8)
        writer.stop()
        proxy = self.proxy()
        proxy.hold_next(lambda request: "continue=" in request.path)
        mirror = self.mirror(proxy, namespace, seed=8)
        held = proxy.held(60)
        mine = on_page(self.api, namespace)["metadata.continue"]
        must(self.api.request("DELETE", f"/api/v1/namespaces/{namespace}/configmaps/object-0"), 200, 404)
        CompactedEtcd(os.environ["TIDEMARK_TEST_ETCD"]).until(None, lambda: on_page(self.api, namespace, mine))
        self.assertEqual(410, held.let_go(60))
        faulty.wait_equal(self, self.api, mirror, namespace, limit_s=120)
        self.assertEqual(0, mirror.end(), mirror.log[-3000:])

    def test_a_manager_survives_refusals_and_obeys_retry_after(self):
        colocation.install_crds()
        colocation.put_settings(self.api, {"enable": True})
        self.addCleanup(colocation.delete_settings, self.api)
        node = "in-a-storm"
        self.addCleanup(colocation.delete, self.api, node)
        colocation.put_node(self.api, node, capacity=Managers.CAPACITY)
        proxy = self.proxy()
        proxy.refuse = storm = Storm(share=0.5, seed=9)
        manager = Component("manager", "--kubeconfig", str(proxy.kubeconfig(Path(os.environ["TMPDIR"]))), "--metrics-addr", "127.0.0.1:0", "--leader-elect=false")
        self.addCleanup(manager.stop)
        is_write = is_patch_of(f"/api/v1/nodes/{node}/status")
        for used in itertools.cycle((2, 12)):  # a change large enough for a write
            colocation.put_metric(self.api, node, Managers.status(used))
            wait_for(lambda: colocation.offered(self.api, node).get("kubernetes.io/batch-cpu") == Managers.left(used), f"the offer beside {used} used cores", manager)
            if storm.enough(3) and sum(bool(request.retry_after_s) for request in proxy.requests if is_write(request)) > 2:
                break
        self.assert_waited([request for request in proxy.requests if is_write(request)])
        self.assertEqual(0, manager.stop(), manager.log[-3000:])


def on_page(api, namespace: str, token: str | None = None):
    return api.request("GET", f"/api/v1/namespaces/{namespace}/configmaps", limit=1, **({"continue": token} if token else {}))


class Managers(WithApi):
    """Two replicas, and an API server that is killed while the metrics change."""

    LEASE_S, RENEW_S = 3, 2
    ELECT = (f"--leader-elect-lease-duration={LEASE_S}s", f"--leader-elect-renew-deadline={RENEW_S}s", "--leader-elect-retry-period=300ms")
    NODES = ("faulty-1", "faulty-2", "faulty-3")
    CAPACITY = {"cpu": "32", "memory": "128Gi", "pods": "110"}

    @staticmethod
    def status(cores_used: int) -> dict:
        use = {"resources": {"cpu": str(cores_used), "memory": "4Gi"}}
        return {"nodeMetric": {"nodeUsage": use, "systemUsage": use}, "podsMetric": [], "prodReclaimableMetric": {"resource": {"resources": {}}}}

    @staticmethod
    def left(cores_used: int) -> str:
        return str(32000 * 60 // 100 - cores_used * 1000)

    def setUp(self):
        colocation.install_crds()
        colocation.put_settings(self.api, {"enable": True})
        self.addCleanup(colocation.delete_settings, self.api)
        self.addCleanup(self.api.request, "DELETE", LEASE)
        self.addCleanup(colocation.delete, self.api, *self.NODES)
        for node in self.NODES:
            colocation.put_node(self.api, node, capacity=self.CAPACITY)

    def run_manager(self) -> Component:
        made = Component("manager", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--metrics-addr", "127.0.0.1:0", *self.ELECT)
        self.addCleanup(made.stop)
        wait_for(made.ready, "a ready manager", made)
        return made

    def wait_offered(self, wanted: dict[str, int], component: Component) -> None:
        def right() -> bool:
            return all(colocation.offered(self.api, node).get("kubernetes.io/batch-cpu") == self.left(used) for node, used in wanted.items())

        # A watch that lost its server reconnects after a wait of up to 45 s.
        wait_for(right, f"the offer beside {wanted} used cores", component)

    def test_numbers_are_right_after_kills_and_only_a_leader_writes(self):
        rng = random.Random(5)
        use = {node: rng.randrange(1, 18) for node in self.NODES}
        for node, used in use.items():
            colocation.put_metric(self.api, node, self.status(used))
        managers = [self.run_manager(), self.run_manager()]
        self.wait_offered(use, managers[0])
        for _ in range(3):
            faulty.control("kill", "apiserver")
            time.sleep(rng.uniform(0, 3.5))  # some outages outlive the lease, some do not
            faulty.control("start", "apiserver")
            self.api.close()  # its connection went with the server
            for node in self.NODES:
                use[node] = rng.randrange(1, 18)
                colocation.put_metric(self.api, node, self.status(use[node]))
        self.wait_offered(use, managers[0])
        for manager in managers:
            self.assertEqual([], writes_without_lease(manager.log, self.LEASE_S - self.RENEW_S))
            self.assertIsNone(manager.process.poll(), manager.log[-3000:])
        self.assertIn(" capacity written ", managers[0].log + managers[1].log)
        wait_for(lambda: sum(manager.metrics().get("tidemark_leader", 0) for manager in managers) == 1, "one leader", managers[0])
        transitions = must(self.api.request("GET", LEASE))["spec.leaseTransitions"]
        for node in self.NODES:
            carried = must(self.api.request("GET", f"/api/v1/nodes/{node}"))["metadata"]["annotations"][EPOCH]
            self.assertLessEqual(int(carried), transitions, "an epoch that no leader had")


def writes_without_lease(log: str, grace_s: float) -> list[str]:
    """A write is logged when its answer arrives. One that began before the end may be answered in the time in which no other manager leads."""
    until, found = datetime.min.replace(tzinfo=UTC), []
    for line in log.splitlines():
        if not (began := re.match(r"\d{4}-\S+Z(?= )", line)):
            continue
        at = datetime.fromisoformat(began[0])
        if " not leading any more " in line:
            until = at + timedelta(seconds=grace_s)
        elif " leading " in line:
            until = datetime.max.replace(tzinfo=UTC)
        elif re.search(r" (capacity|node object) written ", line) and at > until:
            found.append(line)
    return found


if __name__ == "__main__":
    unittest.main()
