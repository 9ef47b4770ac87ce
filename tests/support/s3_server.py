"""A server with the API of S3 beside a test. Its buckets are folders."""

import os
from pathlib import Path

from support.ports import free
from support.yarn.server import Server

KEY, SECRET = "TIDEMARKTESTKEY", "a secret of one test"
REGION = "eu-test-1"


class S3Server:
    """`with S3Server(folder):`."""

    def __init__(self, folder: Path):
        self.buckets = folder / "buckets"
        self.buckets.mkdir()
        [port] = free(1)
        self.url = f"http://127.0.0.1:{port}"
        program = os.environ["TIDEMARK_TEST_S3_SERVER"]
        environment = {**os.environ, "ROOT_ACCESS_KEY": KEY, "ROOT_SECRET_KEY": SECRET}
        self._server = Server("s3", [program, "--port", f"127.0.0.1:{port}", "--region", REGION, "posix", str(self.buckets)], environment, folder / "s3.log")

    def __enter__(self) -> "S3Server":
        self._server.launch()
        return self

    def __exit__(self, *_) -> None:
        self._server.end()

    def environment(self, secret: str = SECRET) -> dict[str, str]:
        """What clients of S3 find it by."""
        return {"AWS_ACCESS_KEY_ID": KEY, "AWS_SECRET_ACCESS_KEY": secret, "AWS_REGION": REGION, "AWS_ENDPOINT_URL_S3": self.url}
