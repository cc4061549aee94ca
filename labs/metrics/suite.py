#!/usr/bin/env python3
"""suite.py PRONY [CASE…]: Prometheus scrapes a load while it runs.

It starts the reference server and Prometheus, runs each case, and removes everything. Needs the package prometheus,
which has promtool. The exit status is 1 if a case fails.
"""

import contextlib
import json
import math
import os
import re
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from cases import check, chosen, end_on_sigterm, run  # noqa: E402

ASSETS = HERE.parents[1] / "workloads" / "assets"
RATE, WARMUP_S, MEASURED_S = 2000, 2, 8
# Prometheus scrapes every second, and a worker publishes five times a second.
LATEST_SCRAPE_S = 2.5
# A bucket is at most 50 % wide, and the quantile lies somewhere in it. Percentiles of the last seconds are not those of
# the whole load either.
MOST_QUANTILE_RATIO = 2.5
COUNTERS = [
    "prony_requests_total",
    "prony_received_bytes_total",
    "prony_sent_bytes_total",
    *(
        f"prony_{histogram}_seconds_{part}"
        for histogram in ("latency", "schedule_lag")
        for part in ("bucket", "count", "sum")
    ),
]

CONFIG = """
global:
  scrape_interval: 1s
  scrape_timeout: 1s
scrape_configs:
  - job_name: prony
    static_configs:
      - targets: ["127.0.0.1:{port}"]
"""


def wait_until(condition, seconds, what):
    """Gives the first value that is true."""
    begin = time.monotonic()
    while not (value := condition()):
        check(time.monotonic() - begin < seconds, f"waited {seconds} s until {what}")
        time.sleep(0.1)
    return value


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def get(url, accept=None):
    """The type and the text of a response; nothing if nobody listens."""
    fields = {} if accept is None else {"Accept": accept}
    try:
        request = urllib.request.Request(url, headers=fields)
        with urllib.request.urlopen(request, timeout=5) as response:
            return response.headers["Content-Type"], response.read().decode()
    except OSError:
        return None


