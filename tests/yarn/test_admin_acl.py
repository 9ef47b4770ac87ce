"""Who may change totals: a ResourceManager without security whose yarn.admin.acl names a user; callers in the list and not in it; and two callers in it."""

import sys
import unittest

from cluster.tidemark_process import wait_for
from support.yarn import Yarn
from yarn.operating import LEASE, NODE_ID, SITE, Operating, origin
from yarn.peers_operator import PeersOperator

ALLOWED, ANOTHER = "tidemark", "mallory"
CONTESTED = "tidemark_yarn_operator_contested_nodes"


class AdminAcl(Operating):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.yarn = cls.enterClassContext(Yarn([SITE], site={"yarn.admin.acl": ALLOWED}))
        cls.nms = cls.yarn.nodes

    def setUp(self):
        super().setUp()
        self.put_node("yarn-0", {NODE_ID: self.nms[0].id, **origin(3500, 3072)})

    def test_users_in_the_list_set_totals(self):
        self.wait_total(0, 3072, 3, self.begin(f"--yarn-user={ALLOWED}"))

    def test_so_does_the_resource_managers_own_user(self):
        """So a list alone closes no interface."""
        self.wait_total(0, 3072, 3, self.begin())

    def test_users_not_in_the_list_are_refused_with_a_hint(self):
        operator = self.begin(f"--yarn-user={ANOTHER}")
        wait_for(lambda: "cannot set totals" in operator.log, "a refusal", operator)
        self.assertRegex(operator.log, rf"cannot set totals.*User {ANOTHER} doesn't have permission to call 'updateNodeResource'.*yarn\.admin\.acl")
        self.assertGreaterEqual(operator.metrics()["tidemark_yarn_operator_failed_calls_total"], 1)
        self.assertEqual((SITE.memory_mib, SITE.vcores), self.nms[0].total())

    def test_the_rest_interface_accepts_all_callers(self):
        """REST calls run as the ResourceManager's own user."""
        self.assertEqual(200, self.yarn.rm.update_total(self.nms[0].id, 1024, 1).status)
        wait_for(lambda: self.nms[0].total() == (1024, 1), "a total set by any caller")

    def test_another_operator_without_a_common_lease_is_reported(self):
        """Koordinator's operator writes every second: our total is gone before a poll can find it in force."""
        self.addCleanup(self.api.request, "DELETE", LEASE)
        operator = self.begin()
        self.wait_total(0, 3072, 3, operator)
        with PeersOperator({"yarn-0": self.nms[0]}):
            wait_for(lambda: operator.metrics()[CONTESTED] == 1, "a node whose total does not stay", operator)
            wait_for(lambda: "totals are changed again and again; check for a second operator" in operator.log, "it says so", operator)
            told, undone = (operator.metrics()[f"tidemark_yarn_operator_{each}_total"] for each in ("updates", "set_again"))
            print(f"set {told:.0f} times, of which {undone:.0f} after ours had been found in force", file=sys.stderr)
        self.wait_total(0, 3072, 3, operator)


if __name__ == "__main__":
    unittest.main()
