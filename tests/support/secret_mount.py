"""A Secret as a kubelet mounts it: files behind a symlink that is exchanged atomically."""

from itertools import count
from pathlib import Path

from webhook.tls.bundle import AUTHORITIES_FILE, CERTIFICATE_FILE, DATA_SYMLINK, KEY_FILE, Bundle


class SecretMount:
    """A directory that changes as the volume of a Secret does."""

    def __init__(self, directory: Path, bundle: Bundle) -> None:
        self.directory = directory
        self._numbers = count()
        directory.mkdir()
        self.swap(bundle)
        for name in self._files(bundle):
            (directory / name).symlink_to(f"{DATA_SYMLINK}/{name}")

    def swap(self, bundle: Bundle) -> None:
        """Replace the content atomically and remove the old one."""
        data = self.directory / DATA_SYMLINK
        old = data.resolve() if data.is_symlink() else None
        fresh = self.directory / f"..2026_03_01_{next(self._numbers)}"
        fresh.mkdir()
        for name, content in self._files(bundle).items():
            (fresh / name).write_bytes(content)
        temporary = self.directory / "..data_tmp"
        temporary.symlink_to(fresh.name)
        temporary.rename(data)
        if old is not None:
            for file in old.iterdir():
                file.unlink()
            old.rmdir()

    @staticmethod
    def _files(bundle: Bundle) -> dict[str, bytes]:
        files = {CERTIFICATE_FILE: bundle.pair.certificate, KEY_FILE: bundle.pair.key}
        return files | ({AUTHORITIES_FILE: bundle.authorities} if bundle.authorities else {})
