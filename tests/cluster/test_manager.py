"""`tidemark manager` against a real API server: exactly Koordinator's numbers, and its behavior on faults."""

import json
import os
import signal
import time
import unittest
from datetime import UTC, datetime
from pathlib import Path

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.manager_case import LEASES, WithManager
from cluster.reading_proxy import ReadingProxy, is_patch_of
from cluster.tidemark_process import Component, explain, explain_json, wait_for
from support.patience import PATIENCE_S

GOLDEN = Path(__file__).parents[1] / "golden" / "overcommit"

# 32 cores, of which 60 % may be used; the system uses 2 of them: 17.2 cores are left for batch.
CAPACITY = {"cpu": "32", "memory": "128Gi", "pods": "110"}
STATUS = {
    "nodeMetric": {
        "nodeUsage": {"resources": {"cpu": "2", "memory": "4Gi"}},
        "systemUsage": {"resources": {"cpu": "2", "memory": "4Gi"}},
    },
    "podsMetric": [],
    "prodReclaimableMetric": {"resource": {"resources": {}}},
}
LEFT = "17200"
SETTINGS = {"enable": True}


def quantity(text: str) -> int:
    units = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "k": 10**3, "M": 10**6, "G": 10**9}
    for suffix, scale in units.items():
        if text.endswith(suffix):
            return int(text[: -len(suffix)]) * scale
    return int(text)


def amounts(resources: dict | None) -> dict[str, int] | None:
    return None if resources is None else {name: quantity(amount) for name, amount in resources.items()}


class WithApi(WithManager):
    def node(self, name: str, *, age_s: float = 0, status=STATUS, **more) -> str:
        self.nodes = [*getattr(self, "nodes", []), name]
        colocation.put_node(self.api, name, capacity=CAPACITY, **more)
        colocation.put_metric(self.api, name, status, age_s)
        return name

    def wait_offered(self, node: str, batch_cpu: str | None, component: Component, limit_s: float = PATIENCE_S) -> None:
        wanted = None if batch_cpu is None else int(batch_cpu)
        wait_for(
            lambda: amounts(colocation.offered(self.api, node)).get("kubernetes.io/batch-cpu") == wanted,
            f"batch-cpu {batch_cpu} on {node}", component, limit_s,
        )


class Golden(WithApi):
    def test_every_node_gets_koordinators_exact_numbers(self):
        """Golden vectors: recorded from Koordinator's manager on a real API server."""
        recorded = json.loads((GOLDEN / "cases.json").read_text())
        expected = json.loads((GOLDEN / "expected.json").read_text())
        self.nodes = []
        colocation.put_settings(self.api, recorded["colocation-config"])
        for case in recorded["cases"]:
            self.nodes.append(case["node"])
            colocation.put_case(self.api, case)
        component = self.run_manager("--leader-elect=false", "--kube-api-qps=200", "--kube-api-burst=200")

        def found() -> dict:
            return {
                name: {"allocatable": amounts(colocation.offered(self.api, name)), "origin": amounts(colocation.origin(self.api, name))}
                for name in expected
            }

        wanted = {name: {side: amounts(entry.get(side)) for side in ("allocatable", "origin")} for name, entry in expected.items()}
        try:
            wait_for(lambda: found() == wanted, "equality with the golden vectors", component)
        except AssertionError:
            self.assertEqual(wanted, found())

        # The explanation equals what was written.
        for name, entry in wanted.items():
            shown = explain_json(name)
            if entry["allocatable"]:
                for resource, amount in entry["allocatable"].items():
                    self.assertEqual(amount, shown[resource]["published"], f"{name} {resource}")
            else:
                self.assertEqual("reset", shown["action"], name)


