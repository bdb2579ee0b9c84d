# SPDX-License-Identifier: GPL-2.0-or-later
"""Certificates for tests of TLS, made by OpenSSL."""

from __future__ import annotations

import subprocess
from pathlib import Path


def signed(folder: Path, *, days: int = 2) -> dict[str, Path]:
    """Makes an authority, and a certificate that it signed: files by ca, cert and key.

    days: how long the certificate is good for; below 0: it has expired.
    """
    folder.mkdir()
    files = {name: folder / f"{name}.pem" for name in ("ca", "cert", "key")}
    new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
    _openssl(folder, "req", "-x509", *new, "-keyout", "ca.key", "-out", "ca.pem", "-subj", "/CN=ca")
    _openssl(folder, "req", *new, "-keyout", "key.pem", "-out", "cert.csr", "-subj", "/CN=node")
    by = ["-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-days", str(days)]
    _openssl(folder, "x509", "-req", "-in", "cert.csr", *by, "-out", "cert.pem")
    return files


def campaign(path: Path, scheduler: str, files: dict[str, Path]) -> str:
    """Writes a campaign's file; its path."""
    told = "".join(f'{name} = "{file}"\n' for name, file in files.items())
    path.write_text(f'scheduler = "{scheduler}"\n[tls]\n{told}')
    return str(path)


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True, timeout=60)
