"""Something to do as soon as a module has been imported; a program that never imports it does not pay for it."""

import importlib.util
import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def once_imported(name: str, do: Callable[[ModuleType], None]) -> None:
    """Call `do(module)` when the module of this name has been imported: now if it has been, else right after."""
    if loaded := sys.modules.get(name):
        do(loaded)
    else:
        sys.meta_path.insert(0, _Later(name, do))


class _Later(MetaPathFinder):
    def __init__(self, name: str, do: Callable[[ModuleType], None]):
        self.name, self.do = name, do

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname != self.name:
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec(fullname)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_and_do(module: ModuleType) -> None:
                execute(module)
                self.do(module)

            spec.loader.exec_module = execute_and_do
        return spec
