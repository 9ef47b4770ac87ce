// Spark: PARTITIONS partitions of shuffle output and of a cached RDD. When it has both it makes READY, waits for GO
// and reads both again. It fails if a sum is wrong or a partition was computed twice.   MovedBlocks PARTITIONS READY GO
import java.io.File;
import java.util.Collections;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.spark.HashPartitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.util.LongAccumulator;
import scala.Tuple2;

public final class MovedBlocks {
  private static final long TASK_MS = 500;  // so that one executor does not take all tasks

  public static void main(String[] arguments) throws Exception {
    int partitions = Integer.parseInt(arguments[0]);
    File ready = new File(arguments[1]), go = new File(arguments[2]);
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf().setAppName("moved blocks"))) {
      LongAccumulator mapped = spark.sc().longAccumulator(), kept = spark.sc().longAccumulator();
      JavaPairRDD<Integer, Integer> shuffled = spark.parallelize(IntStream.range(0, partitions).boxed().collect(Collectors.toList()), partitions)
          .mapToPair(key -> {
            mapped.add(1);
            Thread.sleep(TASK_MS);
            return new Tuple2<>(key, 1);
          }).partitionBy(new HashPartitioner(partitions));
      JavaRDD<Integer> cached = shuffled.map(pair -> {
        kept.add(1);
        Thread.sleep(TASK_MS);
        return pair._2();
      }).cache();
      check("sum", partitions, cached.reduce(Integer::sum));
      ready.createNewFile();
      while (!go.exists()) Thread.sleep(100);
      check("sum of the cached RDD", partitions, cached.reduce(Integer::sum));
      check("sum of the shuffle output", partitions, shuffled.values().reduce(Integer::sum));
      check("computed partitions of the cached RDD", partitions, kept.value());
      check("computed partitions of shuffle output", partitions, mapped.value());
    }
  }

  private static void check(String what, long wanted, long found) {
    if (wanted != found) throw new IllegalStateException(what + ": wanted " + wanted + ", found " + found);
  }
}
