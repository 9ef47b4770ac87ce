"""Certificates and registrations of the webhooks of `tidemark manager` on a real API server: rotated, given as files, shared by replicas."""

import base64
import json
import os
import ssl
import subprocess
import tempfile
import time
import urllib.request
from pathlib import Path

from cluster import chart, colocation
from cluster.colocation import must
from cluster.manager_case import LEASES
from cluster.tidemark_process import Component, wait_for
from cluster.webhook_case import BATCH, HOOKS, MUTATING, PODS, SECRET, VALIDATING, WithWebhooks, pod


class Certificates(WithWebhooks):
    def test_rotation_loses_no_pod(self):
        """Short validity: an authority is replaced several times while pods are created; failurePolicy Ignore would show as a pod without labels."""
        self.profile("spark", BATCH)
        component = self.manager("--webhook-ca-lifetime=15s", "--webhook-cert-lifetime=8s")
        self.wait_profile(component, {"app": "spark"}, {"by": "profile"})
        authorities, made = set(), 0
        end = time.monotonic() + 25
        while time.monotonic() < end:
            body = must(self.api.request("POST", PODS, pod("rotated", labels={"app": "spark"}), dryRun="All"))
            self.assertEqual("profile", body["metadata.labels"].get("by"), f"after {made} pods\n{component.log[-3000:]}")
            authorities.add(self.bundle(MUTATING).strip().split("-----END CERTIFICATE-----")[0])
            made += 1
        self.assertGreaterEqual(len(authorities), 2, component.log[-3000:])
        self.assertGreater(made, 20)

    def test_an_authority_is_replaced_if_one_kind_of_webhook_is_off(self):
        component = self.manager("--webhook-ca-lifetime=15s", "--webhook-cert-lifetime=8s", "--feature-gates=PodMutatingWebhook=false", wait=False)
        wait_for(lambda: self.api.request("GET", VALIDATING).status == 200, "the registration", component)
        self.assertEqual(404, self.api.request("GET", MUTATING).status)
        first = self.bundle(VALIDATING).strip().split("-----END CERTIFICATE-----")[0]
        replaced = lambda: "the next authority signs from now on" in component.log and first not in self.bundle(VALIDATING)
        wait_for(replaced, "another authority", component)

    def test_replicas_share_the_secret_and_a_restart_keeps_it(self):
        first = self.manager()
        before = must(self.api.request("GET", SECRET))["data"]
        self.assertEqual({"ca-cert.pem", "ca-key.pem", "cert.pem", "key.pem", "tls.crt", "tls.key"}, set(before))
        second = self.manager("--webhook-register=false", wait=False)
        wait_for(second.ready, "a second replica", second)
        trusted = self.bundle(MUTATING)
        for component in (first, second):
            context = ssl.create_default_context(cadata=trusted)
            with urllib.request.urlopen(f"https://127.0.0.1:{self.port(component)}/healthz", context=context, timeout=10) as answer:
                self.assertEqual(200, answer.status)
        first.stop()
        self.manager()
        self.assertEqual(before, must(self.api.request("GET", SECRET))["data"])

    def test_a_changed_registration_is_repaired(self):
        component = self.manager()
        wanted = must(self.api.request("GET", VALIDATING))["webhooks"]
        patch = {"webhooks": [{**wanted[0], "failurePolicy": "Fail"}]}
        must(self.api.request("PATCH", VALIDATING, patch, content=colocation.MERGE))
        wait_for(lambda: must(self.api.request("GET", VALIDATING))["webhooks"] == wanted, "the registration", component)
        for hook in wanted:
            self.assertEqual("Ignore", hook["failurePolicy"])

    def test_koordinators_registration_is_kept_for_its_return(self):
        theirs = {
            "name": "mpod-create.koordinator.sh", "clientConfig": {"service": {"name": "koordinator-webhook-service", "namespace": "koordinator-system", "path": "/mutate-pod"}},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
            "failurePolicy": "Fail", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "namespaceSelector": {"matchLabels": {"no": "where"}},
        }
        kind = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration"}
        must(self.api.request("POST", f"{HOOKS}/mutatingwebhookconfigurations", kind | {"metadata": {"name": "koordinator-mutating-webhook-configuration"}, "webhooks": [theirs]}))
        self.manager()
        there = must(self.api.request("GET", MUTATING))
        self.assertEqual("Ignore", there["webhooks"][0]["failurePolicy"])
        self.assertEqual("Fail", json.loads(there["metadata.annotations"]["template"])[0]["failurePolicy"])

    def test_the_successor_of_a_frozen_leader_keeps_the_authority(self):
        """Both serve; only the leader writes. The frozen leader is replaced, and undoes nothing when it resumes."""
        self.profile("spark", BATCH)
        flags = ("--leader-election-id=webhooks-replicas", "--leader-election-namespace=koordinator-system", "--leader-elect-lease-duration=10s",
                 "--leader-elect-renew-deadline=8s", "--leader-elect-retry-period=500ms")
        self.addCleanup(self.api.request, "DELETE", f"{LEASES}/webhooks-replicas")
        first = self.manager(*flags, elect=True)
        second = self.manager(*flags, elect=True, wait=False)
        wait_for(second.ready, "a second replica", second)
        url = lambda: must(self.api.request("GET", MUTATING))["webhooks"][0]["clientConfig"]["url"]
        self.assertIn(f":{self.port(first)}/", url())
        before = must(self.api.request("GET", SECRET))
        writes = lambda component: component.metrics().get("tidemark_webhook_configuration_writes_total", 0)
        self.assertEqual((2, 0), (writes(first), writes(second)))
        first.process.send_signal(19)  # SIGSTOP
        wait_for(lambda: f":{self.port(second)}/" in url(), "the registration of the second", second)
        self.wait_profile(second, {"app": "spark"}, {"by": "profile"})
        first.process.send_signal(18)  # SIGCONT
        wait_for(lambda: first.metrics().get("tidemark_leader") == 0, "the first to know that it leads no more", first)
        registered = must(self.api.request("GET", MUTATING))["metadata.resourceVersion"]
        for _ in range(20):
            made = must(self.api.request("POST", PODS, pod("after", labels={"app": "spark"}), dryRun="All"))
            self.assertEqual("profile", made["metadata.labels"].get("by"))
        self.assertEqual(before["data"], must(self.api.request("GET", SECRET))["data"], "no manager may replace the authority")
        self.assertEqual(registered, must(self.api.request("GET", MUTATING))["metadata.resourceVersion"])
        self.assertEqual(2, writes(first))

    def test_a_stopping_replica_answers_until_the_service_has_forgotten_it(self):
        """Behind a Service. With its own address no new client finds it: then it stops at once, as in the other tests."""
        component = self.manager("--webhook-register=false", host="", wait=False)
        wait_for(component.ready, "a ready manager", component)
        context = ssl.create_default_context(cadata=base64.b64decode(must(self.api.request("GET", SECRET))["data"]["ca-cert.pem"]).decode())
        context.check_hostname = False

        def answers() -> bool:
            with urllib.request.urlopen(f"https://127.0.0.1:{self.port(component)}/healthz", context=context, timeout=10) as answer:
                return answer.status == 200

        component.process.terminate()
        wait_for(lambda: not component.ready(), "readiness to end", component)
        self.assertTrue(answers())
        self.assertIsNone(component.process.poll())
        self.assertEqual(0, component.process.wait(20))

    def test_two_leaders_share_one_authority(self):
        """The worst case: no election at all. The second one finds the Secret of the first."""
        first = self.manager(wait=False)
        second = self.manager("--webhook-register=false", wait=False)
        for component in (first, second):
            wait_for(component.ready, "a ready replica", component)
        revision = must(self.api.request("GET", SECRET))["metadata.resourceVersion"]
        authority = must(self.api.request("GET", SECRET))["data"]["ca-cert.pem"]
        trusted = self.bundle(MUTATING) if wait_for(lambda: first.metrics().get("tidemark_webhook_registered") == 1, "the registration", first) else ""
        for component in (first, second):
            context = ssl.create_default_context(cadata=trusted)
            with urllib.request.urlopen(f"https://127.0.0.1:{self.port(component)}/healthz", context=context, timeout=10) as answer:
                self.assertEqual(200, answer.status)
        self.assertEqual((revision, authority), (lambda secret: (secret["metadata.resourceVersion"], secret["data"]["ca-cert.pem"]))(must(self.api.request("GET", SECRET))))


