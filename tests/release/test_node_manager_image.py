"""The image of a NodeManager: what is read of its recipe, and what lies in what is made of it. What it does: yarn/test_node_manager_image.py."""

import json
import re
import subprocess
import tarfile
import tempfile
import unittest
from pathlib import Path
from unittest import mock

from driver import maven_jars
from driver.console import Failed, WrongUse
from driver.__main__ import _image
from driver.paths import ROOT
from release import debian_packages, node_manager_image

RECIPE = ROOT / "deploy/node-manager/Dockerfile"
URIS = """'http://deb.example/pool/b/bash_5.2-1_amd64.deb' bash_5.2-1_amd64.deb 1490652 SHA256:00
'http://deb.example/pool/a/attr/libattr1_2.5.1-4_amd64.deb' libattr1_1%3a2.5.1-4_amd64.deb 22164 SHA256:00
"""


class Recipe(unittest.TestCase):
    def test_it_is_the_dockerfile(self):
        recipe = node_manager_image.read(RECIPE.read_text(), "arm64")
        self.assertIn("openjdk-17-jre-headless", recipe.packages)
        self.assertIn("JAVA_HOME=/usr/lib/jvm/java-17-openjdk-arm64", recipe.environment)
        self.assertEqual(["/opt/hadoop/bin/start-node-manager"], recipe.entrypoint)
        native = node_manager_image.Copy(f"hadoop-{recipe.version}/bin/container-executor", "opt/hadoop/bin/container-executor", 0o6050, node_manager_image.HADOOP_GID)
        self.assertIn(native, recipe.copies)

    def test_what_is_said_twice_is_the_same(self):
        text = RECIPE.read_text()
        version = node_manager_image.read(text).version
        self.assertEqual(version, maven_jars.HADOOP.version(maven_jars.HADOOP.pom.read_text()))
        self.assertIn(f"--gid {node_manager_image.HADOOP_GID} hadoop", text)
        values = (ROOT / "deploy/chart/values.yaml").read_text()
        self.assertRegex(values, rf"(?m)^    repository: {node_manager_image.NAME}\b.*\n    tag: {re.escape(version)}$")

    def test_an_unknown_instruction_is_refused(self):
        for line in ("VOLUME /data", "RUN curl https://example.com"):
            with self.assertRaisesRegex(Failed, f"{line.split()[0]}: ./dev image does not know"):
                node_manager_image.read(f"ARG HADOOP_VERSION=1\n{line}\n")

    def test_it_is_for_this_machine_alone(self):
        with self.assertRaisesRegex(WrongUse, "takes no --arch"):
            _image(["node-manager", "--arch", "arm64"])


