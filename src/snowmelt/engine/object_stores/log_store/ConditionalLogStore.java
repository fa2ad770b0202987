package snowmelt.delta;

import io.delta.storage.HadoopFileSystemLogStore;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.FileAlreadyExistsException;
import java.util.Arrays;
import java.util.Iterator;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FSDataOutputStreamBuilder;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;

/**
 * Delta's log in S3, whose entries are put on condition that they are new.
 *
 * <p>Delta's own log store for S3 looks first and puts then, so that a commit which hung in the network for a while
 * overwrites one that was made meanwhile. S3A has conditional writes, but sends one only to who asks for it by name.
 */
public final class ConditionalLogStore extends HadoopFileSystemLogStore {
  private static final String CONDITION = "fs.option.create.conditional.overwrite";

  public ConditionalLogStore(Configuration configuration) {
    super(configuration);
  }

  @Override
  public void write(Path path, Iterator<String> actions, Boolean overwrite, Configuration configuration)
      throws IOException {
    ByteArrayOutputStream content = new ByteArrayOutputStream();
    while (actions.hasNext()) {
      content.write((actions.next() + "\n").getBytes(StandardCharsets.UTF_8));
    }
    FileSystem files = path.getFileSystem(configuration);
    if (overwrite) {
      try (FSDataOutputStream out = files.create(path, true)) {
        out.write(content.toByteArray());
      }
      return;
    }
    try {
      FSDataOutputStreamBuilder<?, ?> builder = files.createFile(path).overwrite(false);
      builder.must(CONDITION, true);
      try (FSDataOutputStream out = builder.build()) {
        out.write(content.toByteArray());
      }
    } catch (IOException error) {
      if (isOurs(files, path, content.toByteArray(), error)) {
        return;
      }
      throw error;
    }
  }

  /** Whether the entry is there and has been put by this very call, whose answer was lost. Raises if another's is. */
  private static boolean isOurs(FileSystem files, Path path, byte[] content, IOException error) throws IOException {
    byte[] found;
    try (FSDataInputStream in = files.open(path)) {
      found = in.readAllBytes();
    } catch (IOException unreadable) {
      error.addSuppressed(unreadable);
      return false;
    }
    if (Arrays.equals(found, content)) {
      return true;
    }
    throw new FileAlreadyExistsException(path.toString());
  }

  @Override
  public Boolean isPartialWriteVisible(Path path, Configuration configuration) {
    return false;
  }
}
