// One unary call over and over, as the environment says.
import grpc from "k6/net/grpc";
import { Counter } from "k6/metrics";
import { given, inStreams, options, streams } from "./scenario.js";
import { summary } from "./summary.js";

export { options };

const successes = new Counter("prony_ok");
const failures = new Counter("prony_failed");
const message = JSON.parse(given.PRONY_MESSAGE);
const method = given.PRONY_GRPC_METHOD;
const parameters = {
  metadata: JSON.parse(given.PRONY_HEADERS || "{}"),
  timeout: `${given.PRONY_TIMEOUT_S}s`,
  discardResponseMessage: true,
};

const client = new grpc.Client();
const slash = given.PRONY_PROTO_FILE.lastIndexOf("/");
client.load(
  [given.PRONY_PROTO_FILE.slice(0, slash)],
  given.PRONY_PROTO_FILE.slice(slash + 1),
);

let isConnected = false;

// Each virtual user has one connection, which it keeps.
function connect() {
  if (isConnected) {
    return true;
  }
  try {
    client.connect(given.PRONY_HOST, {
      plaintext: given.PRONY_PROTOCOL === "grpc",
      timeout: parameters.timeout,
    });
    isConnected = true;
  } catch {
    failures.add(1);
  }
  return isConnected;
}

function judge(response) {
  const counter =
    response && response.status === grpc.StatusOK ? successes : failures;
  counter.add(1);
}

// One call after the other.
function inTurn() {
  if (connect()) {
    judge(client.invoke(method, message, parameters));
  }
}

// Several at a time.
async function multiplexed() {
  if (connect()) {
    await inStreams(async () =>
      judge(await client.asyncInvoke(method, message, parameters)),
    );
  }
}

export default streams > 1 ? multiplexed : inTurn;

export function handleSummary(data) {
  const count = (metric) => (metric ? metric.values.count : 0);
  return summary(data, {
    ok: count(data.metrics.prony_ok),
    failed: count(data.metrics.prony_failed),
    latency: "grpc_req_duration",
  });
}
