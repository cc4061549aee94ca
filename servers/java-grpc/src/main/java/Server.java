import io.grpc.InsecureServerCredentials;
import io.grpc.ServerCredentials;
import io.grpc.TlsServerCredentials;
import io.grpc.netty.shaded.io.grpc.netty.NettyServerBuilder;
import io.grpc.protobuf.services.ProtoReflectionServiceV1;
import io.grpc.stub.StreamObserver;
import java.io.File;
import java.io.IOException;
import java.net.InetSocketAddress;
import prony.echo.v1.EchoGrpc;
import prony.echo.v1.EchoOuterClass.EchoReply;
import prony.echo.v1.EchoOuterClass.EchoRequest;
import prony.echo.v1.EchoOuterClass.StreamRequest;
import prony.echo.v1.EchoOuterClass.Summary;

/** Serves Prony's gRPC calls with grpc-java. */
public final class Server {
  private Server() {}

  public static void main(String[] args) throws IOException, InterruptedException {
    var address =
        new InetSocketAddress(System.getenv("HOST"), Integer.parseInt(System.getenv("PORT")));
    NettyServerBuilder.forAddress(address, credentials())
        .addService(new Echo())
        .addService(ProtoReflectionServiceV1.newInstance())
        .build()
        .start()
        .awaitTermination();
  }

  private static ServerCredentials credentials() throws IOException {
    String certificate = System.getenv("TLS_CERT");
    if (certificate == null) {
      return InsecureServerCredentials.create();
    }
    return TlsServerCredentials.create(new File(certificate), new File(System.getenv("TLS_KEY")));
  }

  private static EchoReply reply(String payload) {
    return EchoReply.newBuilder().setPayload(payload).build();
  }

  private static final class Echo extends EchoGrpc.EchoImplBase {
    @Override
    public void unary(EchoRequest request, StreamObserver<EchoReply> replies) {
      replies.onNext(reply(request.getPayload()));
      replies.onCompleted();
    }

    @Override
    public void serverStream(StreamRequest request, StreamObserver<EchoReply> replies) {
      for (int i = 0; i < request.getCount(); i++) {
        replies.onNext(reply(request.getPayload()));
      }
      replies.onCompleted();
    }

    @Override
    public StreamObserver<EchoRequest> clientStream(StreamObserver<Summary> summaries) {
      return new StreamObserver<>() {
        private final Summary.Builder summary = Summary.newBuilder();

        @Override
        public void onNext(EchoRequest request) {
          summary.setPayload(request.getPayload()).setCount(summary.getCount() + 1);
        }

        @Override
        public void onError(Throwable cancelled) {}

        @Override
        public void onCompleted() {
          summaries.onNext(summary.build());
          summaries.onCompleted();
        }
      };
    }

    @Override
    public StreamObserver<EchoRequest> bidiStream(StreamObserver<EchoReply> replies) {
      return new StreamObserver<>() {
        @Override
        public void onNext(EchoRequest request) {
          replies.onNext(reply(request.getPayload()));
        }

        @Override
        public void onError(Throwable cancelled) {}

        @Override
        public void onCompleted() {
          replies.onCompleted();
        }
      };
    }
  }
}
