"""Authentication at the Spark gateway: TLS, tokens, and tickets of a real KDC by SPNEGO, with curl as the client."""

import hashlib
import json
import os
import ssl
import subprocess
import unittest
from pathlib import Path

from cluster.tidemark_process import wait_for
from support.yarn import kerberos
from yarn.gateway_case import GatewayCase

TOKENS = {"ann": "ann's token", "bob": "bob's token", "eve": "eve's token"}


class Access(GatewayCase):
    TOTALS = []
    SCHEME = "https"

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.kdc = cls.enterClassContext(kerberos.Kdc())
        cls.keytab = cls.kdc.add(f"HTTP/{kerberos.HOST}")
        cls.certificate, cls.key = (Path(cls.folder, name) for name in ("tls.crt", "tls.key"))
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=localhost",
             "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-out", cls.certificate, "-keyout", cls.key],
            check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=60,
        )
        cls.tls = ssl.create_default_context(cafile=str(cls.certificate))

    def setUp(self):
        super().setUp()
        self.access = Path(self.folder, "access.yaml")
        self.audit = Path(self.folder, f"{self._testMethodName}.audit")
        users = [
            {"name": name, "business": "ads", "admin": name == "eve", "tokenSha256": [hashlib.sha256(token.encode()).hexdigest()], "principals": [f"{name}@{kerberos.REALM}"]}
            for name, token in TOKENS.items()
        ]
        self.access.write_text(json.dumps({"schema": 1, "users": users, "businesses": [{"name": "ads"}]}))
        os.environ["KRB5_CONFIG"] = str(self.kdc.krb5_conf)
        self.begin(
            f"--access-file={self.access}", f"--tls-cert-file={self.certificate}", f"--tls-key-file={self.key}", f"--spnego-keytab={self.keytab}",
            f"--audit-file={self.audit}",
        )
        self.url = self.url.replace("127.0.0.1", kerberos.HOST)

    def curl(self, *words: str, cache: str = "") -> tuple[int, str, str]:
        """Status, headers and body."""
        done = subprocess.run(
            ["curl", "-sS", "--cacert", self.certificate, "-w", "\n%{http_code}", "-D", f"{self.folder}/headers", *words[1:], self.url + words[0]],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env={**self.kdc.environment, **({"KRB5CCNAME": cache} if cache else {})},
        )
        self.assertEqual(0, done.returncode, done.stderr)
        body, _, status = done.stdout.rpartition("\n")
        return int(status), Path(self.folder, "headers").read_text(), body

    def ticket(self, name: str) -> str:
        return self.kdc.kinit(self.kdc.add(name), name)

    def test_a_user_has_the_same_runs_with_a_ticket_and_with_a_token(self):
        cache = self.ticket("ann")
        batch = json.dumps({"file": f"local://{self.jar}", "className": "SleepingTasks", "conf": {"spark.kubernetes.container.image": "spark"}})
        status, headers, body = self.curl("/batches", "--negotiate", "-u", ":", "-H", "Content-Type: application/json", "-d", batch, cache=cache)
        self.assertEqual(201, status, f"{body}\n{self.gateway.log}")
        self.assertRegex(headers.lower(), "www-authenticate: negotiate [a-z0-9]", "the gateway proves itself too")
        number, owner = json.loads(body)["id"], json.loads(body)["owner"]
        self.assertEqual("ann", owner)
        wanted = {"ann": 200, "bob": 403, "eve": 200}
        for name, expected in wanted.items():
            with self.subTest(name):
                self.assertEqual(expected, self.curl(f"/batches/{number}/log", "-H", f"Authorization: Bearer {TOKENS[name]}")[0])
        self.assertEqual(403, self.curl(f"/batches/{number}", "-X", "DELETE", "-u", f"bob:{TOKENS['bob']}")[0])
        self.assertEqual(200, self.curl(f"/batches/{number}", "-X", "DELETE", "-u", f"ann:{TOKENS['ann']}")[0])
        for line in (("ann", "submit", str(number), "done"), ("bob", "get", str(number), "refused"), ("ann", "cancel", str(number), "done")):
            with self.subTest(line):
                wait_for(lambda: line in self.lines(), "its audit line", self.gateway)

    def test_callers_without_a_proof_and_with_an_unknown_principal_are_refused(self):
        status, headers, body = self.curl("/api/v1/batches")
        self.assertEqual((401, "authentication is required: send a token"), (status, json.loads(body)["message"]))
        self.assertIn("negotiate", headers.lower())
        self.assertEqual(401, self.curl("/batches", "-H", "Authorization: Bearer wrong")[0])
        self.assertEqual(403, self.curl("/batches", "--negotiate", "-u", ":", cache=self.ticket("mallory"))[0])
        self.assertEqual(401, self.curl("/batches", "--negotiate", "-u", ":")[0], "without a ticket")

    def test_a_token_that_is_taken_out_of_the_file_ends_and_the_command_uses_one(self):
        token = Path(self.folder, "token")
        token.write_text(TOKENS["ann"] + "\n")
        words = [os.environ["TIDEMARK_BINARY"], "spark", "list", f"--gateway={self.url}", f"--token-file={token}", f"--ca-file={self.certificate}"]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        self.assertEqual((0, True), (done.returncode, done.stdout.startswith("ID")), done.stderr)
        access = json.loads(self.access.read_text())
        access["users"] = [each for each in access["users"] if each["name"] != "ann"]
        self.access.write_text(json.dumps(access))
        wait_for(lambda: self.curl("/batches", "-H", f"Authorization: Bearer {TOKENS['ann']}")[0] == 401, "the end of the token", self.gateway)
        self.assertEqual(200, self.curl("/batches", "-H", f"Authorization: Bearer {TOKENS['bob']}")[0])

    def lines(self) -> list[tuple[str, str, str, str]]:
        """Actor, verb, run and outcome of each audit line about runs."""
        lines = [json.loads(line) for line in self.audit.read_text().splitlines()] if self.audit.exists() else []
        return [(line["actor"], line["verb"], line["object"]["name"], line["outcome"]) for line in lines if line["object"]["kind"] == "SparkRun"]


if __name__ == "__main__":
    unittest.main()
