"""Which clock counts if the writer of a time and YARN's operator differ by an hour: a lease, the end of a drain, a reclaim by an agent, and the hold afterwards.
A wrong hour ends no container, and blocks no correct total."""

import json
import time
import unittest

from cluster.colocation import must
from cluster.tidemark_process import wait_for
from support.yarn import until
from yarn.asking_back import ANSWER, HOLD_S, MASTER_MIB, PREEMPTED, TASK_MIB, TASKS, AskingBack, in_seconds
from yarn.operating import ELECTION, LEASE, POLL_S

AHEAD_S, BEHIND_S = 3600, -3600
LEASE_S = 3
OFFER = "tidemark.io/yarn-offer"


class Clocks(AskingBack):
    def test_a_lease_expires_by_the_clock_of_the_waiting_replica(self):
        folder, name = LEASE.rsplit("/", 1)
        self.addCleanup(self.api.request, "DELETE", LEASE)
        for off_s in (AHEAD_S, BEHIND_S):
            with self.subTest(off_s):
                stamp = in_seconds(off_s)
                left = {"holderIdentity": "another", "leaseDurationSeconds": LEASE_S, "acquireTime": stamp, "renewTime": stamp, "leaseTransitions": 1}
                must(self.api.request("POST", folder, {"metadata": {"name": name}, "spec": left}), 201)
                began = time.monotonic()
                operator = self.begin(*ELECTION)
                self.wait_total(0, 3072, 4, operator)
                self.right_again(f"a lease of {LEASE_S} s was left by a clock that is off by {off_s} s", began)
                self.assertGreaterEqual(time.monotonic() - began, LEASE_S)
                self.assertEqual(0, operator.stop())
                must(self.api.request("DELETE", LEASE))
                self.restore_totals()

    def test_a_drain_by_a_wrong_clock_ends_no_container(self):
        operator, job = self.begin_with_a_job()
        before, rest = self.running(), MASTER_MIB + (TASKS - 1) * TASK_MIB

        def drain(generation: int, in_s: float) -> None:
            """As a manager writes: an offer, and the time after which nothing may be held beyond it."""
            amount = {"kubernetes.io/batch-cpu": "4k", "kubernetes.io/batch-memory": f"{rest}Mi"}
            offer = {"schema": 1, "generation": generation, "resources": amount, "upTo": amount, "drainBy": in_seconds(in_s)}
            self.annotate("yarn-0", {OFFER: json.dumps(offer)})

        for generation, off_s in enumerate((AHEAD_S, BEHIND_S), 1):
            drain(generation, off_s)
            self.wait_total(0, rest, 4, operator)  # no new container starts in any case
            time.sleep(3 * POLL_S)
            self.assertEqual(before, self.running(), off_s)
        told = time.monotonic()
        drain(3, 0)
        self.assertEqual(PREEMPTED, job.wait_told(before[-1]))
        self.right_again("a wrong drain time is replaced by a right one", told)
        until("the rest runs", lambda: self.running() == before[:-1])

    def test_requests_of_agents_age_from_when_the_operator_saw_them(self):
        operator, job = self.begin_with_a_job()
        wait_for(self.answer, "an operator that acknowledges", operator)
        for generation, off_s in enumerate((AHEAD_S, BEHIND_S), 1):
            newest = self.running()[-1]
            asked = time.monotonic()
            self.ask_back(generation, newest, off_s)
            self.assertEqual(([newest], []), ((answer := self.wait_answer(generation, operator))["gone"], answer["stayed"]))
            self.assertEqual(PREEMPTED, job.wait_told(newest))
            self.wait_total(0, 3072, 4, operator)
            self.right_again(f"a container is reclaimed for a clock that is off by {off_s} s, and {HOLD_S} s are held", asked)
            until("it is gone", lambda: newest not in self.running())

    def test_requests_older_than_the_operator_are_refused_if_clocks_differ(self):
        """The request may really be that old."""
        operator, _ = self.begin_with_a_job()
        before = self.running()
        for generation, off_s in enumerate((AHEAD_S, BEHIND_S), 1):
            self.assertEqual(0, operator.stop())
            self.ask_back(generation, before[-1], off_s)
            operator = self.begin()
            self.assertIn("the clocks of node and operator differ", self.wait_answer(generation, operator)["refused"])
        self.wait_total(0, 3072, 4, operator)
        self.assertEqual(before, self.running())

    def test_no_hold_lasts_until_an_absurd_time(self):
        """Left by an earlier operator on a machine with a different clock."""
        left = lambda in_s: {ANSWER: json.dumps({"schema": 1, "generation": 1, "gone": [], "stayed": [], "keepMiB": 512, "until": in_seconds(in_s)})}
        self.annotate("yarn-0", left(60))
        operator = self.begin()
        wait_for(lambda: self.nms[0].total()[0] == 512, "the held-back total", operator)
        for off_s in (AHEAD_S, BEHIND_S):
            self.annotate("yarn-0", left(off_s))
            self.wait_total(0, 3072, 4, operator)
            self.annotate("yarn-0", left(60))
            wait_for(lambda: self.nms[0].total()[0] == 512, "the held-back total", operator)


if __name__ == "__main__":
    unittest.main()
