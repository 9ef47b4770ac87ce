"""The DaemonSet of the chart on a real node: its pod from a local image, with only the rights, directories and capabilities of the chart.

There is no controller manager, no scheduler and no kube-proxy here: the test creates the pod from the DaemonSet's template, sets its node, and adds what
the API server's plugin would (the token of its account), with the API server's address."""

import copy
import json
import os
import re
import sys
import tempfile
import time
import unittest
import urllib.request
from pathlib import Path
from urllib.parse import urlparse

from cluster import chart, colocation
from cluster.colocation import NODESLOS
from cluster.tidemark_process import wait_for
from contract.client import MERGE
from node.protecting import BATCH, OFFLINE
from node.test_agent import AGGREGATE_S, REPORT_S
from node.test_eviction import DRAWN_AGAIN_S, OFF, memory_percent
from node.test_node import API, new_node
from support import images
from support.node import cgroups, pods
from support.patience import PATIENCE_S as LIMIT_S
from support.ports import free

IMAGE = "tidemark.test/tidemark:1"
AGENT = "tidemark-agent"
PODS = f"/api/v1/namespaces/{chart.NAMESPACE}/pods"
CAPABILITIES = 1 << 1 | 1 << 5  # DAC_OVERRIDE, KILL
SYSLOG = 1 << 34  # with agent.kernelLog
KMSG = Path("/dev/kmsg")
NOT_KILLED = "TM-EVICT-020"
NODE_CRITICAL = 2000001000  # so the kubelet gives it oom_score_adj -997; the runtime of the test node gives none below its own
BIG_MIB = 1000  # memory thresholds are whole percents of this machine's memory
LIMITS = {"cpu.cfs_quota_us": "50000", "cpu.shares": "512"}  # contract 7.8, of BATCH


def tearDownModule():
    API.close()


