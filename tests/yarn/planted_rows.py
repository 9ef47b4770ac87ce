"""Pairs of outputs with planted differences, compared by cli/spark/compare_rows.py on a real Spark: planted_rows.py FOLDER. Prints one line of JSON for each pair."""

import importlib.util
import json
import sys
from decimal import Decimal
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

SCRIPT = Path(__file__).parents[2] / "cli/spark/compare_rows.py"
SCHEMA = "id int, name string, amount decimal(10,2), rate double, note string, tags array<string>, more map<string,int>, loaded timestamp"
ROWS = 200


def main() -> None:
    folder = Path(sys.argv[1])
    spec = importlib.util.spec_from_file_location("compare_rows", SCRIPT)
    compare_rows = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(compare_rows)
    spark = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config("spark.sql.shuffle.partitions", "2").getOrCreate()
    plain = [(i, f"name-{i}", Decimal(i) / 4, i / 3, f"note-{i}", [f"t{i}", "x"], {"a": i, "b": 2}, None) for i in range(ROWS)]

    def frame(rows: list, change=None):
        made = spark.createDataFrame(rows, SCHEMA)
        return change(made) if change else made

    def with_row(at: int, **values) -> list:
        names = [word.split()[0] for word in SCHEMA.replace("string,int", "").split(", ")]
        changed = list(plain)
        changed[at] = tuple(values.get(name, value) for name, value in zip(names, plain[at]))
        return changed

    left = frame(plain)
    cases = {
        "reordered": (left, frame(plain[::-1]).repartition(5), {}),
        "changed row": (left, frame(with_row(7, name="another")), {}),
        "duplicate pair": (left, frame(plain + [plain[3], plain[3]]), {}),
        "other row twice": (frame(plain + [plain[3]]), frame(plain + [plain[4]]), {}),
        "missing row": (left, frame(plain[1:]), {}),
        "null against empty": (frame(with_row(7, note=None)), frame(with_row(7, note="")), {}),
        "negative zero": (frame(with_row(7, rate=0.0)), frame(with_row(7, rate=-0.0)), {}),
        "negative zero with tolerance": (frame(with_row(7, rate=0.0)), frame(with_row(7, rate=-0.0)), {"tolerance": 1e-9}),
        "accepted negative zero": (frame(with_row(7, rate=0.0)), frame(with_row(7, rate=-0.0)), {"accept": ["negative-zero"]}),
        "decimal scale": (left, frame(plain, lambda made: made.withColumn("amount", F.col("amount").cast("decimal(12,4)"))), {}),
        "last digits of floats": (left, frame(plain, lambda made: made.withColumn("rate", F.col("rate") * (1 + 1e-13))), {"tolerance": 1e-9}),
        "floats beyond the tolerance": (left, frame(plain, lambda made: made.withColumn("rate", F.when(F.col("id") == 9, F.col("rate") + 0.1).otherwise(F.col("rate")))), {"tolerance": 1e-9}),
        "last digits without tolerance": (left, frame(plain, lambda made: made.withColumn("rate", F.col("rate") * (1 + 1e-13))), {}),
        "volatile column": (left, frame(plain, lambda made: made.withColumn("loaded", F.current_timestamp())), {"volatile": ["loaded"]}),
        "missing column": (left, frame(plain, lambda made: made.drop("note")), {}),
        "shifted text": (frame(with_row(7, name="ab", note="c")), frame(with_row(7, name="a", note="bc")), {}),
        "order of a map": (left, frame(plain, lambda made: made.withColumn("more", F.map_from_arrays(F.array(F.lit("b"), F.lit("a")), F.array(F.lit(2), F.col("id"))))), {}),
        "element of an array": (left, frame(with_row(7, tags=["t7", "y"])), {}),
    }
    for name, (mine, yours, rules) in cases.items():
        places = []
        for number, each in enumerate((mine, yours)):
            place = str(folder / name.replace(" ", "-") / str(number))
            each.write.parquet(place)
            places.append(spark.read.parquet(place))
        print(json.dumps({"case": name, **compare_rows.compare(*places, rules)}), flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
