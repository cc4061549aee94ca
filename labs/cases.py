"""The cases of a laboratory's suite: checks, and running those that were chosen."""

import signal
import subprocess
import sys
import time


class Failed(Exception):
    """A case found something wrong."""


def check(condition, what):
    if not condition:
        raise Failed(what)


def chosen(cases, names):
    """The cases of these names; all if there are no names."""
    unknown = set(names) - {case.__name__ for case in cases}
    if unknown:
        sys.exit(f"no such case: {', '.join(sorted(unknown))}")
    return [case for case in cases if not names or case.__name__ in names]


def end_on_sigterm():
    """SIGTERM ends the suite as Ctrl-C does, so that the laboratory is removed."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


# How often a case is tried that a busy machine disturbs.
ATTEMPTS = 3


def run(cases, lab, begin, after=lambda: None, is_disturbed=lambda _: False):
    """Runs the cases of a suite that began at this time, and `after` each; gives the exit status.

    A case fails at once, or at the third attempt if `is_disturbed` says that its error can come from a busy machine.
    """
    failed = []
    for case in cases:
        print(f"{case.__name__}: {' '.join(case.__doc__.split())}", flush=True)
        for attempt in range(1, ATTEMPTS + 1):
            try:
                error = fault(case, lab)
            finally:
                after()
            if error is None:
                break
            if attempt == ATTEMPTS or not is_disturbed(error):
                print(f"  FAILED: {error}", flush=True)
                failed.append(case.__name__)
                break
            print(f"  once more, because of: {error}", flush=True)
    result = f"FAILED: {', '.join(failed)}" if failed else "all cases passed"
    print(f"{result}, in {time.monotonic() - begin:.0f} s")
    return 1 if failed else 0


def fault(case, lab):
    """What a case finds wrong; nothing if it passes."""
    try:
        case(lab)
    except (Failed, subprocess.SubprocessError) as error:
        return str(error)
    return None
