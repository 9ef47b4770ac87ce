"""The NodeManager image from `./dev image node-manager`, as the chart's pod: its own JRE, its own Hadoop, its files from a ConfigMap, and from the
machine only the directory that replaces the cluster's file system. Maven's jars have no native container-executor, so the DefaultContainerExecutor runs containers,
and the copilot gives them their groups."""

import sys
import time
import unittest
from collections.abc import Mapping
from pathlib import Path

from cluster.tidemark_process import wait_for
from release import node_manager_image
from driver.console import Failed
from support.yarn import until
from yarn.generated import SITE
from yarn.node_manager_pods import API, LEAST, LIMIT_S, NAME, NodeManagerPods, chart, colocation, tearDownModule  # noqa: F401

REPOSITORY = "tidemark.test/hadoop-node-manager"
FIRST, NEXT = "1", "2"  # tags before and after the upgrade
HOMES = {part: f"$HADOOP_{part.upper()}_HOME/share/hadoop/{part}" for part in ("common", "hdfs", "yarn")}
IN_THE_IMAGE: Mapping[str, str] = {
    **SITE,
    # As Hadoop has it by default, and in the place of the log4j.properties of the image.
    "yarn.application.classpath": ",".join(["$HADOOP_CONF_DIR", "$HADOOP_HOME/etc/hadoop", *(f"{home}/{jars}" for home in HOMES.values() for jars in ("*", "lib/*"))]),
    "yarn.nodemanager.env-whitelist": "JAVA_HOME,HADOOP_COMMON_HOME,HADOOP_HDFS_HOME,HADOOP_CONF_DIR,HADOOP_YARN_HOME,HADOOP_HOME,PATH,LANG,TZ,JAVA_TOOL_OPTIONS",
}


@chart.needs_helm
class NodeManagerImage(NodeManagerPods):
    SITE = IN_THE_IMAGE

    @classmethod
    def setUpClass(cls):
        try:
            archive = node_manager_image.provide(f"{REPOSITORY}:{FIRST}")
        except Failed as error:
            raise unittest.SkipTest(str(error))
        super().setUpClass()
        begin = time.monotonic()
        cls.node.import_image(archive)
        done = cls.node.ctr("images", "tag", f"{REPOSITORY}:{FIRST}", f"{REPOSITORY}:{NEXT}")
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        print(f"the image: {archive.stat().st_size >> 20} MiB, taken by containerd in {time.monotonic() - begin:.1f} s", file=sys.stderr)
        files = chart.find(cls.rendered, "ConfigMap")
        place = f"/api/v1/namespaces/{chart.NAMESPACE}/configmaps"
        cls.addClassCleanup(API.request, "DELETE", f"{place}/{files['metadata']['name']}")
        metadata = {"name": files["metadata"]["name"], "namespace": chart.NAMESPACE}
        colocation.must(API.request("POST", place, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": files["data"]}))

    @classmethod
    def site_flags(cls) -> list[str]:
        return ["--executor=default"]

    @classmethod
    def values(cls) -> dict:
        layout = cls.yarn.layout
        core = (layout.configuration("rm") / "core-site.xml").read_text()
        return {
            "image": {"repository": REPOSITORY, "tag": FIRST, "pullPolicy": "Never"}, "hadoopConf": {"yarn-site.xml": cls.site, "core-site.xml": core},
            "javaOptions": "-Xmx192m", "extraEnv": cls.seen("JAVA_TOOL_OPTIONS"), **cls.mounted({"run": (str(layout.folder), False)}),
        }

    def test_containers_survive_an_upgrade_to_the_next_image(self):
        self.assertEqual(LEAST, (pod := self.start_pod()) and self.nm.total(), "before an operator runs")
        self.offer()
        copilot = self.copilot("--adopt")
        shown = self.yarn.layout.folder / "told"
        job, names = self.submit(copilot, f"while ! [ -e {shown} ]; do sleep 0.2; done; exit 7", 1)
        master, task = self.own(names[0]), self.own(names[1])  # below kubepods/besteffort
        self.assertEqual(set(), self.inside(pod) & (master | task), "none of them is in the pod")
        self.assertTrue(Path(f"/proc/{min(task)}/root/opt/hadoop/bin/start-node-manager").exists(), "its root is the image")

        begin = time.monotonic()
        self.end_pod(pod)
        gone = time.monotonic() - begin
        self.assertEqual(master, self.own(names[0]))
        self.assertLessEqual({min(task)}, self.own(names[1]), "its shell; its child changes")
        after = self.start_pod(f"{REPOSITORY}:{NEXT}")
        print(f"upgrade: the pod is gone after {gone:.1f} s, one of the next image is ready after {time.monotonic() - begin:.1f} s", file=sys.stderr)
        until("it has recovered them", lambda: self.running_at(self.nm) == set(names))
        self.assertEqual((master, "RUNNING", 1), (self.own(names[0]), job.state, len(job.attempts())))
        self.assertLessEqual({min(task)}, self.own(names[1]))

        shown.touch()
        self.assertEqual(7, job.wait_told(names[1]).status, "its exit code, from the NodeManager that did not start it")
        job.wait_for("FINISHED")
        self.assertEqual(1, len(job.attempts()), job.tail())
        wait_for(lambda: not any(any(self.everywhere(name)) for name in names), "empty groups", copilot, LIMIT_S)
        self.end_pod(after)
        self.assertEqual({}, self.yarn_processes(), "except the ResourceManager and its client")


if __name__ == "__main__":
    unittest.main()
