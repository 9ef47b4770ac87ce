"""`tidemark plan -f`: the predicted effect of other settings, compared with the real effect."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.test_manager import WithApi, amounts
from cluster.tidemark_process import wait_for


def manifest(name: str, **data: str) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})


class Plan(WithApi):
    def plan(self, *documents: str, more: tuple[str, ...] = ("-o", "json")) -> subprocess.CompletedProcess:
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "new.yaml"
            file.write_text("\n---\n".join(documents))
            return subprocess.run(
                [os.environ["TIDEMARK_BINARY"], "plan", "-f", str(file), "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], *more],
                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
            )

    def test_the_plan_equals_the_result(self):
        colocation.put_settings(self.api, {"enable": True})
        big = [self.node(f"plan-{i}", labels={"size": "big"}) for i in range(3)]
        small = self.node("plan-small")
        component = self.run_manager("--leader-elect=false")
        for node in [*big, small]:
            self.wait_offered(node, "17200", component)
        annotations = lambda node: must(self.api.request("GET", f"/api/v1/nodes/{node}")).get("metadata.annotations", {})
        for node in [*big, small]:  # the last write of a new node: its NodeSLO exists then
            wait_for(lambda: colocation.CONFIG_HASH in annotations(node), f"the hash on {node}", component)
        revision = lambda node: must(self.api.request("GET", f"/api/v1/nodes/{node}")).get("metadata.resourceVersion")
        before = revision(big[0])
        new = {"enable": True, "nodeConfigs": [{"name": "big", "nodeSelector": {"matchLabels": {"size": "big"}}, "cpuReclaimThresholdPercent": 80}]}
        ours = "schema: 1\nmode: enforce\nrollout: {pace: at-once}\npools:\n- name: large\n  nodeSelector: {matchLabels: {size: big}}\n"
        documents = (manifest("slo-controller-config", **{"colocation-config": json.dumps(new)}), manifest("tidemark-config", **{"config.yaml": ours}))

        done = self.plan(*documents)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        shown = json.loads(done.stdout)
        self.assertEqual([node["node"] for node in shown["nodes"]], [*big, small])
        self.assertEqual(shown["nodes"][3]["before"], shown["nodes"][3]["end"], "its offer stays")
        self.assertEqual(shown["nodes"][3]["nodeSlo"], ["agent"], "only the mode of its agent is new")
        self.assertEqual(shown["nodes"][0]["before"]["batchCpuMilli"], 17200)
        self.assertEqual(shown["nodes"][0]["after"]["batchCpuMilli"], 23600)
        self.assertEqual(shown["nodes"][0]["after"]["pool"], "large")
        self.assertEqual(shown["pools"]["large"]["after"]["batchCpuMilli"], 3 * 23600)
        self.assertEqual((shown["all"]["nodes"], shown["all"]["changed"]), (4, 4))
        self.assertEqual(revision(big[0]), before, "nothing is written")
        text = self.plan(*documents, more=("--limit", "1"))
        self.assertIn("plan-0 (default -> large): batch 17.2 -> 23.6 cores", text.stdout)
        self.assertIn("… and 3 nodes more", text.stdout)
        self.assertIn("pool large: 3 of 3 nodes change; batch 51.6 -> 70.8 cores", text.stdout)

        colocation.put_settings(self.api, new)
        for node in shown["nodes"][:3]:
            self.wait_offered(node["node"], str(node["after"]["batchCpuMilli"]), component)
        self.assertEqual(amounts(colocation.offered(self.api, small))["kubernetes.io/batch-cpu"], 17200)

    def test_a_node_that_is_off_offers_nothing_before_and_after(self):
        colocation.put_settings(self.api, {"enable": True})
        self.node("plan-on")
        off = self.node("plan-off")
        must(self.api.request("PATCH", f"/api/v1/nodes/{off}", {"metadata": {"labels": {"tidemark.io/state": "off"}}}, content=MERGE))
        done = self.plan(manifest("slo-controller-config", **{"colocation-config": json.dumps({"enable": True, "cpuReclaimThresholdPercent": 80})}))
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        shown = json.loads(done.stdout)
        self.assertEqual([node["node"] for node in shown["nodes"]], ["plan-on"])
        self.assertEqual((shown["all"]["off"], shown["all"]["after"]["batchCpuMilli"]), (1, 23600))

    def test_all_errors_of_a_file_are_reported_at_once(self):
        colocation.put_settings(self.api, {"enable": True})
        self.node("plan-wrong")
        bad = {"enable": True, "cpuReclaimThresholdPercent": -1, "degradeTimeMinutes": 0}
        ours = "schema: 1\nmode: sometimes\npools:\n- name: night\n  calendar: none-such\n"
        done = self.plan(manifest("slo-controller-config", **{"colocation-config": json.dumps(bad)}), manifest("tidemark-config", **{"config.yaml": ours}))
        self.assertEqual(done.returncode, 1, done.stdout)
        errors = "\n".join(json.loads(done.stdout)["errors"])
        for place in ("cpuReclaimThresholdPercent", "degradeTimeMinutes", "mode: ", "pools[0]"):
            self.assertIn(place, errors)
        for wrong, why in (("kind: Secret\nmetadata: {name: x}", "wanted ConfigMap slo-controller-config"), ("", "no ConfigMap"), ("a: [", "line")):
            done = self.plan(wrong, more=())
            self.assertEqual(done.returncode, 1)
            self.assertIn(why, done.stdout)


if __name__ == "__main__":
    unittest.main()