class GivenAsFiles(WithWebhooks):
    def issue(self, folder: str, name: str) -> None:
        """Its own authority and certificate, installed by renaming as the volumes of cert-manager are."""
        made = Path(self.enterContext(tempfile.TemporaryDirectory()))

        def openssl(*words) -> None:
            subprocess.run(["openssl", *map(str, words)], stdin=subprocess.DEVNULL, capture_output=True, text=True, check=True)

        for key in ("ca", "tls"):
            openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", made / f"{key}.key")
        openssl("req", "-x509", "-new", "-key", made / "ca.key", "-subj", f"/CN={name}", "-days", "2", "-out", made / "ca.crt")
        openssl("req", "-new", "-key", made / "tls.key", "-subj", "/CN=webhooks", "-out", made / "tls.csr")
        (made / "extensions").write_text("subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth\n")
        openssl("x509", "-req", "-in", made / "tls.csr", "-CA", made / "ca.crt", "-CAkey", made / "ca.key", "-CAcreateserial", "-days", "2",
                "-extfile", made / "extensions", "-out", made / "tls.crt")
        # A client that trusts both authorities during the change loses no request: the owner of the files rotates them like this.
        old = Path(folder, "ca.crt")
        trusted = (made / "ca.crt").read_text() + (old.read_text() if old.exists() else "")
        for file, text in (("ca.crt", trusted), ("tls.key", (made / "tls.key").read_text()), ("tls.crt", (made / "tls.crt").read_text())):
            (Path(folder) / f".{file}").write_text(text)
            os.rename(Path(folder) / f".{file}", Path(folder) / file)

    def test_given_certificates_serve_are_reported_and_are_reloaded(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.issue(folder, "first")
        self.profile("spark", BATCH)
        component = self.manager(f"--webhook-cert-dir={folder}")
        self.wait_profile(component, {"app": "spark"}, {"by": "profile"})
        self.assertEqual(Path(folder, "ca.crt").read_text(), self.bundle(MUTATING))
        self.assertEqual(404, self.api.request("GET", SECRET).status, "no authority is created beside the files")
        before = component.metrics()["tidemark_webhook_certificate_expires_seconds"]
        time.sleep(1.1)  # the second certificate expires in a later second
        self.issue(folder, "second")
        wait_for(lambda: self.bundle(MUTATING) == Path(folder, "ca.crt").read_text(), "the new authority", component)
        wait_for(lambda: component.metrics()["tidemark_webhook_certificate_expires_seconds"] > before, "the new certificate", component)
        self.wait_profile(component, {"app": "spark"}, {"by": "profile"})
        self.assertIsNone(component.process.poll())

    def test_an_invalid_certificate_file_leaves_the_old_one(self):
        folder = self.enterContext(tempfile.TemporaryDirectory())
        self.issue(folder, "first")
        self.profile("spark", BATCH)
        component = self.manager(f"--webhook-cert-dir={folder}")
        self.wait_profile(component, {"app": "spark"}, {"by": "profile"})
        Path(folder, "tls.crt").write_text("no certificate\n")
        wait_for(lambda: "cannot use tls.crt" in component.log, "a complaint in the log", component)
        self.assertEqual(1, component.metrics()["tidemark_webhook_certificate_failures_total"])
        self.wait_profile(component, {"app": "spark"}, {"by": "profile"})


# Koordinator's manager-role (its config/rbac/role.yaml) and its leader election role, reduced to the requests of this manager.
PEERS_ROLE = [
    {"apiGroups": [""], "resources": ["configmaps", "namespaces", "pods"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get", "list", "patch", "watch"]},
    {"apiGroups": [""], "resources": ["nodes/status"], "verbs": ["get", "patch", "update"]},
    {"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"]},
    {"apiGroups": ["admissionregistration.k8s.io"], "resources": ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"],
     "verbs": ["get", "list", "patch", "update", "watch"]},
    {"apiGroups": ["config.koordinator.sh"], "resources": ["clustercolocationprofiles"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["scheduling.k8s.io"], "resources": ["priorityclasses"], "verbs": ["get", "list", "watch"]},
    {"apiGroups": ["slo.koordinator.sh"], "resources": ["nodemetrics", "nodeslos"], "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"]},
    {"apiGroups": ["topology.node.k8s.io"], "resources": ["noderesourcetopologies"], "verbs": ["create", "delete", "get", "list", "patch", "update", "watch"]},
]
PEERS_ELECTION_ROLE = [
    {"apiGroups": ["", "coordination.k8s.io"], "resources": ["configmaps", "leases"], "verbs": ["get", "list", "watch", "create", "update", "patch", "delete"]},
    {"apiGroups": [""], "resources": ["events"], "verbs": ["create", "patch"]},
]


class InThePeersPlace(WithWebhooks):
    """Koordinator's manifests with another image: its role, its registrations."""

    def grant(self, kind: str, rules: list, namespace: str | None) -> None:
        folder = "/apis/rbac.authorization.k8s.io/v1" + (f"/namespaces/{namespace}" if namespace else "")
        plural = {"ClusterRole": "clusterroles", "Role": "roles"}[kind]
        subject = [{"kind": "ServiceAccount", "name": "peers", "namespace": "koordinator-system"}]
        reference = {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": "peers"}
        must(self.api.request("POST", f"{folder}/{plural}", {"metadata": {"name": "peers"}, "rules": rules}))
        self.addCleanup(self.api.request, "DELETE", f"{folder}/{plural}/peers")
        bindings = plural.replace("roles", "rolebindings")
        must(self.api.request("POST", f"{folder}/{bindings}", {"metadata": {"name": "peers"}, "roleRef": reference, "subjects": subject}))
        self.addCleanup(self.api.request, "DELETE", f"{folder}/{bindings}/peers")

    def test_koordinators_role_is_enough_except_for_catching_up_which_is_reported(self):
        accounts = "/api/v1/namespaces/koordinator-system/serviceaccounts"
        must(self.api.request("POST", accounts, {"metadata": {"name": "peers"}}))
        self.addCleanup(self.api.request, "DELETE", f"{accounts}/peers")
        self.grant("ClusterRole", PEERS_ROLE, None)
        self.grant("Role", PEERS_ELECTION_ROLE, "koordinator-system")
        for path, kind in ((MUTATING, "MutatingWebhookConfiguration"), (VALIDATING, "ValidatingWebhookConfiguration")):
            name = path.rsplit("/", 1)[1]  # created by its manifests, so that no manager has to
            must(self.api.request("POST", path.rsplit("/", 1)[0], {"apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name}}))
        self.profile("spark", BATCH, labels={"config.koordinator.sh/controller-managed": "true"})
        must(self.api.request("POST", PODS, pod("missed", labels={"app": "spark"})))
        folder = self.enterContext(tempfile.TemporaryDirectory())
        component = self.manager(kubeconfig=chart.kubeconfig_of("peers", folder), elect=True)
        self.addCleanup(self.api.request, "DELETE", f"{LEASES}/koordinator-manager")
        self.wait_profile(component, {"app": "spark"}, {"by": "profile"})
        wait_for(lambda: "cannot apply profiles to pods that missed the webhook" in component.log, "the log line about missed pods", component)
        self.assertIn("get and patch on pods", component.log)
