"""The test node itself: 50 working pods, their cgroups where the contract says, the kubelet's authorization, and no residue."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import unittest
from pathlib import Path

from contract.client import Client, Target
from support.node import cgroups, node, pods, settings
from support.patience import PATIENCE_S as LIMIT_S

SMOKE = True

PODS, CPU_MILLI, MEMORY_MIB = 50, 4, 6
LEVEL = {pods.GUARANTEED: "", pods.BURSTABLE: "burstable", pods.BEST_EFFORT: "besteffort"}  # contract 7.2: under kubepods/, cgroupfs driver


def api() -> Client:
    token = Path(os.environ["TIDEMARK_TEST_TOKEN_FILE"]).read_text().strip()
    return Client(Target(os.environ["TIDEMARK_TEST_SERVER"], os.environ["TIDEMARK_TEST_CA_FILE"], token))


API = api()


def tearDownModule():
    API.close()


def new_node(**more) -> node.Node:
    return node.Node(API, Path(os.environ["TIDEMARK_TEST_KUBECONFIG"]), Path(os.environ["TIDEMARK_TEST_CA_FILE"]), Path(os.environ["TIDEMARK_KUBELET"]), **more)


def wait_for(question, what: str):
    deadline = time.monotonic() + LIMIT_S
    while not (answer := question()):
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {LIMIT_S} s: {what}")
        time.sleep(0.1)
    return answer


class FiftyPods(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = cls.enterClassContext(new_node())
        begin = time.monotonic()
        cls.pods = cls.node.run(pods.spread(PODS, CPU_MILLI, MEMORY_MIB))
        print(f"{PODS} pods run after {time.monotonic() - begin:.1f} s", file=sys.stderr)

    def folder(self, hierarchy: Path, pod: dict) -> Path:
        """7.2: kubepods/[QoS/]pod<uid> below the kubelet's cgroup root, and in it one directory per container, named by its id."""
        return hierarchy / self.node.cgroup / "kubepods" / LEVEL[pod["status"]["qosClass"]] / f"pod{pod['metadata']['uid']}"

    def test_the_qos_classes_are_as_requested(self):
        wanted = {work.name: work.qos for work in pods.spread(PODS, CPU_MILLI, MEMORY_MIB)}
        self.assertEqual(wanted, {pod["metadata"]["name"]: pod["status"]["qosClass"] for pod in self.pods})

    def test_pod_cgroups_are_exactly_where_the_contract_says(self):
        controlled = [hierarchy for hierarchy in cgroups.hierarchies() if hierarchy.name in ("cpu", "cpuacct", "cpuset", "memory")] or cgroups.hierarchies()
        for hierarchy in controlled:
            with self.subTest(hierarchy=str(hierarchy)):
                for pod in self.pods:
                    folder, wanted = self.folder(hierarchy, pod), pod["status"]["containerStatuses"]
                    ids = {each["containerID"].removeprefix("containerd://") for each in wanted}
                    found = {each.name for each in folder.iterdir() if each.is_dir()}
                    self.assertLessEqual(ids, found, pod["metadata"]["name"])
                    self.assertEqual(1, len(found - ids), "one sandbox beside the containers")
                    for name in ids:
                        self.assertNotEqual("", (folder / name / "cgroup.procs").read_text())
                top = hierarchy / self.node.cgroup / "kubepods"
                self.assertEqual({self.folder(hierarchy, pod) for pod in self.pods}, set(top.glob("pod*")) | set(top.glob("*/pod*")))

    def test_pods_use_cpu_and_memory(self):
        places = {hierarchy.name: hierarchy for hierarchy in cgroups.hierarchies()}
        if "cpuacct" not in places:
            self.skipTest("no cgroup v1 hierarchy cpuacct here")

        def used() -> dict[str, int]:
            return {pod["metadata"]["name"]: int((self.folder(places["cpuacct"], pod) / "cpuacct.usage").read_text()) for pod in self.pods}

        before = used()
        wait_for(lambda: all(after > before[name] + 2_000_000 for name, after in used().items()), "every pod has used another 2 ms of a core")
        for pod in self.pods:
            usage = int((self.folder(places["memory"], pod) / "memory.usage_in_bytes").read_text())
            self.assertGreaterEqual(usage, MEMORY_MIB << 20, pod["metadata"]["name"])

    def test_the_right_nodes_pods_opens_pods_only(self):
        """KubeletFineGrainedAuthz: /pods checks nodes/pods first, and nodes/proxy if that is refused."""
        doors = {
            "pods": {"/pods": 200, "/runningpods/": 200, "/configz": 403, "/stats/summary": 403, "/metrics": 403, "/healthz": 403, "/containerLogs/a/b/c": 403},
            "configz": {"/configz": 200, "/pods": 403},
            "stats": {"/stats/summary": 200, "/pods": 403},
            "proxy": {"/pods": 200, "/configz": 200, "/stats/summary": 403, "/metrics": 403},
            "": {"/pods": 403, "/configz": 403, "/healthz": 403},
        }
        for right, answers in doors.items():
            token = self.account(right)
            for path, wanted in answers.items():
                with self.subTest(right=right, path=path):
                    self.assertEqual(wanted, self.node.ask_kubelet(path, token)[0])
        for token in ("", "no-such-token"):
            self.assertEqual(401, self.node.ask_kubelet("/pods", token)[0])

    def test_the_kubelets_answer_equals_the_api_servers(self):
        status, body = self.node.ask_kubelet("/pods", self.account("pods"))
        self.assertEqual(200, status, body)
        self.assertEqual({pod["metadata"]["uid"] for pod in self.pods}, {pod["metadata"]["uid"] for pod in json.loads(body)["items"]})

    def test_pods_survive_a_restart_of_the_kubelet(self):
        """Their containers run on, and the next kubelet knows them."""

        def containers() -> set[str]:
            return {each["containerID"] for pod in self.node.pods() for each in pod["status"]["containerStatuses"]}

        before, token = containers(), self.account("pods")
        self.node.kill_kubelet()

        def known() -> bool:
            status, body = self.node.ask_kubelet("/pods", token)
            return status == 200 and len(json.loads(body)["items"] or []) == PODS  # before it knows them it answers 200 and null

        wait_for(known, "the new kubelet knows the pods")
        self.assertEqual(before, containers())
        self.assertEqual(PODS, len(before))

    def account(self, right: str) -> str:
        """A token of a service account that may get only nodes/RIGHT."""
        client, name = API, f"{self.node.name}-{right or 'none'}"
        client.post("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": name}})
        self.addCleanup(client.delete, f"/api/v1/namespaces/default/serviceaccounts/{name}")
        if right:
            rbac = "/apis/rbac.authorization.k8s.io/v1"
            client.post(f"{rbac}/clusterroles", {"metadata": {"name": name}, "rules": [{"apiGroups": [""], "resources": [f"nodes/{right}"], "verbs": ["get"]}]})
            self.addCleanup(client.delete, f"{rbac}/clusterroles/{name}")
            client.post(f"{rbac}/clusterrolebindings", {
                "metadata": {"name": name}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name},
                "subjects": [{"kind": "ServiceAccount", "name": name, "namespace": "default"}],
            })
            self.addCleanup(client.delete, f"{rbac}/clusterrolebindings/{name}")
        return client.post(f"/api/v1/namespaces/default/serviceaccounts/{name}/token", {"spec": {"expirationSeconds": 3600}}).get("status.token")