class Lab:
    """The reference server, and Prometheus with a data folder of its own."""

    def __init__(self, prony):
        self.prony = Path(prony).resolve()
        self.stack = contextlib.ExitStack()
        self.port, self.own_port, self.target = free_port(), free_port(), free_port()
        self.running = None

    def __enter__(self):
        with self.stack as stack:
            folder = tempfile.TemporaryDirectory(prefix="prony-metrics-")
            self.folder = Path(stack.enter_context(folder))
            self.start(
                [self.prony, "reference"],
                HOST="127.0.0.1",
                PORT=str(self.target),
                CPUS="1",
                ASSETS=str(ASSETS),
            )
            self.url = f"http://127.0.0.1:{self.target}/hello"
            wait_until(lambda: get(self.url), 60, "the reference server responds")
            self.start_prometheus()
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def start_prometheus(self):
        config = self.folder / "prometheus.yml"
        config.write_text(CONFIG.format(port=self.port))
        self.own = f"http://127.0.0.1:{self.own_port}"
        self.start(
            [
                "prometheus",
                f"--config.file={config}",
                f"--storage.tsdb.path={self.folder / 'data'}",
                f"--web.listen-address=127.0.0.1:{self.own_port}",
            ]
        )
        wait_until(lambda: get(f"{self.own}/-/ready"), 60, "Prometheus is ready")
        # It knows its targets some seconds later. Nobody listens yet, so this one is down.
        wait_until(lambda: self.value("up", time.time()) == 0, 60, "it scrapes")

    def start(self, command, **environment):
        """Starts a program that ends with the laboratory."""
        log = (self.folder / f"{Path(command[0]).name}.log").open("wb")
        process = subprocess.Popen(
            command, env=os.environ | environment, stdout=log, stderr=log
        )

        def end():
            process.terminate()
            process.wait(timeout=20)
            log.close()

        self.stack.callback(end)

    def load(self, *flags):
        """Starts a load whose figures are served."""
        self.result = self.folder / "result.json"
        words = [self.prony, "load", "-c8", "-t1", "--quiet", "--json", self.result]
        metrics = ["--metrics", f"127.0.0.1:{self.port}"]
        self.running = subprocess.Popen(
            [*words, *metrics, *flags, self.url],
            text=True,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        return self.running

    def end_load(self):
        """Kills the load of a case that failed."""
        if self.running and self.running.poll() is None:
            self.running.kill()
            self.running.communicate()

    def ended(self, load):
        _, errors = load.communicate(timeout=60)
        check(load.returncode == 0, f"prony exited with {load.returncode}:\n{errors}")
        check(not errors, f"prony said: {errors}")
        return json.loads(self.result.read_text())

    def scraped(self, accept):
        url = f"http://127.0.0.1:{self.port}/metrics"
        return wait_until(lambda: get(url, accept), 60, "Prony serves its figures")

    def api(self, path, **query):
        response = get(f"{self.own}/api/v1/{path}?{urllib.parse.urlencode(query)}")
        check(response is not None, f"Prometheus refused {path} {query}")
        response = json.loads(response[1])
        check(response["status"] == "success", response)
        return response["data"]

    def value(self, query, at):
        """The value of a query at a time; nothing if there is none."""
        result = self.api("query", query=query, time=at)["result"]
        check(len(result) <= 1, f"{query}: {len(result)} results")
        return float(result[0]["value"][1]) if result else None

    def needed(self, query, at):
        value = self.value(query, at)
        check(value is not None, f"{query}: no result")
        return value


def between(value, lowest, highest, what):
    check(lowest <= value <= highest, f"{what}: {value}, not {lowest} to {highest}")
    print(f"  {what}: {value:.6g}, within {lowest:.6g} to {highest:.6g}", flush=True)


def scrapes(lab):
    """Prometheus has the rates, counts and quantiles of a load that it scrapes."""
    flags = ["--rate", f"{RATE}/s", "--warmup", f"{WARMUP_S}s", "-d", f"{MEASURED_S}s"]
    load = lab.load(*flags)
    check_target(lab, load)
    check_metadata(lab)
    result = lab.ended(load)
    ended = time.time()
    ok, p99_s = result["outcomes"]["ok"], result["latency_ns"]["p99"] / 1e9
    # The last value that was scraped: a series whose target is gone has none at later times.
    of_phase = 'phase="measured"'
    last = lab.needed(
        f'last_over_time(prony_requests_total{{{of_phase},outcome="ok"}}[10s])', ended
    )
    between(last, ok - RATE * LATEST_SCRAPE_S, ok, "ok responses")
    count = lab.needed(
        f"last_over_time(prony_latency_seconds_count{{{of_phase}}}[10s])", ended
    )
    between(count, last - RATE, last + RATE, "latencies")
    at = ended - 1.5
    rate = lab.needed(f'rate(prony_requests_total{{{of_phase},outcome="ok"}}[5s])', at)
    between(rate, 0.85 * RATE, 1.15 * RATE, "rate")
    quantile = lab.needed(
        "histogram_quantile(0.99, sum by (le)"
        f"(last_over_time(prony_latency_seconds_bucket{{{of_phase}}}[10s])))",
        ended,
    )
    lowest, highest = p99_s / MOST_QUANTILE_RATIO, p99_s * MOST_QUANTILE_RATIO
    between(quantile, lowest, highest, "p99 in seconds")
    mean = lab.needed(
        f"last_over_time(prony_latency_seconds_sum{{{of_phase}}}[10s]) / {count}", ended
    )
    own_mean = result["latency_ns"]["mean"] / 1e9
    between(mean, own_mean / 2, own_mean * 2, "mean in seconds")
    received = lab.needed(
        f"last_over_time(prony_received_bytes_total{{{of_phase}}}[10s])", ended
    )
    between(received, 0, result["bytes_read"], "bytes received")
    lag = lab.needed(
        f"last_over_time(prony_schedule_lag_seconds_count{{{of_phase}}}[10s])", ended
    )
    between(lag, ok - RATE * LATEST_SCRAPE_S, result["requests"], "schedule lags")
    warmed = lab.needed(
        'max_over_time(prony_requests_total{phase="warmup",outcome="ok"}[30s])', ended
    )
    warmup_ok = result["warmup"]["outcomes"]["ok"]
    between(warmed, 0.98 * warmup_ok, warmup_ok, "warm-up")
    for name in COUNTERS:
        resets = lab.needed(f"sum(resets({name}[30s]))", ended)
        check(resets == 0, f"{name} fell {resets} times")


def check_target(lab, load):
    """The target is up, its response was understood, and busy and phase are reported."""

    def is_measuring():
        check(load.poll() is None, "the load ended by itself")
        return lab.value("prony_measuring", time.time()) == 1

    wait_until(is_measuring, WARMUP_S + 8, "Prometheus sees that the load measures")
    now = time.time()
    check(lab.needed("up", now) == 1, "the target is down")
    between(lab.needed("prony_generator_busy_ratio", now), 0, 1, "busy")
    check(lab.needed("target_info", now) == 1, "there is no target_info")
    targets = lab.api("targets")["activeTargets"]
    for target in targets:
        check(target["health"] == "up", target)
        check(not target["lastError"], target["lastError"])
    check(len(targets) == 1, targets)


def check_metadata(lab):
    """Prometheus took types and units from the text. It forgets them with the target."""
    metadata = lab.api("metadata")
    for name, kind, unit in [
        ("prony_requests", "counter", ""),
        ("prony_received_bytes", "counter", "bytes"),
        ("prony_latency_seconds", "histogram", "seconds"),
        ("prony_generator_busy_ratio", "gauge", "ratio"),
    ]:
        check(name in metadata, f"{name}: no metadata")
        told = metadata[name][0]
        check((told["type"], told["unit"]) == (kind, unit), f"{name}: {told}")


def formats(lab):
    """Both formats are served as requested, and promtool finds nothing wrong."""
    load = lab.load("-d", "3s")
    openmetrics, text = lab.scraped("application/openmetrics-text;version=1.0.0")
    check(openmetrics.startswith("application/openmetrics-text"), openmetrics)
    check(text.endswith("\n# EOF\n"), text[-80:])
    media_type, plain = lab.scraped("text/plain;version=0.0.4")
    check(media_type.startswith("text/plain; version=0.0.4"), media_type)
    lab.ended(load)
    promtool = subprocess.run(
        ["promtool", "check", "metrics"], input=plain, text=True, capture_output=True
    )
    said = promtool.stdout + promtool.stderr
    check(promtool.returncode == 0, f"promtool exited {promtool.returncode}: {said}")
    check(not said.strip(), f"promtool said: {said}")
    names = set(re.findall(r"^# TYPE (\S+)", plain, re.MULTILINE))
    print(f"  promtool accepts {', '.join(sorted(names))}")


def undisturbed(lab):
    """A load keeps its rate while clients stay silent, send rubbish and scrape without a pause."""
    load = lab.load("--rate", f"{RATE}/s", "-d", "4s")
    lab.scraped(None)
    silent = [socket.create_connection(("127.0.0.1", lab.port)) for _ in range(12)]
    for index, client in enumerate(silent):
        client.sendall(b"\xff" * (index % 3))
    scraped = 0
    while load.poll() is None:
        scraped += get(f"http://127.0.0.1:{lab.port}/metrics") is not None
    result = lab.ended(load)
    for client in silent:
        client.close()
    ok = result["outcomes"]["ok"]
    check(math.isclose(ok, RATE * 4, rel_tol=0.02), f"{ok} responses")
    check(scraped > 10, f"only {scraped} scrapes")
    print(f"  {ok} responses, {scraped} scrapes")


CASES = [scrapes, formats, undisturbed]


def main():
    if len(sys.argv) < 2:
        sys.exit("usage: suite.py PRONY [CASE…]")
    prony, *names = sys.argv[1:]
    cases = chosen(CASES, names)
    end_on_sigterm()
    begin = time.monotonic()
    with Lab(prony) as lab:
        # Each of them measures.
        return run(cases, lab, begin, lab.end_load, is_disturbed=lambda _: True)


if __name__ == "__main__":
    sys.exit(main())
