"""Each panel of the board of YARN has numbers: a real Prometheus scrapes the operator of a real ResourceManager."""

import unittest

from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from support.prometheus import Prometheus
from support.yarn import Yarn
from yarn.operating import NODE_ID, SITE, Operating, origin


class Board(Operating):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.yarn = cls.enterClassContext(Yarn([SITE]))
        cls.nms = cls.yarn.nodes

    def test_no_panel_is_empty(self):
        self.put_node("boards", {NODE_ID: self.nms[0].id, **origin(3500, 3072)})
        operator = self.begin()
        self.wait_total(0, 3072, 3, operator)
        prometheus = Prometheus({"yarn-operator": operator.metrics_address()})
        self.addCleanup(prometheus.stop)
        try:
            wait_for(lambda: not prometheus.empty_panels("yarn"), "numbers in all panels", operator, limit_s=PATIENCE_S)
        except AssertionError:
            self.assertEqual(([], []), (prometheus.empty_panels("yarn"), prometheus.down()))
        wait_for(lambda: prometheus.now("cluster:yarn_node_cpu_resource:sum") == [3], "the total of the cluster", operator)


if __name__ == "__main__":
    unittest.main()