def of_the_machine() -> dict:
    """Everything that a node could leave outside its own directory."""
    return {
        "tunables": {name: Path(f"/proc/sys/{name}").read_text() for name in settings.TUNABLES},
        "mounts": [line for line in Path("/proc/self/mounts").read_text().splitlines() if node.PREFIX in line],
    }


# Starts a node with pods, prints its place, and stays until it is killed.
KILLED = """
import sys, time
from node.test_node import new_node, pods
with new_node() as node:
    node.run(pods.spread(3, 4, 6))
    print(node.layout.state, node.cgroup, node.name, flush=True)
    time.sleep(1000)
"""


class SlowImport:
    """An image that is imported only after the kubelet has drawn another port: on a slow machine the first starts of the kubelet fail meanwhile."""

    def __init__(self, made: node.Node, door: str):
        self._made, self._door, self._taken, self._really = made, door, getattr(made, door), made.import_image

    def __call__(self, archive: Path) -> None:
        wait_for(lambda: getattr(self._made, self._door) != self._taken, "another port while the image is missing")
        self._really(archive)


class Ending(unittest.TestCase):
    def test_a_stopped_node_leaves_nothing(self):
        before = of_the_machine()
        with new_node() as made:
            made.run(pods.spread(2, 0, 1))
            self.assertEqual({"containers"}, {each.name for each in made.layout.covered("/var/log").iterdir()}, "the fixed log directory of a kubelet")
            self.assertTrue((made.layout.covered("/var/lib") / "kubelet" / "device-plugins").exists())
            top = cgroups.there(made.cgroup)[0]
            self.assertEqual(2, len(list(top.glob("kubepods/**/pod*"))))
            made.end(["work-0"])
            wait_for(lambda: len(list(top.glob("kubepods/**/pod*"))) == 1, "the cgroup of a deleted pod to go")
        self.assertEqual([], cgroups.there(made.cgroup))
        self.assertFalse(made.layout.state.exists())
        self.assertEqual(before, of_the_machine())
        self.assertEqual(404, API.get(f"/api/v1/nodes/{made.name}").status)
        self.assertEqual([], made.pods())

    def test_a_port_taken_before_the_kubelet_binds_it_is_drawn_again(self):
        for door in ("port", "_health_port"):
            made = new_node()
            taken = getattr(made, door)
            made.import_image = SlowImport(made, door)
            with self.subTest(door), socket.create_server(("127.0.0.1", taken)), made:
                self.assertNotEqual(taken, getattr(made, door))
                self.assertEqual(401, made.ask_kubelet("/pods")[0])

    def test_residue_of_a_killed_run_is_removed_by_the_next(self):
        before = of_the_machine()
        child = subprocess.Popen(
            [sys.executable, "-c", KILLED], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
            env={**os.environ, "PYTHONPATH": str(Path(__file__).resolve().parents[1])},
        )
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.kill)
        shown = child.stdout.readline()
        self.assertEqual(3, len(shown.split()), f"it did not start: {shown}")
        state, cgroup, name = shown.split()
        busy = [folder / "kubepods" for folder in cgroups.there(cgroup)]
        self.assertTrue(any(folder.exists() for folder in busy))
        node.clear_away(API)
        self.assertTrue(Path(state).exists(), "a running node stays")
        child.send_signal(signal.SIGKILL)
        child.wait(LIMIT_S)
        self.assertEqual({}, node.processes_of(Path(state), LIMIT_S), "the kernel kills all processes")
        self.assertEqual(before["mounts"], of_the_machine()["mounts"])
        cleared, left = node.clear_away(API)
        self.assertEqual([], left)
        self.assertEqual([], cgroups.there(cgroup))
        self.assertFalse(Path(state).exists())
        self.assertEqual(before, of_the_machine())
        if name in cleared:  # unless another run on this machine, with its own API server, was faster
            self.assertEqual(404, API.get(f"/api/v1/nodes/{name}").status)


if __name__ == "__main__":
    unittest.main()
