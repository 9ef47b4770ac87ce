"""Names and texts of the cluster are texts on the page, whatever is in them: settings and why they are refused, a reason, a pod's condition, an event."""

import os
import re
import tempfile
import unittest
from pathlib import Path

from browser import cluster_data
from browser.people import WithPeople
from cluster.tidemark_process import Component, wait_for

HERE = Path(__file__).parent
LIMIT_S = 300
MARKUP = "<img src=x onerror=hit=1><script>hit=1</script>"
# The check of the settings refuses such names, and the page shows what it refuses.
SETTINGS = f"""schema: 1
mode: enforce
calendars:
- name: nights
  zone: UTC
  entries:
  - {{name: "{MARKUP}", cron: "0 22 * * *", for: 8h, cpu: 80}}
pools:
- {{name: "{MARKUP}", business: "{MARKUP}", calendar: nights, nodeSelector: {{matchLabels: {{role: web}}}}}}
"""


class Names(WithPeople, unittest.TestCase):
    def test_markup_is_text(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        up = Component("up", "--data-dir", str(self.folder / "data"), "--listen", "127.0.0.1:0", "--pods=false", "--keep=false")
        self.addCleanup(up.stop)
        kubeconfig = wait_for(lambda: re.search(r"^kubeconfig +(\S+)$", up.log, re.M), "the kubeconfig", up)[1]
        api = cluster_data.Api(Path(kubeconfig))
        wait_for(lambda: self._has_namespace(api), "the namespace", up)
        api.call("POST", "/api/v1/namespaces/koordinator-system/configmaps", {"metadata": {"name": "tidemark-config"}, "data": {"config.yaml": SETTINGS}})
        api.call("POST", "/api/v1/nodes", {"metadata": {"name": "web-1", "labels": {"role": "web"}}})
        labels = {"koordinator.sh/qosClass": "BE", "tidemark.io/class": "spark"}
        api.call("POST", "/api/v1/namespaces/default/pods", {"metadata": {"name": "task", "labels": labels}, "spec": {"containers": [{"name": "main", "image": "i"}]}})
        condition = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": MARKUP}
        api.status("/api/v1/namespaces/default/pods/task", {"phase": "Pending", "conditions": [condition]})
        about = {"apiVersion": "v1", "kind": "Node", "name": "web-1"}
        event = {"metadata": {"name": "web-1.1"}, "involvedObject": about, "source": {"component": "tidemark-agent"}, "reportingComponent": "tidemark-agent"}
        api.call("POST", "/api/v1/namespaces/default/events", event | {"type": "Warning", "reason": "TidemarkEvicted", "message": MARKUP, "firstTimestamp": cluster_data.now(), "lastTimestamp": cluster_data.now(), "count": 1})
        console, url = self.start_console(kubeconfig, "--write")
        self.run_in_browser(HERE / "names.test.mjs", LIMIT_S, console, TIDEMARK_CONSOLE_URL=url, TIDEMARK_MARKUP=MARKUP)

    def _has_namespace(self, api: cluster_data.Api) -> bool:
        try:
            api.call("GET", "/api/v1/namespaces/koordinator-system", {})
            return True
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
