"""Run `espalier` as its image does: nobody's account, and a root that cannot be written to.

Started with the interpreter of an environment that has the wheel and the locked runtime only.
Everything is imported first, since an interpreter may lie where nobody may look.
"""

import errno
import os
import sys
import tempfile
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

NOBODY = 65532
WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC
CHANGES = {"os.mkdir", "os.remove", "os.rename", "os.rmdir", "os.symlink", "os.truncate"}


def refuse_writes(event: str, args: tuple[Any, ...]) -> None:
    """Answer every attempt to change a file outside the temporary folder as the kernel would."""
    if event == "open" and isinstance(args[0], str | bytes):
        path, changes = os.fsdecode(args[0]), bool((args[2] or 0) & WRITES)
    elif event in CHANGES:
        path, changes = os.fsdecode(args[0]), True
    else:
        return
    allowed = (tempfile.gettempdir(), "/dev/", "/proc/self/fd/")
    if changes and not os.path.abspath(path).startswith(allowed):  # noqa: PTH100  resolves nothing
        raise OSError(errno.EROFS, "Read-only file system", path)


def main() -> int:
    import webhook

    for module in walk_packages(webhook.__path__, "webhook."):
        if not module.name.endswith("__main__"):
            import_module(module.name)
    for name in ("kubernetes_asyncio.config", "uvloop", "encodings.idna"):
        import_module(name)
    tempfile.gettempdir()
    if os.geteuid() == 0:
        os.setgroups([])
        os.setgid(NOBODY)
        os.setuid(NOBODY)
    sys.addaudithook(refuse_writes)
    from webhook.cli.main import main

    return main(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
