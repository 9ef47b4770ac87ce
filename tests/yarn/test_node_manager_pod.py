"""A NodeManager as a pod of a real kubelet and containerd, from the chart: its containers go on when the pod ends, and the next one takes them over.

There is no DaemonSet controller here: the test makes the pods of the chart's template, one after the other, as an upgrade does. Java, Hadoop's jars and what a
container runs come from the machine, read-only; the stand-in of the native container-executor is the fixture's."""

import copy
import os
import sys
import tempfile
import time
import unittest
from pathlib import Path
from unittest import mock

from cluster.tidemark_process import wait_for
from support.node import cgroups
from support.yarn import Job, Yarn, groups, until
from support.yarn.settings import NodePorts, command, environment
from support.yarn.yarn import REGISTERED, NodeManager
from yarn.generated import SITE, generate
from yarn.over_socket import Copilot

if "TIDEMARK_KUBELET" not in os.environ:
    raise unittest.SkipTest("no node can be made here")
if groups.why_not():
    raise unittest.SkipTest(groups.why_not())

from cluster import chart, colocation
from node.test_node import API, new_node

PLACE = "kubepods/besteffort/hadoop-yarn"
NAME, CONF = "nm", "/etc/hadoop/conf"
IMAGE, TAG = "tidemark.test/work", "1"  # of the node; nothing of it is used but that it is there
PODS = f"/api/v1/namespaces/{chart.NAMESPACE}/pods"
TOTAL = (2048, 4)
LEAST = (128, 1)
LIMIT_S = 90
# What a program of the machine needs to run in a root of its own.
OF_THE_MACHINE = ["/bin", "/lib", "/lib64", "/usr", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/java-17-openjdk"]


def tearDownModule():
    API.close()


@chart.needs_helm
class NodeManagerPod(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.node = cls.enterClassContext(new_node())
        cls.yarn = cls.enterClassContext(Yarn([], site=SITE, groups=PLACE, below=cls.node.cgroup))
        chart.ensure_namespace(API)
        layout, cls.ports = cls.yarn.layout, NodePorts.free()
        cls.site = generate(cls.yarn, NAME, cls.ports, f"--group={cls.yarn.groups.path}", f"--container-executor={layout.executor}", "--container-executor-group=root")
        (layout.configuration(NAME)).mkdir(parents=True)
        cls.nm: NodeManager = cls.yarn.node_from(NAME, cls.ports, cls.site)
        rendered = chart.objects(chart.template(cls.values(), "--show-only", "templates/node_manager_daemonset.yaml"))
        cls.template = chart.find(rendered, "DaemonSet")["spec"]["template"]
        cls.made: list[str] = []
        cls.addClassCleanup(lambda: cls.node.end(cls.made, chart.NAMESPACE))

    @classmethod
    def values(cls) -> dict:
        layout, jars = cls.yarn.layout, cls.yarn.jars
        words = command(layout, cls.yarn.java, jars, NAME, "NodeManager")
        words[words.index("-cp") + 1] = f"{CONF}:{jars}/*"
        told = environment(layout, cls.yarn.java, NAME)
        seen = {name: told[name] for name in ("JAVA_HOME", "JAVA_TOOL_OPTIONS")} | {"PATH": "/usr/bin:/bin:/usr/sbin:/sbin"}
        places = {"run": (str(layout.folder), False), "jars": (str(jars), True)}
        places |= {f"machine-{i}": (place, True) for i, place in enumerate(OF_THE_MACHINE) if os.path.exists(place)}
        return {
            "settings": {"create": False},
            "nodeManager": {
                "enabled": True, "image": {"repository": IMAGE, "tag": TAG, "pullPolicy": "Never"}, "command": words, "hadoopConfDir": str(layout.configuration(NAME)),
                "localDirs": [str(layout.local(NAME))], "logDirs": [str(layout.container_logs(NAME))], "recoveryDir": str(layout.folder / NAME / "recovery"),
                "stateDir": str(layout.folder / NAME / "state"), "webPort": cls.ports.web, "webHost": "127.0.0.1", "terminationGracePeriodSeconds": 20,
                "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}}, "extraEnv": [{"name": name, "value": value} for name, value in seen.items()],
                "extraVolumes": [{"name": name, "hostPath": {"path": os.path.realpath(place)}} for name, (place, _) in places.items()],
                "extraVolumeMounts": [{"name": name, "mountPath": place, "readOnly": sealed} for name, (place, sealed) in places.items()],
            },
        }

    def start_pod(self) -> dict:
        """The next one, once it is ready."""
        template = copy.deepcopy(self.template)
        name = f"node-manager-{len(self.made)}"
        template["spec"]["nodeName"] = self.node.name
        template["metadata"] = {**template["metadata"], "name": name, "namespace": chart.NAMESPACE}
        self.made.append(name)
        colocation.must(API.request("POST", PODS, {"apiVersion": "v1", "kind": "Pod", **template}))
        pod: dict = {}

        def ready() -> bool:
            nonlocal pod
            API.close()  # what was not asked for a while may be closed at the other end
            pod = API.get(f"{PODS}/{name}").json
            return any(each["type"] == "Ready" and each["status"] == "True" for each in pod["status"].get("conditions", []))

        try:
            wait_for(ready, "the NodeManager's pod is ready", None, LIMIT_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{pod.get('status')}\n{self.log(name)[-4000:]}\n{self.node.tail(8)}")
        # Its door opens sooner, and to its ResourceManager a node is there for some time without a NodeManager.
        until("it is registered", lambda: REGISTERED in self.log(name) and self.nm.seen().get("state") == "RUNNING")
        return pod

    def end_pod(self, pod: dict) -> None:
        """Until nothing of it is there, its groups included, in which a kubelet kills whoever is left."""
        self.node.end([pod["metadata"]["name"]], chart.NAMESPACE)
        wait_for(lambda: not self.groups_of(pod), "the pod's groups are gone", None, LIMIT_S)

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
        """With the capabilities that the chart gives it, and no others."""
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
        """Its master's container first."""
        job = self.yarn.submit(shell, containers=count, memory_mib=128, master_memory_mib=256)
        running = wait_for(lambda: len(found := copilot.running()) == count + 1 and found, "a master and its containers", copilot, LIMIT_S)
        return job, sorted(running)

    def everywhere(self, container: str) -> list[set[int]]:
        """Who is in its group of each hierarchy. In that of cpuset it has none: a group below offline work's own would keep the processors of that from being fewer."""
        return [groups.pids(hierarchy / self.yarn.groups.path / container) for hierarchy in cgroups.hierarchies() if hierarchy.name != "cpuset"]

    def own(self, container: str) -> set[int]:
        """Once it is in its own group in every hierarchy."""
        return wait_for(lambda: len(set(map(frozenset, found := self.everywhere(container)))) == 1 and found[0], f"all of {container} in its groups", None, LIMIT_S)

    def running_at(self, door: NodeManager) -> set[str]:
        return {each["id"] for each in door.containers() if each["state"] == "RUNNING"}

    def test_its_containers_outlive_an_upgrade_and_the_next_one_takes_them_over(self):
        # Each ends when it is told to, and needs /tmp for that, which is not the pod's.
        self.assertEqual(LEAST, (pod := self.start_pod()) and self.nm.total(), "before an operator speaks")
        self.offer()
        copilot = self.copilot("--adopt")
        told = self.yarn.layout.folder / "told"
        job, names = self.submit(copilot, f"while ! [ -e {told}-$CONTAINER_ID ]; do sleep 0.2; done; (echo late >/tmp/$CONTAINER_ID)", 2)
        processes = {name: self.own(name) for name in names}
        waiting = wait_for(lambda: len(set(map(frozenset, found := self.everywhere("waiting")))) == 1 and len(found[0]) == 3 and found[0], "who waits for them", copilot)
        self.assertEqual(set(), self.inside(pod) & (waiting | set().union(*processes.values())), "the pod has nobody of them")
        offline = Path("/sys/fs/cgroup/cpuset") / self.node.cgroup / "kubepods/besteffort"
        self.assertLessEqual(processes[names[0]] | waiting, groups.pids(offline))
        self.assertEqual(names, sorted(self.running_at(self.nm)))

        begin = time.monotonic()
        self.end_pod(pod)
        gone = time.monotonic() - begin
        with self.assertRaises(OSError):
            self.nm.containers()
        self.assertEqual(processes[names[0]], self.own(names[0]))
        self.assertLessEqual({min(processes[names[1]])}, self.own(names[1]), "its shell; what it waits for is another one each time")
        Path(f"{told}-{names[1]}").touch()  # while nobody looks after it
        wait_for(lambda: not any(self.everywhere(names[1])), "it has ended", None, LIMIT_S)

        after = self.start_pod()
        print(f"upgrade: the pod is gone after {gone:.1f} s, the next one is ready after {time.monotonic() - begin:.1f} s", file=sys.stderr)
        self.assertEqual((0, ""), (job.wait_told(names[1]).status, job.wait_told(names[1]).diagnostics), "its exit code was kept for the next one")
        until("it has the others", lambda: self.running_at(self.nm) == {names[0], names[2]})
        self.assertEqual(processes[names[0]], self.own(names[0]), "the master is the same")
        self.assertLessEqual({min(processes[names[2]])}, self.own(names[2]))
        self.assertEqual(("RUNNING", 2, 1), (job.state, job.report()["runningContainers"], len(job.attempts())))
        self.assertEqual(LEAST, self.nm.total(), "of a new one, until an operator speaks; nobody ends for that")
        self.offer()

        Path(f"{told}-{names[2]}").touch()
        report = job.wait_for("FINISHED")
        self.assertEqual(("SUCCEEDED", 1), (report["finalStatus"], len(job.attempts())), job.tail())
        self.assertEqual(0, job.wait_told(names[2]).status)
        self.assertEqual({"late"}, {(self.yarn.layout.folder / NAME / "state/tmp" / name).read_text().strip() for name in names[1:]})
        left = lambda: [str(group) for top in cgroups.there(self.yarn.groups.path) for group in top.iterdir() if group.is_dir()]
        wait_for(lambda: not left(), "no group is left", copilot, LIMIT_S)
        self.end_pod(after)
        self.assertEqual({}, self.yarn_processes(), "but for the ResourceManager and who asked")

    def yarn_processes(self) -> dict[int, str]:
        return {pid: line for pid, line in self.yarn.processes().items() if "ResourceManager" not in line and "distributedshell.Client" not in line}

    def test_not_adopted_they_end_with_the_pod(self):
        """What the groups of its NodeManager do not cover is the pod's, and ends with that: why --adopt is there."""
        pod = self.start_pod()
        self.offer()
        copilot = self.copilot()
        job, names = self.submit(copilot, "sleep 1000", 1)

        def is_the_pods() -> bool:  # of what is short-lived, one look may have what the next has not
            mine = set().union(*self.everywhere(names[1]))
            return bool(mine) and mine <= self.inside(pod)

        until("in cpu and memory it is beside the pod, elsewhere in it", is_the_pods)
        self.end_pod(pod)
        self.assertEqual(set(), set().union(*self.everywhere(names[1])))
        job.end()


if __name__ == "__main__":
    unittest.main()
