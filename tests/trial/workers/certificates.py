# SPDX-License-Identifier: GPL-2.0-or-later
"""Certificates for tests of TLS."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import trustme


def signed(folder: Path, *, days: int = 2) -> dict[str, Path]:
    """Makes an authority, and a certificate that it signed: files by ca, cert and key.

    days: how long the certificate is good for; below 0: it has expired.
    """
    folder.mkdir()
    files = {name: folder / f"{name}.pem" for name in ("ca", "cert", "key")}
    authority = trustme.CA()
    now = datetime.now(UTC)
    node = authority.issue_cert(
        common_name="node",
        not_before=now - timedelta(days=abs(days) + 1),
        not_after=now + timedelta(days=days),
    )
    authority.cert_pem.write_to_path(str(files["ca"]))
    node.private_key_pem.write_to_path(str(files["key"]))
    node.cert_chain_pems[0].write_to_path(str(files["cert"]))
    return files


def campaign(path: Path, scheduler: str, files: dict[str, Path]) -> str:
    """Writes a campaign's file; its path."""
    told = "".join(f'{name} = "{file}"\n' for name, file in files.items())
    path.write_text(f'scheduler = "{scheduler}"\n[tls]\n{told}')
    return str(path)
