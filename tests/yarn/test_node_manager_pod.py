"""A NodeManager as a pod of a real kubelet and containerd, from the chart: its containers run on when the pod ends, and the next one takes them over.

Java, Hadoop's jars and the programs of containers come from the machine, read-only; the fixture has a replacement of the native container-executor. With its
own image: test_node_manager_image.py."""

import os
import sys
import time
import unittest
from pathlib import Path

from cluster.tidemark_process import wait_for
from support.node import cgroups
from support.yarn import groups, until
from support.yarn.settings import command
from yarn.node_manager_pods import LEAST, LIMIT_S, NAME, NodeManagerPods, chart, tearDownModule  # noqa: F401

CONF = "/etc/hadoop/conf"
IMAGE, TAG = "tidemark.test/work", "1"  # of the node; the image only needs to exist
# What a program of the machine needs to run in its own root.
OF_THE_MACHINE = ["/bin", "/lib", "/lib64", "/usr", "/etc/passwd", "/etc/group", "/etc/nsswitch.conf", "/etc/java-17-openjdk"]


@chart.needs_helm
class NodeManagerPod(NodeManagerPods):
    @classmethod
    def site_flags(cls) -> list[str]:
        return [f"--group={cls.yarn.groups.path}", f"--container-executor={cls.yarn.layout.executor}", "--container-executor-group=root"]

    @classmethod
    def values(cls) -> dict:
        layout, jars = cls.yarn.layout, cls.yarn.jars
        words = command(layout, cls.yarn.java, jars, NAME, "NodeManager")
        words[words.index("-cp") + 1] = f"{jars}/*:{CONF}"
        places = {"run": (str(layout.folder), False), "jars": (str(jars), True)}
        places |= {f"machine-{i}": (place, True) for i, place in enumerate(OF_THE_MACHINE) if os.path.exists(place)}
        return {
            "image": {"repository": IMAGE, "tag": TAG, "pullPolicy": "Never"}, "command": words, "hadoopConfDir": str(layout.configuration(NAME)),
            "extraEnv": [*cls.seen("JAVA_HOME", "JAVA_TOOL_OPTIONS"), {"name": "PATH", "value": "/usr/bin:/bin:/usr/sbin:/sbin"}], **cls.mounted(places),
        }

    def test_its_containers_survive_an_upgrade_and_the_next_pod_takes_them_over(self):
        # Each ends on request, and needs /tmp for that, which is not the pod's.
        self.assertEqual(LEAST, (pod := self.start_pod()) and self.nm.total(), "before an operator runs")
        self.offer()
        copilot = self.copilot("--adopt")
        shown = self.yarn.layout.folder / "told"
        job, names = self.submit(copilot, f"while ! [ -e {shown}-$CONTAINER_ID ]; do sleep 0.2; done; (echo late >/tmp/$CONTAINER_ID)", 2)
        processes = {name: self.own(name) for name in names}
        waiting = wait_for(lambda: len(set(map(frozenset, found := self.everywhere("waiting")))) == 1 and len(found[0]) == 3 and found[0], "the process that waits for them", copilot)
        self.assertEqual(set(), self.inside(pod) & (waiting | set().union(*processes.values())), "none of them is in the pod")
        offline = Path("/sys/fs/cgroup/cpuset") / self.node.cgroup / "kubepods/besteffort"
        self.assertLessEqual(processes[names[0]] | waiting, groups.pids(offline))
        self.assertEqual(names, sorted(self.running_at(self.nm)))

        begin = time.monotonic()
        self.end_pod(pod)
        gone = time.monotonic() - begin
        with self.assertRaises(OSError):
            self.nm.containers()
        self.assertEqual(processes[names[0]], self.own(names[0]))
        self.assertLessEqual({min(processes[names[1]])}, self.own(names[1]), "its shell; its child changes")
        Path(f"{shown}-{names[1]}").touch()  # while no NodeManager runs
        wait_for(lambda: not any(self.everywhere(names[1])), "it has ended", None, LIMIT_S)

        after = self.start_pod()
        print(f"upgrade: the pod is gone after {gone:.1f} s, the next one is ready after {time.monotonic() - begin:.1f} s", file=sys.stderr)
        self.assertEqual((0, ""), (job.wait_told(names[1]).status, job.wait_told(names[1]).diagnostics), "its exit code was kept for the next one")
        until("it has recovered the others", lambda: self.running_at(self.nm) == {names[0], names[2]})
        self.assertEqual(processes[names[0]], self.own(names[0]), "the master is the same")
        self.assertLessEqual({min(processes[names[2]])}, self.own(names[2]))
        self.assertEqual(("RUNNING", 2, 1), (job.state, job.report()["runningContainers"], len(job.attempts())))
        self.assertEqual(LEAST, self.nm.total(), "the total of a new one until an operator runs; no container ends")
        self.offer()

        Path(f"{shown}-{names[2]}").touch()
        report = job.wait_for("FINISHED")
        self.assertEqual(("SUCCEEDED", 1), (report["finalStatus"], len(job.attempts())), job.tail())
        self.assertEqual(0, job.wait_told(names[2]).status)
        self.assertEqual({"late"}, {(self.yarn.layout.folder / NAME / "state/tmp" / name).read_text().strip() for name in names[1:]})
        left = lambda: [str(group) for top in cgroups.there(self.yarn.groups.path) for group in top.iterdir() if group.is_dir()]
        wait_for(lambda: not left(), "the last group to go", copilot, LIMIT_S)
        self.end_pod(after)
        self.assertEqual({}, self.yarn_processes(), "except the ResourceManager and its client")

    def test_not_adopted_they_end_with_the_pod(self):
        """Processes outside the NodeManager's own groups belong to the pod and end with it: the reason for --adopt."""
        pod = self.start_pod()
        self.offer()
        copilot = self.copilot()
        job, names = self.submit(copilot, "sleep 1000", 1)

        def is_the_pods() -> bool:  # one sample may contain a short-lived process that the next does not
            mine = set().union(*self.everywhere(names[1]))
            return bool(mine) and mine <= self.inside(pod)

        until("in cpu and memory it is beside the pod, elsewhere in it", is_the_pods)
        self.end_pod(pod)
        self.assertEqual(set(), set().union(*self.everywhere(names[1])))
        job.end()


if __name__ == "__main__":
    unittest.main()
