"""The webhooks of `tidemark manager` on a real API server, called through real kubectl: pods, settings, and without a manager."""

import json
import os
import re
import ssl
import subprocess
import urllib.error
import urllib.request

from cluster import colocation
from cluster.colocation import must
from cluster.test_manager import CAPACITY, STATUS
from cluster.tidemark_process import wait_for
from cluster.webhook_case import BATCH, MUTATING, NAMESPACE, PODS, PROFILES, QOS, SPEC, VALIDATING, WithWebhooks, kubectl, ours, pod, settings

SMOKE = True


class Pods(WithWebhooks):
    def test_a_profile_makes_a_batch_pod(self):
        self.profile("spark", BATCH)
        component = self.manager()
        self.wait_profile(component, {"app": "spark"}, {"by": "profile"})
        made = self.create(pod("batch", labels={"app": "spark"}, requests={"cpu": "1500m", "memory": "2Gi"}))
        self.assertEqual(
            {"app": "spark", "by": "profile", QOS: "BE", "koordinator.sh/priority": "1000"}, made["metadata"]["labels"])
        spec = made["spec"]
        self.assertEqual(
            ("koord-scheduler", "koord-batch", 5000, "PreemptLowerPriority", 5),
            tuple(spec[key] for key in ("schedulerName", "priorityClassName", "priority", "preemptionPolicy", "terminationGracePeriodSeconds")))
        self.assertEqual({"kubernetes.io/batch-cpu": "1500", "kubernetes.io/batch-memory": "2Gi"}, spec["containers"][0]["resources"]["requests"])
        self.assertEqual(
            {"containers": {"main": {"requests": {"kubernetes.io/batch-cpu": "1500", "kubernetes.io/batch-memory": "2Gi"}}}},
            json.loads(made["metadata"]["annotations"][SPEC]))
        plain = self.create(pod("plain", labels={"app": "web"}, requests={"cpu": "1"}))
        self.assertEqual({"cpu": "1"}, plain["spec"]["containers"][0]["resources"]["requests"])
        self.assertNotIn("annotations", plain["metadata"])

    def test_a_pod_that_breaks_a_rule_is_refused_with_the_reason(self):
        self.manager()
        why = self.refused("create", pod("be", labels={QOS: "BE"}))
        for part in ("vpod.koordinator.sh", "denied the request", "TM-POD-005", "found none", "koord-batch"):
            self.assertIn(part, why)
        why = self.refused("create", pod("half", labels={QOS: "LSR"}, requests={"cpu": "1500m"}, priorityClassName="koord-prod"))
        self.assertIn("TM-POD-007", why)
        self.create(pod("fixed", labels={QOS: "BE"}, priorityClassName="koord-batch"))
        changed = kubectl("-n", NAMESPACE, "label", "--overwrite", "pod", "fixed", f"{QOS}=LS")
        self.assertNotEqual(0, changed.returncode)
        self.assertIn("TM-POD-001", changed.stderr)
        self.assertEqual(0, kubectl("-n", NAMESPACE, "label", "pod", "fixed", "other=x").returncode)

    def test_a_new_namespace_is_known_at_once(self):
        self.profile("by-namespace", {"namespaceSelector": {"matchLabels": {"offline": "yes"}}, "labels": {"by": "namespace"}})
        component = self.manager()
        self.api.request("PATCH", f"/api/v1/namespaces/{NAMESPACE}", {"metadata": {"labels": {"offline": "yes"}}}, content=colocation.MERGE)
        self.wait_profile(component, {}, {"by": "namespace"})
        self.api.request("PATCH", f"/api/v1/namespaces/{NAMESPACE}", {"metadata": {"labels": {"offline": None}}}, content=colocation.MERGE)
        for number in range(10):
            namespace = f"fresh-{os.getpid()}-{number}"  # no controller here completes their deletion
            must(self.api.request("POST", "/api/v1/namespaces", {"metadata": {"name": namespace, "labels": {"offline": "yes" if number % 2 else "no"}}}))
            made = must(self.api.request("POST", f"/api/v1/namespaces/{namespace}/pods", pod("a") | {"metadata": {"name": "a"}}))
            self.assertEqual("namespace" if number % 2 else None, made.get("metadata.labels", {}).get("by"), namespace)
            self.api.request("DELETE", f"/api/v1/namespaces/{namespace}/pods/a", gracePeriodSeconds=0)
            self.api.request("DELETE", f"/api/v1/namespaces/{namespace}")

    def test_a_missing_priority_class_refuses(self):
        self.profile("broken", {"selector": {"matchLabels": {"app": "broken"}}, "priorityClassName": "nobody-made-it"})
        component = self.manager()
        wait_for(lambda: kubectl("create", "--dry-run=server", "-f", "-", given=pod("a", labels={"app": "broken"})).returncode, "the refusal", component)
        self.assertIn("nobody-made-it", self.refused("create", pod("a", labels={"app": "broken"})))

    def test_while_off_a_pod_waits_runs_plain_or_is_refused(self):
        self.profile("spark", BATCH)
        must(self.api.request("POST", colocation.SETTINGS, settings(colocation_config='{"enable":false}')))
        body = pod("a", labels={"app": "spark"}, requests={"cpu": "1"})
        dry_run = lambda: must(self.api.request("POST", PODS, body, dryRun="All"))
        requests = lambda: dry_run()["spec.containers"][0]["resources"]["requests"]
        for word in ("", "plain", "refuse"):
            component = self.manager(*([f"--webhook-while-off={word}"] if word else []))
            if word == "":  # wait is the default: offline work as usual, but no node offers its resource
                self.wait_profile(component, {"app": "spark"}, {"by": "profile"})
                self.assertEqual({"kubernetes.io/batch-cpu": "1k"}, requests())
                self.assertEqual("BE", dry_run()["metadata.labels"][QOS])
            elif word == "plain":
                wait_for(lambda: "skipped" in str(dry_run().get("metadata.annotations", {})), "the profile", component)
                self.assertEqual({"cpu": "1"}, requests())
            else:
                wait_for(lambda: self.api.request("POST", PODS, body, dryRun="All").status == 403, "the refusal", component)
                self.assertIn("TM-ADMIT-001", self.refused("create", body))
            component.stop()
            for path in (MUTATING, VALIDATING):
                self.api.request("DELETE", path)

    def order(self, *words: str) -> None:
        done = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], *words, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--yes", "--reason=kernel update"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual(0, done.returncode, done.stdout + done.stderr)

    def test_an_order_off_applies_to_new_pods(self):
        """`tidemark off` of the cluster, of a pool and of a class, and `on`."""
        must(self.api.request("POST", colocation.SETTINGS, ours("schema: 1\nmode: enforce\npools:\n- {name: night, nodeSelector: {matchLabels: {pool: night}}}\nclasses:\n- {name: transcode, order: 1}\n")))
        self.profile("spark", BATCH)
        component = self.manager("--webhook-while-off=refuse")
        self.wait_profile(component, {"app": "spark"}, {"by": "profile"})
        anywhere = pod("a", labels={"app": "spark", "tidemark.io/class": "transcode"}, requests={"cpu": "1"})
        at_night = pod("b", labels={"app": "spark"}, requests={"cpu": "1"}, nodeSelector={"pool": "night"})
        refused = lambda body: self.api.request("POST", PODS, body, dryRun="All").status == 403
        for words, off, still in (
            (("pool", "night"), at_night, anywhere),
            (("cluster", "--only=class=transcode"), anywhere, at_night),
            (("cluster",), anywhere, None),
        ):
            with self.subTest(words):
                self.order("off", *words)
                wait_for(lambda: refused(off), "the refusal", component)
                why = self.refused("create", off)
                for part in ("TM-ADMIT-001", "kernel update", "the pool night" if words[0] == "pool" else "the cluster"):
                    self.assertIn(part, why)
                if still:
                    self.assertFalse(refused(still))
                self.order("on", *words[:2])
                wait_for(lambda: not refused(off), "pods to be accepted again", component)


