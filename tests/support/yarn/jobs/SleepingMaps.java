// MapReduce with default settings: MAPS maps that each sleep SECONDS and emit one, and a reduce that adds
// them up into the file OUTPUT/part-r-00000. With FILE no map ends before it exists.   SleepingMaps MAPS SECONDS OUTPUT [FILE]
import java.io.DataInput;
import java.io.DataOutput;
import java.io.File;
import java.io.IOException;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.io.IntWritable;
import org.apache.hadoop.io.NullWritable;
import org.apache.hadoop.io.Writable;
import org.apache.hadoop.mapreduce.InputFormat;
import org.apache.hadoop.mapreduce.InputSplit;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.JobContext;
import org.apache.hadoop.mapreduce.Mapper;
import org.apache.hadoop.mapreduce.RecordReader;
import org.apache.hadoop.mapreduce.Reducer;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;

public final class SleepingMaps {
  private static final String MAPS = "sleeping.maps", SECONDS = "sleeping.seconds", FILE = "sleeping.file";

  public static final class Nothing extends InputSplit implements Writable {
    @Override public long getLength() { return 0; }
    @Override public String[] getLocations() { return new String[0]; }
    @Override public void write(DataOutput out) {}
    @Override public void readFields(DataInput in) {}
  }

  public static final class OneRecord extends RecordReader<NullWritable, NullWritable> {
    private boolean read = false;
    @Override public void initialize(InputSplit split, TaskAttemptContext context) {}
    @Override public boolean nextKeyValue() {
      boolean more = !read;
      read = true;
      return more;
    }
    @Override public NullWritable getCurrentKey() { return NullWritable.get(); }
    @Override public NullWritable getCurrentValue() { return NullWritable.get(); }
    @Override public float getProgress() { return read ? 1 : 0; }
    @Override public void close() {}
  }

  public static final class Nothings extends InputFormat<NullWritable, NullWritable> {
    @Override public List<InputSplit> getSplits(JobContext context) {
      List<InputSplit> splits = new ArrayList<>();
      for (int i = 0; i < context.getConfiguration().getInt(MAPS, 1); ++i) splits.add(new Nothing());
      return splits;
    }
    @Override public RecordReader<NullWritable, NullWritable> createRecordReader(InputSplit split, TaskAttemptContext context) {
      return new OneRecord();
    }
  }

  public static final class Sleeper extends Mapper<NullWritable, NullWritable, NullWritable, IntWritable> {
    @Override protected void map(NullWritable key, NullWritable value, Context context) throws IOException, InterruptedException {
      Thread.sleep(1000L * context.getConfiguration().getInt(SECONDS, 1));
      String file = context.getConfiguration().get(FILE, "");
      while (!file.isEmpty() && !new File(file).exists()) Thread.sleep(100);
      context.write(key, new IntWritable(1));
    }
  }

  public static final class Sum extends Reducer<NullWritable, IntWritable, NullWritable, IntWritable> {
    @Override protected void reduce(NullWritable key, Iterable<IntWritable> values, Context context) throws IOException, InterruptedException {
      int sum = 0;
      for (IntWritable each : values) sum += each.get();
      context.write(key, new IntWritable(sum));
    }
  }

  public static void main(String[] arguments) throws Exception {
    Configuration configuration = new Configuration();
    configuration.setInt(MAPS, Integer.parseInt(arguments[0]));
    configuration.setInt(SECONDS, Integer.parseInt(arguments[1]));
    if (arguments.length > 3) configuration.set(FILE, arguments[3]);
    Job job = Job.getInstance(configuration, "sleeping maps");
    job.setInputFormatClass(Nothings.class);
    job.setMapperClass(Sleeper.class);
    job.setReducerClass(Sum.class);
    job.setOutputKeyClass(NullWritable.class);
    job.setOutputValueClass(IntWritable.class);
    FileOutputFormat.setOutputPath(job, new Path(arguments[2]));
    System.exit(job.waitForCompletion(true) ? 0 : 1);
  }
}
