"""A node that a kubelet and a NodeManager share, with YARN's operator: an eviction there goes by the ResourceManager."""

import os

from cluster.colocation import MERGE, must
from cluster.tidemark_process import Component, wait_for
from yarn.sharing import API, OnASharedNode
from yarn.operating import NODE_ID, origin

TAKE_BACK, TAKEN_BACK = "tidemark.io/yarn-take-back", "tidemark.io/yarn-taken-back"


class WithOperator(OnASharedNode):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.nm = cls.yarn.nodes[0]

    def setUp(self):
        super().setUp()
        self.annotate({NODE_ID: self.nm.id, **origin(1000 * self.SITE.vcores, self.SITE.memory_mib)})
        self.addCleanup(self.annotate, {NODE_ID: None, TAKE_BACK: None, TAKEN_BACK: None})
        self.operator = Component(
            "yarn-operator", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--hadoop-conf-dir", str(self.yarn.configuration), "--leader-elect=false",
            "--metrics-addr=127.0.0.1:0",
        )
        self.addCleanup(self.operator.stop)
        wait_for(lambda: TAKEN_BACK in self.annotations(), "an operator that says it hears", self.operator)

    def annotate(self, annotations: dict) -> None:
        must(API.request("PATCH", f"/api/v1/nodes/{self.node.name}", {"metadata": {"annotations": annotations}}, content=MERGE))

    def annotations(self) -> dict:
        return API.get(f"/api/v1/nodes/{self.node.name}")["metadata"]["annotations"]
