"""The certificates of authorities that the operating system trusts."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import ssl

if sys.platform == "win32":

    def add_system_authorities(context: ssl.SSLContext) -> None:
        """Does nothing: Python has loaded those of the system."""

else:
    _FILES: Final = (
        "/etc/ssl/cert.pem",  # macOS, Alpine, FreeBSD
        "/etc/ssl/certs/ca-certificates.crt",  # Debian, Ubuntu, Arch
        "/etc/pki/tls/certs/ca-bundle.crt",  # Fedora, Red Hat
        "/etc/ssl/ca-bundle.pem",  # openSUSE
    )

    def add_system_authorities(context: ssl.SSLContext) -> None:
        """Loads the authorities of the system if Python looks for them where there are none.

        That is so on macOS with python.org's installer, until a script of its has been run, and in
        a program that was packaged on one distribution of Linux and runs on another.

        Args:
            context: made by `ssl.create_default_context` without a file of its own.
        """
        import ssl

        paths = ssl.get_default_verify_paths()
        if {paths.openssl_cafile_env, paths.openssl_capath_env} & os.environ.keys():
            return  # somebody has said whom to trust
        if paths.cafile is not None or (paths.capath and any(Path(paths.capath).iterdir())):
            return
        for file in map(Path, _FILES):
            if file.is_file():
                context.load_verify_locations(file)
                return
