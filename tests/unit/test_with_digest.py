"""The digest that a precompiled header leaves for the compiler cache, with a compiler that only writes what one would."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from driver.paths import ROOT

COMPILER = """#!/bin/sh
[ -z "$FAILS" ] || exit 3
echo header > "$2"
cat "$0.depends" > "$4"
"""


class Digest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def made(self, name: str, header: str = "int a;", *words: str) -> str:
        """In a clone of that name; the digest."""
        clone = self.folder / name
        (clone / "build").mkdir(parents=True, exist_ok=True)
        compiler, read, out = clone / "cc", clone / "read #1.h", clone / "build" / "all.pch"
        compiler.write_text(COMPILER)
        compiler.chmod(0o700)
        read.write_text(header)
        escaped = str(read).replace("$", "$$").replace(" ", "\\ ").replace("#", "\\#")
        Path(f"{compiler}.depends").write_text(f"all.pch: \\\n {escaped} \\\n  {__file__}\n")
        subprocess.run([sys.executable, ROOT / "cmake" / "with_digest.py", compiler, "-o", out, "-MF", clone / "build" / "all.d", *words], check=True)
        return Path(f"{out}.sum").read_text()

    def test_clones_of_any_name_have_one_digest(self):
        self.assertEqual(self.made("plain"), self.made("with a space"))
        self.assertEqual(self.made("plain"), self.made("with#and$"))

    def test_another_content_or_another_flag_has_another(self):
        self.assertNotEqual(self.made("a"), self.made("b", "int b;"))
        self.assertNotEqual(self.made("a"), self.made("b", "int a;", "-O2"))

    def test_a_compiler_that_fails_leaves_none_and_its_code_is_passed_on(self):
        with mock.patch.dict(os.environ, FAILS="yes"), self.assertRaises(subprocess.CalledProcessError) as failed:
            self.made("a")
        self.assertEqual(3, failed.exception.returncode)
        self.assertFalse((self.folder / "a" / "build" / "all.pch.sum").exists())


if __name__ == "__main__":
    unittest.main()
