import io.vertx.core.DeploymentOptions;
import io.vertx.core.Future;
import io.vertx.core.VerticleBase;
import io.vertx.core.Vertx;
import io.vertx.core.VertxOptions;
import io.vertx.core.buffer.Buffer;
import io.vertx.core.http.HttpServerOptions;
import io.vertx.core.net.PemKeyCertOptions;
import io.vertx.ext.web.Router;
import io.vertx.ext.web.RoutingContext;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;

/** Serves Prony's workloads with Vert.x Web. */
public final class Server extends VerticleBase {
  private final String pageText;
  private final Buffer page;
  private final String smallPageText;
  private final List<String> quotes;

  private Server(String pageText, String smallPageText, List<String> quotes) {
    this.pageText = pageText;
    this.page = Buffer.buffer(pageText);
    this.smallPageText = smallPageText;
    this.quotes = quotes;
  }

  public static void main(String[] args) throws IOException {
    Path assets = Path.of(System.getenv("ASSETS"));
    String page = Files.readString(assets.resolve("page-100k.html"));
    String smallPage = Files.readString(assets.resolve("page-20k.html"));
    List<String> quotes = Files.readAllLines(assets.resolve("quotes.txt"));

    int cpus = Integer.parseInt(System.getenv("CPUS"));
    Vertx.vertx(new VertxOptions().setEventLoopPoolSize(cpus))
        .deployVerticle(
            () -> new Server(page, smallPage, quotes), new DeploymentOptions().setInstances(cpus))
        .onFailure(
            failure -> {
              failure.printStackTrace();
              System.exit(1);
            });
  }

  @Override
  public Future<?> start() {
    Router router = Router.router(vertx);
    router.get("/hello").handler(ctx -> send(ctx, "text/plain", "hello from prony\n"));
    router.get("/byte").handler(ctx -> send(ctx, "text/plain", "r"));
    router.get("/").handler(ctx -> send(ctx, "text/html", page));
    router.get("/log").handler(this::pageLog);
    router.get("/sse").handler(this::sse);
    router.get("/sse-20k").handler(this::sse20k);
    router.get("/franklin-says").handler(this::quote);

    return vertx
        .createHttpServer(options())
        .requestHandler(router)
        .listen(Integer.parseInt(System.getenv("PORT")), System.getenv("HOST"));
  }

  private static HttpServerOptions options() {
    var options = new HttpServerOptions().setAcceptBacklog(1024);
    String certificate = System.getenv("TLS_CERT");
    if (certificate != null) {
      options
          .setSsl(true)
          .setUseAlpn(true)
          .setKeyCertOptions(
              new PemKeyCertOptions()
                  .setCertPath(certificate)
                  .setKeyPath(System.getenv("TLS_KEY")));
    }
    return options;
  }

  private void pageLog(RoutingContext ctx) {
    System.out.println("GET /log");
    send(ctx, "text/html", page);
  }

  private void sse(RoutingContext ctx) {
    System.out.println("GET /sse");
    sendPatch(ctx, pageText);
  }

  private void sse20k(RoutingContext ctx) {
    System.out.println("GET /sse-20k");
    sendPatch(ctx, smallPageText);
  }

  private void quote(RoutingContext ctx) {
    int index = ThreadLocalRandom.current().nextInt(quotes.size());
    send(ctx, "text/plain", quotes.get(index));
  }

  private static void send(RoutingContext ctx, String contentType, String body) {
    send(ctx, contentType, Buffer.buffer(body));
  }

  private static void send(RoutingContext ctx, String contentType, Buffer body) {
    ctx.response().putHeader("Content-Type", contentType).end(body);
  }

  /** Sends a page as one datastar-patch-elements event. */
  private static void sendPatch(RoutingContext ctx, String page) {
    var event = new StringBuilder(page.length() * 5 / 4);
    event.append("event: datastar-patch-elements\n");
    page.lines().forEach(line -> event.append("data: elements ").append(line).append('\n'));
    event.append('\n');

    ctx.response().putHeader("Cache-Control", "no-cache");
    send(ctx, "text/event-stream", event.toString());
  }
}
