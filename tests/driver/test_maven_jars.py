"""Jars out of a Maven that is a script of this test: taken once, never half there, another set for another pom.xml."""

import os
import tempfile
import unittest
import xml.etree.ElementTree
from pathlib import Path
from unittest import mock

from driver import maven_jars
from driver.console import Failed

JAR = "hadoop-yarn-server-resourcemanager-3.4.3.jar"
# Writes the jar to the given path, and files beside the pom.xml as the real one may.
MAVEN = f"""echo "$*" >>ASKED
test -f pom.xml && mkdir target || exit 1
for word; do case "$word" in -DoutputDirectory=*) mkdir "${{word#*=}}" && touch "${{word#*=}}/{JAR}";; esac; done
"""


class Jars(unittest.TestCase):
    def setUp(self):
        folder = Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.cache, self.programs, self.asked, self.pom = folder / "cache", folder / "programs", folder / "asked", folder / "pom.xml"
        self.programs.mkdir()
        self.pom.write_text(maven_jars.HADOOP.pom.read_text())
        self.jars = maven_jars.Jars("Hadoop", self.pom, maven_jars.HADOOP.witness)
        self.maven(MAVEN.replace("ASKED", str(self.asked)))
        self.enterContext(mock.patch.dict(os.environ, PATH=f"{self.programs}:{os.environ['PATH']}"))
        self.enterContext(mock.patch.object(maven_jars, "cache_folder", lambda: self.cache))

    def maven(self, text: str) -> None:
        (self.programs / "mvn").write_text(f"#!/bin/sh\n{text}\n")
        (self.programs / "mvn").chmod(0o755)

    def test_they_are_taken_once_and_nothing_is_written_beside_the_pom(self):
        self.assertFalse(self.jars.there())
        jars = self.jars.provide()
        self.assertEqual([JAR], [file.name for file in jars.iterdir()])
        self.assertEqual(jars, self.jars.provide())
        self.assertTrue(self.jars.there())
        self.assertEqual(1, len(self.asked.read_text().splitlines()))
        self.assertEqual({"cache", "programs", "asked", "pom.xml"}, {file.name for file in self.pom.parent.iterdir()})
        self.assertEqual({".lock", "jars"}, {file.name for file in jars.parent.iterdir()})

    def test_another_pom_is_another_set(self):
        before = self.jars.provide()
        self.pom.write_text(self.pom.read_text().replace("<version>3.6.1</version>", "<version>3.6.0</version>"))
        self.assertFalse(self.jars.there())
        self.assertNotEqual(before, self.jars.provide())
        self.assertTrue(before.exists(), "which a run of another tree may be using")

    def test_nothing_is_left_of_a_maven_that_fails_half_way(self):
        for text in (f"{MAVEN}exit 1", "mkdir half", "exit 0"):
            with self.subTest(text):
                self.maven(f"echo cannot reach it\n{text.replace('ASKED', str(self.asked))}")
                with self.assertRaisesRegex(Failed, "(?s)settings.xml.*cannot reach it"):
                    self.jars.provide()
                self.assertFalse(self.jars.there())
                self.assertEqual({".lock", "maven.log"}, {file.name for file in self.jars.folder().parent.iterdir()})

    def test_a_pom_without_a_version_is_refused(self):
        with self.assertRaisesRegex(Failed, "hadoop.version"):
            self.jars.version("<project/>")


class Pom(unittest.TestCase):
    def test_no_place_to_take_them_from_is_written_into_the_tree(self):
        for each in maven_jars.ALL:
            names = {element.tag.rpartition("}")[2] for element in xml.etree.ElementTree.parse(each.pom).iter()}
            self.assertEqual(set(), names & {"repositories", "pluginRepositories", "url", "parent"})
            self.assertTrue(each.version(each.pom.read_text()))


if __name__ == "__main__":
    unittest.main()
