import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpHandler;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ThreadLocalRandom;

/** Serves Prony's workloads with the JDK's own HTTP server. */
public final class Server implements HttpHandler {
  private final byte[] page;
  private final String pageText;
  private final String smallPageText;
  private final List<String> quotes;

  private Server(Path assets) throws IOException {
    page = Files.readAllBytes(assets.resolve("page-100k.html"));
    pageText = new String(page, StandardCharsets.UTF_8);
    smallPageText = Files.readString(assets.resolve("page-20k.html"));
    quotes = Files.readAllLines(assets.resolve("quotes.txt"));
  }

  public static void main(String[] args) throws IOException {
    System.setProperty("jdk.virtualThreadScheduler.parallelism", System.getenv("CPUS"));
    System.setProperty("sun.net.httpserver.nodelay", "true");
    // Idle connections beyond this number are closed; the default is 200.
    System.setProperty("sun.net.httpserver.maxIdleConnections", "10000");

    int port = Integer.parseInt(System.getenv("PORT"));
    HttpServer server = HttpServer.create(new InetSocketAddress(System.getenv("HOST"), port), 1024);
    server.createContext("/", new Server(Path.of(System.getenv("ASSETS"))));
    server.setExecutor(Executors.newVirtualThreadPerTaskExecutor());
    server.start();
  }

  @Override
  public void handle(HttpExchange exchange) throws IOException {
    try (exchange) {
      switch (exchange.getRequestURI().getPath()) {
        case "/hello" -> send(exchange, "text/plain", "hello from prony\n");
        case "/byte" -> send(exchange, "text/plain", "r");
        case "/" -> send(exchange, "text/html", page);
        case "/log" -> {
          System.out.println("GET /log");
          send(exchange, "text/html", page);
        }
        case "/sse" -> {
          System.out.println("GET /sse");
          sendPatch(exchange, pageText);
        }
        case "/sse-20k" -> {
          System.out.println("GET /sse-20k");
          sendPatch(exchange, smallPageText);
        }
        case "/franklin-says" -> {
          int index = ThreadLocalRandom.current().nextInt(quotes.size());
          send(exchange, "text/plain", quotes.get(index));
        }
        default -> exchange.sendResponseHeaders(404, -1);
      }
    }
  }

  private static void send(HttpExchange exchange, String contentType, String body)
      throws IOException {
    send(exchange, contentType, body.getBytes(StandardCharsets.UTF_8));
  }

  private static void send(HttpExchange exchange, String contentType, byte[] body)
      throws IOException {
    exchange.getResponseHeaders().set("Content-Type", contentType);
    exchange.sendResponseHeaders(200, body.length);
    exchange.getResponseBody().write(body);
  }

  /** Sends a page as one datastar-patch-elements event. */
  private static void sendPatch(HttpExchange exchange, String page) throws IOException {
    var event = new StringBuilder(page.length() * 5 / 4);
    event.append("event: datastar-patch-elements\n");
    page.lines().forEach(line -> event.append("data: elements ").append(line).append('\n'));
    event.append('\n');

    exchange.getResponseHeaders().set("Cache-Control", "no-cache");
    send(exchange, "text/event-stream", event.toString());
  }
}
