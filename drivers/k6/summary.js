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
