"""The log of a Spark run whose NodeManager is gone: YARN has collected it, and the gateway reads it at YARN's log server (a real one)."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from cluster.tidemark_process import wait_for
from support.patience import PATIENCE_S
from support.ports import free
from support.yarn import settings
from support.yarn.server import Server
from yarn.gateway_case import GatewayCase

LAST_LINE = "Successfully stopped SparkContext"


class Logs(GatewayCase):
    @classmethod
    def setUpClass(cls):
        cls.collected = Path(cls.enterClassContext(tempfile.TemporaryDirectory(prefix="tidemark-collected-")))
        web, calls = free(2)
        cls.YARN_SITE = {
            "yarn.log-aggregation-enable": "true", "yarn.nodemanager.remote-app-log-dir": f"file://{cls.collected}",
            "yarn.log.server.web-service.url": f"http://127.0.0.1:{web}/ws/v1/applicationhistory",
            "yarn.timeline-service.webapp.address": f"127.0.0.1:{web}", "yarn.timeline-service.address": f"127.0.0.1:{calls}", "yarn.timeline-service.bind-host": "127.0.0.1",
            "yarn.timeline-service.store-class": "org.apache.hadoop.yarn.server.timeline.MemoryTimelineStore",
        }
        super().setUpClass()
        layout = cls.yarn.layout
        cls.server = Server("log-server", settings.command(layout, cls.yarn.java, cls.yarn.jars, "client", "LogServer"), settings.environment(layout, cls.yarn.java, "client"), layout.logs / "log-server.log")
        cls.addClassCleanup(cls.server.end)
        cls.server.launch()

    def test_the_log_of_a_run_is_read_where_yarn_has_collected_it(self):
        self.begin()
        go = self.yarn.layout.scratch / "go"
        number = self.post(("1", "0", str(go)), **{"spark.tidemark.side": "yarn"})
        wait_for(lambda: self.batch(number)["state"] == "running", "a running driver", self.gateway, 2 * PATIENCE_S)
        application = self.batch(number)["appId"]
        self.gateway.kill()  # so it has not read the log when the run ends
        go.touch()
        wait_for(lambda: next(each for each in self.applications() if each["id"] == application)["state"] == "FINISHED", "the end of the application", limit_s=2 * PATIENCE_S)
        wait_for(lambda: [file for file in self.collected.glob(f"*/**/{application}/*") if ".tmp" not in file.name], "a collected log", limit_s=2 * PATIENCE_S)
        self.yarn.nodes[0].kill()
        self.begin()
        self.assertEqual("success", self.wait_ended(number)["state"])

        def log() -> str:
            command = [os.environ["TIDEMARK_BINARY"], "spark", "logs", f"--gateway={self.url}", str(number)]
            return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=PATIENCE_S).stdout

        try:
            wait_for(lambda: LAST_LINE in log(), "the last line of the driver", self.gateway)
        except AssertionError as error:
            raise AssertionError(f"{error}\n{log()[-2000:]}\n{self.server.tail()}")


if __name__ == "__main__":
    unittest.main()
