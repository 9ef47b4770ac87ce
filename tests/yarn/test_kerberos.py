"""A ResourceManager that requires Kerberos, with a real KDC: `tidemark yarn-operator` and user commands."""

import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

from cluster import colocation
from cluster.colocation import MERGE, must
from cluster.tidemark_process import Component, wait_for
from support.yarn import Totals, Yarn, YarnPair, kerberos, settings, until
from yarn.recording_proxy import RecordingProxy

NODE = "kerberized"
NODE_ID = "yarn.hadoop.apache.org/node-id"
SITE = Totals(memory_mib=2048, vcores=4)
LIFE_S = 6  # lifetime of the operator's ticket
METHODS = (b"getClusterNodes", b"updateNodeResource")
# The header of a wrapped message (RFC 4121, 4.2.6.2): its token id, flags whose second bit means sealed, a filler.
SIGNED, SEALED = re.compile(rb"\x05\x04[\x00\x01\x04\x05]\xff"), re.compile(rb"\x05\x04[\x02\x03\x06\x07]\xff")


def origin(cpu_milli: int, memory_mib: int) -> dict[str, str]:
    return {colocation.ORIGIN: json.dumps({"resources": {"kubernetes.io/batch-cpu": str(cpu_milli), "kubernetes.io/batch-memory": f"{memory_mib}Mi"}})}


class WithKerberos(unittest.TestCase):
    YARN: type[Yarn] = Yarn

    @classmethod
    def setUpClass(cls):
        cls.api = colocation.client()
        cls.addClassCleanup(cls.api.close)
        cls.kdc = cls.enterClassContext(kerberos.Kdc())
        servers = {name: cls.kdc.add(f"{name}/{kerberos.HOST}") for name in ("rm", "nm")}
        cls.keytab = cls.kdc.add("tidemark")
        cls.short_keytab = cls.kdc.add("shortlived", f"{LIFE_S} seconds")
        cls.yarn = cls.enterClassContext(cls.YARN(
            [SITE], core=kerberos.core("authentication,integrity,privacy"), site=kerberos.site(servers["rm"], servers["nm"], "tidemark,shortlived"),
            java=kerberos.java(cls.kdc),
        ))
        cls.nm = cls.yarn.nodes[0]
        colocation.put_node(cls.api, NODE, capacity={"cpu": "8", "memory": "16Gi", "pods": "110"}, annotations={NODE_ID: cls.nm.id, **origin(2000, 1024)})
        cls.addClassCleanup(colocation.delete, cls.api, NODE)
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "Test", "message": "", "lastHeartbeatTime": None, "lastTransitionTime": None}]}}
        must(cls.api.request("PATCH", f"/api/v1/nodes/{NODE}/status", ready, content=MERGE))
        cls.given = 0

    def begin(self, folder: Path, *more: str, keytab: Path | None = None, principal: str | None = None) -> Component:
        os.environ["KRB5_CONFIG"], os.environ["KRB5CCNAME"] = str(self.kdc.krb5_conf), self.kdc.environment["KRB5CCNAME"]
        flags = ["--kerberos-keytab", str(keytab or self.keytab), *(["--kerberos-principal", principal] if principal else [])]
        operator = Component(
            "yarn-operator", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--hadoop-conf-dir", str(folder), "--leader-elect=false", "--poll=1s",
            "--metrics-addr=127.0.0.1:0", *flags, *more,
        )
        self.addCleanup(operator.stop)
        return operator

    def give(self, operator: Component) -> None:
        """A new total that the operator must set at the ResourceManager."""
        type(self).given += 1
        wanted = (1024 + 64 * self.given, 2)  # outside the dead band
        must(self.api.request("PATCH", f"/api/v1/nodes/{NODE}", {"metadata": {"annotations": origin(2000, wanted[0])}}, content=MERGE))
        wait_for(lambda: self.nm.total() == wanted, f"a total of {wanted}", operator)


