"""Compares the outputs of one job on both sides, as a Spark job: compare_rows.py SPEC, where SPEC is JSON:

    {"tolerance": 0.0, "volatile": ["column"], "accept": ["cause"], "outputs": [{"format": "parquet", "kubernetes": "PATH", "yarn": "PATH"}]}

Two outputs are equal if they have the same rows, each as often, in any order: the sums of the rows' MD5 modulo 2^128 are equal, and so are the numbers of rows. If they are
not, the job finds the rows that differ, and a cause for each. Values are masked. It prints one line for each output, and exits with 1 if a difference is not accepted."""

import hashlib
import json
import math
import os
import sys
from collections import Counter
from decimal import Decimal, InvalidOperation

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

LINE = "TIDEMARK-COMPARE "
MODULUS = 1 << 128
ROWS_MAX = 500  # differing rows of one side that are looked at one by one
SHOWN_MAX = 20
SALT = os.urandom(16)  # of masked values: a digest of a short value could be looked up
NULL = "N"  # of an encoded value; other values begin with another letter
SIDES = ("kubernetes", "yarn")


def main() -> None:
    spec = json.loads(sys.argv[1])
    spark = SparkSession.builder.getOrCreate()
    unexplained = 0
    for output in spec["outputs"]:
        found = compare(*(spark.read.format(output.get("format", "parquet")).load(output[side]) for side in SIDES), spec)
        unexplained += found["unexplained"]
        print(LINE + json.dumps({"yarn": output["yarn"], **found}, sort_keys=True), flush=True)
    spark.stop()
    if unexplained:
        sys.exit(1)


def compare(left: DataFrame, right: DataFrame, spec: dict) -> dict:
    """`left` is the output of Kubernetes, `right` that of YARN."""
    digits = significant_digits(spec.get("tolerance", 0.0))
    volatile = set(spec.get("volatile", []))
    causes: Counter[str] = Counter()
    left, right, columns = same_columns(left, right, volatile, causes)
    encoded = [rows_of(frame, columns, digits) for frame in (left, right)]
    totals = [total_of(frame) for frame in encoded]
    shown = []
    if totals[0] != totals[1]:
        shown = find_differences(*encoded, columns, spec.get("tolerance", 0.0), causes)
    accepted = set(spec.get("accept", [])) | {"float-within-tolerance"}
    unexplained = sum(count for cause, count in causes.items() if not set(cause.split("+")) <= accepted)
    return {"rows": [total[0] for total in totals], "causes": dict(causes), "unexplained": unexplained, "differences": shown}


def significant_digits(tolerance: float) -> int:
    """Floats are hashed with so many digits; 0: with all."""
    return max(1, math.floor(-math.log10(tolerance))) if tolerance > 0 else 0


def same_columns(left: DataFrame, right: DataFrame, volatile: set[str], causes: Counter) -> tuple[DataFrame, DataFrame, list[str]]:
    """Columns that both have, by name. A decimal with another scale is compared with the larger one."""
    types = [{field.name: field.dataType for field in frame.schema.fields if field.name not in volatile} for frame in (left, right)]
    columns = []
    for name in sorted(types[0].keys() | types[1].keys()):
        mine, yours = (each.get(name) for each in types)
        if mine is None or yours is None:
            causes["missing-column"] += 1
            continue
        if mine != yours and isinstance(mine, T.DecimalType) and isinstance(yours, T.DecimalType):
            causes["decimal-scale"] += 1
            wide = T.DecimalType(38, max(mine.scale, yours.scale))
            left, right = (frame.withColumn(name, F.col(quoted(name)).cast(wide)) for frame in (left, right))
        elif mine.simpleString() != yours.simpleString():
            causes["changed-type"] += 1
            continue
        columns.append(name)
    return left, right, columns


def quoted(name: str) -> str:
    return "`" + name.replace("`", "``") + "`"


def rows_of(frame: DataFrame, columns: list[str], digits: int) -> DataFrame:
    """Each row as `hash` and `row`, the encoded values of its columns."""
    types = {field.name: field.dataType for field in frame.schema.fields}
    exact = [encode(F.col(quoted(name)), types[name], 0) for name in columns]
    rounded = [encode(F.col(quoted(name)), types[name], digits) for name in columns] if digits else exact
    # A length before each value: otherwise ("ab", "c") and ("a", "bc") are the same text.
    text = F.concat(F.lit(""), *(part for value in rounded for part in (F.length(value).cast("string"), F.lit(":"), value)))
    return frame.select(F.md5(text.cast("binary")).alias("hash"), F.array(*exact).cast("array<string>").alias("row"))


def encode(value, kind: T.DataType, digits: int):
    """A text that differs for different values, also for null and "", and for 0.0 and -0.0."""
    if isinstance(kind, (T.FloatType, T.DoubleType)):
        text = F.format_string(f"%.{digits}e", value.cast("double")) if digits else value.cast("string")
        text = F.concat(F.lit("F"), text)
    elif isinstance(kind, T.TimestampType):
        text = F.concat(F.lit("T"), F.unix_micros(value).cast("string"))
    elif isinstance(kind, T.BinaryType):
        text = F.concat(F.lit("B"), F.hex(value))
    elif isinstance(kind, T.ArrayType):
        text = join_parts(F.transform(value, lambda element: with_length(encode(element, kind.elementType, digits))))
    elif isinstance(kind, T.MapType):
        entry = lambda each: F.concat(with_length(encode(each["key"], kind.keyType, digits)), with_length(encode(each["value"], kind.valueType, digits)))
        text = join_parts(F.array_sort(F.transform(F.map_entries(value), entry)))
    elif isinstance(kind, T.StructType):
        text = F.concat(F.lit("G"), *(with_length(encode(value[field.name], field.dataType, digits)) for field in kind.fields))
        text = F.when(value.isNull(), F.lit(None)).otherwise(text)
    else:
        text = F.concat(F.lit({T.DecimalType: "D", T.StringType: "S"}.get(type(kind), "V")), value.cast("string"))
    return F.coalesce(text, F.lit(NULL))


