// The load that the environment describes.
import exec from "k6/execution";

export const given = __ENV;
export const connections = Number(given.PRONY_CONNECTIONS);
export const streams = Number(given.PRONY_STREAMS || "1");

function scenario() {
  const duration = `${given.PRONY_SECONDS}s`;
  if (given.PRONY_RATE) {
    if (streams > 1) {
      throw new Error(
        "k6 sends at a rate only with one request at a time per connection",
      );
    }
    const vus = { preAllocatedVUs: connections, maxVUs: connections };
    // Rates are whole numbers, so the unit of time is what takes the fraction.
    const rate = {
      rate: Math.round(Number(given.PRONY_RATE) * 1000),
      timeUnit: "1000s",
    };
    return { executor: "constant-arrival-rate", duration, ...rate, ...vus };
  }
  if (given.PRONY_REQUESTS) {
    const requests = Number(given.PRONY_REQUESTS);
    const limits = { vus: connections, maxDuration: "1h" };
    return streams > 1
      ? { executor: "per-vu-iterations", iterations: 1, ...limits }
      : { executor: "shared-iterations", iterations: requests, ...limits };
  }
  return { executor: "constant-vus", vus: connections, duration };
}

// Runs several streams of requests at a time until this connection has sent its part of the requests
// or the time is up. k6 itself would cut off the iteration late.
export async function inStreams(request) {
  let left = share();
  const { startTime } = exec.scenario;
  const end = given.PRONY_REQUESTS
    ? Infinity
    : startTime + Number(given.PRONY_SECONDS) * 1000;
  const stream = async () => {
    while (left > 0 && Date.now() < end) {
      left--;
      await request();
    }
  };
  await Promise.all(Array.from({ length: streams }, stream));
}

function share() {
  if (!given.PRONY_REQUESTS) {
    return Infinity;
  }
  const requests = Number(given.PRONY_REQUESTS);
  const rest = exec.vu.idInTest <= requests % connections ? 1 : 0;
  return Math.floor(requests / connections) + rest;
}

export const options = {
  scenarios: { load: { ...scenario(), gracefulStop: "0s" } },
  discardResponseBodies: true,
  noConnectionReuse: given.PRONY_CLOSE === "1",
  summaryTrendStats: ["avg", "med", "p(90)", "p(99)", "p(99.9)", "max"],
};
