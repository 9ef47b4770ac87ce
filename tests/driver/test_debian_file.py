"""A file out of a Debian package: fetched once, asked for again where apt is behind, never half there."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from driver import debian_file
from driver.console import Failed

SHOWN = "Package: prometheus\nVersion: 2.42.0+ds-5+deb12u1\nDescription: monitoring\n"


class Known(unittest.TestCase):
    def test_what_apt_does_not_know_it_is_asked_again(self):
        unknown = subprocess.CalledProcessError(100, "apt-cache", stderr="E: No packages found")
        with mock.patch.object(debian_file.processes, "capture", side_effect=[unknown, SHOWN]), mock.patch.object(debian_file, "renew_lists") as update:
            self.assertEqual(("prometheus", "2.42.0+ds-5+deb12u1"), debian_file.known("prometheus", debian_file.version_of))
        update.assert_called_once_with()

    def test_an_answer_without_a_version_is_refused(self):
        with self.assertRaisesRegex(Failed, "wanted `Version"):
            debian_file.version_of("Package: prometheus\n")

    def test_only_root_renews_what_apt_knows(self):
        unknown = subprocess.CalledProcessError(100, "apt-cache", stderr="E: No packages found")
        with mock.patch.object(debian_file.processes, "capture", side_effect=unknown), mock.patch.object(os, "geteuid", lambda: 1000):
            with self.assertRaisesRegex(Failed, "apt-get update"):
                debian_file.known("prometheus", debian_file.version_of)

    def test_without_apt_the_error_does_not_name_it(self):
        with mock.patch.object(debian_file.shutil, "which", lambda _: None), mock.patch.object(debian_file, "renew_lists", side_effect=AssertionError("with what?")):
            with self.assertRaisesRegex(Failed, "prometheus.*not Debian"):
                debian_file.known("prometheus", debian_file.version_of)


class Fetched(unittest.TestCase):
    def setUp(self):
        self.wanted = Path(self.enterContext(tempfile.TemporaryDirectory())) / "promtool-2.42" / "promtool"
        self.files = ["usr/bin/promtool"]
        self.downloads = []
        self.enterContext(mock.patch.object(debian_file, "_download", self.download))
        self.update = self.enterContext(mock.patch.object(debian_file, "renew_lists"))

    def download(self, package: str, version: str, folder: Path) -> bool:
        """A package made here: dpkg-deb takes the real one apart."""
        self.downloads.append((package, version))
        if not self.files:
            return False
        made = folder / f"made-{package}"
        (made / "DEBIAN").mkdir(parents=True)
        (made / "DEBIAN" / "control").write_text(f"Package: {package}\nVersion: {version}\nArchitecture: all\nMaintainer: test <test@example.com>\nDescription: test\n")
        for file in self.files:
            (made / file).parent.mkdir(parents=True, exist_ok=True)
            (made / file).write_text(f"{package} {version}")
        subprocess.run(["dpkg-deb", "--build", made, folder / f"{package}.deb"], check=True, stdin=subprocess.DEVNULL, capture_output=True)
        return True

    def provide(self) -> Path:
        return debian_file.provide("prometheus", "2.42", "usr/bin/promtool*", self.wanted)

    def test_once_for_this_machine(self):
        self.assertEqual("prometheus 2.42", self.provide().read_text())
        self.assertEqual(self.wanted, self.provide())
        self.assertEqual([("prometheus", "2.42")], self.downloads)

    def test_all_of_some_packages_lies_in_one_folder(self):
        packages = {"libone": "1", "libtwo": "2"}
        self.files = ["usr/lib/shared"]
        with mock.patch.object(debian_file, "_download", self.download_own):
            root = debian_file.provide_tree(packages, self.wanted)
            self.assertEqual(root, debian_file.provide_tree(packages, self.wanted))
        self.assertEqual({"usr/lib/libone": "libone 1", "usr/lib/libtwo": "libtwo 2"}, {str(file.relative_to(root)): file.read_text() for file in root.rglob("lib*/lib*")})
        self.assertEqual(list(packages.items()), self.downloads)

    def download_own(self, package: str, version: str, folder: Path) -> bool:
        self.files = [f"usr/lib/{package}"]
        return self.download(package, version, folder)

    def test_nothing_is_left_of_a_package_that_has_no_such_file(self):
        for files in ([], ["usr/bin/other"], ["usr/bin/promtool", "usr/bin/promtool-2"]):
            self.files = files
            with self.assertRaises(Failed):
                self.provide()
            self.assertEqual([".lock"], [left.name for left in self.wanted.parent.iterdir()])

    def test_what_cannot_be_unpacked_is_a_reason_and_leaves_nothing(self):
        with mock.patch.object(debian_file, "_download", lambda package, version, folder: (folder / "it.deb").write_text("half of a package") > 0):
            with self.assertRaisesRegex(Failed, r"it\.deb cannot be unpacked in .*/promtool-2\.42: .*dpkg-deb"):
                self.provide()
        self.assertEqual([".lock"], [left.name for left in self.wanted.parent.iterdir()])

    def test_what_a_mirror_has_once_apt_knows_it_again_is_taken(self):
        self.update.side_effect = lambda: setattr(self, "files", ["usr/bin/promtool"])
        self.files = []
        self.assertEqual("prometheus 2.42", self.provide().read_text())
        self.assertEqual(2, len(self.downloads))

    def test_a_mirror_that_has_only_a_newer_one_is_asked_once_more(self):
        self.files = []
        with self.assertRaisesRegex(Failed, "prometheus=2.42 failed"):
            self.provide()
        self.assertEqual(2, len(self.downloads))
        self.update.assert_called_once_with()


if __name__ == "__main__":
    unittest.main()
