"""Which systems the base install has wheels for: .ci/platforms.py [EXTRA ...]. Nothing is installed.

Each package that the tested set has, with what the extras named add to it, is asked for alone, in its tested
version, as pip would choose it there. What is missing is printed by system, and the status is then 1.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path

TOP = Path(__file__).parents[1]
PYTHONS = ("3.11", "3.12", "3.13", "3.14")
SYSTEMS = {
    "Linux x86-64": ("manylinux_2_28_x86_64", "manylinux_2_17_x86_64", "manylinux2014_x86_64"),
    "Linux aarch64": ("manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"),
    "macOS arm64": tuple(f"macosx_{major}_0_arm64" for major in (14, 13, 12, 11)),
    "Windows x86-64": ("win_amd64",),
}


def resolved(extras: list[str]) -> list[str]:
    """The packages of an install on this machine, each with its version."""
    wanted = f"{TOP}[{','.join(extras)}]" if extras else str(TOP)
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        pip("install", "--dry-run", "--ignore-installed", "--report", str(report), wanted, check=True)
        packages = [one["metadata"] for one in json.loads(report.read_text())["install"]]
    return sorted(f"{one['name']}=={one['version']}" for one in packages if one["name"] != "hrmdoc")


def pip(*arguments: str, check: bool = False) -> bool:
    """Whether pip could do what it was asked for."""
    command = [sys.executable, "-m", "pip", *arguments, "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*command, "-c", str(TOP / "constraints.txt")], capture_output=True, text=True)
    if check and done.returncode:
        sys.exit(done.stderr)
    return done.returncode == 0


def has_wheel(package: str, python: str, tags: tuple[str, ...]) -> bool:
    """Whether a wheel of the package fits the interpreter on the system."""
    platforms = [part for tag in tags for part in ("--platform", tag)]
    with tempfile.TemporaryDirectory() as folder:
        target = ("--target", folder, "--python-version", python, *platforms)
        return pip("install", "--dry-run", "--no-deps", "--only-binary=:all:", *target, package)


def main() -> int:
    """Prints a line for each system and interpreter."""
    packages = resolved(sys.argv[1:])
    asked = list(product(SYSTEMS, PYTHONS, packages))
    with ThreadPoolExecutor(4) as pool:
        found = pool.map(lambda one: has_wheel(one[2], one[1], SYSTEMS[one[0]]), asked)
        missing = [one for one, there in zip(asked, found, strict=True) if not there]
    for system, python in product(SYSTEMS, PYTHONS):
        lacks = [package for where, version, package in missing if (where, version) == (system, python)]
        print(f"{system:15} {python:5} {len(packages) - len(lacks)} of {len(packages)}", *lacks)
    return bool(missing)


if __name__ == "__main__":
    sys.exit(main())
