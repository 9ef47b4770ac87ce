"""A job on a YARN and an HDFS that require Kerberos, with a real KDC: the gateway submits it over RPC, and its containers get a delegation token."""

import os
import subprocess
import unittest

from support.patience import PATIENCE_S
from support.yarn import kerberos
from support.yarn.hdfs import SecureHdfs
from yarn.gateway_case import GatewayCase


class Kerberos(GatewayCase):
    @classmethod
    def setUpClass(cls):
        cls.kdc = cls.enterClassContext(kerberos.Kdc())
        servers = {name: cls.kdc.add(f"{name}/{kerberos.HOST}") for name in ("rm", "nm")}
        cls.keytab = cls.kdc.add("tidemark")
        cls.hdfs = SecureHdfs(cls.kdc)
        cls.CORE = {**cls.hdfs.core, **kerberos.core("authentication")}
        cls.YARN_SITE = kerberos.site(servers["rm"], servers["nm"], "tidemark")
        cls.JAVA = kerberos.java(cls.kdc)
        super().setUpClass()
        cls.enterClassContext(cls.hdfs.of(cls.yarn))

    def setUp(self):
        super().setUp()
        os.environ["KRB5_CONFIG"], os.environ["KRB5CCNAME"] = str(self.kdc.krb5_conf), self.kdc.environment["KRB5CCNAME"]

    def test_a_job_whose_jar_is_in_hdfs_runs_with_a_token_of_the_gateway(self):
        self.begin(f"--kerberos-keytab={self.keytab}", "--uploads=hdfs:///up")
        options = " ".join(kerberos.java(self.kdc))
        conf = {
            "spark.driver.extraJavaOptions": options, "spark.executor.extraJavaOptions": options, "spark.yarn.appMasterEnv.SPARK_LOCAL_IP": "127.0.0.1", "spark.executorEnv.SPARK_LOCAL_IP": "127.0.0.1",
        }
        words = [word for key, value in conf.items() for word in ("--conf", f"{key}={value}")]
        client = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], "spark", "submit", "--master", "yarn", "--deploy-mode", "cluster", "--class", "SleepingTasks", "--driver-memory", "512m", "--executor-memory", "512m",
             "--num-executors", "1", *words, str(self.jar), "2", "0"],
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=3 * PATIENCE_S, env={**os.environ, "TIDEMARK_GATEWAY": self.url},
        )
        self.assertEqual(0, client.returncode, f"{client.stdout}\n{client.stderr}\n{self.gateway.log[-3000:]}")
        application = self.applications()[0]
        self.assertEqual(("FINISHED", "SUCCEEDED", "tidemark"), tuple(application[each] for each in ("state", "finalStatus", "user")))
        self.assertEqual(1, len(self.batch(1)["attempts"]))

    def test_a_cancel_kills_the_application(self):
        self.begin(f"--kerberos-keytab={self.keytab}")
        number = self.post(("1", "600000"), **{"spark.driver.extraJavaOptions": " ".join(kerberos.java(self.kdc))})
        self.ask("DELETE", f"/batches/{number}")
        self.assertEqual("killed", self.wait_ended(number)["state"], self.gateway.log[-3000:])
        handles = [each["handle"] for each in self.batch(number)["attempts"] if each["handle"]]
        self.assertEqual([], [each["id"] for each in self.applications() if each["id"] in handles and each["state"] != "KILLED"])


if __name__ == "__main__":
    unittest.main()
