"""Jars as a pom.xml of the tests names them: taken once for this machine and each version of that file, and kept in the cache folder. Maven takes them,
from where its own settings say."""

import fcntl
import hashlib
import os
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from driver import processes
from driver.console import Failed, step
from driver.paths import ROOT, cache_folder

DOWNLOAD_S = 900


@dataclass
class Jars:
    name: str  # for people; in small letters that of the folder, and of the version in the pom
    pom: Path
    witness: str  # one that is among them

    @property
    def word(self) -> str:
        return self.name.lower()

    def version(self, text: str) -> str:
        match = re.search(rf"<{self.word}\.version>([^<]+)</{self.word}\.version>", text)
        if not match:
            raise Failed(f"wanted <{self.word}.version>…</{self.word}.version> in {self.pom}, found none")
        return match[1]

    def folder(self) -> Path:
        """Where they lie, or are going to. Another set of jars is another folder."""
        text = self.pom.read_text()
        return cache_folder() / f"{self.word}-{self.version(text)}-{hashlib.sha256(text.encode()).hexdigest()[:12]}" / "jars"

    def there(self) -> bool:
        return self.folder().is_dir()

    def provide(self) -> Path:
        """The folder with all of them, fetched where it is not there. Failed with the remedy when that is impossible."""
        wanted = self.folder()
        if wanted.is_dir():
            return wanted
        wanted.parent.mkdir(parents=True, exist_ok=True)
        with open(wanted.parent / ".lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # a second run waits instead of fetching the same thing
            if not wanted.is_dir():
                with step(f"taking {self.name} {self.version(self.pom.read_text())} from Maven, once for this machine"):
                    self._fetch(wanted)
        return wanted

    def _fetch(self, wanted: Path) -> None:
        """It appears by rename, so a half of it is never found."""
        with tempfile.TemporaryDirectory(dir=wanted.parent, prefix=".fetching-") as scratch:
            shutil.copy(self.pom, scratch)  # Maven may write beside it
            jars, log = Path(scratch) / "jars", wanted.parent / "maven.log"
            command = ["mvn", "--batch-mode", "--no-transfer-progress", "dependency:copy-dependencies", "-DincludeScope=runtime", f"-DoutputDirectory={jars}"]
            try:
                done = processes.run_logged(command, log, cwd=scratch, timeout_s=DOWNLOAD_S)
            except OSError as error:
                raise Failed(f"Maven cannot be started: {error}")
            if done.code != 0 or not any(jars.glob(self.witness)):
                late = f" within {DOWNLOAD_S} s" if done.timed_out else ""
                said = log.read_text(errors="replace")[-4000:]
                raise Failed(f"Maven did not copy {self.name}'s jars{late}: is a repository reachable by its settings (settings.xml)?\n{said}")
            os.rename(jars, wanted)
            log.unlink()


HADOOP = Jars("Hadoop", ROOT / "tests/support/yarn/pom.xml", "hadoop-yarn-server-resourcemanager-*.jar")
SPARK = Jars("Spark", ROOT / "tests/support/yarn/spark/pom.xml", "spark-yarn_*.jar")
ALL = (HADOOP, SPARK)
