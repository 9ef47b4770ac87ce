// The file system of the machine under the scheme `pausing`. It pauses at one step of a cell: ROOT/CELL/out/… is a path of a cell, and ROOT/CELL/step has the step
// in one line:
//   before|after create|rename|delete N REGEX
// The Nth operation of a program whose paths match, and each later one, makes ROOT/CELL/reached and waits until ROOT/go exists. It does so if ROOT/CELL/armed exists.
import java.io.File;
import java.io.IOException;
import java.net.URI;
import java.nio.file.Files;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.regex.Pattern;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.util.Progressable;

public final class PausingFileSystem extends RawLocalFileSystem {
  private static final Map<File, AtomicInteger> SEEN = new ConcurrentHashMap<>();

  @Override
  public String getScheme() {
    return "pausing";
  }

  @Override
  public URI getUri() {
    return URI.create("pausing:///");
  }

  @Override
  public FSDataOutputStream create(Path path, boolean overwrite, int buffer, short replication, long block, Progressable progress) throws IOException {
    boolean isStep = isStep("create", path, path.toString());
    pause("before", isStep, path);
    FSDataOutputStream out = super.create(path, overwrite, buffer, replication, block, progress);
    pause("after", isStep, path);
    return out;
  }

  @Override
  public boolean rename(Path from, Path to) throws IOException {
    boolean isStep = isStep("rename", to, from + " -> " + to);
    pause("before", isStep, to);
    boolean done = super.rename(from, to);
    pause("after", isStep, to);
    return done;
  }

  @Override
  public boolean delete(Path path, boolean recursive) throws IOException {
    boolean isStep = isStep("delete", path, path.toString());
    pause("before", isStep, path);
    boolean done = super.delete(path, recursive);
    pause("after", isStep, path);
    return done;
  }

  private File cellOf(Path path) {
    String text = pathToFile(path).getPath();
    int out = text.indexOf("/out");
    return out < 0 ? null : new File(text.substring(0, out));
  }

  private String[] stepOf(File cell) throws IOException {
    return Files.readString(cell.toPath().resolve("step")).trim().split(" ", 4);
  }

  private boolean isStep(String operation, Path path, String text) throws IOException {
    File cell = cellOf(path);
    if (cell == null || !new File(cell, "armed").exists() || new File(cell.getParentFile(), "go").exists()) return false;
    String[] step = stepOf(cell);
    if (!step[1].equals(operation) || !Pattern.compile(step[3]).matcher(text).find()) return false;
    return SEEN.computeIfAbsent(cell, any -> new AtomicInteger()).incrementAndGet() >= Integer.parseInt(step[2]);
  }

  private void pause(String when, boolean isStep, Path path) throws IOException {
    File cell = cellOf(path);
    if (!isStep || !stepOf(cell)[0].equals(when)) return;
    new File(cell, "reached").createNewFile();
    try {
      while (!new File(cell.getParentFile(), "go").exists()) Thread.sleep(100);
    } catch (InterruptedException error) {
      throw new IOException(error);
    }
  }
}
