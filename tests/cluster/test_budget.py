"""Evictions on a real API server: counted as the eviction API leaves them. A spike stops the offers of a pool, an operator resumes
them, and a new manager continues with the stored counts."""

import datetime
import json
import os
import subprocess
import tempfile

from cluster import colocation
from cluster.colocation import BUDGETS, MERGE, SETTINGS, TIDEMARK_CONFIG, must
from cluster.manager_case import WithManager
from cluster.tidemark_process import Component, wait_for

CAPACITY = {"cpu": "32", "memory": "128Gi", "pods": "110"}
STATUS = {
    "nodeMetric": {
        "nodeUsage": {"resources": {"cpu": "2", "memory": "4Gi"}},
        "systemUsage": {"resources": {"cpu": "2", "memory": "4Gi"}},
    },
    "podsMetric": [],
}
FAST = ("--leader-elect=false", "--kube-api-qps=500", "--kube-api-burst=500")
PODS = "/api/v1/namespaces/default/pods"
BATCH_CPU = "kubernetes.io/batch-cpu"
AT_LEAST = 4
CONFIG = {
    "schema": 1, "mode": "enforce", "rollout": {"pace": "at-once"}, "classes": [{"name": "spark", "order": 1}],
    "pools": [{"name": "night", "nodeSelector": {"matchLabels": {"pool": "night"}}}],
    "evictions": {"perJobHour": 3, "breaker": {"atLeast": AT_LEAST, "ratePercent": 10}},
}


