"""A calendar in the file of `tidemark up --settings`: a job without room starts when a window opens, and the reason names the window."""

import datetime
import json
import os
import subprocess
import unittest

from cluster.local_case import LocalCase, batch_job
from cluster.tidemark_process import wait_for

SMOKE = True

# By day almost no memory is sold. The first report comes at once, the next ones soon.
DAY = """kind: ConfigMap
metadata: {name: slo-controller-config}
data:
  colocation-config: '{"enable": true, "cpuReclaimThresholdPercent": 90, "memoryReclaimThresholdPercent": 1, "metricReportIntervalSeconds": 2, "metricAggregateDurationSeconds": 10}'
"""


def with_window(begins: datetime.datetime) -> str:
    times = {"from": f"{begins:%Y-%m-%dT%H:%M}", "to": f"{begins + datetime.timedelta(days=1):%Y-%m-%dT%H:%M}"}
    calendar = {"name": "nights", "zone": "UTC", "lead": "0s", "entries": [{"name": "this-night", **times, "cpu": 95, "memory": 85}]}
    config = {"schema": 1, "mode": "enforce", "calendar": "nights", "calendars": [calendar]}
    return f"{DAY}---\nkind: ConfigMap\nmetadata: {{name: tidemark-config}}\ndata: {{config.yaml: '{json.dumps(config)}'}}\n"


class LocalCalendar(LocalCase):
    def test_a_waiting_job_begins_when_a_window_opens(self):
        self.component.stop()
        file = self.folder / "settings.yaml"
        file.write_text(DAY)
        self.start("--settings", str(file))
        wait_for(lambda: "kubernetes.io/batch-memory" in self.get("node", "here")["status"]["allocatable"], "an offer", self.component)
        tenth_mib = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 10 >> 20
        self.apply(batch_job("nightly", ["echo", "in"], f"{tenth_mib}Mi"))
        wait_for(lambda: "memory" in self.tasks()["nightly"].get("why", ""), "a reason why it waits", self.component)
        self.assertEqual("Waiting", self.tasks()["nightly"]["state"])

        fresh = file.with_suffix(".new")
        fresh.write_text(with_window(datetime.datetime.now(datetime.timezone.utc) - datetime.timedelta(minutes=1)))
        fresh.rename(file)
        wait_for(lambda: self.tasks()["nightly"]["state"] == "Succeeded", "its end", self.component)
        explained = subprocess.run(
            [os.environ["TIDEMARK_BINARY"], "explain", "node", "here", "--kubeconfig", self.kubeconfig], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60
        )
        self.assertIn("this-night", explained.stdout, explained.stderr)


if __name__ == "__main__":
    unittest.main()
