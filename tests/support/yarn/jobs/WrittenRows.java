// Spark SQL with default settings: appends ROWS numbers as text to FOLDER, in eight tasks. From the fifth on no task ends before
// FILE exists.   WrittenRows FOLDER ROWS FILE
import java.io.File;
import java.util.Iterator;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.function.Function2;
import org.apache.spark.sql.Encoders;
import org.apache.spark.sql.SparkSession;

public final class WrittenRows {
  private static final int TASKS = 8;
  private static final int FREE_TASKS = 4;

  public static void main(String[] arguments) {
    int rows = Integer.parseInt(arguments[1]);
    String file = arguments[2];
    Function2<Integer, Iterator<Long>, Iterator<String>> wait = (task, numbers) -> {
      while (task >= FREE_TASKS && !new File(file).exists()) Thread.sleep(100);
      return new Iterator<String>() {
        @Override
        public boolean hasNext() {
          return numbers.hasNext();
        }
        @Override
        public String next() {
          return numbers.next().toString();
        }
      };
    };
    try (SparkSession spark = SparkSession.builder().appName("written rows").getOrCreate()) {
      JavaRDD<String> numbers = spark.range(0, rows, 1, TASKS).javaRDD().mapPartitionsWithIndex(wait, true);
      spark.createDataset(numbers.rdd(), Encoders.STRING()).write().mode("append").text(arguments[0]);
    }
  }
}
