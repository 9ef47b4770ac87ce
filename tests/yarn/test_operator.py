"""`tidemark yarn-operator` between a real API server and a real ResourceManager with two NodeManagers."""

import json
import signal
import tempfile
import time
import unittest
from pathlib import Path

from cluster import colocation, faulty
from cluster.colocation import MERGE, must
from cluster.tidemark_process import Component, wait_for
from support.yarn import End, Yarn, until
from yarn.doors import Doors
from yarn.looks import Looks
from yarn.operating import NODE_ID, POLL_S, SITE, THIRD, Operating, origin

LOST_S = 10  # a NodeManager that is silent for so long is lost; on a slow machine half of that may be delay
GRACE_S = 3
REFUSED = "ERROR AdminService: Resource update get failed on all nodes due to change resource on an unrecognized node:"
MIB = 2**20
OFFER = "tidemark.io/yarn-offer"
BOOK = "tidemark.io/yarn-book"
POD = {"name": "batch", "prio": "koord-batch", "qos": "BE", "phase": "Running", "requests": {"kubernetes.io/batch-cpu": "1k", "kubernetes.io/batch-memory": "1Gi"}}


class Operator(Operating):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.yarn = cls.enterClassContext(Yarn([SITE, SITE], site={"yarn.nm.liveness-monitor.expiry-interval-ms": f"{LOST_S}000"}))
        cls.nms = cls.yarn.nodes

    def setUp(self):
        super().setUp()
        if not self.yarn.rm.alive:  # after a test that failed in the middle
            self.yarn.rm.start()
        for number, nm in enumerate(self.nms):
            self.put_node(f"yarn-{number}", {NODE_ID: nm.id, **origin(3500, 3072)})

    def test_yarn_gets_what_pods_leave_in_whole_mib_and_no_more(self):
        colocation.put_pod(self.api, "yarn-0", POD)
        operator = self.begin()
        self.wait_total(0, 2048, 2, operator)
        self.wait_total(1, 3072, 3, operator)
        until("the NodeManager follows", lambda: self.nms[0].own_total() == (2048, 2))
        must(self.api.request("DELETE", f"/api/v1/namespaces/default/pods/{POD['name']}", gracePeriodSeconds=0))
        self.wait_total(0, 3072, 3, operator)
        self.annotate("yarn-0", {colocation.ORIGIN: json.dumps({"resources": {"kubernetes.io/batch-cpu": "1999", "kubernetes.io/batch-memory": str(1025 * MIB - 1)}})})
        self.wait_total(0, 1024, 1, operator)
        self.assertEqual(0, operator.stop())

    def test_as_koordinator_if_configured(self):
        """Measured results of Koordinator's operator for these amounts."""
        colocation.put_pod(self.api, "yarn-0", POD)
        self.wait_total(0, 3222, 4, self.begin("--rounding=peer"))

    def test_usage_of_containers_is_written_and_a_cut_kills_none(self):
        operator = self.begin()
        self.wait_total(0, 3072, 3, operator)
        self.wait_total(1, 3072, 3, operator)
        job = self.yarn.submit("sleep 1000", memory_mib=256, master_memory_mib=256)
        self.addCleanup(job.end)
        until("a master and a container run", lambda: sum(each["state"] == "RUNNING" for nm in self.nms for each in nm.containers()) == 2)
        for number, nm in enumerate(self.nms):
            used = nm.seen()
            self.wait_held(f"yarn-{number}", used["usedVirtualCores"], used["usedMemoryMB"], operator)
        for name in self.names:
            self.annotate(name, origin(1000, 300))
        for number in (0, 1):
            self.wait_total(number, 300, 1, operator)  # not below one container: a master that asks for more than the largest node ends with its job
        time.sleep(3 * POLL_S)
        self.assertEqual(("RUNNING", 2), (job.state, sum(each["state"] == "RUNNING" for nm in self.nms for each in nm.containers())))
        job.end()
        for name in self.names:
            self.wait_held(name, 0, 0, operator)

    def test_a_lost_node_manager_blocks_no_other(self):
        """A ResourceManager refuses the whole update if it names a lost NodeManager."""
        operator = self.begin()
        self.wait_total(0, 3072, 3, operator)
        self.wait_total(1, 3072, 3, operator)
        before = self.nms[0].registrations()
        self.nms[0].freeze()
        self.addCleanup(self.nms[0].resume)
        until("it is lost", lambda: self.nms[0].seen().get("state") == "LOST")
        for name in self.names:
            self.annotate(name, origin(2000, 1024))
        self.wait_total(1, 1024, 2, operator)
        self.nms[0].resume()
        resumed = time.monotonic()
        self.nms[0].wait_registered(before)
        self.wait_total(0, 1024, 2, operator)
        self.right_again("a NodeManager that was frozen until it was lost goes on", resumed)

    def test_a_node_manager_that_left_since_the_last_look_blocks_no_other(self):
        """A ResourceManager refuses the whole update that names both. Each of them alone follows."""
        looks, doors = self.enterContext(Looks(self.yarn)), self.doors()
        operator = self.begin_settled("--poll=10m", *doors.flags, configuration=looks.configuration)
        looks.wait_none(3 * POLL_S)  # it looks again a second after an update
        ids, before = [nm.id for nm in self.nms], len(self.yarn.rm.said())
        self.nms[0].stop()
        self.addCleanup(self.nms[0].start)
        until("it has left", lambda: self.nms[0].seen().get("state") != "RUNNING")
        operator.process.send_signal(signal.SIGSTOP)  # both changes arrive at once
        for name in self.names:
            self.annotate(name, origin(2000, 1024))
        operator.process.send_signal(signal.SIGCONT)
        self.wait_total(1, 1024, 2, operator)
        self.assertEqual(2, self.yarn.rm.said()[before:].count(f"{REFUSED} {ids[0]}"), "of both, and of it alone")
        self.assertEqual(0, operator.stop())
        lines = {each["object"]["name"]: each["outcome"] for each in doors.audit() if each["new"] == {"memoryMiB": 1024, "vcores": 2}}
        self.assertEqual({ids[0]: "refused", ids[1]: "done"}, lines)

    def test_a_node_manager_that_restarts_gets_its_total_again(self):
        looks = self.enterContext(Looks(self.yarn))
        operator = self.begin(configuration=looks.configuration)
        self.wait_total(0, 3072, 3, operator)
        looks.wait_whole()  # a report has shown the total
        self.nms[0].kill()
        self.nms[0].start()
        registered = time.monotonic()
        wait_for(lambda: operator.metrics()["tidemark_yarn_operator_set_again_total"] >= 1, "a repeated total", operator)
        self.wait_total(0, 3072, 3, operator)
        self.right_again("a NodeManager was killed and has registered again", registered)
        self.assertIn("TM-YARN-011", operator.log)

    def test_a_resource_manager_that_was_killed_or_frozen_gets_its_totals_again(self):
        operator = self.begin()
        self.wait_total(0, 3072, 3, operator)
        self.wait_held("yarn-0", 0, 0, operator)
        registered = [nm.registrations() for nm in self.nms]
        self.yarn.rm.kill()
        wait_for(lambda: operator.metrics()["tidemark_yarn_operator_clusters_away"] == 1, "an unreachable cluster", operator)
        self.annotate("yarn-0", {**origin(2000, 1024), THIRD: None})
        self.wait_held("yarn-0", 0, 0, operator)  # the last known amount stays
        self.yarn.rm.start()
        active = time.monotonic()
        for nm, before in zip(self.nms, registered):
            nm.wait_registered(before)
        self.wait_total(0, 1024, 2, operator)
        self.right_again("a ResourceManager without a second one was killed and is active again", active)
        self.wait_held("yarn-0", 0, 0, operator)
        self.yarn.rm.freeze()
        self.addCleanup(self.yarn.rm.resume)
        wait_for(lambda: operator.metrics()["tidemark_yarn_operator_clusters_away"] == 1, "an unreachable cluster", operator)
        self.assertTrue(operator.ready())
        self.annotate("yarn-0", origin(3000, 2048))
        self.yarn.rm.resume()
        resumed = time.monotonic()
        self.wait_total(0, 2048, 3, operator)
        self.right_again("a ResourceManager without a second one was frozen and goes on", resumed)

    def test_one_that_was_killed_continues(self):
        operator = self.begin()
        self.wait_total(0, 3072, 3, operator)
        self.wait_total(1, 3072, 3, operator)
        operator.kill()
        self.annotate("yarn-1", origin(2000, 1024))
        looks = self.enterContext(Looks(self.yarn))
        began = time.monotonic()
        second = self.begin(configuration=looks.configuration)
        self.wait_total(1, 1024, 2, second)
        self.right_again("an operator that was killed is begun again", began)
        looks.wait_whole()
        self.assertEqual(1, second.metrics()["tidemark_yarn_operator_updates_total"])  # not for the node with the right total

    def test_off_cordoned_or_not_ready_nodes_start_nothing_and_running_work_stays(self):
        operator = self.begin()
        for number in (0, 1):
            self.wait_total(number, 3072, 3, operator)
        job = self.yarn.submit("sleep 1000", memory_mib=256, master_memory_mib=256)
        self.addCleanup(job.end)
        job.wait_for_containers(2)
        running = lambda: sorted(each["id"] for nm in self.nms for each in nm.containers() if each["state"] == "RUNNING")
        before = until("both run", lambda: len(found := running()) == 2 and found)
        number = next(number for number, nm in enumerate(self.nms) if nm.containers())
        name = f"yarn-{number}"
        change = lambda body: must(self.api.request("PATCH", f"/api/v1/nodes/{name}", body, content=MERGE))
        for what, begins, ends in (
            ("off", lambda: change({"metadata": {"labels": {"tidemark.io/state": "off"}}}), lambda: change({"metadata": {"labels": {"tidemark.io/state": None}}})),
            ("cordoned", lambda: change({"spec": {"unschedulable": True}}), lambda: change({"spec": {"unschedulable": None}})),
            ("not ready", lambda: self.say_ready(name, "False"), lambda: self.say_ready(name, "True")),
            ("of unknown readiness", lambda: self.say_ready(name, "Unknown"), lambda: self.say_ready(name, "True")),
        ):
            with self.subTest(what):
                begins()
                self.wait_total(number, 0, 0, operator)
                self.wait_total(1 - number, 3072, 3, operator)
                self.assertEqual(("RUNNING", before), (job.state, running()))
                ends()
                self.wait_total(number, 3072, 3, operator)
        self.assertEqual(("RUNNING", before), (job.state, running()))

    def test_when_a_window_has_closed_the_excess_is_preempted(self):
        """The manager writes in the lead before it: an offer, and the deadline for the excess above it."""
        doors = self.doors()
        operator = self.begin_settled(f"--preemption-grace={GRACE_S}s", *doors.flags)
        job = self.yarn.submit("sleep 1000", containers=3, memory_mib=512, master_memory_mib=256)
        self.addCleanup(job.end)
        job.wait_for_containers(4)

        def tasks() -> list[tuple[str, int]]:
            return sorted((each["id"], number) for number, nm in enumerate(self.nms) for each in nm.containers() if each["state"] == "RUNNING" and not each["id"].endswith("_000001"))

        newest, number = until("they run", lambda: len(found := tasks()) == 3 and found)[-1]
        nm = self.nms[number]
        until("its node holds it", lambda: nm.seen()["usedMemoryMB"] >= 512)
        rest = nm.seen()["usedMemoryMB"] - 512
        by = time.time() + 4
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(by)) + f".{int(by % 1 * 1e6):06d}Z"
        offer = {"schema": 1, "generation": 1, "resources": {"kubernetes.io/batch-cpu": "3k", "kubernetes.io/batch-memory": f"{rest}Mi"}}
        self.annotate(f"yarn-{number}", {OFFER: json.dumps({**offer, "upTo": offer["resources"], "drainBy": moment})})
        self.wait_total(number, rest, 3, operator)
        if time.time() < by:  # on a slow machine it may be over
            self.assertIsNone(job.told(newest))
        self.assertEqual(End(-102, "Container preempted by scheduler"), job.wait_told(newest))
        ended = time.time()
        self.assertGreaterEqual(ended, by)
        self.assert_whole_grace(doors, ended)
        self.wait_total(number, rest, 3, operator)
        self.assertEqual(1, operator.metrics()["tidemark_yarn_operator_drained_nodes_total"])
        self.assertIn("TM-YARN-016", operator.log)
        self.assertEqual("RUNNING", job.state)
        until("the rest fits", lambda: nm.seen()["usedMemoryMB"] <= rest)
        # A later cut ends no container, although a timeout of zero stays in force until it is reset.
        before = {each["id"] for each in nm.containers()} - {newest}  # its NodeManager may still be ending it
        offer["resources"]["kubernetes.io/batch-memory"] = "128Mi"
        self.annotate(f"yarn-{number}", {OFFER: json.dumps({**offer, "generation": 2, "upTo": offer["resources"]})})
        self.wait_total(number, 128, 3, operator)
        time.sleep(2 * POLL_S)
        self.assertLessEqual(before, {each["id"] for each in nm.containers()})
        # The waiting work on the other side is more timely and lacks only CPU: the newest container ends, by its part of the memory.
        newest, number = until("some still run", tasks)[-1]
        nm = self.nms[number]
        before = {each["id"] for each in nm.containers() if each["state"] == "RUNNING"}
        one, rest = {"kubernetes.io/batch-cpu": "1k", "kubernetes.io/batch-memory": "0"}, nm.seen()["usedVirtualCores"] - 1
        keep = {"kubernetes.io/batch-cpu": str(1000 * rest), "kubernetes.io/batch-memory": "3Gi"}
        asked = [{"class": "", "amount": one, "keep": keep, "reason": "TM-LEDGER-009"}]
        self.annotate(f"yarn-{number}", {
            OFFER: json.dumps({**offer, "generation": 3, "upTo": offer["resources"], "reclaim": asked}),
        })
        self.assertEqual(End(-102, "Container preempted by scheduler"), job.wait_told(newest))
        self.assert_whole_grace(doors, time.time())
        self.wait_total(number, 128, 3, operator)
        time.sleep(2 * POLL_S)
        self.assertEqual(before - {newest}, {each["id"] for each in nm.containers() if each["state"] == "RUNNING"})
        self.assertEqual(1, operator.metrics()["tidemark_yarn_operator_reclaimed_nodes_total"])
        self.assertIn("TM-YARN-018", operator.log)

    def test_observing_it_sets_no_total(self):
        looks = self.enterContext(Looks(self.yarn))
        operator = self.begin("--mode=observe", configuration=looks.configuration)
        wait_for(operator.ready, "a ready operator", operator)
        wait_for(lambda: operator.metrics()["tidemark_yarn_operator_nodes"] == 2, "two nodes with a NodeManager", operator)
        looks.wait_whole()
        self.assertEqual([(SITE.memory_mib, SITE.vcores)] * 2, [nm.total() for nm in self.nms])
        self.assertIsNone(self.held("yarn-0"))

    def test_two_nodes_that_claim_one_node_manager_are_both_reported(self):
        self.annotate("yarn-1", {NODE_ID: self.nms[0].id})
        operator = self.begin()
        wait_for(lambda: operator.metrics()["tidemark_yarn_operator_mismatched_nodes"] == 2, "two mismatched nodes", operator)

        def events() -> list[str]:
            items = must(self.api.request("GET", "/api/v1/namespaces/default/events")).get("items")
            return [each["message"] for each in items if each["reason"] == "TidemarkYarnMismatch"]

        wait_for(lambda: f"{self.nms[0].id} is claimed by node yarn-1 too [TM-YARN-010]" in events(), "an event that names both", operator)
        self.assertEqual((SITE.memory_mib, SITE.vcores), self.nms[0].total())

    def test_unmatched_nodes_keep_their_held_amount_until_their_node_manager_is_gone(self):
        """Its ResourceManager continues to hand it out. Released after the hold for lost ones, it would be sold twice."""
        operator = self.begin()
        self.wait_total(0, 3072, 3, operator)
        self.wait_total(1, 3072, 3, operator)
        job = self.yarn.submit("sleep 1000", memory_mib=256, master_memory_mib=256)
        self.addCleanup(job.end)
        job.wait_for_containers(2)
        number, nm = until("a node holds some", lambda: next(((number, nm) for number, nm in enumerate(self.nms) if nm.seen()["usedMemoryMB"] > 0), None))
        name, used = f"yarn-{number}", (nm.seen()["usedVirtualCores"], nm.seen()["usedMemoryMB"])
        self.wait_held(name, *used, operator)
        held, book = self.held(name), json.loads(self.annotation(name, BOOK))
        self.assertIn("sold", book)
        self.annotate(name, {NODE_ID: None})
        wait_for(lambda: operator.metrics()["tidemark_yarn_operator_mismatched_nodes"] == 1, "a mismatched node", operator)
        self.assertEqual(1, operator.metrics()["tidemark_yarn_operator_node_managers_without_node"])
        wait_for(lambda: "sold" not in json.loads(self.annotation(name, BOOK)), "a ledger without the held amount", operator)
        time.sleep(LOST_S)  # twice --lost-hold
        self.assertEqual((held, {key: book[key] for key in ("generation", "confirmed")}), (self.held(name), {key: json.loads(self.annotation(name, BOOK))[key] for key in ("generation", "confirmed")}))
        self.assertEqual((3072, 3), nm.total())
        job.end()
        nm.kill()
        self.addCleanup(nm.start)
        self.wait_held(name, 0, 0, operator)
        wait_for(lambda: self.annotation(name, BOOK) is None, "no book", operator)

    def test_one_that_was_frozen_repairs_later_changes(self):
        doors = self.doors()
        operator = self.begin_settled(*doors.flags)
        operator.process.send_signal(signal.SIGSTOP)
        self.annotate("yarn-0", origin(2000, 1024))
        self.assertEqual(200, self.yarn.rm.update_total(self.nms[1].id, 4000, 4).status)
        time.sleep(2 * POLL_S)
        self.assertEqual((3072, 3), self.nms[0].total())
        operator.process.send_signal(signal.SIGCONT)
        resumed = time.monotonic()
        self.wait_total(0, 1024, 2, operator)
        self.wait_total(1, 3072, 3, operator)
        self.right_again("an operator that was frozen goes on", resumed)
        self.assertEqual(0, operator.stop())
        self.assertEqual((4000, 4), doors.by_others()[0], "the change by another writer")

    def test_without_an_api_server_known_totals_stay_in_force(self):
        looks = self.enterContext(Looks(self.yarn))
        operator = self.begin_settled(configuration=looks.configuration)
        looks.wait_whole()  # a report has shown the total
        faulty.control("kill", "apiserver")
        try:
            self.nms[0].kill()
            self.nms[0].start()
            self.wait_total(0, 3072, 3, operator)
        finally:
            faulty.control("start", "apiserver")
            back = time.monotonic()
            self.api.close()  # its connection ended with the server
        for number in (0, 1):
            self.annotate(f"yarn-{number}", origin(2000, 1024))
        for number in (0, 1):
            self.wait_total(number, 1024, 2, operator)
        self.right_again("the API server is back, and what nodes may sell has changed", back)

    def doors(self) -> Doors:
        return Doors(self.yarn.rm, Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-audit-"))))

    def assert_whole_grace(self, doors: Doors, ended: float) -> None:
        told, grace_s = doors.graces()[-1]
        self.assertEqual(GRACE_S, grace_s)
        self.assertGreaterEqual(ended, told + GRACE_S)

    def begin_settled(self, *more: str, configuration: Path | None = None) -> Component:
        operator = self.begin(*more, configuration=configuration)
        for number in (0, 1):
            self.wait_total(number, 3072, 3, operator)
        return operator


if __name__ == "__main__":
    unittest.main()
