"""Reclaim from less timely work on a real API server: transcode pods hold a node, Spark waits in YARN. The node's NodeSLO names the
amount to reclaim, and YARN's side grows afterwards. A class that is switched off is reclaimed completely."""

import json
import os
import subprocess
import time

from cluster import colocation
from cluster.colocation import MERGE, NODESLOS, SETTINGS, TIDEMARK_CONFIG, must
from cluster.manager_case import WithManager
from cluster.tidemark_process import wait_for

CAPACITY = {"cpu": "32", "memory": "128Gi", "pods": "110"}
STATUS = {
    "nodeMetric": {
        "nodeUsage": {"resources": {"cpu": "2", "memory": "4Gi"}},
        "systemUsage": {"resources": {"cpu": "2", "memory": "4Gi"}},
    },
    "podsMetric": [],
}
FAST = ("--leader-elect=false", "--kube-api-qps=500", "--kube-api-burst=500")
NODE = "reclaim-node"
PODS = "/api/v1/namespaces/default/pods"
BATCH_CPU, BATCH_MEMORY = "kubernetes.io/batch-cpu", "kubernetes.io/batch-memory"
BOOK, OFFER, RECLAIM = "tidemark.io/yarn-book", "tidemark.io/yarn-offer", "tidemark.io/yarn-reclaim"
CONFIG = {
    "schema": 1, "mode": "enforce", "rollout": {"pace": "at-once"}, "ledger": {"mode": "strict", "classAware": True},
    "classes": [{"name": "transcode", "order": 1}, {"name": "spark", "order": 3}],
}