class Kerberos(WithKerberos):
    def folder(self, protection: str = "privacy", ports: settings.Ports | None = None, **more: str) -> Path:
        """The configuration of the operator: the ResourceManager's, except for the protection."""
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-conf-")))
        at = ports or self.yarn.rm.ports
        site = {**kerberos.site(Path("/none"), Path("/none"), ""), "yarn.resourcemanager.address": f"127.0.0.1:{at.client}", "yarn.resourcemanager.admin.address": f"127.0.0.1:{at.admin}"}
        settings.write(folder, core_site={**kerberos.core(protection), **more}, yarn_site=site)
        return folder

    def proxied(self) -> tuple[RecordingProxy, settings.Ports]:
        proxy = self.enterContext(RecordingProxy())
        at = self.yarn.rm.ports
        return proxy, settings.Ports(proxy.to(at.client), 0, 0, proxy.to(at.admin), 0)

    def explain(self, folder: Path, *flags: str, cache: str | None = None, code: int = 0) -> str:
        environment = {**self.kdc.environment, **({"KRB5CCNAME": cache} if cache else {})}
        words = [os.environ["TIDEMARK_BINARY"], "explain", "yarn", NODE, "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--hadoop-conf-dir", str(folder), *flags]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=environment)
        self.assertEqual(code, done.returncode, done.stderr)
        return done.stdout + done.stderr

    def test_totals_are_set_with_each_protection_and_privacy_encrypts(self):
        for protection in ("authentication", "integrity", "privacy"):
            with self.subTest(protection):
                proxy, ports = self.proxied()
                operator = self.begin(self.folder(protection, ports))
                self.give(operator)
                self.give(operator)
                self.assertEqual(0, operator.stop(), operator.log)
                self.assertRegex(operator.log, rf"kerberos: logged in.*principal=\"?tidemark@{kerberos.REALM}")
                shown = proxy.recorded()
                for words in (*METHODS, f"localhost:{self.nm.ports.web}".encode()):
                    self.assertEqual(protection != "privacy", words in shown, f"{words!r} with {protection}")
                self.assertIn(b"KERBEROS", shown)
                # Both sides sign the negotiation, one message each per connection; with integrity all later messages too.
                agreed = 2 * proxy.connections()
                signed, sealed = len(SIGNED.findall(shown)), len(SEALED.findall(shown))
                self.assertEqual(protection == "integrity", signed > 2 * agreed, f"{signed} signed messages with {protection}, of {proxy.connections()} connections")
                self.assertEqual(protection == "privacy", sealed > agreed, f"{sealed} sealed messages with {protection}")

    def test_tickets_are_renewed_and_a_kdc_outage_is_survived(self):
        """With tickets that live for seconds: new connections after several lifetimes, an open connection without a KDC, none after the ticket's end, and recovery."""
        proxy, ports = self.proxied()
        self.addCleanup(lambda: self.kdc.alive or self.kdc.start())
        began = time.monotonic()
        operator = self.begin(self.folder("privacy", ports), keytab=self.short_keytab, principal="shortlived")
        self.give(operator)
        before, begin = self.kdc.logins_of("shortlived"), time.monotonic()
        wait_for(lambda: time.monotonic() - begin > 3 * LIFE_S and operator.log.count("kerberos: logged in") >= 4, "three lifetimes of a ticket", operator)
        self.assertGreaterEqual(self.kdc.logins_of("shortlived") - before, 3)
        metrics = operator.metrics()
        self.assertGreaterEqual(metrics["tidemark_kerberos_logins_total"], 4)
        self.assertLess(abs(metrics["tidemark_kerberos_ticket_end_seconds"] - time.time()), 2 * LIFE_S)
        self.assertLess(operator.log.count("kerberos: logged in"), 3 + (time.monotonic() - began) / (0.7 * LIFE_S))  # after 80 % of each lifetime, not constantly
        connections = proxy.connections()
        proxy.cut()
        self.give(operator)
        self.assertGreater(proxy.connections(), connections)

        self.kdc.stop()
        wait_for(lambda: re.search(r"not logged in.*Cannot contact any KDC.*is a KDC of the realm up", operator.log), "a failed login with a hint", operator)
        self.give(operator)  # over open connections
        begin = time.monotonic()
        wait_for(lambda: time.monotonic() - begin > LIFE_S, "the end of the ticket", operator)
        said = len(operator.log)
        proxy.cut()
        wait_for(lambda: "its ResourceManager does not answer" in operator.log[said:], "an unreachable ResourceManager", operator)
        self.assertRegex(self.explain(self.folder(), f"--kerberos-keytab={self.short_keytab}"), r"logging in as shortlived@.*: Cannot contact any KDC")
        logins = operator.log.count("kerberos: logged in")
        self.kdc.start()
        self.give(operator)
        self.assertGreater(operator.log.count("kerberos: logged in"), logins)
        self.assertEqual(0, operator.stop())

    def test_a_frozen_kdc_delays_neither_the_operator_nor_its_end(self):
        """The KDC keeps its sockets and answers nothing: a worker waits for it, and the loop does not."""
        operator = self.begin(self.folder("privacy"))
        self.give(operator)
        self.kdc.freeze()
        self.addCleanup(self.kdc.resume)
        self.give(operator)  # over open connections
        other = self.begin(self.folder("privacy"))
        wait_for(lambda: re.search("did not finish within|Cannot contact any KDC", other.log), "a request that fails", other)
        self.assertIn("tidemark_kerberos_logins_total", other.metrics())
        for component in (operator, other):
            begin = time.monotonic()
            self.assertEqual(0, component.stop(), component.log)
            self.assertLess(time.monotonic() - begin, 5)

    def test_wrong_keys_are_reported(self):
        stale = self.kdc.folder / "stale.keytab"
        shutil.copy(self.kdc.add("changed"), stale)
        self.kdc.keytab("changed", keep_keys=False)
        both = self.kdc.keytab("tidemark", "shortlived")
        conf = self.folder()
        for flags, said in (
            (["--kerberos-keytab=/none"], r"keytab /none: No such file or directory; --kerberos-keytab is to be a file"),
            ([f"--kerberos-keytab={stale}"], r"logging in as changed@.*; the key in the keytab is not the one that the KDC has.*ktadd"),
            ([f"--kerberos-keytab={both}"], r"has keys of tidemark@TIDEMARK.TEST, shortlived@TIDEMARK.TEST: --kerberos-principal is to say which"),
            ([f"--kerberos-keytab={self.keytab}", "--kerberos-principal=ada"], r"has no key of ada@TIDEMARK.TEST, only of tidemark@TIDEMARK.TEST"),
            ([], r"there is no ticket: run kinit, or give --kerberos-keytab"),
        ):
            with self.subTest(said):
                self.assertRegex(self.explain(conf, *flags), said)

    def test_wrong_users_may_read_but_not_set_totals(self):
        self.kdc.add("bob")
        operator = self.begin(self.folder(), keytab=self.kdc.keytab("bob"))
        must(self.api.request("PATCH", f"/api/v1/nodes/{NODE}", {"metadata": {"annotations": origin(2000, 999)}}, content=MERGE))
        wait_for(lambda: re.search(r"User bob doesn't have permission|bob.*(permission|denied)", operator.log), "a refusal by name", operator)
        self.assertNotEqual((999, 2), self.nm.total())

    def test_the_rest_interface_refuses_anonymous_callers(self):
        """Without security it accepts all callers (test_admin_acl.py)."""
        before = self.nm.total()
        for named in ("", "?user.name=tidemark"):
            answer = self.yarn.rm.ask(f"/ws/v1/cluster/nodes/{self.nm.id}/resource{named}", "POST", {"resource": {"memory": 512, "vCores": 1}, "overCommitTimeout": 0})
            self.assertEqual(403, answer.status, answer.text)
            self.assertIn("The default static user cannot carry out this operation", answer.text)
        time.sleep(1)  # an accepted total would be in force after a heartbeat
        self.assertEqual(before, self.nm.total())

    def test_a_person_uses_the_own_ticket(self):
        cache = self.kdc.kinit(self.keytab, "tidemark")
        for protection in ("authentication", "privacy"):
            self.assertRegex(self.explain(self.folder(protection), cache=cache), r"its ResourceManager +RUNNING, total")

    def test_each_side_without_kerberos_gets_an_error(self):
        plain = self.folder(**{"hadoop.security.authentication": "simple"})
        self.assertRegex(self.explain(plain), r"SIMPLE authentication is not enabled.*it wants Kerberos: set hadoop.security.authentication to kerberos")
        other = self.folder(**{"hadoop.rpc.protection": "privacy"})
        (other / "yarn-site.xml").write_text((other / "yarn-site.xml").read_text().replace("rm/_HOST@", "yarn/_HOST@"))
        self.assertRegex(self.explain(other, f"--kerberos-keytab={self.keytab}"), r"the server calls itself rm/localhost, and yarn.resourcemanager.principal expects yarn/localhost")


