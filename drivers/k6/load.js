// One request over and over, as the environment says.
import http from "k6/http";
import exec from "k6/execution";
import { given, inStreams, options, streams } from "./scenario.js";
import { httpSummary as handleSummary } from "./summary.js";

export { handleSummary, options };

const method = given.PRONY_METHOD || "GET";
const body = given.PRONY_BODY_FILE ? open(given.PRONY_BODY_FILE, "b") : null;
const parameters = {
  headers: JSON.parse(given.PRONY_HEADERS || "{}"),
  timeout: `${given.PRONY_TIMEOUT_S}s`,
};

// k6 takes what the server chooses, so a server without HTTP/2 would otherwise be loaded over HTTP/1.1.
function checkProtocol(response) {
  if (
    given.PRONY_PROTOCOL === "h2" &&
    !response.error &&
    response.proto !== "HTTP/2.0"
  ) {
    exec.test.abort(`the server chose ${response.proto} instead of HTTP/2`);
  }
}

// One request after the other.
function inTurn() {
  const response = http.request(method, given.PRONY_URL, body, parameters);
  if (exec.vu.iterationInScenario === 0) {
    checkProtocol(response);
  }
}

// Several at a time. The first one opens the connection that all of them use.
async function multiplexed() {
  let first = null;
  await inStreams(async () => {
    if (first === null) {
      first = http.request(method, given.PRONY_URL, body, parameters);
      checkProtocol(first);
    } else {
      await http.asyncRequest(method, given.PRONY_URL, body, parameters);
    }
  });
}

export default streams > 1 ? multiplexed : inTurn;