class Away(WithWebhooks):
    def test_pods_created_without_a_manager_are_caught_up_with_later(self):
        self.profile("spark", BATCH, labels={"config.koordinator.sh/controller-managed": "true"})
        component = self.manager()
        self.wait_profile(component, {"app": "spark"}, {"by": "profile"})
        component.kill()
        for number in range(5):
            missed = self.create(pod(f"missed-{number}", labels={"app": "spark"}, requests={"cpu": "1"}))
            self.assertEqual({"app": "spark"}, missed["metadata"]["labels"])
        self.create(pod("other", labels={"app": "web"}))
        self.create(pod("exempt", labels={"app": "spark"}) | {"metadata": {"name": "exempt", "namespace": "kube-system", "labels": {"app": "spark"}}})
        self.addCleanup(self.api.request, "DELETE", "/api/v1/namespaces/kube-system/pods/exempt", gracePeriodSeconds=0)
        component = self.manager()

        def labels(name: str) -> dict:
            return must(self.api.request("GET", f"{PODS}/{name}")).get("metadata.labels", {})

        wait_for(lambda: all(labels(f"missed-{number}").get(QOS) == "BE" for number in range(5)), "pods to be caught up with", component)
        caught = must(self.api.request("GET", f"{PODS}/missed-0"))
        self.assertEqual({"app": "spark", "by": "profile", QOS: "BE", "koordinator.sh/priority": "1000"}, caught["metadata.labels"])
        # Fields that cannot change after creation stay, and are reported.
        self.assertEqual(("default-scheduler", {"cpu": "1"}), (caught["spec.schedulerName"], caught["spec.containers"][0]["resources"]["requests"]))

        def events() -> list[str]:
            listed = self.api.request("GET", f"/api/v1/namespaces/{NAMESPACE}/events").get("items", [])
            return [each["message"] for each in listed if each["reason"] == "ColocationProfileCaughtUp"]

        shown = wait_for(events, "an event on the pod", component)
        for part in ("spec.schedulerName", "spec.priorityClassName", "spec.terminationGracePeriodSeconds"):
            self.assertIn(part, shown[0])
        self.assertEqual({"app": "web"}, labels("other"))
        self.assertEqual({"app": "spark"}, must(self.api.request("GET", "/api/v1/namespaces/kube-system/pods/exempt"))["metadata.labels"])
        wait_for(lambda: component.metrics()["tidemark_profile_pods_caught_up_total"] == 5, "the count", component)

    def test_a_pod_that_was_caught_up_with_can_be_changed_and_deleted(self):
        self.profile("spark", BATCH)
        self.create(pod("missed", labels={"app": "spark"}))
        must(self.api.request("DELETE", f"{PROFILES}/spark"))
        self.profile("spark", BATCH, labels={"config.koordinator.sh/controller-managed": "true"})
        component = self.manager()
        wait_for(lambda: must(self.api.request("GET", f"{PODS}/missed")).get("metadata.labels", {}).get(QOS) == "BE", "the pod", component)
        self.assertEqual(0, kubectl("-n", NAMESPACE, "annotate", "pod", "missed", "a=b").returncode)
        self.assertEqual(0, kubectl("-n", NAMESPACE, "delete", "pod", "missed", "--now").returncode)


