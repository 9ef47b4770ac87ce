"""Edits of the settings on a real API server: canary nodes first, then a number of nodes per minute; paused by evictions, undone by a
command, continued after a kill."""

import json
import os
import subprocess
import time
import unittest

from cluster import colocation
from cluster.colocation import CONFIG_HASH, MERGE, REVISIONS, SETTINGS, TIDEMARK_CONFIG, must
from cluster.manager_case import WithManager
from cluster.tidemark_process import Component, wait_for
from support.patience import PATIENCE_S

CAPACITY = {"cpu": "32", "memory": "128Gi", "pods": "110"}
STATUS = {
    "nodeMetric": {
        "nodeUsage": {"resources": {"cpu": "2", "memory": "4Gi"}},
        "systemUsage": {"resources": {"cpu": "2", "memory": "4Gi"}},
    },
    "podsMetric": [],
}
LEFT = {60: 17200, 50: 14000, 40: 10800}  # milli-cores for batch of 32 cores, 2 in use, by the share that may be used
CANARIES = 5
OTHERS = 55
FAST = ("--leader-elect=false", "--kube-api-qps=500", "--kube-api-burst=500")


def settings_text(**rollout) -> str:
    """JSON is YAML too."""
    return json.dumps({
        "schema": 1,
        "mode": "enforce",
        "pools": [{"name": "canary", "nodeSelector": {"matchLabels": {"stage": "canary"}}, "canary": True}],
        "rollout": rollout,
    })


def reclaim(percent: int) -> dict:
    return {"enable": True, "cpuReclaimThresholdPercent": percent}


