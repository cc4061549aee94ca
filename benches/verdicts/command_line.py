"""The command line that both judgements share."""

import argparse
import sys
from pathlib import Path
from types import ModuleType

from place import Place

ROOT = Path(__file__).resolve().parent.parent.parent


def run(description: str | None, folder: str, commands: list[ModuleType]) -> None:
    """Run one of the commands; `folder` is where everything is, below `.prony`."""
    arguments = parse(description, folder, commands)
    place = Place(
        root=ROOT,
        folder=arguments.folder.resolve(),
        prony=arguments.prony.resolve(),
        server_cpu=arguments.server_cpu,
        load_cpu=arguments.load_cpu,
    )
    if not place.prony.is_file():
        sys.exit(f"{place.prony} is missing: run `cargo build --release` first")
    try:
        sys.exit(arguments.do(place, arguments))
    except KeyboardInterrupt:
        print("\nstopped; run the same command to continue", file=sys.stderr)
        sys.exit(130)


def parse(
    description: str | None, folder: str, commands: list[ModuleType]
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=ROOT / ".prony" / folder,
        help=f"folder for everything [.prony/{folder}]",
    )
    parser.add_argument("--prony", type=Path, default=ROOT / "target/release/prony")
    parser.add_argument("--server-cpu", type=int, default=0)
    parser.add_argument("--load-cpu", type=int, default=1)
    subparsers = parser.add_subparsers(required=True)
    for module in commands:
        name = module.__name__.rpartition(".")[2]
        command = subparsers.add_parser(
            name, help=module.__doc__, description=module.__doc__
        )
        module.add_arguments(command)
        command.set_defaults(do=module.run)
    return parser.parse_args()
