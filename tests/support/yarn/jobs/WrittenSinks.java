// Spark SQL that writes to all cells of ROOT at the same time: ROOT/CELL/sink names the sink of a cell, and ROOT/CELL/out is its output (PausingFileSystem).
// A cell gets the numbers from 1000 to 1099 as old rows, then ROOT/CELL/armed, and then the numbers from 0 to 99 as its sink writes them. An armed cell has its old
// rows. The last file of a cell, ROOT/CELL/counted, has in one line: new rows, distinct new rows, old rows.   WrittenSinks ROOT
import java.io.File;
import java.nio.file.Files;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.iceberg.PartitionSpec;
import org.apache.iceberg.Schema;
import org.apache.iceberg.hadoop.HadoopTables;
import org.apache.iceberg.types.Types.LongType;
import org.apache.iceberg.types.Types.NestedField;
import org.apache.spark.sql.DataFrameWriter;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.SparkSession;

public final class WrittenSinks {
  private static final int ROWS = 100;
  private static final int OLD = 1000;
  private static final int TASKS = 4;
  private static final int PARTITIONS = 3;

  public static void main(String[] arguments) throws Exception {
    File[] cells = new File(arguments[0]).listFiles(File::isDirectory);
    ExecutorService threads = Executors.newFixedThreadPool(cells.length);
    try (SparkSession spark = SparkSession.builder().appName("written sinks").getOrCreate()) {
      List<Future<Void>> done = new ArrayList<>();
      for (File cell : cells) {
        Callable<Void> one = () -> {
          if (!new File(cell, "armed").exists()) write(spark, cell, true);
          new File(cell, "armed").createNewFile();
          write(spark, cell, false);
          count(spark, cell);
          return null;
        };
        done.add(threads.submit(one));
      }
      for (Future<Void> each : done) each.get();
    } finally {
      threads.shutdownNow();
    }
  }

  private static String sinkOf(File cell) throws Exception {
    return Files.readString(cell.toPath().resolve("sink")).trim();
  }

  private static String placeOf(File cell) {
    return "pausing://" + cell + "/out";
  }

  private static void write(SparkSession spark, File cell, boolean old) throws Exception {
    String sink = sinkOf(cell);
    boolean iceberg = sink.startsWith("iceberg");
    boolean dynamic = sink.contains("dynamic");
    Dataset<Row> rows = spark.range(old ? OLD : 0, (old ? OLD : 0) + ROWS, 1, TASKS).toDF("v");
    if (dynamic || iceberg) rows = rows.selectExpr("v", old ? "v % 2 * " + PARTITIONS + " as p" : "v % " + PARTITIONS + " as p");
    if (iceberg && old) {
      Schema schema = new Schema(NestedField.optional(1, "v", LongType.get()), NestedField.optional(2, "p", LongType.get()));
      new HadoopTables(spark.sparkContext().hadoopConfiguration()).create(schema, PartitionSpec.builderFor(schema).identity("p").build(), placeOf(cell));
    }
    DataFrameWriter<Row> writer = rows.write().mode(sink.contains("append") ? "append" : "overwrite").format(iceberg ? "iceberg" : "parquet");
    if (iceberg) writer = writer.option("distribution-mode", "none").option("fanout-enabled", "true");
    if (dynamic && iceberg) writer = writer.option("overwrite-mode", "dynamic");
    if (dynamic && !iceberg) writer = writer.partitionBy("p").option("partitionOverwriteMode", "dynamic");
    if (sink.endsWith("v2")) writer = writer.option("mapreduce.fileoutputcommitter.algorithm.version", "2");
    writer.save(placeOf(cell));
  }

  private static void count(SparkSession spark, File cell) throws Exception {
    List<Long> numbers = spark.read().format(sinkOf(cell).startsWith("iceberg") ? "iceberg" : "parquet").load(placeOf(cell)).select("v").as(Encoders.LONG()).collectAsList();
    List<Long> fresh = numbers.stream().filter(number -> number < OLD).toList();
    String line = fresh.size() + " " + fresh.stream().distinct().count() + " " + (numbers.size() - fresh.size());
    Files.writeString(cell.toPath().resolve("counting"), line);
    Files.move(cell.toPath().resolve("counting"), cell.toPath().resolve("counted"));
  }
}