@chart.needs_helm
class DaemonSet(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.node = cls.enterClassContext(new_node())
        cls.port = free(1)[0]
        cls.import_agent()
        colocation.install_crds()
        chart.ensure_namespace(API)
        values = cls.values()
        manifests = chart.template(values, "--show-only", "templates/agent.yaml")
        chart.must(chart.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=manifests))
        cls.addClassCleanup(chart.kubectl, "delete", "--ignore-not-found", "-f", "-", given=manifests)
        cls.daemon_set = chart.find(chart.objects(chart.template(values, "--show-only", "templates/agent_daemonset.yaml")), "DaemonSet")
        root = {"metadata": {"name": "kube-root-ca.crt"}, "data": {"ca.crt": Path(os.environ["TIDEMARK_TEST_CA_FILE"]).read_text()}}
        colocation.must(API.request("POST", colocation.SETTINGS, root), 201, 409)
        cls.addClassCleanup(API.request, "DELETE", f"{colocation.SETTINGS}/kube-root-ca.crt")
        policy = {"reportIntervalSeconds": REPORT_S, "aggregateDurationSeconds": AGGREGATE_S, "nodeAggregatePolicy": {"durations": ["1m0s"]}}
        metric = {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeMetric", "metadata": {"name": cls.node.name}, "spec": {"metricCollectPolicy": policy}}
        colocation.must(API.request("POST", colocation.NODEMETRICS, metric))
        cls.addClassCleanup(API.request, "DELETE", f"{colocation.NODEMETRICS}/{cls.node.name}")
        amounts = {"kubernetes.io/batch-cpu": "8000", "kubernetes.io/batch-memory": "8Gi"}  # no manager sells them here
        status = {"status": {"capacity": amounts, "allocatable": amounts}}
        colocation.must(API.request("PATCH", f"/api/v1/nodes/{cls.node.name}/status", status, content="application/strategic-merge-patch+json"))
        cls.pods = cls.node.run([pods.Work("web", pods.BURSTABLE, 5, 6), pods.Work("offline", pods.BEST_EFFORT, 5, 6, labels=OFFLINE, batch=BATCH)])
        cls.count = 0
        cls.start()

    @classmethod
    def values(cls) -> dict:
        layout = cls.node.layout
        return {
            "image": {"repository": IMAGE.rsplit(":", 1)[0], "tag": IMAGE.rsplit(":", 1)[1], "pullPolicy": "Never"},
            "settings": {"create": False},
            "agent": {
                "enabled": True, "kernelLog": True, "uninstall": {"waitSeconds": 30}, "metricsHost": "127.0.0.1", "metricsPort": cls.port, "logFormat": "text",
                "kubelet": {
                    "endpoint": cls.node.kubelet, "cgroupRoot": f"/{cls.node.cgroup}", "rootDir": str(layout.kubelet / "root"),
                    "podLogsDir": str(layout.state / "pod-logs"),
                },
            },
        }

    @classmethod
    def import_agent(cls) -> None:
        with tempfile.TemporaryDirectory() as folder:
            binary, archive = Path(os.environ["TIDEMARK_BINARY"]), cls.node.layout.state / "tidemark.tar"
            programs = {name: Path(folder) / name for name in images.PROGRAMS}
            for name, file in programs.items():
                chart.must(chart.run(["strip", "-o", file, binary.with_name(name)]))
            images.write_tidemark(archive, IMAGE, programs)
            cls.node.import_image(archive)

    @classmethod
    def start(cls) -> None:
        cls.count += 1
        cls.name = f"{AGENT}-{cls.count}"
        cls.make_pod(cls.daemon_set, cls.name)

        def ready() -> bool:
            cls.pod = API.get(f"{PODS}/{cls.name}").json
            return any(each["type"] == "Ready" and each["status"] == "True" for each in cls.pod["status"].get("conditions", []))

        try:
            wait_for(ready, "the agent's pod to be ready", None, LIMIT_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{json.dumps(cls.pod['status'], indent=1)}\n{cls.log()[-4000:]}\n{cls.node.tail(5)}")

    @classmethod
    def make_pod(cls, of: dict, name: str) -> None:
        """A pod of its template, on this node, with a token of its account."""
        template = copy.deepcopy(of["spec"]["template"])
        spec = template["spec"]
        spec["nodeName"] = cls.node.name
        server = urlparse(os.environ["TIDEMARK_TEST_SERVER"])
        container = spec["containers"][0]
        container["env"] = [*container.get("env", []), {"name": "KUBERNETES_SERVICE_HOST", "value": server.hostname}, {"name": "KUBERNETES_SERVICE_PORT", "value": str(server.port)}]
        container.setdefault("volumeMounts", []).append({"name": "token", "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount", "readOnly": True})
        token = [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {"configMap": {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}]}},
        ]
        spec.setdefault("volumes", []).append({"name": "token", "projected": {"sources": token}})
        template["metadata"] = {**template["metadata"], "name": name, "namespace": chart.NAMESPACE}
        colocation.must(API.request("POST", PODS, {"apiVersion": "v1", "kind": "Pod", **template}))

    @classmethod
    def log(cls) -> str:
        folder = cls.node.layout.state / "pod-logs"
        return "".join(file.read_text(errors="replace") for file in sorted(folder.glob(f"{chart.NAMESPACE}_{cls.name}_*/agent/*.log")))

    def metrics(self) -> dict[str, float]:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(f"http://127.0.0.1:{self.port}/all-metrics", timeout=10) as answer:
            lines = answer.read().decode().splitlines()
        return {name: float(value) for name, value in (line.rsplit(" ", 1) for line in lines if line and line[0] != "#")}

    def wait(self, question, what: str):
        try:
            return wait_for(question, what, None, LIMIT_S)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{self.log()[-4000:]}")

    def process(self) -> Path:
        """/proc of the agent, seen from the machine."""
        uid = self.pod["metadata"]["uid"]
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                if f"pod{uid}" in (folder / "cgroup").read_text() and (folder / "cmdline").read_bytes().startswith(b"/tidemark-agent\0agent\0"):
                    return folder
            except OSError:
                continue
        raise AssertionError(f"no process of {self.name}")

    def report(self) -> dict:
        return json.loads(colocation.must(API.get(f"{colocation.NODEMETRICS}/{self.node.name}")).body).get("status", {})

    def limits(self) -> dict[str, str]:
        """The limits of the offline pod."""
        uid = next(pod["metadata"]["uid"] for pod in self.pods if pod["metadata"]["name"] == "offline")
        places = {hierarchy.name: hierarchy for hierarchy in cgroups.hierarchies()}
        folder = places["cpu"] / self.node.cgroup / "kubepods" / "besteffort" / f"pod{uid}"
        return {name: (folder / name).read_text().strip() for name in LIMITS}

    def condition(self) -> dict:
        conditions = API.get(f"/api/v1/nodes/{self.node.name}").get("status.conditions", [])
        return next((each for each in conditions if each["type"] == "TidemarkIsolation"), {})

    def slo(self, percent: int) -> None:
        """Sets the memory threshold. Offline pods may be evicted without limit."""
        word = {
            "schema": 1, "agent": {"modes": {"default": "enforce"}, "evict": {"graceSeconds": 3}},
            "evictions": {"perHour": 100, "until": "2100-01-01T00:00:00Z"},
        }
        spec = {"resourceUsedThresholdWithBE": {"enable": True, "memoryEvictThresholdPercent": percent, "memoryEvictLowerPercent": percent - 1}, "extensions": {"Object": {"tidemark": word}}}
        API.close()  # the server may have closed an idle connection
        patched = API.request("PATCH", f"{NODESLOS}/{self.node.name}", {"spec": spec}, content=MERGE)
        if patched.status == 404:
            made = {"apiVersion": "slo.koordinator.sh/v1alpha1", "kind": "NodeSLO", "metadata": {"name": self.node.name}, "spec": spec}
            patched = API.request("POST", NODESLOS, made)
            self.addClassCleanup(API.request, "DELETE", f"{NODESLOS}/{self.node.name}")
        colocation.must(patched)

    def test_it_reports_without_errors(self):
        self.wait(lambda: {"web", "offline", self.name} <= {each["name"] for each in self.report().get("podsMetric", [])}, "a report of all pods, its own included")
        self.wait(lambda: self.condition().get("reason") in ("Enforcing", "Observing"), "a condition of the node")
        wrong = [line for line in self.log().splitlines() if " WARN " in line or " ERROR " in line]
        self.assertEqual([], [line for line in wrong if re.search(r"403|orbidden|denied|not permitted|Read-only|cannot test|No such file", line)])
        self.assertEqual(0, self.metrics()["tidemark_agent_readings_unreadable_total"])
        self.assertEqual(0, self.metrics()["tidemark_agent_journal_refused_total"])
        self.assertEqual(1, self.metrics()['tidemark_agent_facility{component="kernel log"}'], self.log())

    def test_it_has_exactly_what_it_needs(self):
        status = dict(line.split(":\t", 1) for line in (self.process() / "status").read_text().splitlines())
        for kind in ("CapEff", "CapPrm", "CapBnd"):
            self.assertEqual(CAPABILITIES | SYSLOG, int(status[kind], 16), kind)
        self.assertEqual("1", status["NoNewPrivs"])
        self.assertEqual(NODE_CRITICAL, self.pod["spec"]["priority"])
        quota = [(hierarchy / line.split(":")[2].strip("/") / "cpu.cfs_quota_us") for hierarchy in cgroups.hierarchies() if hierarchy.name == "cpu"
                 for line in (self.process() / "cgroup").read_text().splitlines() if line.split(":")[1] == "cpu"]
        self.assertEqual(["-1"], [file.read_text().strip() for file in quota], "no quota may delay it")

    @unittest.skipUnless(os.access(KMSG, os.W_OK), "the kernel log is not writable here")
    def test_kernel_complaints_are_reported(self):
        """A runtime hides the device from an unprivileged pod, but with the capability it allows the system call."""
        complaint = f"tidemark-{os.getpid()}"
        KMSG.write_text(f"<4>INFO: task {complaint}:1 blocked for more than 122 seconds.\n")
        shown = lambda: [line for line in self.log().splitlines() if "the kernel says" in line and f"process={complaint}" in line]
        self.wait(shown, "a hung task in the log")
        self.assertIn('what="hung task"', shown()[0])
        self.assertGreaterEqual(self.metrics()['tidemark_agent_kernel_incidents_total{reason="hung task"}'], 1)

    def test_an_upgrade_keeps_limits_in_force(self):
        self.slo(OFF)
        self.wait(lambda: self.limits() == LIMITS, "the limits of an offline pod")
        in_force = 'tidemark_agent_files_in_force{component="batchLimits"}'
        before = self.wait(lambda: self.metrics().get(in_force), "files in force")
        begin = time.monotonic()
        API.delete(f"{PODS}/{self.name}")
        self.wait(lambda: API.get(f"{PODS}/{self.name}").status == 404, "the agent's pod to go")
        gone = time.monotonic() - begin
        self.assertEqual(LIMITS, self.limits())
        self.start()
        print(f"upgrade: the pod is gone after {gone:.1f} s, the next one ready after {time.monotonic() - begin:.1f} s", file=sys.stderr)
        self.assertEqual(LIMITS, self.limits())
        self.wait(lambda: self.metrics().get(in_force) == before, "the next agent to have the same files in force")
        self.assertEqual(0, self.metrics()["tidemark_agent_holds"], "the end was orderly")
        written = [name for name, value in self.metrics().items() if name.startswith("tidemark_agent_kernel_writes_total") and "batchLimits" in name and value > 0]
        self.assertEqual([], written, "no file was written again")
        before_report = self.report().get("updateTime")
        self.wait(lambda: self.report().get("updateTime") != before_report, "a report of the next agent")

    def test_uninstalling_switches_off_and_waits_until_nothing_is_in_force(self):
        """The pod of the chart's Job, which `helm uninstall` creates first (tests/cluster/test_chart_uninstall.py tests that helm obeys its result)."""
        uninstall = chart.template(self.values(), "--show-only", "templates/agent_uninstall.yaml")
        found = chart.objects(uninstall)
        rights = "\n---\n".join(each for each in uninstall.split("\n---\n") if "\nkind: Job" not in each and "\nkind: ConfigMap" not in each)
        chart.must(chart.kubectl("apply", "--server-side", "--force-conflicts", "-f", "-", given=rights))
        self.addCleanup(chart.kubectl, "delete", "--ignore-not-found", "-f", "-", given=rights)
        self.addCleanup(API.request, "DELETE", f"{colocation.SETTINGS}/tidemark-state")
        job = chart.find(found, "Job")
        job["spec"]["template"]["spec"]["hostNetwork"] = True  # the API server of the tests is on the loopback
        self.slo(OFF)
        self.wait(lambda: "files)" in self.condition().get("message", ""), "files in force")
        proof = {"metadata": {"name": chart.find(found, "ConfigMap")["metadata"]["name"]}}
        asked = lambda: API.request("POST", colocation.SETTINGS, proof, dryRun="All").status
        self.wait(lambda: asked() == 422, "the policy in force")
        phase, said = self.ended(job, "off-too-early")
        self.assertEqual("Failed", phase)
        self.assertIn(f"kernel files are still in force on {self.node.name} (", said)
        self.assertEqual(422, asked())
        self.node.end(["offline"])
        begin = time.monotonic()
        phase, said = self.ended(job, "off-at-last")
        print(f"uninstall: nothing in force {time.monotonic() - begin:.1f} s after the last offline pod", file=sys.stderr)
        self.assertEqual("Succeeded", phase, said)
        self.wait(lambda: asked() == 201, "the policy to see it")
        marks = {"metadata": {"labels": {"tidemark.io/state": None}, "annotations": {"tidemark.io/state-detail": None}}}
        colocation.must(API.request("PATCH", f"/api/v1/nodes/{self.node.name}", marks, content=MERGE))
        self.wait(lambda: self.condition().get("reason") == "Enforcing", "on again")

    def ended(self, job: dict, name: str) -> tuple[str, str]:
        """The exit code of its pod, and its output."""
        self.make_pod(job, name)
        self.addCleanup(API.delete, f"{PODS}/{name}")
        self.wait(lambda: API.get(f"{PODS}/{name}").get("status.phase") in ("Succeeded", "Failed"), f"the end of {name}")
        logs = (self.node.layout.state / "pod-logs").glob(f"{chart.NAMESPACE}_{name}_*/off/*.log")
        return API.get(f"{PODS}/{name}").get("status.phase"), "".join(file.read_text(errors="replace") for file in logs)

    def kills(self, reason: str) -> float:
        return sum(value for name, value in self.metrics().items() if name.startswith("tidemark_agent_kills_total") and reason in name)

    def test_without_evictions_a_task_of_another_user_is_killed(self):
        """Evictions need the manager's review, and no manager runs: closed, as the chart leaves it. Then the cgroup is killed for memory: at once if a
        hierarchy of version 2 exists beside the others, as usual here; otherwise process by process with the capability KILL.
        (This test is last: the kubelet restarts killed containers, later each time.)"""
        self.slo(OFF)
        self.node.run([pods.Work("big", pods.BEST_EFFORT, 5, BIG_MIB, labels=OFFLINE, user=1000)])
        drawn = 0.0

        def killed() -> bool:
            """The threshold is just below the used memory, and is set repeatedly: other work of this machine may release memory."""
            nonlocal drawn
            if any("agent killed" in line and "name=big" in line for line in self.log().splitlines()):
                return True
            if time.monotonic() - drawn > DRAWN_AGAIN_S:
                self.slo(memory_percent() - 1)
                drawn = time.monotonic()
            return False

        try:
            self.wait(lambda: killed() or self.kills(NOT_KILLED), "a killed cgroup")
        finally:
            self.slo(OFF)
            self.node.end(["big"])
        self.assertEqual(0, self.kills(NOT_KILLED), self.log()[-2000:])
        self.assertGreaterEqual(self.kills("TM-EVICT-017"), 1, "without an answer")


if __name__ == "__main__":
    unittest.main()
