"""Orders on the real API server: `tidemark off|on|observe` beside a running manager, a dead one, and another writer."""

import json
import os
import subprocess
import tempfile
import threading
import time

from cluster import chart, colocation, previous
from cluster.colocation import MERGE, must
from cluster.test_manager import LEFT, SETTINGS, WithApi, amounts
from cluster.tidemark_process import Component, explain, explain_json, wait_for

STATE = "tidemark.io/state"
STATE_MAP = "tidemark-state"
BATCH = "kubernetes.io/batch-cpu"
PODS = "/api/v1/namespaces/default/pods"
BUDGETS = "/apis/policy/v1/namespaces/default/poddisruptionbudgets"
ACCOUNTS = "/api/v1/namespaces/koordinator-system/serviceaccounts"
RBAC = "/apis/rbac.authorization.k8s.io/v1"
BLIND = "state-blind"  # account without the right to list pods
OBSERVER = "observer"  # namespace of an observing manager with its own settings
OBSERVER_MAPS = f"/api/v1/namespaces/{OBSERVER}/configmaps"
UNOBEYED_S = 3  # time for a manager to do the wrong thing
NIGHT = {"schema": 1, "mode": "enforce", "pools": [{"name": "night", "nodeSelector": {"matchLabels": {"time": "night"}}, "mode": "observe"}]}


def tidemark(*arguments: str) -> str:
    done = subprocess.run(
        [os.environ["TIDEMARK_BINARY"], *arguments, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
    )
    if done.returncode != 0:
        raise AssertionError(f"tidemark {' '.join(arguments)} ended with {done.returncode}: {done.stderr}")
    return done.stdout


def order(verb: str, scope: str, *more: str) -> str:
    return tidemark(verb, *scope.split(), "--reason", "a test", "--by", "ann@ops", "--yes", *(["--now"] if verb == "off" else []), *more)


class WithState(WithApi):
    def setUp(self):
        colocation.put_settings(self.api, SETTINGS)
        self.addCleanup(self.api.request, "DELETE", f"{colocation.SETTINGS}/{STATE_MAP}")

    def offered(self, node: str) -> int | None:
        return amounts(colocation.offered(self.api, node)).get(BATCH)

    def report(self, node: str, cores: str = "2") -> None:
        """A fresh report of the node's agent."""
        used = {"resources": {"cpu": cores, "memory": "4Gi"}}
        colocation.put_metric(self.api, node, {"nodeMetric": {"nodeUsage": used, "systemUsage": used}, "podsMetric": []})

    def condition(self, node: str) -> dict:
        conditions = must(self.api.request("GET", f"/api/v1/nodes/{node}")).get("status.conditions", [])
        return next((each for each in conditions if each["type"] == "TidemarkCoLocation"), {})

    def wait_condition(self, node: str, reason: str, component: Component, limit_s: float = 60) -> dict:
        return wait_for(lambda: (found := self.condition(node)).get("reason") == reason and found, f"condition {reason} on {node}", component, limit_s)

    def stays(self, node: str, batch_cpu: int | None) -> None:
        """While reports come in with which it would sell."""
        end = time.monotonic() + UNOBEYED_S
        cores = 1
        while time.monotonic() < end:
            cores = 3 - cores
            self.report(node, str(cores))
            time.sleep(0.2)
            self.assertEqual(self.offered(node), batch_cpu)
        self.report(node)

    def overwrite(self, node: str, batch_cpu: int) -> None:
        """As another manager does it."""
        each = {BATCH: str(batch_cpu)}
        status = {"status": {"capacity": each, "allocatable": each}}
        must(self.api.request("PATCH", f"/api/v1/nodes/{node}/status", status, content=MERGE, fieldManager="koord-manager"))


class OffAndOn(WithState):
    def test_a_node_that_is_off_stays_off_beside_a_running_manager(self):
        node, other = self.node("state-a"), self.node("state-b")
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, component)
        order("off", f"node {node}")
        self.assertIsNone(self.offered(node), "the command itself removes the node's offer")
        found = self.wait_condition(node, "Off", component)
        self.assertEqual(found["status"], "False")
        self.assertIn("ordered for this node by ann@ops: a test", found["message"])
        self.stays(node, None)
        self.assertEqual(self.offered(other), int(LEFT))
        self.assertIn("ordered for this node by ann@ops: a test", explain(node).stdout)
        self.assertEqual(explain_json(node)["state"]["by"], "ann@ops")
        self.assertEqual(component.metrics()['tidemark_nodes_off{pool="default"}'], 1)
        uid = must(self.api.request("GET", f"/api/v1/nodes/{node}")).get("metadata.uid")
        about = self.api.request("GET", "/api/v1/events", fieldSelector=f"involvedObject.uid={uid}").get("items", [])
        events = [event for event in about if event["reason"] == "CoLocationOff"]
        self.assertEqual(len(events), 1)

        order("on", f"node {node}")
        self.report(node)
        self.wait_offered(node, LEFT, component)
        self.wait_condition(node, "On", component)

    def test_off_without_a_manager_holds_for_the_next_one(self):
        node, late = self.node("state-dead"), "state-late"
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, component)
        component.kill()
        order("off", "cluster")
        self.assertIsNone(self.offered(node))
        component = self.run_manager("--leader-elect=false")
        self.stays(node, None)
        self.node(late)
        self.stays(late, None)
        labels = wait_for(
            lambda: (found := must(self.api.request("GET", f"/api/v1/nodes/{late}")).get("metadata.labels", {})).get(STATE) == "off" and found,
            "a mark on the node that joined later", component,
        )
        self.assertEqual(labels[STATE], "off")
        order("on", "cluster")
        for name in (node, late):
            self.report(name)
            self.wait_offered(name, LEFT, component)


