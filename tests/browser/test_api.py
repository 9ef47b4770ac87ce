"""The API of the console against console/openapi.json: schemathesis makes requests out of the description, valid and invalid ones, and checks each answer."""

import os
import re
import subprocess
import unittest
from pathlib import Path

from browser import cluster_data
from cluster.tidemark_process import Component, wait_for

LIMIT_S = 300
EXAMPLES = 10  # of an operation, beside those that cover each parameter
NODES = 60
# What a time or a name may be is not in the schema, and this console has no login.
NOT_CHECKED = "positive_data_acceptance,ignored_auth"


@unittest.skipUnless("TIDEMARK_SCHEMATHESIS" in os.environ, "needs schemathesis")
class Description(unittest.TestCase):
    def test_answers_are_as_described(self):
        folder = Path(os.environ["TMPDIR"])
        up = Component("up", "--data-dir", str(folder / "data"), "--listen", "127.0.0.1:0", "--pods=false", "--keep=false")
        self.addCleanup(up.stop)
        kubeconfig = Path(wait_for(lambda: re.search(r"^kubeconfig +(\S+)$", up.log, re.M), "the kubeconfig", up)[1])
        api = cluster_data.Api(kubeconfig)
        wait_for(lambda: self._has_kinds(api), "the custom resources", up)
        cluster_data.fill(api, NODES)
        console = Component("console", "--kubeconfig", str(kubeconfig), "--listen", "127.0.0.1:0", "--write")
        self.addCleanup(console.stop)
        url = wait_for(lambda: re.search(r"^console +(http://\S+)$", console.log, re.M), "the address of the console", console)[1]
        done = subprocess.run(
            [os.environ["TIDEMARK_SCHEMATHESIS"], "-m", "schemathesis.cli", "run", f"{url}api/openapi.json", "--exclude-path", "/api/v1/stream", "--checks", "all", "--exclude-checks", NOT_CHECKED,
             "--header", "X-Tidemark-Console: 1", "--phases", "coverage,fuzzing", "--max-examples", str(EXAMPLES), "--seed", "1", "--continue-on-failure", "--no-color"],
            cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=LIMIT_S,
        )
        self.assertEqual(0, done.returncode, done.stdout[-12000:] + done.stderr[-2000:] + console.log[-2000:])
        self.assertRegex(done.stdout, r"Tested: 3\d", "nearly all operations were asked")

    def _has_kinds(self, api: cluster_data.Api) -> bool:
        try:
            api.call("GET", "/apis/slo.koordinator.sh/v1alpha1/nodemetrics", {})
            api.call("GET", "/api/v1/namespaces/koordinator-system", {})
            return True
        except OSError:
            return False


if __name__ == "__main__":
    unittest.main()