class Pair(WithKerberos):
    """An HA pair of ResourceManagers, each with its own connection and handshake."""

    YARN = YarnPair

    def test_the_new_active_gets_totals_with_the_existing_ticket(self):
        operator = self.begin(self.yarn.configuration)
        self.give(operator)
        for member in self.yarn.rm.members:
            member.wait_there()
        active = self.yarn.rm.active_one()
        other = self.yarn.rm.other(active)
        logins = operator.metrics()["tidemark_kerberos_logins_total"]
        active.kill()
        other.until("the other is active", other.active)
        until("its NodeManager has registered", lambda: self.nm.seen().get("state") == "RUNNING")
        self.give(operator)
        self.assertEqual((1, logins), (operator.metrics()["tidemark_yarn_operator_failovers_total"], operator.metrics()["tidemark_kerberos_logins_total"]))
        self.assertEqual(0, operator.stop(), operator.log)


class WithoutKerberos(unittest.TestCase):
    def test_a_server_without_authentication_gets_no_call(self):
        kdc = self.enterContext(kerberos.Kdc())
        keytab = kdc.add("tidemark")
        yarn = self.enterContext(Yarn([]))
        proxy = self.enterContext(RecordingProxy())
        at = yarn.rm.ports
        folder = Path(self.enterContext(tempfile.TemporaryDirectory(prefix="tidemark-conf-")))
        site = {**kerberos.site(Path("/none"), Path("/none"), ""), "yarn.resourcemanager.address": f"127.0.0.1:{proxy.to(at.client)}", "yarn.resourcemanager.admin.address": f"127.0.0.1:{proxy.to(at.admin)}"}
        settings.write(folder, core_site=kerberos.core("authentication,privacy"), yarn_site=site)
        api = colocation.client()
        self.addCleanup(api.close)
        colocation.put_node(api, "plain", capacity={"cpu": "8", "memory": "16Gi", "pods": "110"}, annotations={NODE_ID: "localhost:1", **origin(2000, 1024)})
        self.addCleanup(colocation.delete, api, "plain")
        words = [os.environ["TIDEMARK_BINARY"], "explain", "yarn", "plain", "--kubeconfig", os.environ["TIDEMARK_TEST_KUBECONFIG"], "--hadoop-conf-dir", str(folder), f"--kerberos-keytab={keytab}"]
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60, env=kdc.environment)
        self.assertIn("the server offers TOKEN, SIMPLE and not KERBEROS, which hadoop.security.authentication asks for here: nothing is sent to it", done.stdout + done.stderr)
        self.assertGreater(proxy.connections(), 0)
        for words in METHODS:
            self.assertNotIn(words, proxy.recorded())


if __name__ == "__main__":
    unittest.main()