class Rollouts(WithManager):
    def setUp(self):
        colocation.put_settings(self.api, reclaim(60))
        self.canaries = [f"rollout-canary-{i}" for i in range(CANARIES)]
        self.others = [f"rollout-{i}" for i in range(OTHERS)]
        self.nodes = [*self.canaries, *self.others]
        for name in self.nodes:
            colocation.put_node(self.api, name, capacity=CAPACITY, labels={"stage": "canary"} if name in self.canaries else {})
            colocation.put_metric(self.api, name, STATUS)

    def put_tidemark_config(self, text: str) -> None:
        data = {"config.yaml": text}
        made = self.api.request("POST", SETTINGS, {"metadata": {"name": TIDEMARK_CONFIG}, "data": data})
        if must(made, 201, 409).status == 409:
            must(self.api.request("PATCH", f"{SETTINGS}/{TIDEMARK_CONFIG}", {"data": data}, content=MERGE))

    def look(self) -> dict[str, tuple[int, str]]:
        """Of each node of this test: the batch-cpu that it offers, and the hash of the settings it carries."""
        found = {}
        for node in must(self.api.request("GET", "/api/v1/nodes")).get("items", []):
            if node["metadata"]["name"] in self.nodes:
                amount = node["status"].get("allocatable", {}).get("kubernetes.io/batch-cpu", "0")
                milli = int(amount[:-1]) * 1000 if amount.endswith("k") else int(amount)
                found[node["metadata"]["name"]] = (milli, node["metadata"].get("annotations", {}).get(CONFIG_HASH, ""))
        return found

    def with_percent(self, percent: int) -> set[str]:
        return {name for name, (milli, _) in self.look().items() if milli == LEFT[percent]}

    def stored(self) -> dict:
        """The stored revisions: settings are in force before they are stored, and at first none are."""
        data = self.api.request("GET", f"{SETTINGS}/{REVISIONS}").get("data", {})
        return {key: json.loads(text) for key, text in data.items()}

    def stored_layers(self) -> list[str]:
        return [layer["revision"] for layer in self.stored().get("state", {}).get("layers", [])]

    def events(self, about: str) -> list[str]:
        listed = self.api.request("GET", "/api/v1/namespaces/koordinator-system/events").get("items", [])
        return [event["reason"] for event in listed if event["involvedObject"]["name"] == about]

    def start(self, config: str | None, *more: str) -> Component:
        if config is not None:
            self.put_tidemark_config(config)
        component = self.run_manager(*(more or FAST))
        wait_for(lambda: len(self.with_percent(60)) == len(self.nodes), "the first settings on every node", component)
        return component

    def command(self, *words: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [os.environ["TIDEMARK_BINARY"], *words, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
        )

    def run_command(self, *words: str) -> str:
        done = self.command(*words)
        self.assertEqual(0, done.returncode, done.stderr)
        return done.stdout

    def wait_decisions(self, component: Component) -> None:
        """The first pass after now may use older data; the second does not."""
        decisions = lambda: component.metrics().get("tidemark_settings_rollout_decisions_total", 0)
        wanted = decisions() + 2
        wait_for(lambda: decisions() >= wanted, "two more decisions", component)

    def evict(self, node: str, count: int) -> None:
        """Online pods as a kubelet under pressure leaves them."""
        for i in range(count):
            name = f"evicted-{node}-{time.monotonic_ns()}-{i}"
            pod = {"name": name, "prio": "koord-prod", "qos": "LS", "requests": {}, "phase": "Running"}
            colocation.put_pod(self.api, node, pod)
            status = {"phase": "Failed", "reason": "Evicted", "message": "The node was low on resource: memory."}
            must(self.api.request("PATCH", f"/api/v1/namespaces/default/pods/{name}/status", {"status": status}, content=MERGE))

    def test_canary_nodes_first_then_a_number_per_minute(self):
        component = self.start(settings_text(nodesPerMinute=240, canarySoak="4s"))
        began = time.monotonic()
        colocation.put_settings(self.api, reclaim(50))
        reached: list[tuple[float, int]] = []
        others_at = None
        while True:
            now = self.with_percent(50)
            reached.append((time.monotonic() - began, len(now)))
            if now & set(self.others):
                self.assertTrue(set(self.canaries) <= now, "a node changed before the canaries")
                others_at = others_at or reached[-1][0]
            if len(now) == len(self.nodes):
                break
            self.assertLess(reached[-1][0], PATIENCE_S, component.log[-3000:])
            time.sleep(0.2)
        self.assertGreaterEqual(others_at, 4, "no soak")
        counts = [count for _, count in reached]
        self.assertEqual(sorted(counts), counts, "a node reverted")
        # 240 a minute are 20 every five seconds, at most two shares at once. Samples with long gaps prove nothing.
        steps = [b - a for (at, a), (then, b) in zip(reached, reached[1:]) if then - at < 2]
        self.assertLessEqual(max(steps), 40)
        over = lambda: "SettingsRolledOut" in self.events(REVISIONS) and component.metrics()["tidemark_settings_nodes_behind"] == 0
        wait_for(over, "the final event, and no node behind", component)
        metrics = component.metrics()
        self.assertEqual(2, metrics["tidemark_settings_revision"])
        self.assertEqual(CANARIES, metrics['tidemark_pool_nodes{pool="canary"}'])

    def test_the_successor_of_a_killed_manager_continues_the_rollout(self):
        component = self.start(settings_text(nodesPerMinute=120, canarySoak="1s"))
        colocation.put_settings(self.api, reclaim(50))
        wait_for(lambda: CANARIES < len(self.with_percent(50)) < len(self.nodes), "some of the fleet", component)
        component.kill()
        reached = self.with_percent(50)
        # Meanwhile the text is broken: the last good one is stored.
        colocation.put_settings(self.api, "{ broken")
        second = self.run_manager(*FAST)
        self.assertTrue(reached <= self.with_percent(50), "a node reverted")
        wait_for(lambda: len(self.with_percent(50)) == len(self.nodes), "the rest of the fleet", second)
        self.assertEqual(0, second.metrics()["tidemark_manager_config_good"])
        self.assertIn("ColocationCfgUnmarshalFailed", self.events("slo-controller-config"))

    def test_a_spike_of_evictions_pauses_the_rollout_and_undo_reverts_it_at_once(self):
        component = self.start(settings_text(nodesPerMinute=600, canarySoak="1h", stopOnEvictions={"atLeast": 5}))
        colocation.put_settings(self.api, reclaim(50))
        wait_for(lambda: self.with_percent(50) == set(self.canaries), "the canaries", component)
        self.evict(self.others[0], 20)  # a pool without nodes of the new settings
        self.evict(self.canaries[1], 4)
        self.wait_decisions(component)  # with these evictions: nothing may happen
        self.assertNotIn("hold", self.stored().get("state", {}))
        self.evict(self.canaries[2], 1)
        hold = wait_for(lambda: self.stored().get("state", {}).get("hold"), "a hold", component)
        self.assertEqual(("evictions", "canary", 5, 4), (hold["why"], hold["pool"], hold["evictions"], hold["allowed"]))
        wait_for(lambda: "SettingsRolloutHeld" in self.events(REVISIONS), "the event", component)
        self.assertEqual(1, component.metrics()["tidemark_settings_held"])
        listed = self.run_command("list", "revisions")
        self.assertIn("being rolled out: revision 2 (", listed)
        self.assertIn("5 evictions in pool canary, 4 allowed", listed)

        refused = self.command("undo", "config")
        self.assertEqual(1, refused.returncode)
        self.assertIn("say --yes", refused.stderr)
        self.assertEqual(self.with_percent(50), set(self.canaries))
        shown = self.run_command("undo", "config", "--yes", "--wait=60s", "--reason=too many evictions")
        self.assertIn("back to revision 1 (", shown)
        self.assertIn("it is in force", shown)
        wait_for(lambda: self.with_percent(60) == set(self.nodes), "the old settings everywhere", component)
        data = must(self.api.request("GET", f"{SETTINGS}/slo-controller-config")).get("data", {})
        self.assertEqual(60, json.loads(data["colocation-config"])["cpuReclaimThresholdPercent"])

    def test_a_pool_can_be_off_by_name_after_an_edit_is_bad_or_removes_it(self):
        component = self.start(settings_text(nodesPerMinute=600, canarySoak="1h"))
        wait_for(self.stored_layers, "the settings in force, stored", component)
        self.addCleanup(self.api.request, "DELETE", f"{SETTINGS}/tidemark-state")
        renamed = settings_text(nodesPerMinute=600, canarySoak="1h").replace('"name": "canary"', '"name": "first"')
        for edit, why in (
            ("schema: 1\nmode: maybe\n", f"ConfigMap koordinator-system/{TIDEMARK_CONFIG} cannot be used: mode: wanted observe or enforce"),
            (renamed, f'{TIDEMARK_CONFIG} has no pool "canary" any more'),
        ):
            with self.subTest(why):
                self.put_tidemark_config(edit)
                for verb in ("off", "on"):
                    done = self.command(verb, "pool", "canary", "--yes", "--reason=an edit", "-o", "json")
                    self.assertEqual(0, done.returncode, done.stderr)
                    self.assertEqual(sorted(self.canaries), [each["name"] for each in json.loads(done.stdout)["nodes"]])
                    self.assertIn(why, done.stderr)
                    self.assertIn("its nodes are those of revision 1 (", done.stderr)

    def test_explain_shows_the_settings_in_force_on_the_node(self):
        component = self.start(settings_text(nodesPerMinute=600, canarySoak="1h"))
        colocation.put_settings(self.api, reclaim(50))
        wait_for(lambda: self.with_percent(50) == set(self.canaries), "the canaries", component)
        for name, milli, here in ((self.canaries[0], LEFT[50], "reached"), (self.others[0], LEFT[60], "kept")):
            shown = json.loads(self.run_command("explain", "node", name, "-o", "json"))
            self.assertEqual(milli, shown["kubernetes.io/batch-cpu"]["published"] if "kubernetes.io/batch-cpu" in shown else shown["batch-cpu"]["published"])
            self.assertEqual(self.look()[name][1], shown["settings"])
            self.assertEqual((here, here == "reached"), (shown["revision"]["here"], shown["revision"]["canary"]))
            self.assertTrue(any("is being rolled out" in note for note in shown["notes"]), shown["notes"])


if __name__ == "__main__":
    unittest.main()