class JoinAndLeave(WithState):
    CONFIG = {"schema": 1, "mode": "observe", "pools": [{"name": "night", "mode": "enforce", "nodeSelector": {"matchLabels": {"tidemark.io/pool": "night"}}}]}

    def run_node(self, verb: str, *more: str) -> subprocess.CompletedProcess:
        words = ["node", verb, *more, "--reason", "a test", "--by", "ann@ops", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"]]
        return subprocess.run([os.environ["TIDEMARK_BINARY"], *words], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120)

    def test_nodes_join_step_by_step_and_leave_with_proof(self):
        data = {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(self.CONFIG)}}
        must(self.api.request("POST", colocation.SETTINGS, data))
        good, silent = self.node("state-join-a", labels={"rack": "7"}), self.node("state-join-b", labels={"rack": "7"}, age_s=3600)
        for name in (good, silent):
            status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
            must(self.api.request("PATCH", f"/api/v1/nodes/{name}/status", status, content=MERGE))
        component = self.run_manager("--leader-elect=false")
        words = ["-l", "rack=7", "--pool=night", "--wait=3s", "--yes"]
        first = self.run_node("join", *words)
        self.assertEqual(1, first.returncode, first.stdout + first.stderr)
        self.assertIn(f"{good}: on, pool night\n", first.stdout)
        self.assertIn(f"{silent}: its agent is silent", first.stdout)
        self.wait_offered(good, LEFT, component)
        self.assertEqual("observe", must(self.api.request("GET", f"/api/v1/nodes/{silent}")).get("metadata.labels")[STATE])

        self.report(silent)
        would = self.run_node("join", *words, "--dry-run")
        self.assertIn(f"{good}: nothing to do\n", would.stdout)
        self.assertIn(f"{silent}: on\n", would.stdout)
        again = json.loads(self.run_node("join", *words, "-o", "json").stdout)
        self.assertFalse(again["failed"], again)
        self.assertEqual([[], ["on"]], [each["steps"] for each in again["nodes"]])
        self.wait_offered(silent, LEFT, component)

        left = self.run_node("leave", good, silent, "--drain=0s", "--yes")
        self.assertEqual(0, left.returncode, left.stdout + left.stderr)
        self.assertIn("2 of 2 nodes have offered 0, tasks 0, files 0", left.stdout)
        for name in (good, silent):
            self.assertIsNone(self.offered(name))


class Kubelet(threading.Thread):
    """Ends the terminating pods of a node."""

    def __init__(self, node: str):
        super().__init__(daemon=True)
        self._node, self._api, self._end = node, colocation.client(), threading.Event()
        self.start()

    def run(self):
        while not self._end.wait(0.1):
            for pod in self._api.request("GET", PODS, fieldSelector=f"spec.nodeName={self._node}").get("items", []):
                if pod["metadata"].get("deletionTimestamp"):
                    self._api.request("DELETE", f"{PODS}/{pod['metadata']['name']}", gracePeriodSeconds=0)

    def stop(self):
        self._end.set()
        self.join()
        self._api.close()


