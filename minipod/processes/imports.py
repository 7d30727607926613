"""Run a function as soon as a module has been imported, at no cost to programs that never import it."""

import sys
from collections.abc import Callable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any


def once_imported(name: str, do: Callable[[], None]) -> None:
    """Call `do()` once the top-level module `name` has been imported: now, or right after its import."""
    if name in sys.modules:
        do()
    else:
        sys.meta_path.insert(0, _Later(name, do))


class _Later(MetaPathFinder):
    """A finder that finds the module as the other finders do, and makes its loader call `do` at the end."""

    def __init__(self, name: str, do: Callable[[], None]):
        self.name, self.do = name, do

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return what the finders behind this one find; a caller may first ask for the module, then import it."""
        if fullname != self.name:
            return None
        behind = sys.meta_path[sys.meta_path.index(self) + 1 :]
        spec = next(filter(None, (finder.find_spec(fullname, path, target) for finder in behind)), None)
        if spec and spec.loader:
            execute = spec.loader.exec_module

            def execute_and_do(module: ModuleType) -> None:
                execute(module)
                if self in sys.meta_path:
                    sys.meta_path.remove(self)
                    self._do_safely()

            spec.loader.exec_module = execute_and_do
        return spec

    def _do_safely(self) -> None:
        """Call `do`; an error in it must not make the program's own `import` fail."""
        try:
            self.do()
        except Exception as error:
            what = f"{type(error).__name__}: {error}"
            print(f"minipod: {self.name} could not be prepared ({what})", file=sys.stderr)
