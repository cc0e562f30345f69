import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py


class BuildWithCheckedRules(build_py):
    """Lays the rules, parsed and checked, beside their files: the first use of a wheel need not wait for
    that. A working copy has none, since its rules change."""

    def run(self) -> None:
        super().run()
        target = Path(self.build_lib).absolute()
        needed = ("msgspec", "numpy", "ruamel.yaml")
        if self.editable_mode or not all(find_spec(name.partition(".")[0]) for name in needed):
            return
        code = "from hrmdoc import paths, rulebook; rulebook.ship(paths.data_dir('rules'))"
        env = {**os.environ, "PYTHONPATH": str(target), "PYTHONDONTWRITEBYTECODE": "1"}
        subprocess.run([sys.executable, "-c", code], cwd=target, env=env, check=True)


packages = find_packages(include=["hrmdoc", "hrmdoc.*"])
for name in ("trainer", "rules", "playbooks", "docs"):
    packages += [f"hrmdoc.{name}", *(f"hrmdoc.{name}.{sub}" for sub in find_packages(name))]
setup(packages=packages, cmdclass={"build_py": BuildWithCheckedRules})
