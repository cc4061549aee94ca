// One request over and over, as the environment says; the summary as JSON on standard output.
import http from "k6/http";

const given = __ENV;
const connections = Number(given.PRONY_CONNECTIONS);

function scenario() {
  const duration = `${given.PRONY_SECONDS}s`;
  if (given.PRONY_RATE) {
    const vus = { preAllocatedVUs: connections, maxVUs: connections };
    // Rates are whole numbers, so the unit of time is what takes the fraction.
    const rate = {
      rate: Math.round(Number(given.PRONY_RATE) * 1000),
      timeUnit: "1000s",
    };
    return { executor: "constant-arrival-rate", duration, ...rate, ...vus };
  }
  if (given.PRONY_REQUESTS) {
    const iterations = Number(given.PRONY_REQUESTS);
    return {
      executor: "shared-iterations",
      vus: connections,
      iterations,
      maxDuration: "1h",
    };
  }
  return { executor: "constant-vus", vus: connections, duration };
}

export const options = {
  scenarios: { load: { ...scenario(), gracefulStop: "0s" } },
  discardResponseBodies: true,
  noConnectionReuse: given.PRONY_CLOSE === "1",
  summaryTrendStats: ["avg", "med", "p(90)", "p(99)", "p(99.9)", "max"],
};

const method = given.PRONY_METHOD || "GET";
const body = given.PRONY_BODY_FILE ? open(given.PRONY_BODY_FILE, "b") : null;
const parameters = {
  headers: JSON.parse(given.PRONY_HEADERS || "{}"),
  timeout: `${given.PRONY_TIMEOUT_S}s`,
};

export default function () {
  http.request(method, given.PRONY_URL, body, parameters);
}

export function handleSummary(data) {
  return { stdout: JSON.stringify(data) };
}
