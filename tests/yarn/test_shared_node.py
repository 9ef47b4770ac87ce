"""One real node that a kubelet and a NodeManager share: the agent sees, sets back and evicts YARN's containers as it does pods, by the copilot beside them."""

import sys
import time
import unittest

from cluster.colocation import MERGE, NODESLOS, must
from cluster.tidemark_process import wait_for
from yarn.sharing import API, KILLED, LIMIT_S, ROOM, TASK_MIB, TERMINATED, OnASharedNode, holds, tearDownModule  # noqa: F401

DEAF = f"trap '' TERM; {holds(900)}"  # its children do not listen either
GRACE_S = 3  # what node.evicting says to the agent


class SharedNode(OnASharedNode):
    def test_yarns_containers_are_reported_set_back_and_bounded_like_offline_pods(self):
        _, tasks = self.start_job("while :; do :; done", 2)
        wait_for(lambda: self.known() == 3, "an agent that knows of them", self.agent, LIMIT_S)
        found = self.report(lambda status: any(each["name"] == "yarn" for each in status.get("hostApplicationMetric", [])), "a report with YARN in it")
        yarn = next(each for each in found["hostApplicationMetric"] if each["name"] == "yarn")
        self.assertIn("cpu", yarn["usage"]["resources"])
        qos = {"spec": {"resourceQOSStrategy": {"beClass": {"cpuQOS": {"enable": True, "groupIdentity": -1}}}}}
        must(API.request("PATCH", f"{NODESLOS}/{self.node.name}", qos, content=MERGE))
        self.say({**ROOM, "cpuSuppressPolicy": "cfsQuota"}, modes={"default": "enforce"})
        for task in tasks:
            wait_for(lambda: (self.group("cpu", task) / "cpu.idle").read_text().strip() == "1", f"{task} set back", self.agent, LIMIT_S)
        quota = self.yarn.groups.folder("cpu").parent / "cpu.cfs_quota_us"
        wait_for(lambda: int(quota.read_text()) > 0, "a quota over pods and containers", self.agent, LIMIT_S)
        self.assertEqual(str(TASK_MIB << 20), (self.group("memory", tasks[0]) / "memory.limit_in_bytes").read_text().strip(), "its NodeManager's")
        self.say({"enable": False})
        wait_for(lambda: int(quota.read_text()) == -1, "no quota", self.agent, LIMIT_S)
        for task in tasks:
            wait_for(lambda: (self.group("cpu", task) / "cpu.idle").read_text().strip() == "0", f"{task} as it was", self.agent, LIMIT_S)

    def test_above_the_line_the_container_that_holds_most_goes_and_its_master_stays(self):
        master, tasks = self.hold_memory(2)
        begin = self.draw_until_one_goes(tasks)
        print(f"memory above its line: a container is gone {time.monotonic() - begin:.1f} s after the line was first drawn, read by a test that looks every 50 ms", file=sys.stderr)
        self.all_have_ended()
        running = self.copilot.running()
        self.assertIn(master, running)
        gone = sorted(set(tasks) - set(running))
        self.assertEqual({"web"}, self.names())
        self.assertIn(f"a container was asked to end container={gone[0]} reason=TM-EVICT-001", self.copilot.log)
        self.assertNotIn("a container was killed", self.copilot.log)
        self.assertEqual([("stop", "TM-EVICT-001", "done")], self.asked(gone[0]))
        self.assertEqual("TM-EVICT-015", self.loss_of(gone[0])["ended"])
        self.assertEqual(TERMINATED, self.yarn.jobs[-1].wait_told(gone[0]).status)

    def test_a_container_that_does_not_listen_is_killed_at_its_deadline(self):
        master, tasks = self.hold_memory(1, DEAF)
        begin = self.draw_until_one_goes(tasks)
        self.assertGreater(time.monotonic() - begin, GRACE_S)
        self.all_have_ended()
        self.assertEqual([("stop", "TM-EVICT-001", "done")], self.asked(tasks[0]))
        self.assertEqual([], self.asked(master), "what the other one holds is on its way meanwhile")
        loss = self.loss_of(tasks[0])
        self.assertEqual("TM-EVICT-018", loss["ended"])
        self.assertGreaterEqual(loss["ending_ms"], 1000 * GRACE_S)
        self.assertEqual(KILLED, self.yarn.jobs[-1].wait_told(tasks[0]).status)

    def asked(self, container: str) -> list[tuple[str, str, str]]:
        """How its copilot was, why, and what came of it."""
        return [(each["verb"], each["reason"], each["outcome"]) for each in self.audit() if each["object"]["kind"] == "CopilotTask" and each["object"]["name"] == container]


if __name__ == "__main__":
    unittest.main()
