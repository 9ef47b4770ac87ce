// Spark with default settings: TASKS tasks that each sleep SECONDS and return one. It fails if the sum is
// wrong. With FILE no task ends before it exists.   SleepingTasks TASKS SECONDS [FILE]
import java.io.File;
import java.util.Collections;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaSparkContext;

public final class SleepingTasks {
  public static void main(String[] arguments) {
    int tasks = Integer.parseInt(arguments[0]);
    long milliseconds = 1000L * Integer.parseInt(arguments[1]);
    String file = arguments.length > 2 ? arguments[2] : "";
    try (JavaSparkContext spark = new JavaSparkContext(new SparkConf().setAppName("sleeping tasks"))) {
      int sum = spark.parallelize(Collections.nCopies(tasks, 1), tasks).map(one -> {
        Thread.sleep(milliseconds);
        while (!file.isEmpty() && !new File(file).exists()) Thread.sleep(100);
        return one;
      }).reduce(Integer::sum);
      if (sum != tasks) throw new IllegalStateException("wanted " + tasks + ", found " + sum);
    }
  }
}