class OffEvict(WithState):
    """No manager and no agent run."""

    def setUp(self):
        super().setUp()
        self.name = self.node("state-evict")
        self.addCleanup(Kubelet(self.name).stop)

    def pods(self, *names: str) -> None:
        for name in names:
            colocation.put_pod(self.api, self.name, {"name": name, "prio": "koord-batch", "qos": "BE", "requests": {"cpu": "1"}, "phase": "Running"})
            must(self.api.request("PATCH", f"{PODS}/{name}", {"metadata": {"labels": {"app": "evicted"}}}, content=MERGE))
            must(self.api.request("PATCH", f"{PODS}/{name}/status", {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}, content=MERGE))

    def left(self) -> set[str]:
        pods = self.api.request("GET", PODS, fieldSelector=f"spec.nodeName={self.name}")["items"]
        return {each["metadata"]["name"] for each in pods if not each["metadata"].get("deletionTimestamp")}

    def start(self, *flags: str, kubeconfig: str = "") -> subprocess.Popen:
        words = ["off", "node", self.name, "--evict", "--grace=1s", "--reason=a test", "--by=ann@ops", *flags]
        return subprocess.Popen(
            [os.environ["TIDEMARK_BINARY"], *words, "--kubeconfig", kubeconfig or os.environ["TIDEMARK_TEST_KUBECONFIG"]],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )

    def evict(self, *flags: str, kubeconfig: str = "") -> tuple[int, str, str]:
        command = self.start(*flags, kubeconfig=kubeconfig)
        try:
            told, errors = command.communicate(timeout=60)
        finally:
            command.kill()
        return command.returncode, told, errors

    def stored(self) -> dict:
        data = must(self.api.request("GET", f"{colocation.SETTINGS}/{colocation.OFF_PROGRESS}"))["data"]
        return json.loads(data[f"node_{self.name}.json"])

    def test_a_budget_evicts_one_pod_and_waits_for_the_next_minute(self):
        self.pods("evict-a", "evict-b", "evict-c")
        command = self.start("--budget=1/min")
        try:
            wait_for(lambda: len(self.left()) == 2, "one eviction")
            time.sleep(2 * UNOBEYED_S)
            self.assertEqual(2, len(self.left()), "the second is due after a minute")
            self.assertIsNone(command.poll(), "the command waits for it")
            self.assertEqual((1, 2), (self.stored()["counts"]["evicted"], self.stored()["counts"]["podsLeft"]))
        finally:
            command.kill()
            command.communicate()
        code, told, errors = self.evict()
        self.assertEqual(0, code, told + errors)
        self.assertIn("evicted 3 pods; 1 of 1 node has offered 0, tasks 0, files 0\n", told)
        self.assertIn(f"no agent reported; kernel files were not checked: {self.name}\n", told)
        self.assertEqual(set(), self.left())

    def test_a_disruption_budget_refuses_unless_at_once(self):
        self.pods("evict-kept")
        spec = {"minAvailable": 1, "selector": {"matchLabels": {"app": "evicted"}}}
        must(self.api.request("POST", BUDGETS, {"metadata": {"name": "keep"}, "spec": spec}))
        self.addCleanup(self.api.request, "DELETE", f"{BUDGETS}/keep")
        # The disruption controller does not run here.
        status = {"observedGeneration": 1, "disruptionsAllowed": 0, "currentHealthy": 1, "desiredHealthy": 1, "expectedPods": 1}
        must(self.api.request("PATCH", f"{BUDGETS}/keep/status", {"status": status}, content=MERGE))
        code, told, errors = self.evict("--wait=3s")
        self.assertEqual(1, code, told + errors)
        self.assertIn("default/evict-kept: The disruption budget keep needs 1 healthy pods and has 1 currently\n", told)
        self.assertEqual({"evict-kept"}, self.left())
        code, told, errors = self.evict("--at-once")
        self.assertEqual(0, code, told + errors)
        self.assertEqual(set(), self.left())

    def test_without_the_right_to_list_pods_nothing_is_proven(self):
        self.pods("evict-unseen")
        rules = [{"apiGroups": [""], "resources": ["nodes", "nodes/status", "configmaps"], "verbs": ["*"]}]
        must(self.api.request("POST", ACCOUNTS, {"metadata": {"name": BLIND}}))
        must(self.api.request("POST", f"{RBAC}/clusterroles", {"metadata": {"name": BLIND}, "rules": rules}))
        binding = {
            "metadata": {"name": BLIND}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": BLIND},
            "subjects": [{"kind": "ServiceAccount", "name": BLIND, "namespace": chart.NAMESPACE}],
        }
        must(self.api.request("POST", f"{RBAC}/clusterrolebindings", binding))
        for path in (ACCOUNTS, f"{RBAC}/clusterroles", f"{RBAC}/clusterrolebindings"):
            self.addCleanup(self.api.request, "DELETE", f"{path}/{BLIND}")
        folder = self.enterContext(tempfile.TemporaryDirectory())
        code, told, errors = self.evict("--wait=3s", kubeconfig=chart.kubeconfig_of(BLIND, folder))
        self.assertEqual(1, code, told + errors)
        self.assertIn("cannot list nodes or pods: ", errors)
        self.assertIn("cannot list nodes or pods: ", told)
        self.assertEqual((False, 1), (self.stored()["finished"], self.stored()["counts"]["nodes"]))
        self.assertEqual({"evict-unseen"}, self.left())