def with_length(text):
    return F.concat(F.length(text).cast("string"), F.lit(":"), text)


def join_parts(parts):
    return F.concat(F.lit("G"), F.array_join(parts, ""))


def total_of(rows: DataFrame) -> tuple[int, int]:
    """The number of rows, and the sum of their MD5 modulo 2^128. Unlike XOR, it counts a row that is there twice."""
    part = lambda at: F.sum(F.conv(F.substring("hash", 1 + 8 * at, 8), 16, 10).cast("decimal(10,0)"))
    counted = rows.agg(F.count(F.lit(1)), *(part(at) for at in range(4))).first()
    total = sum(int(counted[1 + at] or 0) << (32 * (3 - at)) for at in range(4))
    return counted[0], total % MODULUS


def find_differences(left: DataFrame, right: DataFrame, columns: list[str], tolerance: float, causes: Counter) -> list[dict]:
    counts = [frame.groupBy("hash").agg(F.count(F.lit(1)).alias(name), F.first("row").alias(f"{name}_row")) for frame, name in ((left, "l"), (right, "r"))]
    differing = counts[0].join(counts[1], "hash", "full_outer").withColumn("more", F.coalesce("l", F.lit(0)) - F.coalesce("r", F.lit(0))).where("more != 0").cache()
    shown: list[dict] = []
    seen = 0
    # The row is on both sides, but not equally often.
    for row in differing.where("l is not null and r is not null").limit(ROWS_MAX).collect():
        seen += abs(row["more"])
        note("duplicate", abs(row["more"]), causes, shown, {"rows": [row["l"], row["r"]], "values": {name: [mask(value)] for name, value in zip(columns, row["l_row"])}})
    only = [
        [(row[f"{name}_row"], row[name]) for row in differing.where(f"{other} is null").orderBy("hash").limit(ROWS_MAX).collect()]
        for name, other in (("l", "r"), ("r", "l"))
    ]
    seen += sum(count for side in only for _, count in side)
    pair_rows(*only, columns, tolerance, causes, shown)
    if (left_over := differing.agg(F.sum(F.abs("more"))).first()[0] - seen) > 0:
        causes["not-looked-at"] += left_over
    return shown[:SHOWN_MAX]


def pair_rows(left: list, right: list, columns: list[str], tolerance: float, causes: Counter, shown: list) -> None:
    """Rows that differ in few columns are one changed row. The others are missing on a side."""
    scores = sorted(((likeness(mine, yours, tolerance), i, j) for i, (mine, _) in enumerate(left) for j, (yours, _) in enumerate(right)), reverse=True)
    left_counts, right_counts = ([count for _, count in side] for side in (left, right))
    for score, i, j in scores:
        count = min(left_counts[i], right_counts[j])
        if count == 0 or (score == 0 and len(columns) > 1):
            continue
        left_counts[i] -= count
        right_counts[j] -= count
        differing = {name: pair for name, *pair in zip(columns, left[i][0], right[j][0]) if pair[0] != pair[1]}
        cause = "+".join(sorted({cause_of(*pair, tolerance) for pair in differing.values()}))
        note(cause, count, causes, shown, {"values": {name: [mask(value) for value in pair] for name, pair in differing.items()}})
    for side, rows, counts in ((SIDES[1], left, left_counts), (SIDES[0], right, right_counts)):
        for (row, _), count in zip(rows, counts):
            if count:
                note(f"missing-on-{side}", count, causes, shown, {"values": {name: [mask(value)] for name, value in zip(columns, row)}})


def likeness(left: list[str], right: list[str], tolerance: float) -> float:
    return sum(1.0 if mine == yours else 0.5 if cause_of(mine, yours, tolerance) != "changed-value" else 0.0 for mine, yours in zip(left, right))


def cause_of(left: str, right: str, tolerance: float) -> str:
    kinds = left[0], right[0]
    if NULL in kinds:
        return "null-against-empty" if "S" in (left, right) else "null-against-value"
    if kinds == ("F", "F"):
        mine, yours = float(left[1:]), float(right[1:])
        if mine == yours:
            return "negative-zero"
        close = abs(mine - yours) <= tolerance * max(1.0, abs(mine), abs(yours))
        return "float-within-tolerance" if close else "changed-value"
    if kinds == ("D", "D"):
        try:
            return "decimal-scale" if Decimal(left[1:]) == Decimal(right[1:]) else "changed-value"
        except InvalidOperation:
            return "changed-value"
    return "changed-value"


def note(cause: str, count: int, causes: Counter, shown: list, what: dict) -> None:
    causes[cause] += count
    if len(shown) < SHOWN_MAX:
        shown.append({"cause": cause, "count": count, **what})


def mask(value: str) -> str:
    """Kind, length and a part of a digest: equal values look equal, and none can be read."""
    if value == NULL:
        return "null"
    return f"{value[0]}({len(value) - 1}) #{hashlib.sha256(SALT + value.encode()).hexdigest()[:6]}"


if __name__ == "__main__":
    main()
