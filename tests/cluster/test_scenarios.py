"""Scenario files on the real API server (tests/cluster/scenarios; scenario.py explains their keywords)."""

import json
import os
import unittest
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from cluster import colocation
from cluster.colocation import SETTINGS, must
from cluster.scenario import CLASSES, NODE_SETTINGS, TOPOLOGIES, Scenario
from cluster.test_manager import WithApi

FOLDER = Path(__file__).parent / "scenarios"


class Scenarios(WithApi):
    def test_every_scenario(self):
        scenarios = [Scenario(path) for path in sorted(FOLDER.glob(os.environ.get("TIDEMARK_TEST_SCENARIO", "*") + ".txt"))]
        self.assertGreater(len(scenarios), 0)
        self.addCleanup(self.api.request, "DELETE", f"{SETTINGS}/tidemark-state")
        for key in NODE_SETTINGS.values():
            of_nodes = [each for scenario in scenarios for each in scenario.node_configs(key)]
            colocation.put_data(self.api, {key: json.dumps({"enable": key == "colocation-config", "nodeConfigs": of_nodes})})
        pools, calendars = zip(*(each.config() for each in scenarios))
        text = f"schema: 1\nmode: enforce\nrollout: {{pace: at-once}}\nclasses: {CLASSES}\nprofiles: {{sampleEvery: 1s, storeEvery: 1s}}\ncalendars:\n{''.join(calendars)}pools:\n{''.join(pools)}"
        must(self.api.request("POST", SETTINGS, {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": text}}))
        for each in scenarios:
            each.prepare(self.api)
        self.nodes = [node for each in scenarios for node in each.nodes]
        for node in self.nodes:
            self.addCleanup(self.api.request, "DELETE", f"{TOPOLOGIES}/{node}")
        component = self.run_manager("--leader-elect=false", "--kube-api-qps=500", "--kube-api-burst=500")
        with ThreadPoolExecutor(len(scenarios)) as pool:
            list(pool.map(lambda each: each.run(component), scenarios))
        self.assertEqual([], [each.failure for each in scenarios if each.failure], component.log[-2000:])


if __name__ == "__main__":
    unittest.main()