class Budgets(WithManager):
    def setUp(self):
        colocation.put_settings(self.api, {"enable": True, "cpuReclaimThresholdPercent": 60})
        self.nodes = ["budget-day", "budget-night-1", "budget-night-2"]
        for name in self.nodes:
            colocation.put_node(self.api, name, capacity=CAPACITY, labels={"pool": "night"} if "night" in name else {})
            colocation.put_metric(self.api, name, STATUS)

    def put_config(self, config: dict = CONFIG) -> None:
        made = {"metadata": {"name": TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(config)}}
        must(self.api.request("POST", SETTINGS, made), 201)

    def put_batch(self, name: str, node: str, job: str, cores: str = "1000") -> None:
        requests = {BATCH_CPU: cores, "kubernetes.io/batch-memory": "1Gi"}
        colocation.put_pod(self.api, node, {"name": name, "prio": "koord-batch", "qos": "BE", "requests": requests, "phase": "Running"})
        labels = {"tidemark.io/job": job, "tidemark.io/class": "spark"}
        must(self.api.request("PATCH", f"{PODS}/{name}", {"metadata": {"labels": labels}}, content=MERGE))

    def evict(self, name: str) -> None:
        """By the eviction subresource; then as a kubelet does when the pod has ended."""
        eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "default"}}
        must(self.api.request("POST", f"{PODS}/{name}/eviction", eviction), 200, 201)
        must(self.api.request("PATCH", f"{PODS}/{name}/status", {"status": {"phase": "Failed"}}, content=MERGE))
        self.api.request("DELETE", f"{PODS}/{name}", gracePeriodSeconds=0)

    def offers(self, node: str) -> str | None:
        return colocation.offered(self.api, node).get(BATCH_CPU)

    def wait_offer(self, node: str, amount: str, component: Component) -> None:
        wait_for(lambda: self.offers(node) == amount, f"{amount} on {node}", component)

    def ended(self, component: Component, reason: str, pool: str = "night") -> float:
        return component.metrics().get(f'tidemark_tasks_ended_total{{class="spark",pool="{pool}",reason="{reason}"}}', 0)

    def phase(self, component: Component, pool: str = "night") -> float | None:
        return component.metrics().get(f'tidemark_pool_breaker_phase{{pool="{pool}"}}')

    def stored(self) -> dict:
        """The budget of each pool by name; empty before the first write."""
        found = self.api.request("GET", f"{SETTINGS}/{BUDGETS}")
        text = found.get("data", {}).get("state.json") if found.status == 200 else None
        return {pool["name"]: pool for pool in json.loads(text)["pools"]} if text else {}

    def condition(self, node: str) -> str | None:
        for each in must(self.api.request("GET", f"/api/v1/nodes/{node}")).get("status.conditions", []):
            if each["type"] == "TidemarkCoLocation":
                return f"{each['status']} {each['reason']}"
        return None

    def command(self, *words: str, status: int = 0) -> str:
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], *words, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90,
        )
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_a_spike_stops_the_pool_across_a_restart_until_resumed(self):
        self.put_config()
        self.put_batch("budget-stays", "budget-night-1", "stays", "3000")
        component = self.run_manager(*FAST)
        for node in self.nodes:
            self.wait_offer(node, "17200", component)
        wait_for(lambda: self.phase(component) == 0, "a closed breaker", component)
        self.assertIn("not stopped", self.command("resume", "pool", "night", status=1))
        self.assertIn("there are: default, night", self.command("resume", "pool", "nigth", status=1))

        victims = [f"budget-victim-{i}" for i in range(AT_LEAST)]
        for i, name in enumerate(victims):
            self.put_batch(name, "budget-night-2", "greedy" if i < 3 else "other")
        for name in victims:
            self.evict(name)
        wait_for(lambda: self.ended(component, "api") == AT_LEAST, "each eviction counted once", component)
        wait_for(lambda: self.phase(component) == 1, "an open breaker", component)
        self.wait_offer("budget-night-1", "3k", component)
        self.wait_offer("budget-night-2", "0", component)
        self.assertEqual("17200", self.offers("budget-day"), "another pool continues to sell")
        wait_for(lambda: self.condition("budget-night-1") == "False EvictionSpike", "the condition", component)
        wait_for(lambda: self.stored().get("night", {}).get("breaker", {}).get("phase") == "open", "it stored", component)
        wait_for(lambda: "default/greedy" in self.stored()["night"]["jobsExhausted"], "the job that used up its share", component)
        explained = json.loads(self.command("explain", "node", "budget-night-1", "-o", "json"))
        self.assertIn("TM-BUDGET-002", json.dumps(explained))
        shown = json.loads(self.command("report", "budgets", "-o", "json"))
        self.assertEqual({"default": "closed", "night": "open"}, {pool["pool"]: pool["breaker"]["phase"] for pool in shown["pools"]})
        self.assertIn("sells nothing new", self.command("report", "budgets", "--pool", "night"))
        evictions = json.loads(self.command("report", "evictions", "-o", "json"))
        self.assertEqual([("night", "spark", AT_LEAST)], [
            (each["pool"], each["class"], each["lastDay"]["evicted"]) for each in evictions["classes"] if each["lastDay"]["evicted"]
        ])

        # The manager is killed; meanwhile a task ends, and the next manager does not sell its amount again.
        component.kill()
        must(self.api.request("PATCH", f"{PODS}/budget-stays/status", {"status": {"phase": "Succeeded"}}, content=MERGE))
        component = self.run_manager(*FAST)
        self.wait_offer("budget-night-1", "0", component)
        wait_for(lambda: self.phase(component) == 1, "the breaker still open", component)
        self.assertEqual(0, self.ended(component, "api"), "evictions are not counted twice")

        self.command("resume", "pool", "night", "--reason=found it", "--wait=60s")
        self.wait_offer("budget-night-1", "17200", component)
        self.wait_offer("budget-night-2", "17200", component)
        wait_for(lambda: self.condition("budget-night-1") == "True On", "the condition", component)
        self.assertEqual("probation", self.stored()["night"]["breaker"]["phase"])

    def test_the_nodeslo_carries_the_eviction_grant_of_each_node(self):
        self.put_config({**CONFIG, "evictions": {"perPoolHour": 40, "grants": True}})
        slo = lambda node: self.api.request("GET", f"{colocation.NODESLOS}/{node}")
        shown = lambda node: (slo(node).get("spec.extensions.Object", {}) or {}).get("tidemark", {}).get("evictions", {}).get("perHour")
        component = self.run_manager(*FAST)
        wait_for(lambda: [shown(node) for node in self.nodes] == [40, 20, 20], "their parts", component)
        before = [slo(node).get("metadata.resourceVersion") for node in self.nodes]
        # The same for another process, which has only the NodeSLOs.
        component.kill()
        component = self.run_manager(*FAST)
        granted = 'tidemark_pool_evictions_granted{pool="night"}'
        wait_for(lambda: component.metrics().get(granted) == 40, "the grant, read again", component)
        self.assertEqual(before, [slo(node).get("metadata.resourceVersion") for node in self.nodes])
        must(self.api.request("PATCH", f"{SETTINGS}/{TIDEMARK_CONFIG}", {"data": {"config.yaml": json.dumps(CONFIG)}}, content=MERGE))
        wait_for(lambda: [shown(node) for node in self.nodes] == [None] * 3, "no grant in the NodeSLOs", component)
        self.assertEqual({"schema", "agent"}, set(slo("budget-day").get("spec.extensions.Object.tidemark")), "the mode of the agent stays")

    def test_yarn_operator_gets_its_grant_and_its_ended_containers_count(self):
        self.put_config({**CONFIG, "ledger": {"mode": "strict", "classAware": True}, "evictions": {"perPoolHour": 8, "grants": True}})
        component = self.run_manager(*FAST)

        def granted() -> dict:
            found = self.api.request("GET", f"{SETTINGS}/{BUDGETS}")
            text = found.get("data", {}).get("grants.json") if found.status == 200 else None
            return {pool["name"]: pool["yarnOperator"]["perHour"] for pool in json.loads(text)["pools"]} if text else {}

        wait_for(lambda: granted() == {"default": 2, "night": 2}, "its parts", component)
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
        ended = {"schema": 1, "ends": [{"at": now, "class": "spark", "evicted": 8}]}
        body = {"metadata": {"annotations": {"tidemark.io/yarn-given-back": json.dumps(ended)}}}
        must(self.api.request("PATCH", "/api/v1/nodes/budget-night-1", body, content=MERGE))
        wait_for(lambda: self.stored().get("night", {}).get("exhausted"), "an exhausted hour", component)
        self.assertEqual((0, False), (self.phase(component), self.stored()["default"]["exhausted"]), "no spike, and no other pool is exhausted")
        shown = self.command("report", "budgets", "--pool", "night")
        self.assertRegex(shown, r"(?m)^  given back by YARN to more timely work: 8 in the last hour; granted to its operator: 2 an hour until ")
        self.assertIn("TM-BUDGET-009", shown)

    def test_draining_a_cordoned_node_is_no_spike(self):
        self.put_config()
        victims = [f"budget-victim-{i}" for i in range(AT_LEAST + 1)]
        for name in victims:
            self.put_batch(name, "budget-night-2", "job")
        must(self.api.request("PATCH", "/api/v1/nodes/budget-night-2", {"spec": {"unschedulable": True}}, content=MERGE))
        component = self.run_manager(*FAST)
        wait_for(lambda: self.phase(component) == 0, "a closed breaker", component)
        for name in victims:
            self.evict(name)
        wait_for(lambda: self.ended(component, "drained") == len(victims), "all evictions counted", component)
        # Evictions that count come later than these: if they are seen, these were seen too.
        self.put_batch("budget-last", "budget-night-1", "job")
        self.evict("budget-last")
        wait_for(lambda: self.stored().get("night", {}).get("breaker") == {"phase": "closed"}, "the breaker to stay closed", component)
        self.assertEqual(0, self.phase(component))

    def assert_explained(self, told_by: str, *words: str) -> None:
        explained = json.loads(self.command("explain", "node", "budget-night-1", "-o", "json", *words))
        self.assertRegex(explained["evictions"]["last"]["toldBy"], told_by)
        if explained["evictions"]["last"]["backsOffSeconds"] > 0:  # a slow machine may be too late
            self.assertEqual(("TM-BUDGET-017", 3000), (explained["offer"]["backsOff"]["reason"]["id"], explained["publish"][BATCH_CPU]))

    def test_after_an_eviction_the_node_does_not_raise_its_offer_for_a_while(self):
        self.put_config({**CONFIG, "evictions": {"backOff": "12s"}})
        self.put_batch("budget-stays", "budget-night-1", "stays", "3000")
        self.put_batch("budget-victim", "budget-night-1", "job")
        journal = self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-journal-"))
        component = self.run_manager(*FAST, "--journal-dir", journal)
        for node in self.nodes:
            self.wait_offer(node, "17200", component)
        self.evict("budget-victim")
        self.wait_offer("budget-night-1", "3k", component)
        self.assertEqual("17200", self.offers("budget-night-2"), "another node continues to sell")
        shown = lambda: [
            each["message"] for each in must(self.api.request("GET", "/api/v1/namespaces/default/events"))["items"]
            if each["reason"] == "TidemarkBacksOff" and each["involvedObject"]["name"] == "budget-night-1"
        ]
        wait_for(shown, "an event on the node", component)
        self.assertIn("12 s in pool night", shown()[0])
        self.assert_explained("^Event default/budget-night-1")

        # Without that event only the manager knows, and its journal.
        must(self.api.request("DELETE", "/api/v1/namespaces/default/events", fieldSelector="involvedObject.name=budget-night-1"))
        asked = json.loads(self.command("explain", "node", "budget-night-1", "-o", "json"))
        self.assertIsNone(asked["evictions"]["last"])
        self.assertTrue([note for note in asked["notes"] if "only the manager's journal has it" in note], asked["notes"])
        self.assert_explained("^the manager's journal$", "--journal-dir", journal)
        self.wait_offer("budget-night-1", "17200", component)

    def test_without_our_settings_it_only_counts(self):
        component = self.run_manager(*FAST)
        self.wait_offer("budget-night-2", "17200", component)
        for i in range(AT_LEAST):
            self.put_batch(f"budget-victim-{i}", "budget-night-2", "job")
            self.evict(f"budget-victim-{i}")
        name = 'tidemark_tasks_ended_total{class="other",pool="default",reason="api"}'
        wait_for(lambda: component.metrics().get(name, 0) == AT_LEAST, "all evictions counted", component)
        self.assertEqual(404, self.api.request("GET", f"{SETTINGS}/{BUDGETS}").status)
        self.assertEqual("17200", self.offers("budget-night-2"))
