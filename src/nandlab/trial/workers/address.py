# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a campaign runs: ``local:N``, a scheduler's address, or a campaign's file.

A Dask scheduler runs whatever anyone sends it who can reach it. So one that is not on this machine
must ask for certificates, unless the user says aloud that it need not.
"""

from __future__ import annotations

import ipaddress
import re
import ssl
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field

from nandlab.base.errors import UsageError
from nandlab.base.gate import read_toml
from nandlab.base.strings import Line
from nandlab.catalog.files import validate_data
from nandlab.catalog.noun import StrictModel

ADDRESS = re.compile(r"(tcp|tls)://(\[[0-9a-fA-F:.%]+\]|[\w.-]+):(\d{1,5})")
LOCAL = re.compile(r"local:([1-9]\d{0,3})")
FORMS = "give local:N, tcp://HOST:PORT, or a campaign's file (docs/campaigns.md)"


class TlsCertificates(StrictModel):
    """The files of one side of TLS, relative to the campaign's file."""

    ca: Path = Field(
        strict=False, description="certificate of who signs scheduler and workers, PEM"
    )
    cert: Path = Field(strict=False, description="certificate of this side, PEM")
    key: Path = Field(strict=False, description="its key, PEM")


class CampaignFile(StrictModel):
    """A campaign's file: which scheduler, and how it is to be believed."""

    scheduler: Line
    tls: TlsCertificates | None = None


@dataclass(frozen=True)
class CampaignAddress:
    """Where a campaign runs. Either ``processes`` or ``scheduler`` is given."""

    processes: int = 0
    scheduler: str = ""
    tls: TlsCertificates | None = None


def parse_campaign_address(words: str, *, insecure: bool = False) -> CampaignAddress:
    """Reads what ``--on`` is given; UsageError tells why trials will not be sent there."""
    if found := LOCAL.fullmatch(words):
        return CampaignAddress(processes=int(found[1]))
    if words.endswith(".toml"):
        return _read_campaign_file(Path(words), insecure)
    return _parse_scheduler(words, None, f"--on {words}", insecure)


def _read_campaign_file(path: Path, insecure: bool) -> CampaignAddress:
    told = validate_data(read_toml(path), CampaignFile, str(path))
    tls = told.tls and TlsCertificates(**{k: path.parent / v for k, v in told.tls})
    if tls is not None:
        _refuse_bad_certificates(tls, path)
    return _parse_scheduler(told.scheduler, tls, f"{path}: scheduler", insecure)


def _refuse_bad_certificates(tls: TlsCertificates, path: Path) -> None:
    """UsageError if TLS cannot begin with these files; who answers tells if they are believed."""
    for what, file in tls:
        if not file.is_file():
            raise UsageError(f"{path}: tls.{what}: {file}: no such file")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    try:
        context.load_verify_locations(tls.ca)
    except (ssl.SSLError, OSError) as e:
        raise UsageError(
            f"{path}: tls.ca: {tls.ca}: no certificate in PEM: {_format_ssl_error(e)}"
        ) from None
    try:
        context.load_cert_chain(tls.cert, tls.key, password="")
    except (ssl.SSLError, OSError) as e:
        raise UsageError(
            f"{path}: tls.cert and tls.key: {tls.cert} and {tls.key} are no certificate with its "
            f"key, in PEM and without a password: {_format_ssl_error(e)}"
        ) from None


def _format_ssl_error(error: OSError) -> str:
    """What OpenSSL says, without the place in Python's source."""
    return re.sub(r" \(_ssl\.c:\d+\)", "", error.strerror or str(error))


def _parse_scheduler(
    address: str, tls: TlsCertificates | None, where: str, insecure: bool
) -> CampaignAddress:
    found = ADDRESS.fullmatch(address)
    if not found or not 0 < int(found[3]) < 65536:
        raise UsageError(f"{where}: no address of a scheduler: {FORMS}")
    kind, host = found[1], found[2].strip("[]")
    if (kind == "tls") != (tls is not None):
        wants = "names certificates: its scheduler is tls://" if tls else "needs certificates"
        raise UsageError(f"{where}: {address} {wants}: name them in a campaign's file, under [tls]")
    if kind == "tcp" and not insecure and not _is_loopback(host):
        raise UsageError(
            f"{where}: whoever reaches {address} can run programs on its workers: use tls:// and "
            "certificates, or say --insecure"
        )
    return CampaignAddress(scheduler=address, tls=tls)


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
