"""Login to the console by an issuer of OpenID Connect that the real API server trusts: the package oidc-provider, which is certified."""

import json
import os
import re
import subprocess
import tempfile
import unittest
import urllib.request
from pathlib import Path

from browser.people import NAMESPACE, READ, RBAC, REVIEW, SETTINGS, WRITE, RealApi, WithPeople
from cluster.tidemark_process import wait_for
from support import ports

HERE = Path(__file__).parent
LIMIT_S = 600
RELOAD_S = 180  # the API server looks at the file each minute
CLIENT = "tidemark"
SECRET = "a secret of the test"  # as in issuer.mjs
PERSON = "oidc:ann"


class LoginByIssuer(WithPeople, unittest.TestCase):
    def setUp(self):
        self.people_api = RealApi()
        for name in (NAMESPACE, SETTINGS):
            self.people_api.make("/api/v1/namespaces", {"metadata": {"name": name}})
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self._clear()
        self.addCleanup(self._clear)
        pki = Path(os.environ["TIDEMARK_TEST_CA_FILE"]).parent  # its certificate is also for localhost
        self.certificate, self.key, self.ca = (str(pki / name) for name in ("server.crt", "server.key", "ca.crt"))
        [port] = ports.free(1)
        self.issuer = f"https://localhost:{port}"
        secret = self.folder / "client-secret"
        secret.write_text(SECRET + "\n")
        own = self.kubeconfig("console", self.account("console", READ + REVIEW))
        self.console, url = self.start_console(
            own, f"--tls-cert-file={self.certificate}", f"--tls-key-file={self.key}", "--host=localhost", f"--oidc-issuer={self.issuer}",
            f"--oidc-client-id={CLIENT}", f"--oidc-client-secret-file={secret}", f"--oidc-ca-file={self.ca}",
            "--oidc-scope=openid,email,profile,offline_access",
        )
        self.url = url.replace("127.0.0.1", "localhost")
        self.log = open(self.folder / "issuer.log", "wb")
        self.addCleanup(self.log.close)
        issuer = subprocess.Popen(["node", HERE / "issuer.mjs", str(port), f"{self.url}login/callback", self.certificate, self.key], stdin=subprocess.DEVNULL, stdout=self.log, stderr=subprocess.STDOUT)
        self.addCleanup(issuer.wait)
        self.addCleanup(issuer.kill)
        wait_for(lambda: "issuer  https" in Path(self.log.name).read_text(), "the issuer", None)
        self._trust()
        self._may(PERSON, READ + WRITE)

    def _trust(self) -> None:
        """The API server reads this file again when it changes."""
        file = Path(os.environ["TIDEMARK_TEST_AUTHENTICATION_FILE"])
        before = file.read_text()
        config = json.loads(before)
        issuer = {"url": self.issuer, "audiences": [CLIENT], "certificateAuthority": Path(self.ca).read_text()}
        config["jwt"] = [{"issuer": issuer, "claimMappings": {"username": {"claim": "sub", "prefix": "oidc:"}}}]
        reloads = self._reloads()
        file.write_text(json.dumps(config))
        self.addCleanup(file.write_text, before)
        wait_for(lambda: self._reloads() > reloads, "a reload of the authentication configuration", limit_s=RELOAD_S)

    def _reloads(self) -> float:
        request = urllib.request.Request(f"{self.people_api.server}/metrics", headers={"authorization": f"Bearer {self.people_api.token}"})
        with urllib.request.urlopen(request, context=self.people_api.context, timeout=30) as answer:
            found = re.findall(r'^apiserver_authentication_config_controller_automatic_reloads_total\{.*status="success".*\} (\S+)$', answer.read().decode(), re.M)
        return sum(map(float, found))

    def _may(self, person: str, rules: list[dict]) -> None:
        self.people_api.call("POST", f"{RBAC}/clusterroles", {"metadata": {"name": "browser-oidc"}, "rules": rules})
        role = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "browser-oidc"}
        subjects = [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": person}]
        self.people_api.call("POST", f"{RBAC}/clusterrolebindings", {"metadata": {"name": "browser-oidc"}, "roleRef": role, "subjects": subjects})

    def _clear(self) -> None:
        self.remove_people("console")
        for kind in ("clusterrolebindings", "clusterroles"):
            self.people_api.drop(f"{RBAC}/{kind}/browser-oidc")
        self.people_api.drop(f"/api/v1/namespaces/{SETTINGS}/configmaps/tidemark-state")

    def test_login(self):
        self.run_in_browser(HERE / "oidc.test.mjs", LIMIT_S, self.console, TIDEMARK_CLUSTER_URL=self.url, TIDEMARK_ISSUER_URL=self.issuer)
        stored = self.people_api.call("GET", f"/api/v1/namespaces/{SETTINGS}/configmaps/tidemark-state", {})["data"]["overrides.json"]
        self.assertIn(PERSON, stored)
        self.assertNotIn("code=", self.console.log)
        self.assertNotIn(SECRET, self.console.log)


if __name__ == "__main__":
    unittest.main()
