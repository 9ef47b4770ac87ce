"""Credential plugins of a kubeconfig (`exec`) against a real API server: a command by token and by certificate, and a manager whose tokens expire."""

import itertools
import json
import os
import re
import subprocess
import tempfile
from base64 import b64decode
from pathlib import Path

from cluster import colocation
from cluster.test_manager import LEFT, STATUS, WithApi
from cluster.tidemark_process import wait_for

V1 = "client.authentication.k8s.io/v1"
LIFE_S = 6  # a little more than the shortest time between two runs of a plugin


class CredentialPlugins(WithApi):
    def setUp(self) -> None:
        super().setUp()
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.known = Path(os.environ["TIDEMARK_TEST_KUBECONFIG"]).read_text()

    def of_known(self, key: str, user: str) -> str:
        """A field of a user of the fixture's kubeconfig."""
        return re.search(rf"- name: {user}\n  user:\n(?:    .*\n)*?    {key}: (\S+)", self.known)[1]

    def kubeconfig(self, script: str, **more) -> str:
        """A kubeconfig whose user is `script`, which counts its runs in the file `runs`."""
        plugin = self.folder / "login"
        plugin.write_text(f"#!/bin/sh\necho run >> {self.folder}/runs\n{script}")
        plugin.chmod(0o700)
        head = self.known[: self.known.index("contexts:")]
        user = {"exec": {"apiVersion": V1, "command": "./login", "interactiveMode": "Never", **more}}
        named = {"contexts": [{"name": "cloud", "context": {"cluster": "tidemark", "user": "cloud"}}], "current-context": "cloud", "users": [{"name": "cloud", "user": user}]}
        path = self.folder / "kubeconfig"
        path.write_text(head + "".join(f"{key}: {json.dumps(value)}\n" for key, value in named.items()))
        return str(path)

    def runs(self) -> int:
        path = self.folder / "runs"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def prints(self, **status: str) -> str:
        (self.folder / "answer").write_text(json.dumps({"kind": "ExecCredential", "apiVersion": V1, "status": status}))
        return f"cat {self.folder}/answer\n"

    def states(self, kubeconfig: str) -> subprocess.CompletedProcess:
        return subprocess.run(
            [os.environ["TIDEMARK_BINARY"], "report", "states", "--kubeconfig", kubeconfig], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60,
        )

    def test_a_command_uses_the_token(self):
        done = self.states(self.kubeconfig(self.prints(token=self.of_known("token", "admin"))))
        self.assertEqual(0, done.returncode, done.stderr)
        self.assertEqual(1, self.runs(), "one run serves all requests")

    def test_a_command_uses_the_client_certificate(self):
        pem = {name: b64decode(self.of_known(key, "certificate")).decode() for name, key in (("clientCertificateData", "client-certificate-data"), ("clientKeyData", "client-key-data"))}
        done = self.states(self.kubeconfig(self.prints(**pem)))
        self.assertEqual(0, done.returncode, done.stderr)

    def test_a_failing_plugin_is_named(self):
        done = self.states(self.kubeconfig("echo 'no profile' >&2; exit 2\n", installHint="Install the cloud tools."))
        self.assertEqual(1, done.returncode)
        for said in ('user "cloud"', "login", "exit code 2: no profile", "Install the cloud tools."):
            self.assertIn(said, done.stderr)

    def test_a_manager_renews_an_expiring_token(self):
        colocation.put_settings(self.api, {"enable": True})
        self.node("plugin-1")
        token = self.of_known("token", "admin")
        answer = f'{{"kind":"ExecCredential","apiVersion":"{V1}","status":{{"token":"{token}","expirationTimestamp":"%s"}}}}\n'
        script = f"printf '{answer}' \"$(date -u -d '+{LIFE_S} seconds' +%Y-%m-%dT%H:%M:%SZ)\"\n"
        manager = self.start_manager("--leader-elect=false", kubeconfig=self.kubeconfig(script))
        self.wait_offered("plugin-1", LEFT, manager)
        busy = {**STATUS, "nodeMetric": dict.fromkeys(("nodeUsage", "systemUsage"), {"resources": {"cpu": "12", "memory": "4Gi"}})}

        def writes_once_more() -> bool:
            """A manager without a request needs no token."""
            status, left = next(reports)
            colocation.put_metric(self.api, "plugin-1", status)
            self.wait_offered("plugin-1", left, manager)
            return self.runs() >= 3

        reports = itertools.cycle(((busy, "7200"), (STATUS, LEFT)))
        wait_for(writes_once_more, "a third run of the plugin", manager)
