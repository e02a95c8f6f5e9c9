"""Write the reference pages: python -m webhook.dev.reference [FOLDER]."""

import sys
from pathlib import Path

from webhook.dev.reference.pages import write


def main() -> int:
    """Write all pages into the folder that the command line names."""
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "docs/reference"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
