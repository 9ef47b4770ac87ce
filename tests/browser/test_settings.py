"""The settings by the page of the console, on a real API server with a manager: plan, rollout, undo; two persons and `kubectl edit`; a viewer; off while the manager is dead."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from browser.people import NAMESPACE, READ, SETTINGS, RealApi, WithPeople
from cluster import colocation
from cluster.colocation import SETTINGS_NAME, TIDEMARK_CONFIG
from cluster.manager_case import WithManager

SMOKE = True
HERE = Path(__file__).parent
LIMIT_S = 600
CAPACITY = {"cpu": "32", "memory": "128Gi", "pods": "110"}
STATUS = {"nodeMetric": {"nodeUsage": {"resources": {"cpu": "2", "memory": "4Gi"}}, "systemUsage": {"resources": {"cpu": "2", "memory": "4Gi"}}}, "podsMetric": []}
POOLS = """schema: 1
mode: enforce
pools:
- name: canary
  nodeSelector: {matchLabels: {stage: canary}}
  canary: true
rollout:
  nodesPerMinute: 600
"""
PACES = {"at-once": "  pace: at-once\n", "fast": "  canarySoak: 1s\n", "slow": "  canarySoak: 1h\n"}
FAST = ("--leader-elect=false", "--kube-api-qps=500", "--kube-api-burst=500")


class SettingsByPage(WithPeople, WithManager):
    def setUp(self):
        self.people_api = RealApi()
        for name in (NAMESPACE, SETTINGS):
            self.people_api.make("/api/v1/namespaces", {"metadata": {"name": name}})
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.remove_people("viewer")
        self.addCleanup(self.remove_people, "viewer")
        colocation.delete_settings(self.api)
        self.control("at-once")
        colocation.put_settings(self.api, {"enable": True, "cpuReclaimThresholdPercent": 60})
        self.nodes = [f"browser-settings-{i}" for i in range(6)]
        for number, name in enumerate(self.nodes):
            colocation.put_node(self.api, name, capacity=CAPACITY, labels={"stage": "canary"} if number < 2 else {})
            colocation.put_metric(self.api, name, STATUS)
        self.manager = self.run_manager(*FAST)
        self.console, self.url = self.start_console(os.environ["TIDEMARK_TEST_KUBECONFIG"], "--write")
        _, self.viewer_url = self.start_console(self.kubeconfig("viewer", self.account("viewer", READ)), "--write")

    def control(self, what: str) -> None:
        if what in PACES:  # of the rollout of later edits
            colocation.put_map(self.api, TIDEMARK_CONFIG, {"config.yaml": POOLS + PACES[what]})
        elif what == "kill-manager":
            self.manager.kill()
        elif what == "start-manager":
            self.manager = self.run_manager(*FAST)
        elif what == "report":  # the agents go on
            for name in self.nodes:
                colocation.put_metric(self.api, name, STATUS)
        elif what.startswith("kubectl-edit-"):  # a person at a terminal changes the percentage
            percent = what.rpartition("-")[2]
            editor = self.folder / "editor"
            editor.write_text(f"""#!/bin/sh\nexec sed -i -E 's/("cpuReclaimThresholdPercent": ?)[0-9]+/\\1{percent}/' "$1"\n""")
            editor.chmod(0o755)
            subprocess.run(
                [os.environ["TIDEMARK_KUBECTL"], "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "-n", SETTINGS, "edit", "configmap", SETTINGS_NAME],
                stdin=subprocess.DEVNULL, check=True, capture_output=True, timeout=60, env={**os.environ, "KUBE_EDITOR": str(editor)},
            )

    def test_settings(self):
        self.run_in_browser(
            HERE / "settings.test.mjs", LIMIT_S, self.console, self.manager,
            TIDEMARK_CONSOLE_URL=self.url, TIDEMARK_VIEWER_URL=self.viewer_url, TIDEMARK_CONTROL_URL=self.control_server(self.control),
        )


if __name__ == "__main__":
    unittest.main()