class Reclaim(WithManager):
    def setUp(self):
        colocation.put_settings(self.api, {"enable": True, "cpuReclaimThresholdPercent": 60})
        self.nodes = [NODE]
        colocation.put_node(self.api, NODE, capacity=CAPACITY)
        colocation.put_metric(self.api, NODE, STATUS)
        made = {"metadata": {"name": TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(CONFIG)}}
        must(self.api.request("POST", SETTINGS, made), 201)

    def put_batch(self, name: str, cores: str) -> None:
        requests = {BATCH_CPU: cores, BATCH_MEMORY: "1Gi"}
        colocation.put_pod(self.api, NODE, {"name": name, "prio": "koord-batch", "qos": "BE", "requests": requests, "phase": "Running"})
        labels = {"tidemark.io/class": "transcode"}
        must(self.api.request("PATCH", f"{PODS}/{name}", {"metadata": {"labels": labels}}, content=MERGE))

    def annotations(self) -> dict:
        return must(self.api.request("GET", f"/api/v1/nodes/{NODE}")).get("metadata.annotations") or {}

    def offer(self) -> dict:
        """The offer to YARN; empty if there is none."""
        return json.loads(self.annotations().get(OFFER, "{}"))

    def yarn_cpu(self) -> str | None:
        return self.offer().get("resources", {}).get(BATCH_CPU)

    def put_book(self, waiting: str | None = None, cores: str = "0", holds: str | None = None) -> None:
        """Plays YARN's operator: it acts on the offer, and reports waiting work and what transcode holds."""
        offer = self.offer()
        sold = [] if holds is None else [{"class": "transcode", "resources": {BATCH_CPU: holds, BATCH_MEMORY: "1Gi"}}]
        book = {
            "schema": 1, "generation": offer.get("generation", 0), "sold": sold,
            "confirmed": offer.get("resources", {BATCH_CPU: "0", BATCH_MEMORY: "0"}),
        }
        if waiting is not None:
            book |= {"waiting": waiting, "waitingFor": {BATCH_CPU: cores, BATCH_MEMORY: "1Gi"}}
        body = {"metadata": {"annotations": {BOOK: json.dumps(book)}}}
        must(self.api.request("PATCH", f"/api/v1/nodes/{NODE}", body, content=MERGE))

    def shown(self) -> list[dict]:
        """The amounts to reclaim from pods, as in the NodeSLO."""
        found = self.api.request("GET", f"{NODESLOS}/{NODE}")
        extensions = found.get("spec.extensions") if found.status == 200 else None
        return ((extensions or {}).get("Object", {}).get("tidemark", {}).get("reclaim") or {}).get("classes", [])

    def command(self, *words: str, status: int = 0) -> str:
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], *words, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=90,
        )
        self.assertEqual(status, done.returncode, done.stdout + done.stderr)
        return done.stdout if status == 0 else done.stderr

    def test_transcode_is_reclaimed_for_spark_and_then_yarn_grows(self):
        for name in ("reclaim-1", "reclaim-2", "reclaim-3"):
            self.put_batch(name, "4000")
        self.put_book()
        component = self.run_manager(*FAST)
        wait_for(lambda: self.yarn_cpu() == "2600", "half of the idle amount for YARN", component)
        self.put_book("spark", "10000")
        wait_for(lambda: [(each["class"], each["giveBack"][BATCH_CPU], each["keep"][BATCH_CPU]) for each in self.shown()]
                 == [("transcode", "4800", "7200")], "the reclaim in the NodeSLO", component)
        wait_for(lambda: colocation.offered(self.api, NODE).get(BATCH_CPU) == "7200", "no new offer in its place", component)
        self.assertNotIn(self.yarn_cpu(), ("10k", "13200"), "no growth before the reclaim")
        explained = json.loads(self.command("explain", "node", NODE, "-o", "json"))
        gives = explained["offer"]["ledger"]["kubernetes"]["givesBack"][0]
        self.assertEqual(("transcode", "TM-LEDGER-009"), (gives["class"], gives["reason"]["id"]))
        # The agent obeys.
        for name in ("reclaim-1", "reclaim-2"):
            self.api.request("DELETE", f"{PODS}/{name}", gracePeriodSeconds=0)

        def grown() -> bool:
            self.put_book("spark", "10000")  # each offer is confirmed
            return self.yarn_cpu() == "13200"

        wait_for(grown, "YARN's side grown by the reclaimed amount", component)
        wait_for(lambda: self.shown() == [], "no more to reclaim", component)

    def test_yarn_gets_the_reclaim_beside_its_offer_until_the_pod_is_bound(self):
        self.put_book(holds="12000")
        component = self.run_manager(*FAST)
        wait_for(lambda: self.yarn_cpu() is not None, "a first offer", component)
        amounts = {BATCH_CPU: "9000", BATCH_MEMORY: "1Gi"}
        must(self.api.request("POST", PODS, {
            "metadata": {"name": "reclaim-waits", "labels": {"koordinator.sh/qosClass": "BE", "koordinator.sh/priority-class": "koord-batch", "tidemark.io/class": "spark"}},
            "spec": {"containers": [{"name": "main", "image": "none", "resources": {"requests": amounts, "limits": amounts}}]},
        }), 201)

        def asked() -> list:
            found = json.loads(self.annotations().get(RECLAIM, "{}"))
            return [(each["class"], each["keep"][BATCH_CPU], found["generation"]) for each in found.get("reclaim", [])]

        wait_for(lambda: asked() == [("transcode", "8200", self.offer()["generation"])], "the reclaim from YARN", component)
        self.assertEqual({"schema", "generation", "resources", "upTo"}, set(self.offer()), "only the fields that the previous version reads")
        # YARN obeys in part: only the rest is requested.
        self.put_book(holds="10000")
        wait_for(lambda: colocation.offered(self.api, NODE).get(BATCH_CPU) == "7200", "the free amount for the pod", component)
        self.assertEqual([("transcode", "8200")], [each[:2] for each in asked()])
        self.put_book(holds="8200")
        wait_for(lambda: colocation.offered(self.api, NODE).get(BATCH_CPU) == "9k", "room for the pod", component)
        wait_for(lambda: asked() == [], "no more to reclaim", component)
        must(self.api.request("POST", f"{PODS}/reclaim-waits/binding", {
            "apiVersion": "v1", "kind": "Binding", "metadata": {"name": "reclaim-waits"}, "target": {"kind": "Node", "name": NODE},
        }), 201)
        end = time.monotonic() + 8
        while time.monotonic() < end:
            self.assertEqual([], asked(), "a bound pod would be counted twice")
            time.sleep(0.1)

    def test_a_class_that_is_off_is_cut_and_reclaimed_and_must_exist(self):
        self.put_batch("reclaim-1", "4000")
        component = self.run_manager(*FAST)
        wait_for(lambda: colocation.offered(self.api, NODE).get(BATCH_CPU) == "17200", "a first offer", component)
        refused = self.command("off", "node", NODE, "--only", "class=transcoding", "--reason", "a test", status=2)
        self.assertIn("did you mean transcode?", refused)
        self.command("off", "node", NODE, "--only", "class=transcode", "--now", "--reason", "a test")
        wait_for(lambda: colocation.offered(self.api, NODE).get(BATCH_CPU) == "13200", "the cut by its held amount", component)
        wait_for(lambda: [(each["class"], each["keep"][BATCH_CPU], each["reason"]) for each in self.shown()]
                 == [("transcode", "0", "TM-STATE-027")], "the reclaim of all of it", component)
        self.command("on", "node", NODE, "--only", "class=transcode", "--reason", "a test")
        wait_for(lambda: colocation.offered(self.api, NODE).get(BATCH_CPU) == "17200", "what it was", component)
        wait_for(lambda: self.shown() == [], "nothing to reclaim", component)
