"""Run `espalier` as its image does: in an unprivileged account, on a read-only root.

Started with the interpreter of an environment that has the wheel and the locked runtime only.
Every module outside `webhook.dev` is imported first: the account may not be allowed to read the
interpreter's folder, and none of these modules may need what only the extra `dev` installs.
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
    """Refuse every change of a file outside the temporary folder as the kernel does."""
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
        if not module.name.endswith("__main__") and not module.name.startswith("webhook.dev."):
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
