"""The roles of deploy/chart grant exactly what is needed.

The real manager and the real commands run through all their operations as the chart's service accounts, on the real API server.
Its audit log then shows the requests: none was forbidden, and each granted verb on each kind (and name) was needed by a request
that no other grant covers.
"""

import json
import os
import re
import ssl
import unittest
import urllib.request
from pathlib import Path

from cluster import chart, colocation
from cluster.chart import ACCOUNT, must
from cluster.chart_roles import OURS, PEOPLE, POD_SPEC, PODS, SECRETS, WEBHOOK_SECRET, ChartRoles, asked_by, grants_of, spare
from cluster.colocation import MERGE, SETTINGS, TIDEMARK_CONFIG
from cluster.test_manager import CAPACITY, STATUS
from cluster.tidemark_process import Component, wait_for

LEARNING = (
    '{"schema": 1, "mode": "enforce", "profile": "tidemark", "rollout": {"pace": "at-once"}, "evictions": {"backOff": "0s"}, "profiles": {"sampleEvery": "1s", "storeEvery": "1s",'
    ' "recommendations": {"publish": %s, "knownHours": 1, "every": "1s"}}}'
)
ONLINE = {"koordinator.sh/priority-class": "koord-prod", "koordinator.sh/qosClass": "LS"}
RECOMMENDATIONS = "/apis/analysis.koordinator.sh/v1alpha1/namespaces/default/recommendations"
LEARNED = [f"tidemark-history-least-{i}" for i in range(8)]  # with a pool with motion
TOPOLOGIES = "/apis/topology.node.k8s.io/v1alpha1/noderesourcetopologies"


def history_writes(component: Component) -> float:
    return component.metrics().get('tidemark_history_writes_total{component="profiles"}', 0)


