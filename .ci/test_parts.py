#!/usr/bin/env python3
"""Tests the table of parts and what reads it, in less than a second."""

import contextlib
import io
import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

import parts
import test_times

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
TABLE = parts.Table((HERE / "parts.toml").read_text())

MADE_UP = parts.Table("""
never = ["crates/*/tests/", "crates/*/src/**tests.rs"]
[[part]]
name = "load"
seconds = 10
paths = ["crates/load/", "docs/*.md", "!crates/load/notes/", "!**.txt"]
[[part]]
name = "all"
seconds = 20
paths = ["crates/*/src/", "run"]
""")


def due(*changed: str) -> dict[str, str]:
    return {part["name"]: first for part, first in MADE_UP.due(list(changed))}


class WhatIsDue(unittest.TestCase):
    def test_a_part_is_due_if_one_of_its_files_changed(self) -> None:
        self.assertEqual(
            due("crates/load/src/a/b.rs"),
            dict.fromkeys(["load", "all"], "crates/load/src/a/b.rs"),
        )
        self.assertEqual(due("README.md", "docs/load.md"), {"load": "docs/load.md"})
        self.assertEqual(due("run"), {"all": "run"})

    def test_other_files_make_nothing_due(self) -> None:
        for path in [
            "README.md",
            "docs/deeper/load.md",
            "crates/load/tests/it/main.rs",
            "crates/load/src/a/tests.rs",
            "crates/load/src/tests.rs",
            "crates/load/notes/a",
            "crates/load/a.txt",
            "a/run",
            "running",
        ]:
            self.assertEqual(due(path), {}, path)

    def test_everything_is_due_if_nobody_knows_what_changed(self) -> None:
        self.assertEqual(
            [part["name"] for part, _ in MADE_UP.due(None)], ["load", "all"]
        )


class WhatChanged(unittest.TestCase):
    def setUp(self) -> None:
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.git("init", "--quiet")
        for name in ["kept", "edited", "renamed", "removed", ".ci/run"]:
            self.write(name, f"{name}\n")
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "a commit")
        self.commit = parts.git(self.root, "rev-parse", "HEAD")

    def git(self, *words: str) -> None:
        who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
        environment = os.environ | {"GIT_CONFIG_GLOBAL": os.devnull}
        subprocess.run(
            ["git", "-C", self.root, *who, *words], check=True, env=environment
        )

    def write(self, name: str, text: str) -> None:
        file = self.root / name
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)

    def test_commits_edits_and_new_files_count(self) -> None:
        self.write(".ci/full-passed", self.commit)
        (self.root / "renamed").rename(self.root / "other")
        (self.root / "removed").unlink()
        self.git("add", "--all")
        self.git("commit", "--quiet", "--message", "another")
        self.write("edited", "differently\n")
        self.write("new", "new\n")
        expected = [".ci/full-passed", "edited", "new", "other", "removed", "renamed"]
        self.assertEqual(parts.changed_since_full_check(self.root), expected)

    def test_without_a_known_commit_everything_may_have_changed(self) -> None:
        for text in [None, "", "main", "0" * 40]:
            if text is not None:
                self.write(".ci/full-passed", text)
            with contextlib.redirect_stderr(io.StringIO()) as said:
                self.assertIsNone(parts.changed_since_full_check(self.root), text)
            self.assertIn("every part is due", said.getvalue())


class TheTable(unittest.TestCase):
    def test_each_part_is_a_function_and_each_function_a_part(self) -> None:
        functions = re.findall(
            r"^part_(\w+)\(\)", (HERE / "lib/parts.sh").read_text(), re.MULTILINE
        )
        self.assertEqual(
            sorted(functions), sorted(part["name"] for part in TABLE.parts)
        )

    def test_each_pattern_names_a_file(self) -> None:
        files = parts.git(
            ROOT, "ls-files", "--cached", "--others", "--exclude-standard"
        ).splitlines()
        for part in TABLE.parts:
            for text in part["paths"]:
                pattern = parts.Pattern(text)
                self.assertTrue(
                    any(map(pattern.matches, files)), f"{part['name']}: {text}"
                )

    def test_no_part_is_longer_than_a_run(self) -> None:
        for part in TABLE.parts:
            self.assertLess(part["seconds"], 12 * 60, part["name"])

    def test_tests_and_the_checks_themselves_make_nothing_due(self) -> None:
        for path in [
            "crates/load/tests/behaviour/closing.rs",
            "crates/load/src/wire/h1/head/tests.rs",
            "crates/load/src/wire/h2/tests/frames.rs",
            "crates/prony/src/command/init/candidates/tests.rs",
            "crates/screen/src/load_screen/snapshots/a.snap",
            "crates/testkit/src/lib.rs",
            "crates/fleet/README.md",
            "docs/guide.md",
            ".ci/run",
            ".ci/lib/parts.sh",
        ]:
            self.assertEqual(TABLE.due([path]), [], path)


class TimesOfTests(unittest.TestCase):
    LOG = """ok a::fast <0.012s>
ok a::slow <7.500s>
ok a::slowest <15.100s>
ignored: why not a::left_out
"""

    def faults(self, reasons: str, waited_us: int = 0) -> list[str]:
        program = test_times.Program.read(f"prony-load it\n20000000\n{waited_us}\n")
        tests = list(test_times.read(program, self.LOG))
        return test_times.faults(tests, test_times.reasons(reasons))

    def test_a_very_slow_test_needs_a_reason(self) -> None:
        [fault] = self.faults("# a comment\n")
        self.assertIn("prony-load it a::slowest took 15.1 s", fault)
        self.assertEqual(
            self.faults("prony-load it a::slowest: the kernel waits\n"), []
        )

    def test_a_busy_machine_slows_tests_down(self) -> None:
        self.assertEqual(self.faults("", waited_us=5_000_000), [])

    def test_a_reason_names_a_test_that_exists(self) -> None:
        names = ["a::slowest", "a::gone"]
        [fault] = self.faults("".join(f"prony-load it {it}: why\n" for it in names))
        self.assertIn("a::gone", fault)


if __name__ == "__main__":
    unittest.main()
