"""Which fields of pods and nodes the manager may change. RBAC cannot restrict fields; the policies of deploy/chart limit its patches to a few."""

import unittest

from cluster import chart, colocation
from cluster.chart_roles import PODS, ChartRoles
from cluster.colocation import MERGE
from cluster.test_manager import CAPACITY
from cluster.tidemark_process import wait_for


@chart.needs_helm
class Policies(ChartRoles):
    def test_the_manager_changes_only_pending_pods(self):
        """And of those only the fields that a profile may set. Pods that missed the webhooks are caught up with under this policy."""
        self.put_missed_pod("roles-runs", nodeName="roles-none")
        self.put_missed_pod("roles-of-system", "kube-system")
        colocation.must(self.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": "roles-controllers", "labels": {"control-plane": "x"}}}), 201, 409)
        self.put_missed_pod("roles-of-controllers", "roles-controllers")
        self.put_missed_pod("roles-waits", schedulingGates=[{"name": "example.com/later"}])
        runs, waits = (self.patch_as_manager("-n", "default", "pod", name) for name in ("roles-runs", "roles-waits"))
        label = {"metadata": {"labels": {"a": "b"}}}
        wait_for(lambda: "Forbidden" in runs(label, "--dry-run=server").stderr, "the policy in force")
        of_system, of_controllers = (
            self.patch_as_manager("-n", namespace, "pod", name) for name, namespace in (("roles-of-system", "kube-system"), ("roles-of-controllers", "roles-controllers")))
        image = {"spec": {"containers": [{"name": "main", "image": "other"}]}}
        for what, patch, body, why in (
            ("a label of one that runs", runs, label, "that has a node"), ("the image of one that runs", runs, image, "that has a node"),
            ("one of kube-system", of_system, label, "no pod of this namespace"), ("one of controllers", of_controllers, label, "no pod of this namespace"),
            ("a gate", waits, {"spec": {"schedulingGates": None}}, "of a pod's spec"), ("where it may run", waits, {"spec": {"nodeSelector": {"a": "b"}}}, "of a pod's spec"),
            ("a finalizer", waits, {"metadata": {"finalizers": ["a/b"]}}, "of a pod's metadata"),
        ):
            with self.subTest(what):
                done = patch(body)
                self.assertIn(why, done.stderr, done.stdout)
        self.assertEqual(0, waits({**label, **image}).returncode)

        self.profile("missed", "", patch={"spec": {"activeDeadlineSeconds": 600}})
        component = self.start()
        caught_up = lambda: self.api.request("GET", f"{PODS}/roles-waits")
        wait_for(lambda: caught_up().get("metadata.labels", {}).get("by") == "profile", "the pod to be caught up with", component)
        self.assertEqual(600, caught_up().get("spec.activeDeadlineSeconds"))
        self.assertNotIn("by", self.api.request("GET", f"{PODS}/roles-runs").get("metadata.labels"))

    def test_the_manager_changes_one_taint_of_a_node(self):
        """RBAC cannot restrict fields: a policy limits the right to patch nodes."""
        self.nodes = ["roles-5"]
        colocation.put_node(self.api, "roles-5", capacity=CAPACITY)
        node = "/api/v1/nodes/roles-5"
        theirs, ours = {"key": "maintenance", "effect": "NoSchedule"}, {"key": "tidemark.io/oversold", "effect": "NoSchedule"}
        self.api.request("PATCH", node, {"spec": {"taints": [theirs]}}, content=MERGE)
        patch = self.patch_as_manager("node", "roles-5")

        def refused() -> bool:
            """The API server sees a policy a moment after its creation. Dry run: an accepted request would be no change the next time."""
            return "Forbidden" in patch({"spec": {"unschedulable": True}}, "--dry-run=server").stderr

        wait_for(refused, "the policy in force")
        for what, body in {
            "another taint": {"spec": {"taints": [theirs, {"key": "a", "effect": "NoExecute"}]}}, "no taint of others": {"spec": {"taints": [ours]}},
            "a label": {"metadata": {"labels": {"a": "b"}}}, "an annotation": {"metadata": {"annotations": {"a": "b"}}}, "a finalizer": {"metadata": {"finalizers": ["a/b"]}},
        }.items():
            with self.subTest(what):
                done = patch(body)
                self.assertIn("the manager may change", done.stderr, done.stdout)
        for taints in ([theirs, ours], [theirs]):
            self.assertEqual(0, patch({"spec": {"taints": taints}}).returncode)


if __name__ == "__main__":
    unittest.main()
