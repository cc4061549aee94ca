"""The cases of a laboratory's suite: checks, and running those that were chosen."""

import functools
import signal
import subprocess
import sys
import time


class Failed(Exception):
    """A case found something wrong."""


def check(condition, what):
    if not condition:
        raise Failed(what)


def measures(case):
    """A case that a busy machine can disturb, so that it has failed only if it fails three times."""

    @functools.wraps(case)
    def attempts(lab):
        for _ in range(2):
            try:
                return case(lab)
            except Failed as error:
                print(f"  once more, because of: {error}", flush=True)
                lab.end_load()
        return case(lab)

    return attempts


def chosen(cases, names):
    """The cases of these names; all if there are no names."""
    unknown = set(names) - {case.__name__ for case in cases}
    if unknown:
        sys.exit(f"no such case: {', '.join(sorted(unknown))}")
    return [case for case in cases if not names or case.__name__ in names]


def end_on_sigterm():
    """SIGTERM ends the suite as Ctrl-C does, so that the laboratory is removed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def run(cases, lab, begin, after=lambda: None):
    """Runs the cases of a suite that began at this time, and `after` each; gives the exit status."""
    failed = []
    for case in cases:
        print(f"{case.__name__}: {' '.join(case.__doc__.split())}", flush=True)
        try:
            case(lab)
        except (Failed, subprocess.SubprocessError) as error:
            print(f"  FAILED: {error}", flush=True)
            failed.append(case.__name__)
        finally:
            after()
    result = f"FAILED: {', '.join(failed)}" if failed else "all cases passed"
    print(f"{result}, in {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0
