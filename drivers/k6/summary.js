// What driver.toml reads, as JSON on standard output.
export function summary(data, { ok, failed, latency }) {
  const count = (name) =>
    data.metrics[name] ? data.metrics[name].values.count : 0;
  const figures = {
    ok,
    failed,
    dropped: count("dropped_iterations"),
    duration_ms: data.state.testRunDurationMs,
    bytes_read: count("data_received"),
    latency_ms: data.metrics[latency] ? data.metrics[latency].values : {},
  };
  return { stdout: JSON.stringify(figures) };
}

// The same for requests over HTTP.
export function httpSummary(data) {
  const { http_req_failed: failed } = data.metrics;
  return summary(data, {
    ok: failed ? failed.values.fails : 0,
    failed: failed ? failed.values.passes : 0,
    latency: "http_req_duration{expected_response:true}",
  });
}
