"""The program in the guest, with nothing of this machine except its shared libraries."""

import os
import subprocess
import unittest
from pathlib import Path

from support import vm
from support.patience import PATIENCE_S

SMOKE = True

BINARY = Path(os.environ["TIDEMARK_BINARY"])


class Program(unittest.TestCase):
    def test_its_output_equals_the_output_here(self):
        version, wrong = (subprocess.run([BINARY, word], stdin=subprocess.DEVNULL, capture_output=True) for word in ("--version", "no-such-word"))
        self.assertEqual((0, b""), (version.returncode, version.stderr))
        self.assertNotEqual(0, wrong.returncode)
        there = vm.run(["sh", "-c", "tidemark --version && tidemark no-such-word"], files={"/bin/tidemark": BINARY}, deadline_s=PATIENCE_S)
        self.assertEqual((wrong.returncode, version.stdout + wrong.stdout, wrong.stderr), (there.code, there.stdout, there.stderr))


if __name__ == "__main__":
    unittest.main()
