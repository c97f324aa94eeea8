"""`toolhaft contract TARGET FILE`: compare a server with the contract in a file."""

import argparse
from pathlib import Path

from ...testing.contracts.contract import is_set, report, write_contract
from ...testing.contracts.differences import Difference, differences
from ...testing.contracts.snapshot import BadContract, Json, listed, read
from ..shared.console import as_json
from ..shared.output_files import cannot_write
from ..shared.server_session import WRONG_COMMAND, Visit, conduct, failed

BREAKS = 1


def execute(options: argparse.Namespace) -> int:
    """Print the differences; return 1 if a change breaks clients."""
    return conduct(options, _contract)


async def _contract(visit: Visit, options: argparse.Namespace) -> int:
    return _compared(visit, options, Path(options.file), await listed(visit.talk.request))


def _compared(visit: Visit, options: argparse.Namespace, file: Path, now: Json) -> int:
    if options.update:
        return _write(visit, options, file, now)
    if not file.exists():
        if options.check:
            missing = f"there is no file {options.file!r}; write it with --update"
            return failed(WRONG_COMMAND, missing)
        if is_set("CI"):  # a file written in CI is lost, and a misspelled name would never fail
            return failed(
                WRONG_COMMAND,
                f"there is no file {options.file!r}, and none is written where CI is set; write it "
                "where the code is kept, and commit it",
            )
        return _write(visit, options, file, now)
    try:
        before = read(file.read_text(encoding="utf-8"), options.file)
    except (BadContract, UnicodeDecodeError) as error:
        return failed(WRONG_COMMAND, str(error))
    found = differences(before, now)
    visit.write(_told(options, found))
    fails = found if options.check else [each for each in found if each.breaks]
    return BREAKS if fails else 0


def _write(visit: Visit, options: argparse.Namespace, file: Path, now: Json) -> int:
    try:
        write_contract(file, now)
    except OSError as error:
        return failed(WRONG_COMMAND, cannot_write(options.file, error))
    visit.write("[]\n" if options.json else f"wrote {options.file}\n")
    return 0


def _told(options: argparse.Namespace, found: list[Difference]) -> str:
    if options.json:
        return as_json([each._asdict() for each in found])
    if not found:
        return f"{options.file}: nothing has changed\n"
    return f"{report(found, options.file)}\n"
