"""The page of a node on `tidemark up` with a task: the limits that its agent set on the task, beside the kernel's file."""

import re
import unittest
from pathlib import Path

from browser.people import WithPeople
from cluster.local_case import LocalCase, batch_job
from cluster.tidemark_process import wait_for

HERE = Path(__file__).parent
LIMIT_S = 300
MEMORY = 64 << 20


class Limits(WithPeople, LocalCase):
    def test_limits_of_a_task(self):
        url = re.search(r"^console +(http://\S+)$", self.component.log, re.M)[1]
        self.apply(batch_job("held", ["sleep", "900"], str(MEMORY)))
        wait_for(lambda: "Running" in self.phases().values(), "a running pod", self.component)
        pod = self.get("pods")["items"][0]["metadata"]
        self.run_in_browser(HERE / "limits.test.mjs", LIMIT_S, self.component, TIDEMARK_CONSOLE_URL=url, TIDEMARK_TASK=f"{pod['namespace']}/{pod['name']}")
        in_force = self.file(pod["uid"], "memory.limit_in_bytes") or self.file(pod["uid"], "memory.max")
        self.assertEqual(str(MEMORY), in_force)


if __name__ == "__main__":
    unittest.main()
