"""`tidemark yarn-copilot` at a NodeManager whose web interface requires Kerberos (SPNEGO), with a real KDC."""

import os
import re
import tempfile
import unittest

from support.yarn import Totals, Yarn, kerberos
from yarn.over_socket import Copilot

SMOKE = True


class ShutDoors(Yarn):
    """NodeManagers whose web interface needs a ticket. That of their ResourceManager stays open, for the fixture."""

    def __init__(self, kdc: kerberos.Kdc, **more):
        self.secret = kdc.folder / "signature-secret"
        self.secret.write_text("without meaning: the directory is deleted with the test")
        door = "hadoop.http.authentication"
        self.door = {
            "hadoop.http.filter.initializers": "org.apache.hadoop.security.AuthenticationFilterInitializer", f"{door}.type": "kerberos",
            f"{door}.kerberos.principal": f"HTTP/{kerberos.HOST}@{kerberos.REALM}", f"{door}.kerberos.keytab": str(kdc.add(f"HTTP/{kerberos.HOST}")), f"{door}.signature.secret.file": str(self.secret),
        }
        super().__init__([Totals(2048, 4)], **more)

    def _node(self, name: str, totals: Totals):
        before, self._site = self._site, {**self._site, **self.door}
        try:
            return super()._node(name, totals)
        finally:
            self._site = before


class WebDoor(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.kdc = cls.enterClassContext(kerberos.Kdc())
        servers = {name: cls.kdc.add(f"{name}/{kerberos.HOST}") for name in ("rm", "nm")}
        cls.keytab = cls.kdc.add("copilot")
        cls.yarn = cls.enterClassContext(ShutDoors(
            cls.kdc, core=kerberos.core("authentication"), site=kerberos.site(servers["rm"], servers["nm"], "copilot"), java=kerberos.java(cls.kdc),
        ))
        cls.nm = cls.yarn.nodes[0]

    def begin(self, *flags: str) -> Copilot:
        os.environ["KRB5_CONFIG"], os.environ["KRB5CCNAME"] = str(self.kdc.krb5_conf), self.kdc.environment["KRB5CCNAME"]
        copilot = Copilot(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-copilot-")), self.nm.ports.web, *flags)
        self.addCleanup(copilot.stop)
        return copilot

    def shut_out(self, copilot: Copilot) -> int:
        return int(re.search(r"^tidemark_yarn_copilot_node_manager_shut_out_total (\d+)$", copilot.get("/metrics"), re.M)[1])

    def with_kerberos(self, principal: str) -> Copilot:
        return self.begin(f"--hadoop-conf-dir={self.yarn.configuration}", f"--kerberos-keytab={self.keytab}", f"--node-manager-principal={principal}")

    def test_it_gets_in_with_a_ticket_and_then_with_its_cookie(self):
        copilot = self.with_kerberos(f"HTTP/{kerberos.HOST}")
        for _ in range(5):
            self.assertEqual([], copilot.get("/v1/containers"))
        self.assertEqual(1, self.kdc.tickets_for(f"HTTP/{kerberos.HOST}"))
        self.assertEqual(0, self.shut_out(copilot))

    def test_no_ticket_is_reported_with_the_required_authentication(self):
        self.assertEqual(401, self.nm.ask("/ws/v1/node/containers").status)
        copilot = self.begin()
        status, body = copilot.ask("GET", "/v1/containers")
        self.assertEqual(400, status)
        self.assertRegex(body["error"], r"it answered 401 .*its web address requires Kerberos \(SPNEGO\)")
        self.assertIn("requires Kerberos", copilot.log)
        self.assertGreater(self.shut_out(copilot), 0)

    def test_a_wrong_principal_is_named(self):
        self.kdc.add("HTTP/elsewhere")
        for principal, said in (("HTTP/nobody", "the KDC has no such service.*--node-manager-principal"), ("HTTP/elsewhere", "HTTP/elsewhere")):
            with self.subTest(principal):
                status, body = self.with_kerberos(principal).ask("GET", "/v1/containers")
                self.assertEqual(400, status)
                self.assertRegex(body["error"], said)


if __name__ == "__main__":
    unittest.main()
