"""NodeManagers as pods of a real kubelet and containerd, from the chart: shared by tests.

No DaemonSet controller runs here: a test creates the pods from the chart's template, one after the other, as an upgrade does."""

import copy
import os
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from cluster.tidemark_process import wait_for
from support.node import cgroups
from support.patience import PATIENCE_S as LIMIT_S
from support.yarn import Job, Yarn, groups, until
from support.yarn.settings import NodePorts, environment
from support.yarn.yarn import REGISTERED, NodeManager
from yarn.generated import SITE, generate
from yarn.over_socket import Copilot

if "TIDEMARK_KUBELET" not in os.environ:
    raise unittest.SkipTest("cannot create a node here")
if groups.why_not():
    raise unittest.SkipTest(groups.why_not())

from cluster import chart, colocation
from node.test_node import API, new_node

__all__ = ["API", "LEAST", "LIMIT_S", "NAME", "NodeManagerPods", "chart", "colocation", "tearDownModule"]  # tests import from here what needs a node

PLACE = "kubepods/besteffort/hadoop-yarn"
NAME = "nm"
PODS = f"/api/v1/namespaces/{chart.NAMESPACE}/pods"
TOTAL = (2048, 4)
LEAST = (128, 1)


def tearDownModule():
    API.close()


class NodeManagerPods(unittest.TestCase):
    SITE = SITE

    @classmethod
    def setUpClass(cls):
        cls.node = cls.enterClassContext(new_node())
        cls.yarn = cls.enterClassContext(Yarn([], site=cls.SITE, groups=PLACE, below=cls.node.cgroup))
        chart.ensure_namespace(API)
        layout, cls.ports = cls.yarn.layout, NodePorts.free()
        cls.site = generate(cls.yarn, NAME, cls.ports, *cls.site_flags())
        (layout.configuration(NAME)).mkdir(parents=True)
        cls.nm: NodeManager = cls.yarn.node_from(NAME, cls.ports, cls.site)
        cls.rendered = chart.objects(chart.template({"settings": {"create": False}, "nodeManager": {**cls.shared_values(), **cls.values()}}, "--show-only", "templates/node_manager_daemonset.yaml"))
        cls.template = chart.find(cls.rendered, "DaemonSet")["spec"]["template"]
        cls.made: list[str] = []
        cls.addClassCleanup(lambda: cls.node.end(cls.made, chart.NAMESPACE))

    @classmethod
    def site_flags(cls) -> list[str]:
        """The yarn-site.xml from `tidemark generate yarn-site`."""
        raise NotImplementedError

    @classmethod
    def values(cls) -> dict:
        """Values of the chart's nodeManager for the pod."""
        raise NotImplementedError

    @classmethod
    def shared_values(cls) -> dict:
        layout = cls.yarn.layout
        return {
            "enabled": True, "localDirs": [str(layout.local(NAME))], "logDirs": [str(layout.container_logs(NAME))], "recoveryDir": str(layout.folder / NAME / "recovery"),
            "stateDir": str(layout.folder / NAME / "state"), "webPort": cls.ports.web, "webHost": "127.0.0.1", "terminationGracePeriodSeconds": 20,
            "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}},
        }

    @classmethod
    def seen(cls, *names: str) -> list[dict]:
        """From the environment that the fixture gives its programs."""
        shown = environment(cls.yarn.layout, cls.yarn.java, NAME)
        return [{"name": name, "value": shown[name]} for name in names]

    @staticmethod
    def mounted(places: dict[str, tuple[str, bool]]) -> dict:
        """Directories and files of the machine under their own paths: the name of a volume → its path, and whether it is read-only."""
        return {
            "extraVolumes": [{"name": name, "hostPath": {"path": os.path.realpath(place)}} for name, (place, _) in places.items()],
            "extraVolumeMounts": [{"name": name, "mountPath": place, "readOnly": sealed} for name, (place, sealed) in places.items()],
        }

    def start_pod(self, image: str | None = None) -> dict:
        """Starts the next pod and returns it when it is ready; from another image if one is named."""
        template = copy.deepcopy(self.template)
        for each in (*template["spec"].get("initContainers", []), *template["spec"]["containers"]) if image else ():
            each["image"] = image
        name = f"node-manager-{len(self.made)}"
        template["spec"]["nodeName"] = self.node.name
        template["metadata"] = {**template["metadata"], "name": name, "namespace": chart.NAMESPACE}
        self.made.append(name)
        colocation.must(API.request("POST", PODS, {"apiVersion": "v1", "kind": "Pod", **template}))
        pod: dict = {}

        def ready() -> bool:
            nonlocal pod
            API.close()  # the server may have closed an idle connection
            pod = API.get(f"{PODS}/{name}").json
            return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))

        try:
            wait_for(ready, "the NodeManager's pod to be ready", None, LIMIT_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{pod.get('status')}\n{self.log(name)[-4000:]}\n{self.node.tail(8)}")
        # Its port opens earlier, and the ResourceManager shows the node for some time without a NodeManager.
        until("it is registered", lambda: REGISTERED in self.log(name) and self.nm.seen().get("state") == "RUNNING")
        return pod

    def end_pod(self, pod: dict) -> None:
        """Until nothing of it exists, including its cgroups, in which a kubelet kills all remaining processes."""
        self.node.end([pod["metadata"]["name"]], chart.NAMESPACE)
        wait_for(lambda: not self.groups_of(pod), "the pod's groups to go", None, LIMIT_S)

    def groups_of(self, pod: dict) -> list[Path]:
        return [group for top in cgroups.there(self.node.cgroup) for group in top.glob(f"kubepods/**/pod{pod['metadata']['uid']}")]

    def inside(self, pod: dict) -> set[int]:
        return {pid for top in self.groups_of(pod) for group in [top, *(each for each in top.rglob("*") if each.is_dir())] for pid in groups.pids(group)}

    def log(self, pod: str) -> str:
        folder = self.node.layout.state / "pod-logs"
        return "".join(file.read_text(errors="replace") for file in sorted(folder.glob(f"{chart.NAMESPACE}_{pod}_*/node-manager/*.log")))

    def offer(self) -> None:
        """As an operator does."""
        self.yarn.rm.update_total(self.nm.id, *TOTAL)
        until("its total", lambda: self.nm.total() == TOTAL)

    def copilot(self, *more: str) -> Copilot:
        """With only the capabilities that the chart gives it."""
        folder = self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-copilot-"))
        rendered = chart.objects(chart.template({"yarnCopilot": {"enabled": True, "adopt": "--adopt" in more}}, "--show-only", "templates/yarn_copilot_daemonset.yaml"))
        allowed = chart.find(rendered, "DaemonSet")["spec"]["template"]["spec"]["containers"][0]["securityContext"]["capabilities"]["add"]
        wrapped = Path(folder) / "tidemark"
        wrapped.write_text(f'#!/bin/sh\nexec setpriv --bounding-set {",".join(["-all", *(f"+{name.lower()}" for name in allowed)])} {os.environ["TIDEMARK_BINARY"]} "$@"\n')
        wrapped.chmod(0o755)
        self.enterContext(mock.patch.dict(os.environ, {"TIDEMARK_BINARY": str(wrapped)}))
        copilot = Copilot(folder, self.ports.web, f"--yarn-container-cgroup-path={self.yarn.groups.path}", *more)
        self.addCleanup(copilot.stop)
        return copilot

    def submit(self, copilot: Copilot, shell: str, count: int) -> tuple[Job, list[str]]:
        """Returns the master's container first."""
        job = self.yarn.submit(shell, containers=count, memory_mib=128, master_memory_mib=256)
        running = wait_for(lambda: len(found := copilot.running()) == count + 1 and found, "a master and its containers", copilot, LIMIT_S)
        return job, sorted(running)

    def everywhere(self, container: str) -> list[set[int]]:
        """The processes in its cgroup of each hierarchy. It has none in cpuset: a cgroup below the one of offline work would prevent a smaller cpuset there."""
        return [groups.pids(hierarchy / self.yarn.groups.path / container) for hierarchy in cgroups.hierarchies() if hierarchy.name != "cpuset"]

    def own(self, container: str) -> set[int]:
        """Its processes, after they are in its own cgroup in every hierarchy."""
        return wait_for(lambda: len(set(map(frozenset, found := self.everywhere(container)))) == 1 and found[0], f"all of {container} in its groups", None, LIMIT_S)

    def running_at(self, door: NodeManager) -> set[str]:
        return {each["id"] for each in door.containers() if each["state"] == "RUNNING"}

    def yarn_processes(self) -> dict[int, str]:
        return {pid: line for pid, line in self.yarn.processes().items() if "ResourceManager" not in line and "distributedshell.Client" not in line}
