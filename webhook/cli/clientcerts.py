"""Client certificates of cluster-autoscalers: each one is for one namespace, which it names."""

import re
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from webhook.nodegroups.identity import GROUP
from webhook.tls.bundle import BundleError, write_file
from webhook.tls.material import Material

_NAMESPACE: Final = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")


def write(material: Material, namespace: str, directory: Path, now: datetime, days: float) -> Path:
    """Sign a certificate for a namespace; write it, its key and the CAs; return the folder."""
    if not _NAMESPACE.fullmatch(namespace):
        raise BundleError(f"{namespace!r} is not a valid namespace name")
    pair = material.authority.sign_client(namespace, now, (GROUP,), timedelta(days=days))
    folder = directory / f"nodegroups-{namespace}"
    folder.mkdir(parents=True, exist_ok=True)
    write_file(folder / "tls.crt", pair.certificate)
    write_file(folder / "tls.key", pair.key)
    write_file(folder / "ca.crt", material.trusted)
    return folder
