"""An eviction threshold above the real kubelet's is moved below it, once the agent may read the kubelet's configuration."""

import unittest

from cluster.tidemark_process import wait_for
from node.protecting import LIMIT_S, Protecting
from node.test_agent import tearDownModule  # noqa: F401
from support.node import pods


class KubeletLines(Protecting):
    WORKS = [pods.Work("online", pods.BURSTABLE, 20, 6)]

    def test_a_line_above_the_kubelets_is_moved_below_it(self):
        """The kubelet of the tests evicts if less than 1 MiB is available: from 99 % on, in whole percents."""
        self.want(enable=True, memoryEvictThresholdPercent=100)
        moved = "memory 100 % -> 94 %, since the kubelet evicts from 99 % on"
        wait_for(lambda: self.says().get("evictLines") == moved, "a threshold below the kubelet's", self.agent, LIMIT_S)
        self.assertIn("TM-EVICT-024", self.agent.log)
        wait_for(lambda: moved in self.condition().get("message", ""), "it in the condition", self.agent, 2 * LIMIT_S)
        self.want(enable=True, memoryEvictThresholdPercent=80)
        wait_for(lambda: self.says().get("evictLines") == "", "the configured threshold", self.agent, LIMIT_S)


if __name__ == "__main__":
    unittest.main()