class Observe(WithState):
    def test_an_observed_pool_is_shown_and_not_written(self):
        data = {"metadata": {"name": colocation.TIDEMARK_CONFIG}, "data": {"config.yaml": json.dumps(NIGHT)}}
        must(self.api.request("POST", colocation.SETTINGS, data))
        night, day = self.node("state-night", labels={"time": "night"}), self.node("state-day")
        self.overwrite(night, 5001)
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(day, LEFT, component)
        self.stays(night, 5001)
        self.wait_condition(night, "Observed", component)
        self.assertEqual(self.api.request("GET", f"{colocation.NODESLOS}/{night}").status, 404)
        self.assertEqual(component.metrics()['tidemark_observed_nodes_different{pool="night"}'], 1)
        report = json.loads(tidemark("report", "difference", "-o", "json"))
        found = {pool["pool"]: (pool["different"], pool["inForce"]["batchCpuMilli"], pool["wouldBe"]["batchCpuMilli"]) for pool in report["pools"]}
        self.assertEqual(found, {"default": (0, int(LEFT), int(LEFT)), "night": (1, 5001, int(LEFT))})
        self.assertIn("pool night: 1 node: 1 observe", tidemark("report", "states"))
        order("observe", f"node {day}")
        self.overwrite(day, 4001)
        self.stays(day, 4001)

    def test_an_observing_manager_writes_nothing_beside_an_enforcing_one(self):
        node = self.node("state-watch")
        written = (f"/api/v1/nodes/{node}", f"{colocation.NODESLOS}/{node}", f"{colocation.NODEMETRICS}/{node}")
        peer = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, peer)
        for path in written[1:]:
            wait_for(lambda: self.api.request("GET", path).get("spec", None), path, peer)
        previous.wait_settled(peer)
        before = {path: self.version(path) for path in written}
        # Settings that Koordinator's manager does not read: with them ours would write other numbers, NodeSLO and NodeMetric specs.
        self.put_settings_of_observer({
            "colocation-config": {**SETTINGS, "cpuReclaimThresholdPercent": 40, "metricReportIntervalSeconds": 61},
            "resource-threshold-config": {"clusterStrategy": {"enable": True, "cpuSuppressThresholdPercent": 41}},
        })
        ours = self.run_manager("--mode=observe", f"--config-namespace={OBSERVER}")
        self.wait_observed(ours, in_force=17.2, wanted=10.8)
        time.sleep(UNOBEYED_S)
        self.assertEqual({path: self.version(path) for path in written}, before)
        self.assertEqual(self.difference(node), (int(LEFT), 10800))

        # Koordinator's manager continues: ours sees its writes, and writes nothing.
        self.report(node, "12")
        self.wait_offered(node, "7200", peer)
        previous.wait_settled(peer)
        before = {path: self.version(path) for path in written}
        self.wait_observed(ours, in_force=7.2, wanted=0.8)
        time.sleep(UNOBEYED_S)
        self.assertEqual({path: self.version(path) for path in written}, before)
        self.assertEqual(self.difference(node), (7200, 800))
        self.assertIsNone(peer.process.poll())
        leases = self.api.request("GET", "/apis/coordination.k8s.io/v1/leases").get("items", [])
        self.assertEqual([lease["metadata"]["name"] for lease in leases if lease["metadata"]["namespace"] in (OBSERVER, "koordinator-system")], [])
        maps = {each["metadata"]["name"] for each in self.api.request("GET", OBSERVER_MAPS).get("items", [])}
        self.assertEqual(maps - previous.MAP_GONE, {colocation.SETTINGS_NAME})

    def version(self, path: str) -> str:
        return must(self.api.request("GET", path)).get("metadata.resourceVersion")

    def put_settings_of_observer(self, settings: dict) -> None:
        must(self.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": OBSERVER}}), 201, 409)
        data = {key: json.dumps(value) for key, value in settings.items()}
        must(self.api.request("POST", OBSERVER_MAPS, {"metadata": {"name": colocation.SETTINGS_NAME}, "data": data}))
        self.addCleanup(self.api.request, "DELETE", f"{OBSERVER_MAPS}/{colocation.SETTINGS_NAME}")

    def wait_observed(self, component: Component, *, in_force: float, wanted: float) -> None:
        names = [f'tidemark_observed_{which}_batch_cpu_cores{{pool="default"}}' for which in ("in_force", "wanted")]
        wait_for(lambda: [component.metrics().get(name) for name in names] == [in_force, wanted], f"{wanted} cores wanted beside {in_force} in force", component)

    def difference(self, node: str) -> tuple[int, int]:
        """batch-cpu in milli-cores: the value in force on the node and the wanted one, as the command prints them. There is no memory."""
        words = ("report", "difference", f"--config-namespace={OBSERVER}")
        shown = json.loads(tidemark(*words, "-o", "json"))
        [pool], [row] = shown["pools"], shown["nodes"]
        self.assertEqual((pool["pool"], pool["nodes"], pool["different"]), ("default", 1, 1))
        self.assertEqual((row["name"], row["inForce"], row["wouldBe"]), (node, pool["inForce"], pool["wouldBe"]))
        self.assertEqual(row["inForce"]["batchMemoryBytes"], row["wouldBe"]["batchMemoryBytes"])
        in_force, would_be = row["inForce"]["batchCpuMilli"], row["wouldBe"]["batchCpuMilli"]
        self.assertIn(f"{node} (on): batch-cpu {in_force}m -> {would_be}m", tidemark(*words))
        return in_force, would_be


class Rival(threading.Thread):
    """Another manager: writes its own number after each change."""

    def __init__(self, test: WithState, node: str, batch_cpu: int):
        super().__init__(daemon=True)
        self._test, self._node, self._cpu = test, node, batch_cpu
        self._api = colocation.client()
        self._end = threading.Event()
        self.writes = 0

    def run(self):
        each = {BATCH: str(self._cpu)}
        while not self._end.wait(0.2):
            node = self._api.request("GET", f"/api/v1/nodes/{self._node}")
            if amounts(node.get("status.allocatable", {})).get(BATCH) == self._cpu:
                continue
            status = {"status": {"capacity": each, "allocatable": each}}
            self._api.request("PATCH", f"/api/v1/nodes/{self._node}/status", status, content=MERGE, fieldManager="koord-manager")
            self.writes += 1

    def stop(self):
        self._end.set()
        self.join()
        self._api.close()


class SecondWriter(WithState):
    def test_a_second_writer_is_named_and_left_alone_until_ordered_otherwise(self):
        node, other = self.node("state-rival", labels={"zone": "a"}), self.node("state-quiet")
        component = self.run_manager("--leader-elect=false")
        self.wait_offered(node, LEFT, component)
        rival = Rival(self, node, 5001)
        rival.start()
        self.addCleanup(lambda: rival.is_alive() and rival.stop())
        found = self.wait_condition(node, "SecondWriter", component)
        found = wait_for(lambda: "koord-manager" in (now := self.condition(node))["message"] and now, "the rival's name", component)
        self.assertIn("koord-manager", component.log)
        wait_for(lambda: self.offered(node) == 5001, "the rival's last write", component)
        time.sleep(UNOBEYED_S)
        writes = rival.writes
        self.assertLessEqual(writes, 4, "the managers do not fight")
        time.sleep(UNOBEYED_S)
        self.assertEqual(rival.writes, writes)
        self.assertEqual(self.offered(node), 5001)
        self.assertEqual(self.offered(other), int(LEFT))
        metrics = component.metrics()
        self.assertEqual(metrics['tidemark_manager_contested_nodes{component="amounts"}'], 1)
        self.assertIn("koord-manager", explain(node).stdout)

        # The next manager also leaves the object alone.
        component.kill()
        component = self.run_manager("--leader-elect=false")
        time.sleep(UNOBEYED_S)
        self.assertEqual((rival.writes, self.offered(node)), (writes, 5001))

        rival.stop()
        order("on", f"node {node}")
        self.report(node)
        self.wait_offered(node, LEFT, component)
        self.wait_condition(node, "On", component)
