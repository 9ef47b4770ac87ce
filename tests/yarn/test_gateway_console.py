"""A run of a real Spark gateway on a real YARN, behind a console as the chart starts it: a person logs in by a token of the API server and shows the gateway an own token."""

import hashlib
import json
import os
import re
import ssl
import unittest
import urllib.error
import urllib.request
from pathlib import Path

from cluster import chart, colocation
from cluster.chart import NAMESPACE, RELEASE
from cluster.tidemark_process import Component, wait_for
from yarn.gateway_case import GatewayCase

TOKENS = {"ann": "ann's token", "bob": "bob's token"}
PKI = Path(os.environ["TIDEMARK_TEST_CA_FILE"]).parent
SERVED = [f"--tls-{kind}-file={PKI / f'server.{end}'}" for kind, end in (("cert", "crt"), ("key", "key"))]


@chart.needs_helm
class GatewayBehindConsole(GatewayCase):
    SCHEME = "https"
    tls = ssl.create_default_context(cafile=os.environ["TIDEMARK_TEST_CA_FILE"])

    def start_console(self) -> Component:
        viewer = {"kind": "ServiceAccount", "namespace": NAMESPACE, "name": "viewer"}
        gateway = {"url": self.url, "caConfigMap": "gateway-ca"}
        values = {
            "settings": {"create": False}, "access": {"viewers": [viewer]},
            "console": {"enabled": True, "tlsSecret": "console-tls", "hosts": ["console.example"], "logFormat": "text", "gateway": gateway},
        }
        chart.ensure_namespace(self.api)
        colocation.install_crds()
        self.addCleanup(chart.helm, "uninstall", RELEASE, "--namespace", NAMESPACE, "--ignore-not-found", "--no-hooks")
        chart.must(chart.helm("upgrade", "--install", RELEASE, chart.CHART, "--namespace", NAMESPACE, values=values))
        accounts = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts"
        self.api.request("POST", accounts, {"metadata": {"name": "viewer"}})
        self.addCleanup(self.api.request, "DELETE", f"{accounts}/viewer")
        here = {"--listen": "127.0.0.1:0", "--gateway-ca-file": os.environ["TIDEMARK_TEST_CA_FILE"], **dict(flag.split("=", 1) for flag in SERVED)}
        command = chart.command_here(chart.container(chart.objects(chart.template(values)), "console"), here)
        self.assertIn(f"--gateway={self.url}", command)
        console = Component(*command, "--kubeconfig", chart.kubeconfig_of("tidemark-console", self.folder))
        self.addCleanup(console.stop)
        wait_for(console.ready, "a console that read the cluster", console)
        self.page = re.search(r"^console +(https://\S+)$", console.log, re.M)[1]
        return console

    def read(self, path: str, body: dict | None = None, **headers: str) -> tuple[dict, str]:
        headers = {"Content-Type": "application/json", "X-Tidemark-Console": "1", **{name.replace("_", "-"): value for name, value in headers.items()}}
        request = urllib.request.Request(self.page + path, json.dumps(body).encode() if body else None, headers)
        with urllib.request.urlopen(request, context=self.tls, timeout=30) as answer:
            return json.loads(answer.read()), (answer.headers["Set-Cookie"] or "").partition(";")[0]

    def test_a_person_sees_the_runs_that_the_own_token_may_see(self):
        access = Path(self.folder, "access.yaml")
        users = [{"name": name, "business": name, "tokenSha256": [hashlib.sha256(token.encode()).hexdigest()]} for name, token in TOKENS.items()]
        access.write_text(json.dumps({"schema": 1, "users": users, "businesses": [{"name": name} for name in TOKENS]}))
        self.headers = {"Authorization": f"Bearer {TOKENS['ann']}"}
        self.begin(f"--access-file={access}", *SERVED)
        number = self.post(**{"spark.tidemark.side": "yarn"})
        batch = self.wait_ended(number)
        self.assertEqual("success", batch["state"], self.gateway.log)

        console = self.start_console()
        with self.assertRaises(urllib.error.HTTPError) as refused:
            self.read("api/v1/spark", X_Tidemark_Gateway_Token=TOKENS["ann"])
        self.assertEqual(401, refused.exception.code, "a token of the gateway is no login")
        login, cookie = self.read("api/v1/login", {"token": chart.token("viewer")})
        self.assertEqual(f"system:serviceaccount:{NAMESPACE}:viewer", login["user"])
        self.assertTrue(self.read("api/v1/spark", Cookie=cookie)[0]["needsToken"])
        self.assertTrue(self.read("api/v1/spark", Cookie=cookie, X_Tidemark_Gateway_Token="wrong")[0]["needsToken"])
        [run] = self.read("api/v1/spark", Cookie=cookie, X_Tidemark_Gateway_Token=TOKENS["ann"])[0]["runs"]
        self.assertEqual((number, "ann", "succeeded"), (run["id"], run["user"], run["state"]))
        [attempt] = run["attempts"]
        self.assertEqual(("yarn", batch["appId"]), (attempt["side"], attempt["handle"]))
        self.assertEqual([], self.read("api/v1/spark", Cookie=cookie, X_Tidemark_Gateway_Token=TOKENS["bob"])[0]["runs"], "ann's run is not bob's")
        for token in TOKENS.values():
            self.assertNotIn(token, console.log)


if __name__ == "__main__":
    unittest.main()
