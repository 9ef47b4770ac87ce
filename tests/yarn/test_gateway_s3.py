"""Logs of ended runs in a bucket of a real S3 server, which checks the signature of each request. No kubelet runs: the test reports the status of driver pods."""

import os
import subprocess
import unittest
from pathlib import Path
from unittest import mock

if "TIDEMARK_TEST_S3_SERVER" not in os.environ:
    raise unittest.SkipTest("no S3 server can be built here")

from cluster.tidemark_process import wait_for
from support.s3_server import SECRET, S3Server
from yarn.gateway_case import GatewayCase

SUCCEEDED = {"phase": "Succeeded", "containerStatuses": [GatewayCase.status_of("terminated", {"exitCode": 0})]}
ARCHIVE = "--archive=s3://logs/of spark"


class Archive(GatewayCase):
    TOTALS = []

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.s3 = cls.enterClassContext(S3Server(Path(cls.folder)))
        (cls.s3.buckets / "logs").mkdir()

    def begin_with(self, environment: dict[str, str], archive: str = ARCHIVE) -> None:
        with mock.patch.dict(os.environ, environment):
            self.begin(archive)

    def run_to_the_end(self) -> int:
        number = self.post(**{"spark.tidemark.side": "kubernetes"})
        self.set_status(wait_for(lambda: self.driver_of(number), "a driver pod", self.gateway), SUCCEEDED)
        self.assertEqual("success", self.wait_ended(number)["state"], self.gateway.log[-3000:])
        return number

    def test_the_log_of_an_ended_run_is_in_the_bucket_and_is_read_from_there(self):
        self.begin_with(self.s3.environment())
        number = self.run_to_the_end()
        archived = self.s3.buckets / f"logs/of spark/{number}/driver.log"
        wait_for(lambda: archived.exists() and f"run {number} done" in archived.read_text(), "the log in the bucket", self.gateway)
        (Path(self.folder) / self._testMethodName / f"logs/{number}.log").unlink()
        shown = subprocess.run([os.environ["TIDEMARK_BINARY"], "spark", "logs", f"--gateway={self.url}", str(number)], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        self.assertEqual(archived.read_text(), shown.stdout, shown.stderr)

    def test_a_wrong_key_is_reported_with_bucket_and_status_and_without_the_secret(self):
        self.begin_with(self.s3.environment("another secret"))
        number = self.run_to_the_end()
        wait_for(lambda: "cannot archive the log of a run" in self.gateway.log, "the refusal", self.gateway)
        self.assertRegex(self.gateway.log, rf"PUT {number}/driver.log in bucket logs at 127.0.0.1: S3 answered 403 SignatureDoesNotMatch .*check AWS_ACCESS_KEY_ID")
        self.assertNotIn("another secret", self.gateway.log)

    def test_keys_come_from_a_file_that_may_change(self):
        keys = Path(self.folder) / "credentials"
        variables = {**self.s3.environment(), "AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": "", "AWS_SHARED_CREDENTIALS_FILE": str(keys)}
        text = "[default]\naws_access_key_id = TIDEMARKTESTKEY\naws_secret_access_key = {}\n"
        keys.write_text(text.format("old"))
        self.begin_with(variables, "--archive=s3://logs/by-file")
        keys.write_text(text.format(SECRET))
        number = self.run_to_the_end()
        wait_for(lambda: (self.s3.buckets / f"logs/by-file/{number}/driver.log").exists(), "the log in the bucket", self.gateway)

    def test_a_missing_bucket_is_named(self):
        self.begin_with(self.s3.environment(), "--archive=s3://absent")
        self.run_to_the_end()
        wait_for(lambda: "in bucket absent at 127.0.0.1: S3 answered 404 NoSuchBucket" in self.gateway.log, "the refusal", self.gateway)


if __name__ == "__main__":
    unittest.main()
