"""Workload profiles on the real API server: learned, stored, shown, used for a pod that warms up, published."""

import json
import os
import subprocess
import unittest

from cluster import colocation
from cluster.colocation import MERGE, SETTINGS, TIDEMARK_CONFIG, must
from cluster.test_manager import WithApi, amounts
from cluster.tidemark_process import Component, wait_for

WORKLOAD = "default/Deployment/web"
RECOMMENDATIONS = "/apis/analysis.koordinator.sh/v1alpha1/namespaces/default/recommendations"
OURS = "app.kubernetes.io/managed-by"
FAST = "sampleEvery: 1s, storeEvery: 1s"
PUBLISH = "recommendations: {publish: true, knownHours: 1, marginPercent: 0, every: 1s}"


def config(profiles: str, more: str = "") -> str:
    return f"schema: 1\nmode: enforce\nrollout: {{pace: at-once}}\n{more}profiles: {{{profiles}}}\n"


def tidemark(*words: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [os.environ["TIDEMARK_BINARY"], *words, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
    )


class Profiles(WithApi):
    def setUp(self):
        colocation.delete_settings(self.api)
        colocation.put_settings(self.api, {"enable": True, "cpuReclaimThresholdPercent": 100})

    def tidemark_config(self, text: str) -> None:
        made = self.api.request("POST", SETTINGS, {"metadata": {"name": TIDEMARK_CONFIG}, "data": {"config.yaml": text}})
        if must(made, 201, 409).status == 409:
            must(self.api.request("PATCH", f"{SETTINGS}/{TIDEMARK_CONFIG}", {"data": {"config.yaml": text}}, content=MERGE))

    def pod(self, node: str, name: str, age_s: float = 0) -> None:
        """A pod of Deployment web: eight cores, of which its main container requests six."""
        containers = [
            {"name": container, "image": "none", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
            for container, cpu, memory in (("main", "6", "6Gi"), ("proxy", "2", "2Gi"))
        ]
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-7d9c6b5f4", "uid": "00000000-0000-0000-0000-000000000001", "controller": True}
        body = {
            "metadata": {"name": name, "labels": {"pod-template-hash": "7d9c6b5f4", "koordinator.sh/qosClass": "LS"}, "ownerReferences": [owner]},
            "spec": {"nodeName": node, "containers": containers},
        }
        must(self.api.request("POST", "/api/v1/namespaces/default/pods", body))
        status = {"phase": "Running", "startTime": colocation.time_stamp(age_s)}
        must(self.api.request("PATCH", f"/api/v1/namespaces/default/pods/{name}/status", {"status": status}, content=MERGE))

    def report(self, node: str, uses: dict[str, str]) -> None:
        nothing = {"resources": {"cpu": "0", "memory": "0"}}
        colocation.put_metric(self.api, node, {
            "nodeMetric": {"nodeUsage": nothing, "systemUsage": nothing},
            "podsMetric": [
                {"name": name, "namespace": "default", "priority": "koord-prod", "qos": "LS", "podUsage": {"resources": {"cpu": cpu, "memory": "1Gi"}}}
                for name, cpu in uses.items()
            ],
        })

    def learn(self, node: str, uses: dict[str, str], component: Component) -> None:
        """Reported repeatedly, until it is sampled and stored."""
        def stored() -> bool:
            self.report(node, uses)
            return component.metrics().get('tidemark_history_records{component="profiles"}', 0) >= 1
        wait_for(stored, "a stored profile", component)

    def test_history_is_shown_and_survives_the_manager(self):
        node = self.node("profile-1")
        self.pod(node, "web-1")
        component = self.run_manager("--leader-elect=false")
        self.report(node, {"web-1": "3"})
        self.assertEqual(404, self.api.request("GET", f"{SETTINGS}/{colocation.PROFILES[0]}").status, "nothing without a tidemark-config")
        self.assertEqual(1, tidemark("explain", "workload", WORKLOAD).returncode)
        self.tidemark_config(config(FAST))
        self.learn(node, {"web-1": "3"}, component)
        self.assertEqual(0, component.stop())

        reported = tidemark("explain", "workload", WORKLOAD, "-o", "json")
        self.assertEqual(0, reported.returncode, reported.stderr)
        profile = json.loads(reported.stdout)
        self.assertEqual((profile["workload"], profile["podsNow"]), (WORKLOAD, 1))
        self.assertGreaterEqual(profile["all"]["p95"]["cpuMilli"], 3000)
        self.assertLessEqual(profile["all"]["p95"]["cpuMilli"], 3180)
        self.assertGreaterEqual(profile["all"]["max"]["memoryBytes"], 2**30)
        text = tidemark("explain", "workload", WORKLOAD)
        self.assertIn("use of one of its pods", text.stdout)
        self.assertEqual(2, tidemark("explain", "workload", "web").returncode)
        self.assertEqual(1, tidemark("explain", "workload", "default/Deployment/other").returncode)

        component = self.run_manager("--leader-elect=false")
        wait_for(lambda: component.metrics().get('tidemark_history_records{component="profiles"}') == 1, "what was stored", component)

    def test_an_unreadable_record_is_reported_and_removed(self):
        node = self.node("profile-2")
        self.pod(node, "web-1")
        self.tidemark_config(config(FAST))
        component = self.run_manager("--leader-elect=false")
        self.learn(node, {"web-1": "3"}, component)
        self.assertEqual(0, component.stop())
        shard = f"{SETTINGS}/{colocation.PROFILES[3]}"
        must(self.api.request("PATCH", shard, {"data": {"0123456789abcdef": "by hand"}}, content=MERGE))
        component = self.run_manager("--leader-elect=false")
        wait_for(lambda: "0123456789abcdef" not in (self.api.request("GET", shard).get("data") or {}), "its removal", component)
        wait_for(lambda: component.metrics().get('tidemark_history_refused_total{component="profiles"}') == 1, "its count", component)
        events = lambda: self.api.request("GET", "/api/v1/namespaces/koordinator-system/events").get("items", [])
        wait_for(lambda: any(event["reason"] == "TidemarkHistoryUnreadable" for event in events()), "an event", component)
        self.assertEqual(0, tidemark("explain", "workload", WORKLOAD).returncode)

    def test_a_young_pod_counts_with_its_request_until_it_is_warm(self):
        node = self.node("profile-3")
        self.pod(node, "web-1")
        self.tidemark_config(config(FAST, more="profile: tidemark\nwarmUp: 24h\nmotion: {slewPermillePerMinute: 1000}\n"))
        component = self.run_manager("--leader-elect=false")

        def offers_at_most(cores: int) -> bool:
            self.report(node, {"web-1": "1"})
            batch = (amounts(colocation.offered(self.api, node)) or {}).get("kubernetes.io/batch-cpu")
            return batch is not None and 0 < batch <= cores * 1000
        wait_for(lambda: offers_at_most(24), "an offer without the eight cores that it requests", component)
        reported = json.loads(tidemark("explain", "node", node, "-o", "json").stdout)
        self.assertEqual(1, reported["warmUp"]["pods"])
        self.assertGreater(reported["warmUp"]["addedCpuMilli"], 6000)
        self.assertTrue({"TM-SAFE-010", "TM-SAFE-011"} & {each["id"] for each in reported["safeguards"]})
        [young] = reported["youngPods"]
        self.assertEqual(("default/web-1", WORKLOAD), (young["pod"], young["workload"]))
        self.assertIn("because pods warm up", tidemark("explain", "node", node).stdout)

    def test_recommendations_are_published_on_request_and_foreign_ones_stay(self):
        foreign = {
            "apiVersion": "analysis.koordinator.sh/v1alpha1", "kind": "Recommendation", "metadata": {"name": "deployment-api"},
            "spec": {"target": {"type": "workload", "workload": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "api"}}},
        }
        must(self.api.request("POST", RECOMMENDATIONS, foreign))
        self.addCleanup(self.api.request, "DELETE", f"{RECOMMENDATIONS}/deployment-api")
        self.addCleanup(self.api.request, "DELETE", f"{RECOMMENDATIONS}/deployment-web")
        before = self.api.request("GET", f"{RECOMMENDATIONS}/deployment-api").get("metadata.resourceVersion")
        node = self.node("profile-4")
        self.pod(node, "web-1")
        self.tidemark_config(config(FAST))
        component = self.run_manager("--leader-elect=false")
        self.learn(node, {"web-1": "4"}, component)
        self.assertEqual(404, self.api.request("GET", f"{RECOMMENDATIONS}/deployment-web").status, "not requested")
        self.tidemark_config(config(f"{FAST}, {PUBLISH}"))
        published = lambda: self.api.request("GET", f"{RECOMMENDATIONS}/deployment-web")
        reported = lambda found: found.status == 200 and found.get("status.podStatus.containerStatuses")
        wait_for(lambda: reported(published()), "a recommendation", component)
        made = published()
        self.assertEqual(made.get("metadata.labels"), {OURS: "tidemark-manager"})
        self.assertEqual(made.get("spec.target"), {"type": "workload", "workload": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}})
        containers = made.get("status.podStatus.containerStatuses")
        self.assertEqual(["main", "proxy"], [each["containerName"] for each in containers])
        cpu = [int(each["resources"]["cpu"].removesuffix("m")) if each["resources"]["cpu"].endswith("m") else 1000 * int(each["resources"]["cpu"]) for each in containers]
        self.assertTrue(4000 <= sum(cpu) <= 4240, cpu)
        self.assertAlmostEqual(sum(cpu) * 3 / 4, cpu[0], delta=1, msg="as they request")
        self.assertEqual("Recommended", made.get("status.conditions")[0]["type"])

        self.tidemark_config(config(FAST))
        wait_for(lambda: published().status == 404, "its end", component)
        self.assertEqual(before, self.api.request("GET", f"{RECOMMENDATIONS}/deployment-api").get("metadata.resourceVersion"))


if __name__ == "__main__":
    unittest.main()
