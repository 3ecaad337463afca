import java.io.*;
import java.net.URI;
import java.util.*;
import javax.tools.*;

public class Compile {
  static class Text extends SimpleJavaFileObject {
    final String text;
    Text(String text) { super(URI.create("string:///Main.java"), Kind.SOURCE); this.text = text; }
    public String getName() { return "Main.java"; }
    public CharSequence getCharContent(boolean ignored) { return text; }
  }
  static class Made extends SimpleJavaFileObject {
    final ByteArrayOutputStream bytes = new ByteArrayOutputStream();
    Made() { super(URI.create("mem:///made.class"), Kind.CLASS); }
    public OutputStream openOutputStream() { return bytes; }
  }
  static class Files extends ForwardingJavaFileManager<JavaFileManager> {
    final Map<String, Made> made = new LinkedHashMap<>();
    Files(JavaFileManager under) { super(under); }
    public JavaFileObject getJavaFileForOutput(Location at, String name, JavaFileObject.Kind kind, FileObject from) {
      Made one = new Made(); made.put(name.replace('.', '/') + ".class", one); return one;
    }
    public FileObject getFileForOutput(Location at, String folder, String name, FileObject from) throws IOException {
      throw new IOException("no other files");
    }
    public void close() { }
  }
  static void put(DataOutputStream out, byte[] data) throws IOException { out.writeInt(data.length); out.write(data); }
  public static void main(String[] arguments) throws Exception {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    StandardJavaFileManager shared = compiler.getStandardFileManager(null, Locale.ROOT, null);
    shared.setLocation(StandardLocation.CLASS_PATH, List.of(new File(arguments[0])));
    DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
    DataOutputStream out = new DataOutputStream(new BufferedOutputStream(System.out));
    while (true) {
      int length;
      try { length = in.readInt(); } catch (EOFException end) { break; }
      String text = new String(in.readNBytes(length), "UTF-8");
      Files files = new Files(shared);
      StringWriter said = new StringWriter();
      List<String> options = List.of("-proc:none", "-implicit:none", "-nowarn");
      boolean good = compiler.getTask(said, files, null, options, null, List.of(new Text(text))).call();
      if (good) {
        out.writeByte('F');
        out.writeInt(files.made.size());
        for (Map.Entry<String, Made> one : files.made.entrySet()) {
          put(out, one.getKey().getBytes("UTF-8")); put(out, one.getValue().bytes.toByteArray());
        }
      } else {
        String all = said.toString();
        out.writeByte('E');
        put(out, all.substring(0, Math.min(all.length(), 20000)).getBytes("UTF-8"));
      }
      out.flush();
    }
  }
}
