"""What is in a folder, and the modes of files."""

import os
from pathlib import Path


def names(folder: Path) -> list[str]:
    return sorted(os.listdir(folder))
