"""Another manager that writes the same objects as ours, on the real API server: ours names it and leaves each such object alone."""

import threading
import time
import unittest

from cluster import colocation
from cluster.colocation import MERGE, NODESLOS, must
from cluster.test_manager import LEFT
from cluster.test_state import UNOBEYED_S, WithState, order, tidemark
from cluster.tidemark_process import Component, explain, wait_for

OURS = 65  # cpuSuppressThresholdPercent, as the defaults have it
THEIRS = 21
EVENTS = "/api/v1/events"


class Peer(threading.Thread):
    """Koordinator's manager with other settings: restores its own value after each change."""

    def __init__(self, node: str):
        super().__init__(daemon=True)
        self._node = node
        self._api = colocation.client()
        self._end = threading.Event()
        self.writes = 0

    def run(self):
        spec = {"spec": {"resourceUsedThresholdWithBE": {"cpuSuppressThresholdPercent": THEIRS}}}
        while not self._end.wait(0.2):
            answer = self._api.request("GET", f"{NODESLOS}/{self._node}")
            if answer.status != 200 or answer.get("spec.resourceUsedThresholdWithBE", {}).get("cpuSuppressThresholdPercent") == THEIRS:
                continue
            if self._api.request("PATCH", f"{NODESLOS}/{self._node}", spec, content=MERGE, fieldManager="koord-manager").status == 200:
                self.writes += 1

    def stop(self):
        self._end.set()
        self.join()
        self._api.close()


class SecondWriterOfNodeSlos(WithState):
    def percent(self, node: str) -> int | None:
        answer = self.api.request("GET", f"{NODESLOS}/{node}")
        return answer.get("spec.resourceUsedThresholdWithBE", {}).get("cpuSuppressThresholdPercent") if answer.status == 200 else None

    def wait_percent(self, node: str, wanted: int, component: Component) -> None:
        wait_for(lambda: self.percent(node) == wanted, f"{wanted} on {node}", component)

    def test_a_second_writer_of_nodeslos_is_named_and_left_alone(self):
        node, other = self.node("slo-rival"), self.node("slo-quiet")
        component = self.run_manager("--leader-elect=false")
        for each in (node, other):
            self.wait_percent(each, OURS, component)
        self.wait_offered(node, LEFT, component)
        peer = Peer(node)
        peer.start()
        self.addCleanup(lambda: peer.is_alive() and peer.stop())
        found = wait_for(
            lambda: "NodeSLO (by koord-manager (Update))" in (now := self.condition(node)).get("message", "") and now, "the peer's name on the node", component
        )
        self.assertEqual("On", found["reason"], "the node continues to sell")
        self.assertEqual("True", found["status"])
        wait_for(lambda: self.percent(node) == THEIRS, "the second writer's last write", component)
        time.sleep(UNOBEYED_S)
        self.assertEqual(THEIRS, self.percent(node))
        self.assertLessEqual(peer.writes, 6, "the managers do not fight")
        self.assertEqual(OURS, self.percent(other))
        self.assertEqual(int(LEFT), self.offered(node))
        self.assertEqual(1, component.metrics()['tidemark_manager_contested_nodes{component="nodeslo"}'])
        self.assertIn("NodeSLO (by koord-manager (Update))", explain(node).stdout)
        self.assertIn("koord-manager", tidemark("report", "states"))
        wait_for(
            lambda: [event for event in must(self.api.request("GET", EVENTS)).get("items", [])
                     if event["reason"] == "CoLocationSecondWriter" and event["involvedObject"]["name"] == node and "koord-manager" in event["message"]],
            "the event", component,
        )

        peer.stop()
        order("on", f"node {node}")
        self.wait_percent(node, OURS, component)
        wait_for(lambda: "koord-manager" not in self.condition(node).get("message", ""), "a condition without it", component)


class SettingsOfANode(WithState):
    def test_a_nodes_own_settings_are_in_its_nodeslo_and_explained(self):
        node = self.node("own-settings")
        component = self.run_manager("--leader-elect=false")
        percent = SecondWriterOfNodeSlos.percent

        def annotate(text: str | None) -> None:
            must(self.api.request("PATCH", f"/api/v1/nodes/{node}", {"metadata": {"annotations": {"tidemark.io/settings": text}}}, content=MERGE))

        wait_for(lambda: percent(self, node) == OURS, "the default", component)
        annotate("{schema: 1, nodeSlo: {resourceUsedThresholdWithBE: {cpuSuppressThresholdPercent: 33}}}")
        wait_for(lambda: percent(self, node) == 33, "the node's own", component)
        self.assertIn("annotation tidemark.io/settings", explain(node, kind="config").stdout)
        annotate("{schema: 1, nodeSlo: {resourceUsedThresholdWithBE: {cpuSuppressThresholdPercent: 12, cpuSuppresPolicy: cpuset}}}")
        wait_for(lambda: component.metrics().get("tidemark_node_settings_invalid") == 1, "the refusal", component)
        self.assertEqual(33, percent(self, node), "the whole annotation is rejected")
        self.assertIn("cpuSuppressPolicy", explain(node, kind="config").stdout, "the message suggests the right key")
        annotate(None)
        wait_for(lambda: percent(self, node) == OURS, "the default again", component)
        self.assertEqual({"Object": {}}, must(self.api.request("GET", f"{NODESLOS}/{node}")).get("spec.extensions"))


if __name__ == "__main__":
    unittest.main()
