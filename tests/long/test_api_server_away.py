"""The API server is down for minutes: the long form of the test in tests/node, also with an agent that is killed meanwhile."""

import os
import unittest
from pathlib import Path

from cluster import colocation
from cluster.tidemark_process import wait_for
from node.outage import ThroughAnOutage
from node.protecting import LIMIT_S, QUOTA_FLOOR_US
from node.test_agent import API

TOKEN_S = 600  # the minimum of an API server; a kubelet renews the token in a pod's file, but not during the outage
AWAY_S = 660  # longer than any watch, and than the token


@unittest.skipUnless("TIDEMARK_KUBELET" in os.environ, "cannot create a node here: run as root, with writable cgroups and a route")
class ApiServerAwayForLong(ThroughAnOutage):
    @classmethod
    def account(cls) -> dict:
        config = super().account()
        cls.token_file = Path(cls.state) / "token"
        cls.new_token()
        config["users"] = [{"name": "agent", "user": {"tokenFile": str(cls.token_file)}}]
        return config

    @classmethod
    def new_token(cls) -> None:
        path = f"/api/v1/namespaces/default/serviceaccounts/{cls.node.name}-agent/token"
        token = API.post(path, {"spec": {"expirationSeconds": TOKEN_S}}).get("status.token")
        fresh = cls.token_file.with_suffix(".new")
        fresh.write_text(token)
        fresh.chmod(0o600)
        fresh.rename(cls.token_file)

    def server_is_there(self) -> None:
        super().server_is_there()
        self.new_token()

    def test_offline_work_is_suppressed_without_a_server_and_all_is_restored(self):
        self.live_through(away_s=AWAY_S, counted_s=60)

    def test_an_agent_that_is_killed_meanwhile_has_a_successor_that_continues(self):
        """The kubelet refuses the next agent: it would have to authenticate it at the API server."""
        self.begin()
        self.lose_the_server()
        self.agent.kill()
        type(self).agent = self.launch()
        wait_for(lambda: self.says().get("pid") == self.agent.process.pid and self.in_force("batchLimits") > 0, "limits in force", self.agent, LIMIT_S)
        self.assertIn("continues with the pods that the previous agent saved", self.agent.log)
        self.assertEqual({"enforce"}, {each["permit"] for each in self.says()["strategies"]}, self.says())
        self.gives_way_to_a_surge()
        self.obeys_the_switch_on_the_machine()
        self.server_is_there()
        wait_for(lambda: self.condition().get("reason") == "Enforcing", "condition Enforcing", self.agent, LIMIT_S)
        wait_for(lambda: self.quota() > QUOTA_FLOOR_US, "more than the minimum", self.agent, LIMIT_S)
        self.all_is_right_again(killed=None)


if __name__ == "__main__":
    unittest.main()
