"""`tidemark doctor cluster` on a real API server: findings from nodes, pods and settings, with and without the right to the kubelets' proxy."""

import json
import os
import subprocess
import tempfile
import unittest

from cluster import chart, colocation
from cluster.chart import ROOT
from cluster.colocation import MERGE, must
from cluster.test_manager import WithApi
from cluster.tidemark_process import wait_for

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCOUNTS = f"/api/v1/namespaces/{chart.NAMESPACE}/serviceaccounts"
PEERS = "/api/v1/namespaces/koordinator-system/pods"
VIEWER = "doctor-viewer"
INFO = {
    "machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "6.1.0-18-amd64", "osImage": "Debian 12", "containerRuntimeVersion": "containerd://1.7.2",
    "kubeletVersion": "v1.31.4", "kubeProxyVersion": "", "operatingSystem": "linux", "architecture": "amd64",
}


class DoctorCluster(WithApi):
    def stands(self, name: str, *conditions: dict, allocatable: dict | None = None, kernel: str = INFO["kernelVersion"]) -> None:
        status = {"conditions": [{"type": "Ready", "status": "True"}, *conditions], "nodeInfo": {**INFO, "kernelVersion": kernel}, "allocatable": allocatable or {}}
        must(self.api.request("PATCH", f"/api/v1/nodes/{name}/status", {"status": status}, content=MERGE))

    def doctor(self, *words: str, kubeconfig: str | None = None) -> subprocess.CompletedProcess:
        return subprocess.run(
            [os.environ["TIDEMARK_BINARY"], "doctor", "cluster", "--kubeconfig", kubeconfig or os.environ["TIDEMARK_TEST_KUBECONFIG"], *words],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        )

    def shown(self, code: int, **how) -> dict[str, dict]:
        """The findings by their fact; of several with the same fact, the last."""
        done = self.doctor("-o", "json", **how)
        self.assertEqual(code, done.returncode, done.stdout + done.stderr)
        return {each["fact"]: each for each in json.loads(done.stdout)["findings"]}

    def names(self, finding: dict) -> list[str]:
        return finding["groups"][0]["names"]

    def test_obstacles_are_reported_by_finding(self):
        colocation.put_settings(self.api, {"enable": True})
        said = {"type": "TidemarkIsolation", "status": "True", "reason": "Enforcing", "message": "m"}
        self.node("doctor-1")
        self.stands("doctor-1", said)
        self.node("doctor-2", age_s=3600)
        self.stands("doctor-2", said, kernel="5.10.0-33-amd64")
        self.nodes.append("doctor-3")
        colocation.put_node(self.api, "doctor-3", capacity={"cpu": "32", "memory": "128Gi"})
        self.stands("doctor-3", allocatable={"kubernetes.io/batch-cpu": "4000"})
        self.addCleanup(self.api.request, "DELETE", f"{PEERS}/doctor-peer", gracePeriodSeconds=0)
        must(self.api.request("POST", PEERS, {"metadata": {"name": "doctor-peer"}, "spec": {"nodeName": "doctor-1", "containers": [{"name": "koordlet", "image": "koordlet"}]}}))
        running = {"name": "koordlet", "image": "koordlet", "imageID": "", "ready": True, "restartCount": 0, "state": {"running": {}}}
        must(self.api.request("PATCH", f"{PEERS}/doctor-peer/status", {"status": {"phase": "Running", "containerStatuses": [running]}}, content=MERGE))

        shown = self.shown(1)
        self.assertEqual(["doctor-2"], self.names(shown["kernelWithoutPriority"]))
        self.assertEqual(["doctor-3"], self.names(shown["noAgent"]))
        self.assertEqual((["doctor-2"], "TM-NODE-006"), (self.names(shown["reportOld"]), shown["reportOld"]["reason"]))
        self.assertEqual((["doctor-3"], "bad"), (self.names(shown["offersUnguarded"]), shown["offersUnguarded"]["severity"]))
        self.assertEqual(["doctor-1"], self.names(shown["peerAgents"]))
        self.assertEqual(3, shown["kubeletsSilent"]["nodes"], "no kubelet runs behind this API server")
        text = self.doctor("--kubelets=0")
        self.assertEqual(1, text.returncode, text.stderr)
        self.assertIn("5.10.0-33-amd64: 1 node: doctor-2", text.stdout)
        self.assertNotIn("kubeletsSilent", self.told_without_kubelets())

    def told_without_kubelets(self) -> set[str]:
        return {each["fact"] for each in json.loads(self.doctor("-o", "json", "--kubelets=0").stdout)["findings"]}

    def test_a_viewer_may_run_it_and_gets_one_finding_about_kubelets(self):
        """With only the rules of deploy/manager.yaml for viewers."""
        colocation.put_settings(self.api, {"enable": True})
        for name in ("doctor-4", "doctor-5"):
            self.node(name)
            self.stands(name)
        self.make_viewer()
        with tempfile.TemporaryDirectory() as folder:
            kubeconfig = chart.kubeconfig_of(VIEWER, folder)
            wait_for(lambda: self.doctor("--kubelets=0", kubeconfig=kubeconfig).returncode == 0, "the roles in force")
            shown = self.shown(0, kubeconfig=kubeconfig)
        self.assertIn("nodes/proxy", shown["kubeletsRefuse"]["found"])
        self.assertEqual("warn", shown["kubeletsRefuse"]["severity"])
        self.assertIn("noAgents", shown)
        self.assertIn("noPeer", shown, "it may list pods")
        self.assertIn("settingsRead", shown)

    def make_viewer(self) -> None:
        roles = [each for each in chart.objects((ROOT / "deploy" / "manager.yaml").read_text()) if each["metadata"]["name"] == "tidemark-viewer"]
        self.assertEqual({"ClusterRole", "Role"}, {each["kind"] for each in roles})
        self.make(ACCOUNTS, {"metadata": {"name": VIEWER}})
        subjects = [{"kind": "ServiceAccount", "name": VIEWER, "namespace": chart.NAMESPACE}]
        for role in roles:
            kind, under = role["kind"], f"{RBAC}/namespaces/{chart.NAMESPACE}" if role["kind"] == "Role" else RBAC
            self.make(f"{under}/{kind.lower()}s", {"metadata": {"name": VIEWER}, "rules": role["rules"]})
            reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": VIEWER}
            self.make(f"{under}/{kind.lower()}bindings", {"metadata": {"name": VIEWER}, "roleRef": reference, "subjects": subjects})

    def make(self, where: str, body: dict) -> None:
        self.addCleanup(self.api.request, "DELETE", f"{where}/{VIEWER}")
        must(self.api.request("POST", where, body))


if __name__ == "__main__":
    unittest.main()
