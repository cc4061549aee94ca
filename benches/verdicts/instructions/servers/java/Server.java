import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;

/** Serves the workload {@code hello} with the JDK's own HTTP server, after a known amount of work. */
public final class Server {
  /** Steps of work for each request. */
  private static final int WORK = 200;

  private static final byte[] HELLO = "hello from prony\n".getBytes(StandardCharsets.UTF_8);

  /** Takes the results of the work, so that the compiler cannot skip it. */
  private static volatile long result;

  private Server() {}

  public static void main(String[] args) throws IOException {
    System.setProperty("sun.net.httpserver.nodelay", "true");
    int port = Integer.parseInt(System.getenv("PORT"));
    HttpServer server = HttpServer.create(new InetSocketAddress(System.getenv("HOST"), port), 0);
    server.createContext("/hello", Server::respond);
    server.start();
  }

  private static void respond(HttpExchange exchange) throws IOException {
    try (exchange) {
      result = work(WORK);
      exchange.getResponseHeaders().set("Content-Type", "text/plain");
      exchange.sendResponseHeaders(200, HELLO.length);
      exchange.getResponseBody().write(HELLO);
    }
  }

  /** Does steps that each need the result of the one before. */
  private static long work(int steps) {
    long state = 1;
    for (int step = 0; step < steps; step++) {
      state = state * 6364136223846793005L + 1;
    }
    return state;
  }
}
