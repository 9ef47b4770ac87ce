"""The API server is down for half a minute while the node has a surge and a memory shortage: the agent continues with its last settings."""

import unittest

from node.outage import ThroughAnOutage
from node.test_agent import tearDownModule  # noqa: F401

ALONE = "evicts by the memory in use, and has a surge that other work would hide"


class ApiServerAway(ThroughAnOutage):
    def test_offline_work_is_suppressed_without_a_server_and_all_is_restored(self):
        self.live_through(away_s=30, counted_s=15)


if __name__ == "__main__":
    unittest.main()