class Changes(WithApi):
    def setUp(self):
        colocation.put_settings(self.api, SETTINGS)

    def test_more_use_cuts_at_once_and_a_stale_metric_sells_nothing(self):
        node = self.node("changes")
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, component)
        busy = json.loads(json.dumps(STATUS))
        busy["nodeMetric"]["systemUsage"]["resources"]["cpu"] = "12"
        colocation.put_metric(self.api, node, busy)
        self.wait_offered(node, "7200", component)
        colocation.put_metric(self.api, node, busy, age_s=16 * 60)
        self.wait_offered(node, None, component)
        self.assertEqual({"kubernetes.io/batch-cpu": "0", "kubernetes.io/batch-memory": "0"}, colocation.origin(self.api, node))

    def test_a_metric_becomes_stale_without_an_event(self):
        """degradeTimeMinutes is at least 1: the metric is 35 s old when the manager starts."""
        colocation.put_settings(self.api, {**SETTINGS, "degradeTimeMinutes": 1})
        node = self.node("turns-stale", age_s=35)
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, component, limit_s=22)
        self.wait_offered(node, None, component, limit_s=90)

    def test_lost_batch_resources_come_back(self):
        node = self.node("loses")
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, component)
        gone = {"capacity": {"kubernetes.io/batch-cpu": None}, "allocatable": {"kubernetes.io/batch-cpu": None}}
        must(self.api.request("PATCH", f"/api/v1/nodes/{node}/status", {"status": gone}, content=MERGE))
        self.wait_offered(node, LEFT, component)

    def test_a_recreated_node_is_sold_again(self):
        node = self.node("anew")
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, component)
        must(self.api.request("DELETE", f"/api/v1/nodes/{node}"))
        colocation.put_node(self.api, node, capacity=CAPACITY)
        self.wait_offered(node, LEFT, component)

    def test_bad_settings_leave_the_last_good_ones_in_force(self):
        node = self.node("settings")
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, component)
        colocation.put_settings(self.api, "{ this is not JSON")
        wait_for(lambda: component.metrics()["tidemark_manager_config_good"] == 0, "the refusal in the metrics", component)

        def events():
            listed = self.api.request("GET", "/api/v1/namespaces/koordinator-system/events").get("items", [])
            return [event for event in listed if event["reason"] == "ColocationCfgUnmarshalFailed"]

        wait_for(events, "a warning event on the ConfigMap", component)
        self.assertEqual(LEFT, colocation.offered(self.api, node)["kubernetes.io/batch-cpu"])
        colocation.put_settings(self.api, {**SETTINGS, "cpuReclaimThresholdPercent": 50})
        self.wait_offered(node, "14000", component)
        colocation.put_settings(self.api, {"enable": False})
        self.wait_offered(node, None, component)

    def settled_revision(self, node: str, component) -> str:
        """A node with all writes that follow its first offer."""
        seen = []

        def settled() -> bool:
            time.sleep(1)
            seen.append(must(self.api.request("GET", f"/api/v1/nodes/{node}"))["metadata.resourceVersion"])
            return len(seen) > 1 and seen[-1] == seen[-2]

        wait_for(settled, "a settled node", component)
        return seen[-1]

    def test_without_a_change_nothing_is_written(self):
        node = self.node("quiet")
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, component)
        before = self.settled_revision(node, component)
        colocation.put_metric(self.api, node, STATUS, age_s=5)  # a new time, the same numbers
        events = "tidemark_informer_events_total{component=\"nodemetrics\"}"
        wait_for(lambda: component.metrics().get(events, 0) >= 1, "the metric to arrive", component)
        wait_for(lambda: component.metrics()['tidemark_work_queue_depth{component="overcommit"}'] == 0, "an empty queue", component)
        self.assertEqual(before, must(self.api.request("GET", f"/api/v1/nodes/{node}"))["metadata.resourceVersion"])

    def test_sigterm_ends_it_with_0(self):
        component = self.run_manager("--leader-elect=false")
        self.assertEqual(0, component.stop(), component.log)


class Explained(WithApi):
    def setUp(self):
        colocation.put_settings(self.api, SETTINGS)

    def test_text_shows_every_term(self):
        done = explain(self.node("terms"))
        self.assertEqual(0, done.returncode, done.stderr)
        for part in ("offers batch-cpu 17200m", "capacity", "32000m", "margin above the water line", "12800m", "reserved", "2000m", "TM-"):
            self.assertIn(part, done.stdout)

    def test_a_missing_node_is_named(self):
        done = explain("no-such-node")
        self.assertEqual(1, done.returncode)
        self.assertIn("no-such-node", done.stderr)

    def test_wrong_usage_has_its_own_exit_code(self):
        done = explain("terms", "--outptu=json")
        self.assertEqual(2, done.returncode)
        self.assertIn("--output", done.stderr)


