"""The sources of a server with a number of steps, its Git repository, and its builds."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from place import Place

from instructions.languages import Language

# The constant in the source that says how many steps of work a request costs.
STEPS = re.compile(r"(\b(?:WORK|work_steps|workSteps)\b[^=\n]*= )(\d+)")
# The comment on it.
COMMENT = "Steps of work for each request."


def source_of(folder: Path) -> Path:
    """The file with the constant."""
    for file in sorted(folder.rglob("*")):
        if file.is_file() and COMMENT in file.read_text(errors="replace"):
            return file
    sys.exit(f"no file in {folder} has the comment: {COMMENT}")


def steps_of_base(language: Language) -> int:
    file = source_of(language.folders[0])
    found = STEPS.findall(file.read_text())
    if len(found) != 1:
        sys.exit(f"{file}: {len(found)} constants set the steps of work")
    return int(found[0][1])


def write(language: Language, folder: Path, steps: int, comment: str = COMMENT) -> None:
    """Write the sources of a server with that many steps."""
    for files in language.folders:
        shutil.copytree(files, folder, dirs_exist_ok=True)
    file = source_of(folder)
    text = STEPS.sub(rf"\g<1>{steps}", file.read_text())
    file.write_text(text.replace(COMMENT, comment))


def repository(
    language: Language, folder: Path, steps: dict[str, int], twin: str
) -> None:
    """Write a Git repository with a tagged commit for each revision.

    The revision `twin` has the steps of the base and another comment, so that it is built apart.
    """
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet")
    for revision, count in steps.items():
        comment = f"{COMMENT} (As in the base.)" if revision == twin else COMMENT
        write(language, folder, count, comment)
        git(folder, "add", "--all")
        git(folder, "commit", "--quiet", "--message", f"{revision}: {count} steps")
        git(folder, "tag", revision)


def git(folder: Path, *words: str) -> None:
    author = ["-c", "user.name=Prony", "-c", "user.email=prony@example.invalid"]
    subprocess.run(["git", "-C", folder, *author, *words], check=True)


def toolchains(place: Place) -> list[str]:
    """The folders of the toolchains that Prony uses for the servers of a project."""
    command = [place.prony, "--project", place.folder, "doctor"]
    shown = subprocess.run(command, capture_output=True, text=True).stdout
    found = re.findall(r"^ *installed .* (/\S+)$", shown, re.MULTILINE)
    return list(dict.fromkeys(str(Path(file).parent) for file in found))


class Build:
    """A server with a number of steps, built in a folder of its own as its manifest says."""

    def __init__(self, place: Place, language: Language, steps: int) -> None:
        folder = place.folder / "builds" / f"{language.name}-{steps}"
        self.source = folder / "source"
        out = folder / "out"
        out.mkdir(parents=True, exist_ok=True)
        write(language, self.source, steps)
        manifest = tomllib.loads((self.source / "server.toml").read_text())
        # One for all builds of a language, so that dependencies are built once.
        cargo_target = place.folder / "builds" / f"{language.name}-cargo"
        places = {"{out}": str(out), "{cargo_target}": str(cargo_target)}
        path = os.pathsep.join([*toolchains(place), os.environ["PATH"]])
        self.environment = {**os.environ, **manifest.get("env", {}), "PATH": path}
        for words in manifest["build"]:
            environment = self.environment | {"CARGO_TARGET_DIR": str(cargo_target)}
            self.run(filled(words, places), environment)
        words = filled(manifest["run"], places)
        program = Path(shutil.which(words[0], path=path) or words[0])
        if program.is_relative_to(cargo_target):
            # The next build would overwrite it.
            program = Path(shutil.copy2(program, out))
        self.command = [str(program), *words[1:]]

    def run(self, words: list[str], environment: dict[str, str]) -> None:
        done = subprocess.run(
            words, cwd=self.source, env=environment, capture_output=True, text=True
        )
        if done.returncode != 0:
            sys.exit(f"{' '.join(words)} failed:\n{done.stderr}")


def filled(words: list[str], places: dict[str, str]) -> list[str]:
    """The words of a command, with values for its placeholders."""
    for placeholder, value in places.items():
        words = [word.replace(placeholder, value) for word in words]
    return words
