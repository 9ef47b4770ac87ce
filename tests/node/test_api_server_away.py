"""The API server is away for half a minute while the node has a surge and its memory runs short: the agent goes on by what it heard last."""

import unittest

from node.outage import ThroughAnOutage
from node.test_agent import tearDownModule  # noqa: F401


class ApiServerAway(ThroughAnOutage):
    def test_offline_work_gives_way_all_the_same_and_nothing_is_left_wrong(self):
        self.live_through(away_s=30, counted_s=15)


if __name__ == "__main__":
    unittest.main()
