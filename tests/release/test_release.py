"""The parts of ./dev release that can be tested without a build."""

import json
import re
import subprocess
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from driver.__main__ import _architecture
from driver.console import Failed, WrongUse
from driver.paths import ROOT
from release import binaries, sysroot


class Release(unittest.TestCase):
    def test_version(self):
        self.assertRegex(binaries.project_version((ROOT / "CMakeLists.txt").read_text()), r"^\d+\.\d+\.\d+$")
        with self.assertRaises(Failed):
            binaries.project_version("project(x)")

    def test_packages_come_from_what_was_linked(self):
        import glob

        libc = glob.glob("/usr/lib/*/libc.a")[0]
        start = glob.glob("/usr/lib/*/crt1.o")[0]
        linked = binaries.linked_packages(f"Archive member included to satisfy reference by file (symbol)\n\n{libc}(printf.o)\n   main.o (printf)\nLOAD {start}\n")
        self.assertEqual(["libc6-dev"], list(linked))
        with self.assertRaises(Failed):
            binaries.linked_packages("nothing")

    def test_architectures_that_are_asked_for(self):
        here = binaries.this_architecture()
        self.assertEqual([here], binaries.architectures(None))
        self.assertEqual(["arm64"], binaries.architectures("arm64"))
        self.assertEqual((here, {"amd64", "arm64"}), (binaries.architectures("all")[0], set(binaries.architectures("all"))))
        with self.assertRaisesRegex(WrongUse, "--arch=sparc: wanted amd64, arm64 or all"):
            binaries.architectures("sparc")

    def test_an_architecture_is_asked_for_in_either_form(self):
        for words in (["--arch", "arm64"], ["--arch=arm64"]):
            with self.subTest(words):
                self.assertEqual(("arm64", ["x:1"]), _architecture([*words, "x:1"]))
                self.assertEqual(("arm64", ["x:1"]), _architecture(["x:1", *words]))
        self.assertEqual((None, ["x:1"]), _architecture(["x:1"]))
        for verb, words in (("release", ["--arch"]), ("release", ["--arch", "sparc"]), ("release", ["--arch", "arm64", "--arch", "amd64"]), ("release", ["arm64"]),
                            ("image", ["--arch", "sparc"]), ("image", ["--arch", "arm64", "no-tag"])):
            with self.subTest(verb=verb, words=words):
                self.assertEqual(2, subprocess.run([ROOT / "dev", verb, *words], stdin=subprocess.DEVNULL, capture_output=True, timeout=60).returncode)

    def test_an_unsupported_cross_build_is_refused_at_once(self):
        with mock.patch.object(binaries, "this_architecture", lambda: "arm64"), mock.patch.object(binaries.packages, "setup", lambda *_: self.fail("too late")):
            with self.assertRaisesRegex(Failed, "--arch=amd64 is built on a machine of that architecture only; this one is arm64"):
                binaries.run("all")

    def test_parts_lie_apart_by_the_largest_page(self):
        line = "  {}           0x000000 0x0000000000200000 0x0000000000200000 0x4a1f28 0x4a1f28 R   {}\n"
        small = line.format("LOAD", "0x1000") + line.format("NOTE", "0x4") + line.format("LOAD", "0x10000")
        self.assertEqual([0x1000, 0x10000], binaries.load_alignments(small))
        with mock.patch.object(binaries.processes, "capture", lambda _: small):
            binaries.check_pages(Path("x-amd64"), "amd64")
            with self.assertRaisesRegex(Failed, "4096 bytes: a kernel with pages of 65536"):
                binaries.check_pages(Path("x-arm64"), "arm64")
        with mock.patch.object(binaries.processes, "capture", lambda _: line.format("LOAD", "0x10000")):
            binaries.check_pages(Path("x-arm64"), "arm64")

    def test_packages_of_another_architecture_come_from_lld_and_its_sysroot(self):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "packages.json").write_text(json.dumps({"libssl-dev": "3.0", "libc6-dev": "2.36", "unused": "1"}))
            (root / "libssl-dev.files").write_text("/usr/lib/libssl.a\n")
            (root / "libc6-dev.files").write_text("/usr/lib/crt1.o\n/usr/lib/libc.a\n")
            line = "          4004c0           4004c0       60     4         {}:(.text)\n"
            told = "     VMA  LMA  Size Align Out  In  Symbol\n" + line.format(f"{root}/usr/lib/libssl.a(ssl.o)") + line.format(f"{root}/usr/lib/crt1.o") + line.format("/src/build/x.o")
            self.assertEqual({"libc6-dev": "2.36", "libssl-dev": "3.0"}, binaries.foreign_packages(told, root))
            with self.assertRaisesRegex(Failed, "libmine.a is linked in and belongs to no package"):
                binaries.foreign_packages(told + line.format(f"{root}/usr/lib/libmine.a(x.o)"), root)
            with self.assertRaisesRegex(Failed, "names no library"):
                binaries.foreign_packages("nothing", root)

    def test_what_apt_shows_of_packages(self):
        shown = "Package: libssl-dev\nSource: openssl\nVersion: 3.0.22-1\nInstalled-Size: 1\n\nPackage: libc6-dev\nVersion: 2.36-9\nDescription: a\n Version: of its own\n"
        self.assertEqual({"libssl-dev": "3.0.22-1", "libc6-dev": "2.36-9"}, sysroot.candidates(shown))

    def test_dynamic_binary_is_refused(self):
        with self.assertRaises(Failed):
            binaries.check_static(Path("/bin/ls"))

    def test_hadoop_loads_kerberos_alone(self):
        told = " 0x1 (NEEDED) Shared library: [{}]\n"
        good = "".join(told.format(name) for name in ("libgssapi_krb5.so.2", "libkrb5.so.3", "libc.so.6", "ld-linux-x86-64.so.2"))
        binaries.check_needs(good, "x")
        for wrong in (good + told.format("libnghttp2.so.14"), told.format("libc.so.6"), ""):
            with self.assertRaisesRegex(Failed, "wanted nothing but"):
                binaries.check_needs(wrong, "x")

    def test_modules_link_no_library_by_its_plain_name(self):
        """A plain name would be the shared library in tidemark-hadoop, which is dynamic in a release."""
        lists = subprocess.run(["git", "ls-files", "*CMakeLists.txt"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
        texts = [found for file in lists for found in re.findall(r"\bLIBS ([^)]*)", (ROOT / file).read_text())]
        libraries = [name for text in texts for name in text.split(" TEST_DEPS")[0].split()]
        self.assertIn("${NGHTTP2}", libraries)
        plain = [name for name in libraries if "::" not in name and not name.startswith("${")]
        self.assertEqual(["yaml-cpp"], plain, "the root list replaces yaml-cpp by its archive")

    def test_sbom_tells_what_is_in_it_from_what_it_loads(self):
        document = binaries.spdx("tidemark-hadoop-1-linux-amd64", "1", "0" * 64, {"libc6-dev": "2"}, "2026-01-01T00:00:00Z", "amd64", {"libkrb5-3": "1.20"})
        self.assertEqual(["tidemark-hadoop", "libc6-dev", "libkrb5-3"], [package["name"] for package in document["packages"]])
        kinds = {relation["relationshipType"]: relation["relatedSpdxElement"] for relation in document["relationships"]}
        self.assertEqual({"DESCRIBES": "SPDXRef-tidemark", "STATIC_LINK": "SPDXRef-libc6-dev", "DYNAMIC_LINK": "SPDXRef-libkrb5-3"}, kinds)

    def test_sbom_names_every_package(self):
        document = binaries.spdx("tidemark-1", "1", "0" * 64, {"libc6-dev": "2.36-9", "libssl-dev": "3.0"}, "2026-01-01T00:00:00Z", "arm64")
        self.assertEqual(["tidemark", "libc6-dev", "libssl-dev"], [package["name"] for package in document["packages"]])
        self.assertEqual(
            ["pkg:deb/debian/libc6-dev@2.36-9?arch=arm64", "pkg:deb/debian/libssl-dev@3.0?arch=arm64"],
            [package["externalRefs"][0]["referenceLocator"] for package in document["packages"][1:]],
        )
        known = {package["SPDXID"] for package in document["packages"]} | {"SPDXRef-DOCUMENT"}
        for relation in document["relationships"]:
            self.assertIn(relation["relatedSpdxElement"], known)
            self.assertIn(relation["spdxElementId"], known)


if __name__ == "__main__":
    unittest.main()