class Leaders(WithApi):
    LEASE_S, RENEW_S = 10, 8  # after its last renewal a leader leads for RENEW_S; no other one leads for LEASE_S
    ELECT = (f"--leader-elect-lease-duration={LEASE_S}s", f"--leader-elect-renew-deadline={RENEW_S}s", "--leader-elect-retry-period=300ms")

    def setUp(self):
        colocation.put_settings(self.api, SETTINGS)

    @staticmethod
    def busy(cpu: str) -> dict:
        status = json.loads(json.dumps(STATUS))
        status["nodeMetric"]["systemUsage"]["resources"]["cpu"] = cpu
        return status

    @staticmethod
    def leads(component: Component) -> bool:
        return component.metrics().get("tidemark_leader") == 1

    def free_lease(self) -> None:
        """As if its lease had expired: another test measures how long that takes."""
        [lease] = must(self.api.request("GET", LEASES))["items"]
        must(self.api.request("PATCH", f"{LEASES}/{lease['metadata']['name']}", {"spec": {"holderIdentity": ""}}, content=MERGE))

    def numbers_of(self, node: str, watch, last: str) -> list[str | None]:
        """Each amount that the node offered until the last one, as a watch shows it with every write."""
        seen: list[str | None] = [LEFT]
        while seen[-1] != last:
            amount = watch.next("MODIFIED")["status"]["allocatable"].get("kubernetes.io/batch-cpu")
            if amount != seen[-1]:
                seen.append(amount)
        return seen[1:]

    def watch_of(self, node: str):
        version = must(self.api.request("GET", "/api/v1/nodes"))["metadata.resourceVersion"]
        return self.api.watch("/api/v1/nodes", fieldSelector=f"metadata.name={node}", resourceVersion=version)

    def test_an_orderly_stop_hands_over_at_once_without_lost_or_double_writes(self):
        """Long before the lease expires, while reports come in."""
        node = self.node("handed-over")
        first = self.run_manager(*self.ELECT)
        wait_for(lambda: self.leads(first), "a leader", first)
        second = self.run_manager(*self.ELECT)
        self.wait_offered(node, LEFT, first)
        self.assertFalse(self.leads(second))
        with self.watch_of(node) as watch:
            began = time.monotonic()
            first.process.terminate()
            colocation.put_metric(self.api, node, self.busy("12"))
            wait_for(lambda: self.leads(second), "a successor", second)
            self.assertLess(time.monotonic() - began, self.RENEW_S - 1, "it waited for the lease to end")
            colocation.put_metric(self.api, node, self.busy("4"))
            numbers = self.numbers_of(node, watch, "15200")
        self.assertIn(numbers, (["7200", "15200"], ["15200"]), "the first number was written once or not at all")
        self.assertEqual(0, first.stop())

    def test_a_frozen_leader_does_not_overwrite_its_successor(self):
        """SIGSTOP, a successor with newer numbers, SIGCONT: the old leader's numbers must not come back."""
        node = self.node("fenced")
        first = self.run_manager(*self.ELECT)
        wait_for(lambda: self.leads(first), "a leader", first)
        self.wait_offered(node, LEFT, first)
        second = self.run_manager(*self.ELECT)
        for round_number, (use, left) in enumerate((("12", "7200"), ("4", "15200"), ("9", "10200"))):
            old, new = (first, second) if round_number % 2 == 0 else (second, first)
            old.process.send_signal(signal.SIGSTOP)
            try:
                colocation.put_metric(self.api, node, self.busy(use))
                wait_for(lambda: self.leads(new), "a successor", new)
                self.wait_offered(node, left, new)
                version = must(self.api.request("GET", f"/api/v1/nodes/{node}"))["metadata.resourceVersion"]
            finally:
                old.process.send_signal(signal.SIGCONT)
            wait_for(lambda: not self.leads(old), "the old leader to notice", old)
            after = must(self.api.request("GET", f"/api/v1/nodes/{node}"))
            self.assertEqual(version, after["metadata.resourceVersion"], "the old leader wrote")

    def test_a_patch_in_flight_of_a_frozen_leader_is_refused(self):
        """Decided and sent, but not arrived: the leader is frozen, a successor writes, the old leader resumes, and then its patch arrives."""
        proxy = ReadingProxy()
        self.addCleanup(proxy.close)
        node = self.node("held-back")
        first = self.start_manager(*self.ELECT, kubeconfig=str(proxy.kubeconfig(Path(os.environ["TMPDIR"]))))
        self.wait_offered(node, LEFT, first)
        second = self.run_manager(*self.ELECT)
        proxy.hold_next(is_patch_of(f"/api/v1/nodes/{node}/status"))
        colocation.put_metric(self.api, node, self.busy("12"))
        held = proxy.held(PATIENCE_S)
        first.process.send_signal(signal.SIGSTOP)
        try:
            colocation.put_metric(self.api, node, self.busy("4"))
            wait_for(lambda: self.leads(second), "a successor", second)
            self.wait_offered(node, "15200", second)
        finally:
            first.process.send_signal(signal.SIGCONT)
        self.assertEqual(409, held.let_go(PATIENCE_S), held.request.body)
        self.assertIn(b"resourceVersion", held.request.body, "the precondition needs it")
        wait_for(lambda: not self.leads(first), "the old leader to notice", first)
        self.assertEqual("15200", colocation.offered(self.api, node)["kubernetes.io/batch-cpu"])
        writes = [request for request in proxy.requests if request.method != "GET" and f"/nodes/{node}" in request.path and request.at >= held.request.at]
        self.assertEqual([held.request], writes, "the old leader wrote once more")

    def test_a_patch_in_flight_of_a_killed_leader_is_refused(self):
        """The same with kill -9: only the leader's patch is left, in flight."""
        proxy = ReadingProxy()
        self.addCleanup(proxy.close)
        node = self.node("left-behind")
        first = self.start_manager(*self.ELECT, kubeconfig=str(proxy.kubeconfig(Path(os.environ["TMPDIR"]))))
        self.wait_offered(node, LEFT, first)
        second = self.run_manager(*self.ELECT)
        proxy.hold_next(is_patch_of(f"/api/v1/nodes/{node}/status"))
        colocation.put_metric(self.api, node, self.busy("12"))
        held = proxy.held(PATIENCE_S)
        first.kill()
        colocation.put_metric(self.api, node, self.busy("4"))
        wait_for(lambda: self.leads(second), "a successor", second)
        self.wait_offered(node, "15200", second)
        version = must(self.api.request("GET", f"/api/v1/nodes/{node}"))["metadata.resourceVersion"]
        self.assertEqual(409, held.let_go(PATIENCE_S), held.request.body)
        after = must(self.api.request("GET", f"/api/v1/nodes/{node}"))
        self.assertEqual((version, "15200"), (after["metadata.resourceVersion"], after["status"]["allocatable"]["kubernetes.io/batch-cpu"]))

    def test_a_patch_that_arrived_before_its_leader_was_killed_is_not_repeated(self):
        """The leader did not get the answer; its successor finds the patch applied."""
        proxy = ReadingProxy()
        self.addCleanup(proxy.close)
        node = self.node("not-twice")
        first = self.start_manager(*self.ELECT, kubeconfig=str(proxy.kubeconfig(Path(os.environ["TMPDIR"]))))
        self.wait_offered(node, LEFT, first)
        second = self.run_manager(*self.ELECT)
        with self.watch_of(node) as watch:
            proxy.hold_next(is_patch_of(f"/api/v1/nodes/{node}/status"), answered=True)
            colocation.put_metric(self.api, node, self.busy("12"))
            proxy.held(PATIENCE_S)
            self.wait_offered(node, "7200", first)
            first.kill()
            self.free_lease()
            wait_for(lambda: self.leads(second), "a successor", second)
            colocation.put_metric(self.api, node, self.busy("4"))
            numbers = self.numbers_of(node, watch, "15200")
        # The successor writes its epoch, and no number a second time. Other writes of the first one may still arrive.
        self.assertEqual(["7200", "15200"], numbers)

    def test_settings_in_flight_of_a_killed_leader_are_refused(self):
        """A step of a rollout is stored before it takes effect: the killed leader's step arrives too late."""
        proxy = ReadingProxy()
        self.addCleanup(proxy.close)
        node = self.node("settings-behind")
        first = self.start_manager(*self.ELECT, kubeconfig=str(proxy.kubeconfig(Path(os.environ["TMPDIR"]))))
        self.wait_offered(node, LEFT, first)
        second = self.run_manager(*self.ELECT)
        revisions = f"{colocation.SETTINGS}/{colocation.REVISIONS}"
        wait_for(lambda: self.api.request("GET", revisions).status == 200, "the first revision", first)
        proxy.hold_next(is_patch_of(revisions))
        colocation.put_settings(self.api, {**SETTINGS, "cpuReclaimThresholdPercent": 50})
        held = proxy.held(PATIENCE_S)
        first.kill()
        self.free_lease()
        colocation.put_settings(self.api, {**SETTINGS, "cpuReclaimThresholdPercent": 55})
        wait_for(lambda: self.leads(second), "a successor", second)
        self.wait_offered(node, "15600", second)
        wait_for(lambda: "55" in json.dumps(self.api.request("GET", revisions).get("data")), "the successor's revision", second)
        kept = must(self.api.request("GET", revisions)).get("data")
        self.assertEqual(409, held.let_go(PATIENCE_S), held.request.body)
        self.assertEqual(kept, must(self.api.request("GET", revisions)).get("data"))
        self.assertEqual("15600", colocation.offered(self.api, node)["kubernetes.io/batch-cpu"])

    def test_a_killed_leader_is_replaced_after_its_lease_and_offers_stay(self):
        node = self.node("survives")
        first = self.run_manager(*self.ELECT)
        wait_for(lambda: self.leads(first), "a leader", first)
        second = self.run_manager(*self.ELECT)
        self.wait_offered(node, LEFT, first)
        with self.watch_of(node) as watch:
            [lease] = must(self.api.request("GET", LEASES))["items"]
            renewed = datetime.fromisoformat(lease["spec"]["renewTime"])
            first.kill()
            wait_for(lambda: self.leads(second), "a successor", second)
            took = (datetime.now(UTC) - renewed).total_seconds()
            colocation.put_metric(self.api, node, self.busy("12"))
            numbers = self.numbers_of(node, watch, "7200")
        self.assertGreater(took, self.RENEW_S, "the killed leader's term was not over")
        self.assertLess(took, 2 * self.LEASE_S)
        self.assertEqual(["7200"], numbers)


if __name__ == "__main__":
    unittest.main()
