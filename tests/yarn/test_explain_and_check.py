"""User commands about a node that YARN shares, with a real API server and a real ResourceManager: `tidemark explain yarn` and `check ledger`."""

import datetime
import json
import os
import subprocess
import unittest

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.tidemark_process import Component
from support.yarn import Totals, Yarn, until
from yarn.looks import Looks

NODE = "explained"
NODE_ID = "yarn.hadoop.apache.org/node-id"
SITE = Totals(memory_mib=2048, vcores=3)
ORIGIN = {colocation.ORIGIN: json.dumps({"resources": {"kubernetes.io/batch-cpu": "3500", "kubernetes.io/batch-memory": "3Gi"}})}
POD = {"name": "batch", "prio": "koord-batch", "qos": "BE", "phase": "Running", "requests": {"kubernetes.io/batch-cpu": "1k", "kubernetes.io/batch-memory": "1Gi"}}
OFFER = {"schema": 1, "generation": 7, "resources": {"kubernetes.io/batch-cpu": "2k", "kubernetes.io/batch-memory": "1Gi"}, "upTo": {"kubernetes.io/batch-cpu": "2k", "kubernetes.io/batch-memory": "1Gi"}}


class ExplainAndCheck(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.api = colocation.client()
        cls.addClassCleanup(cls.api.close)
        cls.yarn = cls.enterClassContext(Yarn([SITE]))
        cls.nm = cls.yarn.nodes[0]

    def setUp(self):
        # Tests come in any order, and one of them kills the ResourceManager: the next one knows no node for a moment.
        until("its NodeManager has registered", lambda: self.nm.seen().get("state") == "RUNNING")
        self.addCleanup(colocation.delete, self.api, NODE)
        colocation.put_node(self.api, NODE, capacity={"cpu": "8", "memory": "16Gi", "pods": "110"}, annotations={NODE_ID: self.nm.id, **ORIGIN})
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Test", "message": "", "lastHeartbeatTime": None, "lastTransitionTime": None}]}}
        must(self.api.request("PATCH", f"/api/v1/nodes/{NODE}/status", ready, content=MERGE))
        colocation.put_pod(self.api, NODE, POD)
        until("the total is that of yarn-site", lambda: self.yarn.rm.update_total(self.nm.id, SITE.memory_mib, SITE.vcores).status == 200 and self.nm.total() == (SITE.memory_mib, SITE.vcores))

    def annotate(self, annotations: dict) -> None:
        must(self.api.request("PATCH", f"/api/v1/nodes/{NODE}", {"metadata": {"annotations": annotations}}, content=MERGE))

    def explain(self, *more: str, code: int = 0, asked: bool = True) -> str:
        words = [os.environ["TIDEMARK_BINARY"], "explain", "yarn", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], *(more or [NODE])]
        if asked:
            words += ["--hadoop-conf-dir", str(self.yarn.configuration)]
        environment = {key: value for key, value in os.environ.items() if key != "HADOOP_CONF_DIR"}
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=environment)
        self.assertEqual(code, done.returncode, done.stderr)
        return done.stdout if code == 0 else done.stderr

    def test_every_term_and_the_resource_managers_answer(self):
        text = self.explain()
        self.assertIn(f"node {NODE}: YARN is to have 2048 MiB and 2 vcores\n  YARN gets what the node may sell, less the requests of Kubernetes pods", text)
        self.assertIn("TM-YARN-001", text)
        self.assertRegex(text, r"(?m)^  the node may sell +3500m, 3221225472 \(3\.0 GiB\)$")
        self.assertRegex(text, r"(?m)^    default/batch +1000m, 1073741824 \(1\.0 GiB\)$")
        self.assertRegex(text, rf"(?m)^  its NodeManager +{self.nm.id}$")
        self.assertRegex(text, r"(?m)^  its ResourceManager +RUNNING, total 2048 MiB and 3 vcores: 1 vcore too many$")

    def test_as_json_with_an_offer_of_the_manager(self):
        self.annotate({"tidemark.io/yarn-offer": json.dumps(OFFER)})
        told = json.loads(self.explain(NODE, "-o", "json"))
        self.assertEqual(({"memoryMiB": 1024, "vcores": 2}, "TM-YARN-003", True), (told["total"], told["why"]["id"], told["told"]))
        self.assertEqual({"cpuMilli": 2000, "memoryBytes": 2**30, "generation": 7}, told["offer"])
        self.assertEqual([{"pod": "default/batch", "cpuMilli": 1000, "memoryBytes": 2**30}], told["pods"])
        only = told["resourceManagers"][0]
        self.assertEqual(("RUNNING", {"memoryMiB": 2048, "vcores": 3}, 0), (only["state"], only["total"], only["containers"]))

    def test_a_drain_and_the_hold_after_an_eviction(self):
        soon = (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=90)).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
        taken = {"schema": 1, "generation": 3, "gone": ["container_1_0001_01_000002"], "stayed": [], "keepMiB": 512, "until": soon}
        self.annotate({"tidemark.io/yarn-offer": json.dumps({**OFFER, "drainBy": soon}), "tidemark.io/yarn-reclaim-answer": json.dumps(taken)})
        text = self.explain()
        self.assertIn("YARN is to have 512 MiB and 2 vcores\n  the amount reclaimed on the node is not yet offered to YARN again [TM-YARN-015]", text)
        self.assertRegex(text, rf"(?m)^  beyond it YARN's work +ends at {soon[:19]}Z$")
        self.assertRegex(text, rf"(?m)^  held back +no more than 512 MiB until {soon[:19]}Z: containers were reclaimed$")
        told = json.loads(self.explain(NODE, "-o", "json"))
        self.assertEqual((f"{soon[:19]}Z", {"keepMiB": 512, "until": f"{soon[:19]}Z"}, "TM-YARN-015"), (told["drains"], told["heldBack"], told["why"]["id"]))
        self.annotate({"tidemark.io/yarn-offer": json.dumps(OFFER), "tidemark.io/yarn-reclaim-answer": "so"})
        told = json.loads(self.explain(NODE, "-o", "json"))
        self.assertEqual(({"memoryMiB": 1024, "vcores": 2}, None, None), (told["total"], told.get("drains"), told.get("heldBack")))
        self.assertIn("tidemark.io/yarn-reclaim-answer: ", told["notes"][0])

    def test_reclaim_from_yarn_is_shown(self):
        amounts = {"kubernetes.io/batch-cpu": "1k", "kubernetes.io/batch-memory": "512Mi"}
        reclaim = [{"class": "etl", "amount": amounts, "keep": amounts, "reason": "TM-LEDGER-009"}]
        self.annotate({"tidemark.io/yarn-offer": json.dumps({**OFFER, "reclaim": reclaim})})
        self.assertRegex(self.explain(), r"(?m)^  must return +etl, down to 1000m, 536870912 \(512\.0 MiB\) \[TM-LEDGER-009\]$")
        asked = {"cpuMilli": 1000, "memoryBytes": 512 * 2**20}
        self.assertEqual([{"class": "etl", "amount": asked, "keep": asked, "reason": "TM-LEDGER-009"}], json.loads(self.explain(NODE, "-o", "json"))["reclaim"])
        self.assertRegex(self.explain(), r"(?m)^  its hour +no grant: 2 an hour of each node, 0 used here$")
        now = datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000000Z")
        self.annotate({"tidemark.io/yarn-preempted": json.dumps({"schema": 1, "ends": [{"at": now, "class": "etl", "evicted": 2}]})})
        self.assertRegex(self.explain(), r"(?m)^  its hour +no grant: 2 an hour of each node, 2 used here; the rest waits: .* \[TM-EVICT-012\]$")
        hour = json.loads(self.explain(NODE, "-o", "json"))["reclaimHour"]
        self.assertEqual((2, 2, 0, "TM-EVICT-012"), (hour["preemptedHere"], hour["preemptedInPool"], hour["left"], hour["why"]["id"]))
        self.annotate({"tidemark.io/yarn-offer": json.dumps(OFFER), "tidemark.io/yarn-preempted": None})
        self.assertNotIn("must return", self.explain())
        self.assertNotIn("its hour", self.explain())

    def test_problems_and_unknown_facts_are_shown(self):
        self.assertIn("no ResourceManager was asked; --hadoop-conf-dir or $HADOOP_CONF_DIR says where they are", self.explain(asked=False))
        self.assertIn('no such node: "nobody"', self.explain("nobody", code=1))
        self.annotate({NODE_ID: "elsewhere:1"})
        self.assertRegex(self.explain(), r"(?m)^  its ResourceManager +does not know it$")
        self.annotate({NODE_ID: "elsewhere"})
        self.assertIn('not for certain: its annotation: a NodeManager is named HOST:PORT, found "elsewhere"', self.explain())
        must(self.api.request("PATCH", f"/api/v1/nodes/{NODE}", {"spec": {"unschedulable": True}}, content=MERGE))
        self.assertIn("YARN is to have 0 MiB and 0 vcores\n  the node is cordoned: YARN gets 0", self.explain())
        self.yarn.rm.kill()
        self.addCleanup(self.yarn.rm.start)
        self.assertIn("note: cluster __default_yarn_cluster__ does not answer", self.explain())


    def check(self, seconds: int, looks: Looks | None = None) -> subprocess.Popen:
        configuration = looks.configuration if looks else self.yarn.configuration
        words = [os.environ["TIDEMARK_BINARY"], "check", "ledger", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "-o", "json", f"--for={seconds}s", "--lag=3s"]
        child = subprocess.Popen(
            [*words, "--hadoop-conf-dir", str(configuration), "--yarn-poll=500ms"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(child.communicate)
        self.addCleanup(child.kill)
        return child

    def report(self, child: subprocess.Popen) -> tuple[int, dict]:
        out, error = child.communicate(timeout=60)
        self.assertTrue(out, error)
        return child.returncode, json.loads(out)

    def test_a_total_of_another_writer_is_found_and_with_an_operator_all_is_well(self):
        self.assertEqual(200, self.yarn.rm.update_total(self.nm.id, 2560, 2).status)
        until("it is set", lambda: self.nm.total() == (2560, 2))
        code, report = self.report(self.check(12))
        found = {each["id"]: each for each in report["findings"]}
        self.assertEqual((1, False), (code, report["clean"]), report)
        self.assertEqual((512 * 2**20, 0), (found["TM-AUDIT-016"]["worstMemoryBytes"], found["TM-AUDIT-016"]["worstCpuMilli"]), report)
        cause = {each["id"]: each for each in report["causes"]}["TM-AUDIT-016"]
        self.assertGreater(cause["memoryGiBSeconds"], 1)  # half a GiB, in the seconds after the lag

        operator = Component(
            "yarn-operator", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--hadoop-conf-dir", str(self.yarn.configuration), "--leader-elect=false",
            "--poll=500ms", "--metrics-addr=127.0.0.1:0",
        )
        self.addCleanup(operator.stop)
        until("the total is set again", lambda: self.nm.total() == (2048, 2))
        child = self.check(8)
        self.annotate({colocation.ORIGIN: json.dumps({"resources": {"kubernetes.io/batch-cpu": "2k", "kubernetes.io/batch-memory": "2Gi"}})})
        code, report = self.report(child)
        self.assertEqual((0, True), (code, report["clean"]), report)

    def test_a_mismatched_node_still_counts_and_its_node_manager_is_named(self):
        until("the total is right", lambda: self.yarn.rm.update_total(self.nm.id, 2048, 2).status == 200 and self.nm.total() == (2048, 2))
        looks = self.enterContext(Looks(self.yarn))
        child = self.check(16, looks)
        looks.wait_whole()
        self.annotate({NODE_ID: None})
        looks.wait_whole()
        self.assertEqual(200, self.yarn.rm.update_total(self.nm.id, 2560, 2).status)
        _, report = self.report(child)
        found = {each["id"]: each for each in report["findings"]}
        self.assertEqual((False, 512 * 2**20), (report["clean"], found["TM-AUDIT-016"]["worstMemoryBytes"]), report)
        self.assertEqual((self.nm.id, 2560 * 2**20), (found["TM-YARN-010"]["node"], found["TM-YARN-010"]["worstMemoryBytes"]), report)
        self.assertIn("TM-YARN-010", self.known(report))

    def known(self, report: dict) -> set[str]:
        return {each["id"] for each in report["causes"] if not each["mistake"]}

    def test_a_resource_manager_outage_counts_as_incomplete_observation(self):
        looks = self.enterContext(Looks(self.yarn))
        child = self.check(10, looks)
        looks.wait_whole()
        self.yarn.rm.kill()
        self.addCleanup(self.yarn.rm.start)
        _, report = self.report(child)
        self.assertGreater(report["failures"], 0, report)
        self.assertGreater(report["blindSeconds"], 1, report)
        self.assertIn("YARN cluster __default_yarn_cluster__", report["lastFailure"])


if __name__ == "__main__":
    unittest.main()
