"""The sinks of Spark and the steps of their commits: one cell for each pair. WrittenSinks.java writes all cells of a folder at the same time, and each pauses at its step
(PausingFileSystem.java). So one kill of a driver ends each sink at each of its steps."""

import re
from dataclasses import dataclass
from pathlib import Path

ROWS = 100  # as WrittenSinks.java
FIRST_TASK, THIRD_TASK = (f"before rename {n} _temporary/\\d+/_temporary/attempt_[^ ]* -> " for n in (1, 3))
FILE_COMMITTER = {
    "no task committed": FIRST_TASK, "two tasks of four": THIRD_TASK,
    "no file in place": "before rename 1 _temporary/\\d+/task_[^ ]*parquet -> ", "two files of four in place": "before rename 3 _temporary/\\d+/task_[^ ]*parquet -> ",
    "before _SUCCESS": "before create 1 /out/_SUCCESS$", "after _SUCCESS": "after create 1 /out/_SUCCESS$",
}
FILE_COMMITTER_V2 = {step: FILE_COMMITTER[step] for step in ("no task committed", "two tasks of four", "before _SUCCESS", "after _SUCCESS")}
PARTITIONS = {
    "no task committed": FIRST_TASK, "two tasks of four": THIRD_TASK,
    "no partition replaced": "before rename 1 spark-staging-[^/]*/p=\\d+ -> ", "one partition of three": "before rename 2 spark-staging-[^/]*/p=\\d+ -> ",
    "all partitions": "before delete 1 /out/\\.spark-staging-[^/]*$",
}
# Version 1 is the table without rows, and version 2 has the old rows.
ICEBERG = {
    "no data file": "before create 1 /data/", "some data files": "before create 5 /data/",
    "before the snapshot": "before rename 1 /metadata/v3\\.metadata\\.json$", "after the snapshot": "after rename 1 /metadata/v3\\.metadata\\.json$",
}
# The old rows that stay.
OLD_ROWS = {
    "append v1": 100, "append v2": 100, "overwrite v1": 0, "overwrite v2": 0, "dynamic partitions": 50, "iceberg append": 100, "iceberg overwrite": 0, "iceberg dynamic": 50,
}
STEPS = {
    "append v1": FILE_COMMITTER, "append v2": FILE_COMMITTER_V2, "overwrite v1": FILE_COMMITTER, "overwrite v2": FILE_COMMITTER_V2, "dynamic partitions": PARTITIONS,
    "iceberg append": ICEBERG, "iceberg overwrite": ICEBERG, "iceberg dynamic": ICEBERG,
}


@dataclass(frozen=True)
class Cell:
    sink: str
    step: str

    @property
    def name(self) -> str:
        return re.sub(r"\W+", "-", f"{self.sink} {self.step}").lower()

    def make(self, root: Path) -> None:
        folder = root / self.name
        folder.mkdir(parents=True)
        (folder / "sink").write_text(self.sink)
        (folder / "step").write_text(STEPS[self.sink][self.step])

    def is_reached(self, root: Path) -> bool:
        return (root / self.name / "reached").exists()

    def counted(self, root: Path) -> tuple[int, ...]:
        """Rows, distinct rows, and old rows after the last attempt."""
        file = root / self.name / "counted"
        return tuple(map(int, file.read_text().split())) if file.exists() else ()

    def has_each_row_once(self, root: Path) -> bool:
        return self.counted(root) == (ROWS, ROWS, OLD_ROWS[self.sink])


CELLS = [Cell(sink, step) for sink, steps in STEPS.items() for step in steps]