class Settings(WithWebhooks):
    def test_a_bad_edit_is_refused_whole_with_every_mistake(self):
        self.manager()
        good = settings(colocation_config='{"enable":true}')
        self.assertEqual(0, kubectl("apply", "-f", "-", given=good).returncode)
        bad = settings(
            colocation_config='{"enable":true,"degradeTimeMinutes":0,"cpuReclaimThresholdPercent":-1}',
            cpu_burst_config='{"clusterStrategy":{"policy":"auto"}}',
            cpu_normalization_config='{"defaultRatio":9}',
        )
        why = self.refused("apply", bad)
        for part in (
            "ConfigParamInvalid", "colocation-config: degradeTimeMinutes: found 0; allowed: a whole number from 1 on",
            "cpuReclaimThresholdPercent: found -1", "cpu-normalization-config: defaultRatio: found 9", "the edit is rejected as a whole",
        ):
            self.assertIn(part, why)
        there = must(self.api.request("GET", f"{colocation.SETTINGS}/{colocation.SETTINGS_NAME}"))["data"]
        self.assertEqual({"colocation-config": '{"enable":true}'}, there)
        self.assertIn("ParseConfigFail", self.refused("apply", settings(colocation_config="{")))

    def test_two_strategies_for_one_node_name_it(self):
        colocation.put_node(self.api, "both", capacity={"cpu": "4", "memory": "8Gi"}, labels={"pool": "a", "gpu": "yes"})
        self.addCleanup(colocation.delete, self.api, "both")
        component = self.manager()
        entries = [{"name": "a", "nodeSelector": {"matchLabels": {"pool": "a"}}}, {"name": "b", "nodeSelector": {"matchLabels": {"gpu": "yes"}}}]
        why = self.refused("create", settings(colocation_config=json.dumps({"nodeConfigs": entries})))
        body = json.loads(re.search(r"___(.*)___", why)[1])
        self.assertEqual(
            {"reason": "ExistNodeConfict", "message": {"config": "colocation-config", "strategies": ["a", "b"], "exampleNodes": ["both"]}}, body)
        self.assertEqual(1, component.metrics()['tidemark_webhook_denied_total{component="validate-configmap",reason="TM-SETTINGS-004"}'])

    def test_a_misspelled_key_gives_a_warning(self):
        self.manager()
        done = kubectl("create", "-f", "-", given=settings(colocation_config='{"cpuReclaimTresholdPercent":60}'))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("did you mean cpuReclaimThresholdPercent?", done.stderr)

    def test_our_own_settings_are_checked_too(self):
        self.manager()
        good = ours("schema: 1\nmode: enforce\n")
        self.assertEqual(0, kubectl("apply", "-f", "-", given=good).returncode)
        why = self.refused("apply", ours("schema: 1\nmode: watch\npoolz: []\nrollout: {nodesPerMinute: 0, canarySoak: soon}\n"))
        for part in ("mode", "poolz", "did you mean pools", "rollout.nodesPerMinute", "rollout.canarySoak", "the edit is rejected as a whole"):
            self.assertIn(part, why)
        there = must(self.api.request("GET", f"{colocation.SETTINGS}/tidemark-config"))["data"]
        self.assertEqual(good["data"], there)

    def test_nodes_of_two_pools_give_a_warning(self):
        colocation.put_node(self.api, "both", capacity=CAPACITY, labels={"stage": "canary", "pool": "night"})
        self.addCleanup(colocation.delete, self.api, "both")
        self.manager()
        pools = "".join(f"- {{name: {name}, nodeSelector: {{matchLabels: {{{label}}}}}}}\n" for name, label in (("first", "stage: canary"), ("second", "pool: night")))
        done = kubectl("apply", "-f", "-", given=ours(f"schema: 1\nmode: enforce\npools:\n{pools}"))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertIn("Warning: 1 nodes of pool first match pool second too, for example both", done.stderr)
        done = kubectl("-n", "koordinator-system", "delete", "configmap", "tidemark-config")
        self.assertIn("stay in force, also after a restart", done.stderr)

    def test_a_bad_edit_without_the_webhook_leaves_the_last_good_one_in_force(self):
        """The webhook is not called without the label; then the controllers keep the last good settings."""
        colocation.put_node(self.api, "slip", capacity=CAPACITY)
        self.addCleanup(colocation.delete, self.api, "slip")
        colocation.put_metric(self.api, "slip", STATUS)
        component = self.manager()
        offered = lambda: colocation.offered(self.api, "slip").get("kubernetes.io/batch-cpu")
        good = lambda: component.metrics()["tidemark_manager_config_good"]

        def reasons(name: str) -> list[str]:
            listed = self.api.request("GET", "/api/v1/namespaces/koordinator-system/events").get("items", [])
            return [event["reason"] for event in listed if event["involvedObject"]["name"] == name]

        self.assertEqual(0, kubectl("apply", "-f", "-", given=settings(colocation_config='{"enable":true}')).returncode)
        wait_for(offered, "batch resources", component)
        before = offered()
        broken = settings(labels={}, colocation_config='{"enable":false')
        self.refused("apply", settings(colocation_config='{"enable":false'))
        self.assertEqual(0, kubectl("-n", "koordinator-system", "label", "configmap", colocation.SETTINGS_NAME, "koordinator.sh/configmap-type-").returncode)
        done = kubectl("replace", "-f", "-", given=broken)
        self.assertEqual(0, done.returncode, done.stderr)
        wait_for(lambda: good() == 0, "the refusal in the metrics", component)
        wait_for(lambda: "ColocationCfgUnmarshalFailed" in reasons(colocation.SETTINGS_NAME), "the event", component)
        self.assertEqual(before, offered())
        self.assertEqual(0, kubectl("replace", "-f", "-", given=settings(colocation_config='{"enable":true}')).returncode)
        wait_for(lambda: good() == 1, "good settings", component)
        done = kubectl("create", "-f", "-", given=ours("schema: 7\n", labels={}))
        self.assertEqual(0, done.returncode, done.stderr)
        wait_for(lambda: good() == 0, "the refusal in the metrics", component)
        wait_for(lambda: "TidemarkConfigInvalid" in reasons("tidemark-config"), "the event", component)
        self.assertEqual(before, offered())

    def test_settings_without_the_label_are_reported(self):
        must(self.api.request("POST", colocation.SETTINGS, settings(labels={}, colocation_config='{"enable":false}')))
        component = self.manager()
        unwatched = f'tidemark_webhook_settings_unwatched{{component="{colocation.SETTINGS_NAME}"}}'
        wait_for(lambda: component.metrics().get(unwatched) == 1, "the metric", component)

        def events():
            listed = self.api.request("GET", "/api/v1/namespaces/koordinator-system/events").get("items", [])
            return [event for event in listed if event["reason"] == "SettingsNotChecked"]

        self.assertIn("koordinator.sh/configmap-type", wait_for(events, "a warning event", component)[0]["message"])
        label = ["-n", "koordinator-system", "label", "configmap", colocation.SETTINGS_NAME, "koordinator.sh/configmap-type=slo-controller-config"]
        self.assertEqual(0, kubectl(*label).returncode)
        wait_for(lambda: component.metrics().get(unwatched) == 0, "the metric to fall", component)


