"""Base of tests of `tidemark manager` on the real API server: its client, the managers it started, and cleanup of the cluster."""

import os
import unittest

from cluster import colocation
from cluster.tidemark_process import Component, wait_for

EVENTS = "/api/v1/namespaces/koordinator-system/events"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/koordinator-system/leases"


def manager(*more: str, kubeconfig: str | None = None) -> Component:
    return Component("manager", "--kubeconfig", kubeconfig or os.environ["TIDEMARK_TEST_KUBECONFIG"], "--metrics-addr", "127.0.0.1:0", *more)


class WithManager(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        colocation.install_crds()
        cls.api = colocation.client()

    @classmethod
    def tearDownClass(cls):
        cls.api.close()

    def tearDown(self):
        # A running manager would recreate what is deleted here.
        for component in getattr(self, "components", []):
            component.stop()
        colocation.delete(self.api, *getattr(self, "nodes", []))
        colocation.delete_settings(self.api)
        for lease in self.api.request("GET", LEASES).get("items", []):
            self.api.request("DELETE", f"{LEASES}/{lease['metadata']['name']}")
        self.api.request("DELETE", EVENTS)  # another test must not see these events

    def start_manager(self, *more: str, kubeconfig: str | None = None) -> Component:
        component = manager(*more, kubeconfig=kubeconfig)
        self.components = [*getattr(self, "components", []), component]
        self.addCleanup(component.stop)
        return component

    def run_manager(self, *more: str) -> Component:
        component = self.start_manager(*more)
        wait_for(component.ready, "a ready manager", component)
        return component
