"""The version that this server reports: the Kubernetes release that it follows."""

import platform
from typing import Final

MAJOR: Final = "1"
MINOR: Final = "36"
GIT_VERSION: Final = "v1.36.3+espalier"


def version() -> dict[str, str]:
    """Return the response to GET /version."""
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(platform.machine(), platform.machine())
    return {
        "major": MAJOR,
        "minor": MINOR,
        "emulationMajor": MAJOR,
        "emulationMinor": MINOR,
        "minCompatibilityMajor": MAJOR,
        "minCompatibilityMinor": str(int(MINOR) - 1),
        "gitVersion": GIT_VERSION,
        "gitCommit": "",
        "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z",
        "goVersion": f"python{platform.python_version()}",
        "compiler": "cpython",
        "platform": f"{platform.system().lower()}/{machine}",
    }