class Garbage(WithWebhooks):
    def test_garbage_is_refused_and_does_no_harm(self):
        component = self.manager()
        context = ssl.create_default_context(cadata=self.bundle(MUTATING))

        def post(path: str, body: bytes, content: str = "application/json") -> int:
            request = urllib.request.Request(f"https://127.0.0.1:{self.port(component)}{path}", data=body, headers={"Content-Type": content}, method="POST")
            try:
                with urllib.request.urlopen(request, context=context, timeout=20) as answer:
                    return answer.status
            except urllib.error.HTTPError as error:
                return error.code
            except (urllib.error.URLError, ConnectionError):
                return 0  # closed while we were still sending

        review = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u", "operation": "CREATE", "resource": {"resource": "pods"}, "object": {}}}
        self.assertEqual(200, post("/mutate-pod", json.dumps(review).encode()))
        for path in ("/mutate-pod", "/validate-pod", "/validate-configmap"):
            for body in (b"", b"{", b"[]", b"null", b"\xff\xfe", b'{"kind":"AdmissionReview"}', b"[" * 50_000):
                self.assertEqual(400, post(path, body), (path, body[:40]))
            zeros = json.dumps(review | {"request": review["request"] | {"object": {"a": [0] * 2_000_000}}}, separators=(",", ":")).encode()
            self.assertEqual(413, post(path, zeros), "too many values are not parsed")
            self.assertEqual(415, post(path, b"{}", "text/plain"))
        self.assertIn(post("/mutate-pod", b" " * (9 * 1024 * 1024)), (413, 0))
        self.assertEqual(404, post("/validate-elasticquota", b"{}"))
        nonsense = json.loads(json.dumps(review))
        nonsense["request"]["object"] = {"metadata": {"labels": 7}, "spec": {"containers": "all"}}
        self.assertEqual(200, post("/mutate-pod", json.dumps(nonsense).encode()))  # answered: denied
        self.create(pod("after"))
        self.assertIsNone(component.process.poll())
        self.assertGreater(component.metrics()['tidemark_webhook_requests_total{component="mutate-pod",reason="garbage"}'], 0)