@chart.needs_helm
class Roles(ChartRoles):
    def put_topology(self, name: str) -> None:
        resources = [{"name": key, "capacity": amount, "allocatable": amount, "available": amount} for key, amount in (("cpu", "32"), ("memory", "128Gi"))]
        body = {
            "apiVersion": "topology.node.k8s.io/v1alpha1", "kind": "NodeResourceTopology", "metadata": {"name": name}, "topologyPolicies": ["None"],
            "zones": [{"name": "node-0", "type": "Node", "resources": resources}],
        }
        colocation.must(self.api.request("POST", TOPOLOGIES, body))
        self.addCleanup(self.api.request, "DELETE", f"{TOPOLOGIES}/{name}")

    def zone_offers(self, name: str) -> bool:
        return "kubernetes.io/batch-cpu" in json.dumps(self.api.request("GET", f"{TOPOLOGIES}/{name}").get("zones", []))

    def pod_of_a_deployment(self, name: str, node: str) -> None:
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "roles-7d9c", "uid": "00000000-0000-0000-0000-000000000002", "controller": True}
        meta = {"name": name, "labels": {"pod-template-hash": "7d9c", **ONLINE}, "ownerReferences": [owner]}
        colocation.must(self.api.request("POST", PODS, {"metadata": meta, "spec": {**POD_SPEC, "nodeName": node}}))
        colocation.must(self.api.request("PATCH", f"{PODS}/{name}/status", {"status": {"phase": "Running"}}, content=MERGE))

    def meet_pods(self, component: Component) -> None:
        """A pod that missed the webhooks, one whose profile names a missing priority class, and one of a namespace that the
        manager does not know yet."""
        for registered in ("tidemark_webhook_registered", "tidemark_webhook_evictions_registered"):
            wait_for(lambda: component.metrics().get(registered) == 1, "the registration", component)
        labels = f"{PODS}/roles-missed"
        wait_for(lambda: self.api.request("GET", labels).get("metadata.labels", {}).get("by") == "profile", "the pod to be caught up with", component)
        absent = {"metadata": {"name": "roles-absent", "labels": {"app": "absent"}}, "spec": POD_SPEC}
        wait_for(lambda: self.api.request("POST", PODS, absent, dryRun="All").status != 201, "a refusal for want of a priority class", component)
        review = {
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "1", "operation": "CREATE", "namespace": "not-heard-of", "name": "a", "resource": {"group": "", "version": "v1", "resource": "pods"},
                "kind": {"group": "", "version": "v1", "kind": "Pod"},
                "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "not-heard-of"}, "spec": POD_SPEC},
            },
        }
        port = re.search(r"webhooks served address=\S+:(\d+)", component.log)[1]
        asked = urllib.request.Request(f"https://127.0.0.1:{port}/mutate-pod", json.dumps(review).encode(), {"Content-Type": "application/json"})
        with urllib.request.urlopen(asked, context=ssl._create_unverified_context(), timeout=10) as answer:
            self.assertEqual(200, answer.status)

    def live(self) -> None:
        """Goes once through every operation of a manager."""
        self.put_missed_pod("roles-missed")
        # The Secret of the webhooks exists, and is empty; later it is gone.
        colocation.must(self.api.request("POST", SECRETS, {"metadata": {"name": WEBHOOK_SECRET}}))
        self.profile("missed", "")
        self.profile("absent", "not-there")
        self.nodes = ["roles-1", "roles-2"]
        for name in self.nodes:
            colocation.put_node(self.api, name, capacity=CAPACITY)
            colocation.put_metric(self.api, name, STATUS)
        self.put_topology("roles-1")
        first = self.start()  # cold start: everything is listed, and no settings exist
        second = self.start()
        wait_for(lambda: first.metrics().get("tidemark_settings_revision") == 1, "the first revision", first)
        self.meet_pods(first)
        self.api.request("DELETE", f"{SECRETS}/{WEBHOOK_SECRET}")
        wait_for(lambda: self.api.request("GET", f"{SECRETS}/{WEBHOOK_SECRET}").status == 200, "another Secret", first)
        colocation.put_settings(self.api, {"enable": True})
        self.put_tidemark_config(OURS % 600)
        for name in self.nodes:
            self.offers(name, "17200", first)
        wait_for(lambda: self.zone_offers("roles-1"), "batch resources of zones", first)

        # One eviction stops the pool, and an operator resumes it.
        phase = lambda: first.metrics().get('tidemark_pool_breaker_phase{pool="default"}')
        wait_for(lambda: phase() == 0, "budgets", first)
        wait_for(lambda: self.api.request("GET", f"{SETTINGS}/{colocation.BUDGETS}").status == 200, "stored budgets", first)
        batch = {"name": "roles-victim", "prio": "koord-batch", "qos": "BE", "requests": {}, "phase": "Running"}
        colocation.put_pod(self.api, "roles-1", batch)
        colocation.must(self.api.request("PATCH", f"{PODS}/roles-victim/status", {"status": {"phase": "Failed", "reason": "Evicted"}}, content=MERGE))
        wait_for(lambda: phase() == 1, "an open breaker", first)
        must(self.command("operator", "resume", "pool", "default", "--reason=test", "--wait=60s"))
        for words in (("report", "budgets"), ("report", "evictions")):
            for role in PEOPLE:
                must(self.command(role, *words))
        for name in self.nodes:
            self.offers(name, "17200", first)

        # An edit, in steps, and one that is refused twice: the second time its event is counted up.
        colocation.put_settings(self.api, {"enable": True, "cpuReclaimThresholdPercent": 50})
        for name in self.nodes:
            self.offers(name, "14k", first)
        for _ in range(2):
            colocation.put_settings(self.api, "{ broken")
            wait_for(lambda: first.metrics()["tidemark_manager_config_good"] == 0, "a refusal", first)
            colocation.put_settings(self.api, {"enable": True, "cpuReclaimThresholdPercent": 50})
            wait_for(lambda: first.metrics()["tidemark_manager_config_good"] == 1, "good settings", first)

        # The agents' objects are created, repaired, and deleted with the node.
        slo = f"{colocation.NODESLOS}/roles-1"
        for path in (slo, f"{colocation.NODEMETRICS}/roles-1"):
            self.api.request("DELETE", path)
            wait_for(lambda: self.api.request("GET", path).status == 200, f"{path} again", first)
        self.api.request("PATCH", slo, {"spec": {"resourceUsedThresholdWithBE": {"cpuSuppressThresholdPercent": 1}}}, content=MERGE)
        self.api.request("PATCH", f"{colocation.NODEMETRICS}/roles-1", {"spec": {"metricCollectPolicy": {"reportIntervalSeconds": 77}}}, content=MERGE)
        wait_for(lambda: "77" not in str(self.api.request("GET", f"{colocation.NODEMETRICS}/roles-1").get("spec", {})), "its own spec", first)
        colocation.put_metric(self.api, "roles-1", STATUS)
        self.api.request("DELETE", "/api/v1/nodes/roles-2")
        for kind in (colocation.NODESLOS, colocation.NODEMETRICS):
            wait_for(lambda: self.api.request("GET", f"{kind}/roles-2").status == 404, "the end of the node's objects", first)

        wait_for(lambda: all(self.api.request("GET", f"{SETTINGS}/{name}").status == 200 for name in LEARNED), "the first history", first)
        # Settings are removed, by a change of the ConfigMap and by its deletion.
        revision = first.metrics()["tidemark_settings_revision"]
        self.put_tidemark_config(OURS % 500)
        wait_for(lambda: first.metrics()["tidemark_settings_revision"] > revision, "another revision", first)
        for words in (("undo", "config"), ("undo", "config", "--to=1")):
            must(self.command("operator", *words, "--yes", "--wait=60s"))
        self.assertEqual(404, self.api.request("GET", f"{SETTINGS}/{TIDEMARK_CONFIG}").status)

        # Orders: off and on, with the numbers of the node; hold and resume; with reasons.
        self.command("operator", "off", "node", "roles-1", "--now", "--reason=test", "--wait=2s")  # --wait: the marks are watched
        for words in (
            ("on", "node", "roles-1", "--reason=test"),
            ("off", "cluster", "--now", "--yes", "--reason=test"), ("on", "cluster", "--yes", "--reason=test"),
            ("pause", "config"), ("resume", "config"),
            ("override", "cluster", "--cpu=50", "--for=1h", "--yes", "--reason=test", "--wait=20s"),
            ("override", "cluster", "--clear", "--yes", "--reason=test"),
        ):
            must(self.command("operator", *words))
        colocation.put_settings(self.api, {"enable": True})
        self.offers("roles-1", "17200", first)
        for words in (("explain", "node", "roles-1"), ("explain", "config", "roles-1"), ("list", "revisions"), ("report", "states"), ("report", "difference"), ("preview", "pool", "default")):
            for role in PEOPLE:
                must(self.command(role, *words))

        for role in PEOPLE:
            self.assertRegex(self.command(role, "check", "ledger", "--for=2s").stdout, "(?i)clean: [0-9]+ nodes, [1-9]")

        for role in PEOPLE:
            url = re.search(r"^console +(http://\S+)$", self.see_console(role).log, re.M)[1]
            with urllib.request.urlopen(f"{url}api/v1/yarn", timeout=30) as answer:  # lists events and leases
                self.assertNotIn("orbidden", answer.read().decode())

        # History, stored and published, and read by people.
        self.pod_of_a_deployment("roles-web", "roles-1")
        uses = {"name": "roles-web", "namespace": "default", "priority": "koord-prod", "qos": "LS", "podUsage": {"resources": {"cpu": "0", "memory": "0"}}}
        recommended = f"{RECOMMENDATIONS}/deployment-roles"
        self.put_tidemark_config(LEARNING % "true")

        def published() -> bool:
            colocation.put_metric(self.api, "roles-1", {**STATUS, "podsMetric": [uses]})
            found = self.api.request("GET", recommended)
            return found.status == 200 and bool(found.get("status.podStatus.containerStatuses"))
        wait_for(published, "a recommendation", first)
        self.put_tidemark_config(LEARNING % "false")
        wait_for(lambda: self.api.request("GET", recommended).status == 404, "its end", first)
        wait_for(lambda: history_writes(first) >= 8, "the history to be stored", first)
        # If a node backs off after evictions, its events are read too.
        self.put_tidemark_config(LEARNING.replace('"0s"', '"1s"') % "false")
        for role in PEOPLE:
            explained = lambda: json.loads(must(self.command(role, "explain", "node", "roles-1", "-o", "json")))
            wait_for(lambda: explained()["evictions"]["backOffSeconds"] == 1, "the new settings", first)
            self.assertFalse([note for note in explained()["notes"] if "could not be read" in note])
        self.put_tidemark_config(LEARNING % "false")

        # The leader stops, the other one takes over.
        carries = lambda: [self.api.request("GET", f"{SETTINGS}/{name}").get("metadata.annotations", {}).get("tidemark.io/capacity-epoch") for name in LEARNED]
        learned = carries()
        first.stop()
        wait_for(lambda: second.metrics()["tidemark_leader"] == 1, "the second manager to lead", second)
        wait_for(lambda: history_writes(second) >= 8, "its own epoch on what was learned", second)
        busy = json.loads(json.dumps(STATUS))
        busy["nodeMetric"]["systemUsage"]["resources"]["cpu"] = "12"
        colocation.put_metric(self.api, "roles-1", busy)
        self.offers("roles-1", "7200", second)
        # The second manager owns the first one's history now.
        self.put_tidemark_config(OURS % 600)
        wait_for(lambda: not set(carries()) & {None, *learned}, "the history to be taken over", second)
        # A node is oversold, and repaired by an order while no manager runs.
        self.nodes.append("roles-oversold")
        colocation.put_node(self.api, "roles-oversold", capacity=CAPACITY, labels={"gentle": "yes"})

        def offers() -> bool:
            colocation.put_metric(self.api, "roles-oversold", STATUS)  # a report that never changes sells nothing
            return bool(colocation.offered(self.api, "roles-oversold"))

        wait_for(offers, "an offer", second)
        too_much = {"kubernetes.io/batch-cpu": "30000", "kubernetes.io/batch-memory": "1Gi"}
        colocation.put_pod(self.api, "roles-oversold", {"name": "roles-too-much", "prio": "koord-batch", "qos": "BE", "requests": too_much, "phase": "Running"})
        taints = lambda: self.api.request("GET", "/api/v1/nodes/roles-oversold").get("spec.taints") or []
        wait_for(lambda: "tidemark.io/oversold" in str(taints()), "a taint", second)
        self.assertEqual(0, second.stop())
        must(self.command("operator", "off", "node", "roles-oversold", "--now", "--reason=test"))
        self.assertNotIn("tidemark.io/oversold", str(taints()))
        # Its pod is evicted, and deleted after the grace. It stays, because no kubelet ends it.
        evicted = self.command("operator", "off", "node", "roles-oversold", "--evict", "--grace=1s", "--yes", "--reason=test", "--wait=15s")
        self.assertEqual(1, evicted.returncode, evicted.stdout + evicted.stderr)
        for person in PEOPLE:
            must(self.command(person, "report", "off"))

    def test_roles_grant_exactly_what_is_needed(self):
        self.live()
        for account in (ACCOUNT, *PEOPLE):
            given = grants_of(self.rendered, account)
            asked, forbidden = asked_by(account, self.since)
            self.assertTrue(asked, "the audit log has no request of it")
            with self.subTest(account, question="what was forbidden"):
                self.assertEqual([], forbidden)
            with self.subTest(account, question="granted and not needed"):
                self.assertEqual([], spare(given, asked))

    def test_roles_are_enough_without_webhooks_and_with_given_certificates(self):
        folder = Path(self.folder) / "certificates"
        folder.mkdir()
        pki = Path(os.environ["TIDEMARK_TEST_CA_FILE"]).parent
        for name, file in (("tls.crt", "server.crt"), ("tls.key", "server.key"), ("ca.crt", "ca.crt")):
            (folder / name).write_bytes((pki / file).read_bytes())
        self.nodes = ["roles-5"]
        colocation.put_node(self.api, "roles-5", capacity=CAPACITY)
        colocation.put_metric(self.api, "roles-5", STATUS)
        colocation.put_settings(self.api, {"enable": True})
        for percent, webhooks in ((50, {"enabled": False}), (40, {"certificateSecret": "given"})):
            with self.subTest(webhooks):
                self.install({"webhooks": webhooks})
                component = self.start(folder)
                colocation.put_settings(self.api, {"enable": True, "cpuReclaimThresholdPercent": percent})
                self.offers("roles-5", {50: "14k", 40: "10800"}[percent], component)
                if webhooks.get("certificateSecret"):
                    wait_for(lambda: component.metrics().get("tidemark_webhook_registered") == 1, "the registration", component)
                colocation.put_settings(self.api, "{ broken")
                wait_for(lambda: component.metrics()["tidemark_events_sent_total"] > 0, "an event", component)
                self.assertEqual(0, component.stop())
                self.assertEqual([], asked_by(ACCOUNT, self.since)[1])
                self.assertNotIn("secrets", {grant.resource for grant in grants_of(self.rendered, ACCOUNT)})

    def test_an_observing_manager_may_write_nothing(self):
        """`manager.mode=observe`: it writes nothing, not even a lease or an event, so no right to write is granted."""
        self.install({"manager": {"mode": "observe", "logFormat": "text"}})
        self.nodes = ["roles-6"]
        colocation.put_settings(self.api, {"enable": True})
        self.put_tidemark_config(OURS % 600)
        colocation.put_node(self.api, "roles-6", capacity=CAPACITY)
        colocation.put_metric(self.api, "roles-6", STATUS)
        self.put_topology("roles-6")
        component = self.start()
        wait_for(lambda: component.metrics().get('tidemark_observed_wanted_batch_cpu_cores{pool="default"}') == 17.2, "a decision in observe mode", component)
        self.assertEqual(0, component.stop())
        asked, forbidden = asked_by(ACCOUNT, self.since)
        self.assertEqual([], forbidden)
        for what, grants in (("granted", grants_of(self.rendered, ACCOUNT)), ("asked for", asked)):
            with self.subTest(what):
                self.assertTrue(grants)
                self.assertEqual([], sorted(str(each) for each in grants if each.verb not in ("get", "list", "watch")))

    def test_a_viewer_can_change_nothing_and_gets_an_error(self):
        self.nodes = ["roles-3"]
        colocation.put_node(self.api, "roles-3", capacity=CAPACITY)
        done = self.command("viewer", "off", "node", "roles-3", "--now", "--reason=test")
        self.assertEqual(1, done.returncode)
        self.assertIn("forbidden", done.stdout + done.stderr)
        labels = self.api.request("GET", "/api/v1/nodes/roles-3").get("metadata.labels", {})
        self.assertNotIn("tidemark.io/state", labels)

    def test_a_manager_without_write_permission_reports_it_and_recovers(self):
        path = "/apis/rbac.authorization.k8s.io/v1/clusterroles/tidemark-manager"
        rules = self.api.request("GET", path).get("rules", [])
        self.api.request("PATCH", path, {"rules": [rule for rule in rules if rule["resources"] != ["nodes/status"]]}, content=MERGE)
        self.nodes = ["roles-4"]
        colocation.put_settings(self.api, {"enable": True})
        colocation.put_node(self.api, "roles-4", capacity=CAPACITY)
        colocation.put_metric(self.api, "roles-4", STATUS)
        component = self.start()
        wait_for(lambda: 'cannot patch resource \\"nodes/status\\"' in component.log, "the refusal in the log", component)
        self.assertEqual({}, colocation.offered(self.api, "roles-4"))
        self.api.request("PATCH", path, {"rules": rules}, content=MERGE)
        self.offers("roles-4", "17200", component)


if __name__ == "__main__":
    unittest.main()