class Made(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.jars = self.folder / "jars"
        self.jars.mkdir()
        (self.jars / "hadoop-common.jar").write_text("a jar")
        self.enterContext(mock.patch.object(debian_packages, "provide", lambda _: [self.package()]))
        self.enterContext(mock.patch.object(maven_jars.Jars, "provide", lambda _: self.jars))
        self.recipe = node_manager_image.read(RECIPE.read_text())

    def package(self) -> Path:
        made, package = self.folder / "made", self.folder / "it.deb"
        if not package.exists():
            for place in ("DEBIAN", "bin", "lib/x86", "usr/share/man/man1", "usr/share/doc/it"):
                (made / place).mkdir(parents=True)
            (made / "DEBIAN/control").write_text("Package: it\nVersion: 1\nArchitecture: all\nMaintainer: test <test@example.com>\nDescription: test\n")
            for place in ("bin/it", "usr/share/man/man1/it.1", "usr/share/doc/it/copyright", "usr/share/doc/it/changelog"):
                (made / place).write_text(place)
            (made / "bin/it").chmod(0o4755)
            (made / "bin/same").hardlink_to(made / "bin/it")
            (made / "lib/x86/it.so").symlink_to("../../usr/share/doc/it")
            subprocess.run(["dpkg-deb", "--root-owner-group", "--build", made, package], check=True, stdin=subprocess.DEVNULL, capture_output=True)
        return package

    def make(self, distribution: bool = False) -> tuple[dict, dict[str, tarfile.TarInfo]]:
        """What it is started with, and what lies in it."""
        archive = self.folder / "image.tar"
        node_manager_image.make(archive, "x:1", self.recipe, distribution)
        with tarfile.open(archive) as outer:
            manifest, = json.load(outer.extractfile("manifest.json"))
            whole = json.load(outer.extractfile(manifest["Config"]))
            with tarfile.open(fileobj=outer.extractfile("layer.tar")) as layer:
                entries = layer.getmembers()
        self.assertEqual(len(entries), len({each.name for each in entries}), "nothing is there twice")
        return whole["config"], {each.name: each for each in entries}

    def test_of_maven_it_has_the_jars_and_what_starts_it(self):
        config, found = self.make()
        start = config["Entrypoint"][0].lstrip("/")
        self.assertEqual(0o555, found[start].mode)
        self.assertIn("opt/hadoop/share/hadoop/common/lib/hadoop-common.jar", found)
        self.assertNotIn("opt/hadoop/bin/container-executor", found)
        self.assertIn("etc/passwd", found)
        self.assertEqual("/opt/hadoop", dict(each.split("=", 1) for each in config["Env"])["HADOOP_HOME"])

    def test_packages_lie_as_a_machine_has_them(self):
        _, found = self.make()
        self.assertEqual(("usr/bin", "usr/lib"), (found["bin"].linkname, found["lib"].linkname))
        self.assertEqual((0o4755, 0, 0), (found["usr/bin/it"].mode, found["usr/bin/it"].uid, found["usr/bin/it"].mtime))
        hard, = (each for each in found.values() if each.islnk())
        self.assertEqual({"usr/bin/it", "usr/bin/same"}, {hard.name, hard.linkname})
        self.assertEqual("/usr/share/doc/it", found["usr/lib/x86/it.so"].linkname)
        self.assertEqual({"usr/share/doc/it/copyright"}, {name for name in found if name.startswith(("usr/share/man/man1/", "usr/share/doc/it/"))})

    def test_the_same_makes_the_same_bytes(self):
        archive = self.folder / "image.tar"
        self.make()
        before = archive.read_bytes()
        self.make()
        self.assertEqual(before, archive.read_bytes())

    def test_of_the_distribution_it_has_the_native_programs_and_no_jar_of_maven(self):
        recipe = self.folder / "recipe"
        for each in self.recipe.copies:
            source = recipe / each.source
            source.parent.mkdir(parents=True, exist_ok=True)
            if each.mode is None:
                source.mkdir()
                (source / "file").write_text(each.source)
            else:
                source.write_text(each.source)
        with mock.patch.object(node_manager_image, "RECIPE", recipe):
            _, found = self.make(distribution=True)
            native = found["opt/hadoop/bin/container-executor"]
            self.assertEqual((0o6050, 0, node_manager_image.HADOOP_GID), (native.mode, native.uid, native.gid))
            self.assertIn("opt/hadoop/share/hadoop/yarn/file", found)
            self.assertNotIn("opt/hadoop/share/hadoop/common/lib/hadoop-common.jar", found)
            (recipe / f"hadoop-{self.recipe.version}/bin/container-executor").unlink()
            with self.assertRaisesRegex(Failed, "bin/container-executor is missing"):
                self.make(distribution=True)
        self.assertEqual([], list(self.folder.glob(".making-*")))


class Packages(unittest.TestCase):
    def test_all_that_they_want_is_named_by_apt(self):
        with mock.patch.object(debian_packages.processes, "capture", lambda words: URIS):
            self.assertEqual(["bash_5.2-1_amd64.deb", "libattr1_1%3a2.5.1-4_amd64.deb"], debian_packages.file_names(["bash"]))

    def test_where_apt_does_not_know_one_its_lists_are_renewed_once(self):
        unknown = subprocess.CalledProcessError(100, "apt-get", stderr="E: Unable to locate package nothing")
        with mock.patch.object(debian_packages.processes, "capture", side_effect=[unknown, unknown]), mock.patch.object(debian_packages.debian_file, "renew_lists") as renew:
            with self.assertRaisesRegex(Failed, "nothing.*Unable to locate"):
                debian_packages.file_names(["nothing"])
        renew.assert_called_once_with()

    def test_what_is_there_is_not_fetched_and_what_does_not_come_is_named(self):
        cache = Path(self.enterContext(tempfile.TemporaryDirectory()))
        (cache / "debian-packages").mkdir()
        (cache / "debian-packages/here_1_all.deb").touch()
        with mock.patch.object(debian_packages, "cache_folder", lambda: cache), mock.patch.object(debian_packages, "_download") as download:
            with mock.patch.object(debian_packages, "file_names", lambda _: ["here_1_all.deb"]):
                self.assertEqual([cache / "debian-packages/here_1_all.deb"], debian_packages.provide(["here"]))
            download.assert_not_called()
            with mock.patch.object(debian_packages, "file_names", lambda _: ["here_1_all.deb", "absent_1_all.deb"]), self.assertRaisesRegex(Failed, "absent_1_all.deb are missing"):
                debian_packages.provide(["here"])


if __name__ == "__main__":
    unittest.main()
