"""The API server is away for minutes: what half a minute shows in tests/node, with what an agent that is killed meanwhile makes of it."""

import os
import unittest

from cluster.tidemark_process import wait_for
from node.outage import ThroughAnOutage
from node.protecting import LIMIT_S, QUOTA_FLOOR_US

AWAY_S = 300


@unittest.skipUnless("TIDEMARK_KUBELET" in os.environ, "no node can be made here: run as root, with writable cgroups and a route")
class ApiServerAwayForLong(ThroughAnOutage):
    def test_offline_work_gives_way_all_the_same_and_nothing_is_left_wrong(self):
        self.live_through(away_s=AWAY_S, counted_s=60)

    def test_an_agent_that_is_killed_meanwhile_keeps_what_stands(self):
        """The kubelet tells the next one nothing: it asks the API server who that is. What runs here is not known then, and nothing is done but what a person orders."""
        self.begin()
        self.lose_the_server()
        self.agent.kill()
        stands = self.everything()
        type(self).agent = self.launch()
        wait_for(lambda: self.says().get("pid") == self.agent.process.pid, "how it stands", self.agent, LIMIT_S)
        shown = self.says()["at"]
        wait_for(lambda: self.says()["at"] > shown, "another ten seconds of its passes", self.agent, LIMIT_S)
        self.assertEqual({"keep"}, {each["stance"] for each in self.says()["strategies"]}, self.says())
        self.assertEqual({}, self.differences(stands))

        done = self.tidemark("off", "--local", "--reason", "a test")
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)
        self.assertEqual(QUOTA_FLOOR_US, self.quota())
        self.assertEqual(0, self.tidemark("on", "--local", "--reason", "a test").returncode)

        self.server_is_there()
        wait_for(lambda: self.condition().get("reason") == "Enforcing", "a condition that says so", self.agent, LIMIT_S)
        wait_for(lambda: self.quota() > QUOTA_FLOOR_US, "more than the least", self.agent, LIMIT_S)
        self.all_is_right_again(killed=None)


if __name__ == "__main__":
    unittest.main()
