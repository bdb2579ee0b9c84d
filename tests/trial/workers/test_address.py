# SPDX-License-Identifier: GPL-2.0-or-later
"""Where a campaign may run: nothing is sent to a scheduler that anybody could reach unasked."""

from __future__ import annotations

from pathlib import Path

import pytest
from certificates import signed

from nandlab.base.errors import UsageError
from nandlab.trial.workers.address import CampaignAddress, parse_campaign_address

HERE = ["tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:65535", "tcp://127.3.2.1:80"]
AWAY = ["tcp://10.0.0.1:8786", "tcp://board-farm:8786", "tcp://0.0.0.0:1", "tcp://[::]:1"]
NONE = ["", "local", "local:0", "local:-1", "127.0.0.1:8786", "tcp://", "tcp://a", "tcp://a:0"]
NONE += ["tcp://a:65536", "tcp://a b:1", "ucx://a:1", "tcp://127.0.0.1:8786/x", "inproc://1"]
TLS = '[tls]\nca = "ca.pem"\ncert = "cert.pem"\nkey = "key.pem"\n'


def test_processes_here_and_schedulers_on_this_machine_are_taken() -> None:
    assert parse_campaign_address("local:3") == CampaignAddress(processes=3)
    for words in HERE:
        assert parse_campaign_address(words) == CampaignAddress(scheduler=words)


@pytest.mark.parametrize("words", AWAY)
def test_another_machine_must_be_trusted_aloud(words: str) -> None:
    with pytest.raises(UsageError, match="or say --insecure"):
        parse_campaign_address(words)
    assert parse_campaign_address(words, insecure=True) == CampaignAddress(scheduler=words)


@pytest.mark.parametrize("words", NONE)
def test_what_is_no_address_is_refused(words: str) -> None:
    with pytest.raises(UsageError, match="give local:N"):
        parse_campaign_address(words, insecure=True)


def test_tls_needs_certificates() -> None:
    with pytest.raises(UsageError, match="under \\[tls\\]"):
        parse_campaign_address("tls://10.0.0.1:8786", insecure=True)


def campaign(folder: Path, scheduler: str, tls: str = TLS) -> str:
    for name, made in signed(folder / "made").items():
        made.rename(folder / f"{name}.pem")
    (folder / "farm.toml").write_text(f'scheduler = "{scheduler}"\n{tls}')
    return str(folder / "farm.toml")


def test_a_campaigns_file_names_certificates_beside_it(tmp_path: Path) -> None:
    found = parse_campaign_address(campaign(tmp_path, "tls://10.0.0.1:8786"))
    assert found.scheduler == "tls://10.0.0.1:8786"
    assert found.tls is not None
    assert found.tls.key == tmp_path / "key.pem"


@pytest.mark.parametrize(
    ("scheduler", "tls", "told"),
    [
        ("tls://10.0.0.1:8786", "", "name them in a campaign's file"),
        ("tcp://127.0.0.1:8786", TLS, "its scheduler is tls://"),
        ("tls://10.0.0.1:8786", TLS.replace("ca.pem", "no.pem"), "no.pem: no such file"),
        ("tls://10.0.0.1:8786", TLS + 'pin = "1"\n', "tls.pin"),
        ("local:2", TLS, "no address"),
    ],
)
def test_a_campaigns_file_that_cannot_be_believed_is_refused(
    tmp_path: Path, scheduler: str, tls: str, told: str
) -> None:
    with pytest.raises(UsageError, match=told) as raised:
        parse_campaign_address(campaign(tmp_path, scheduler, tls))
    assert str(tmp_path / "farm.toml") in str(raised.value)


def test_a_campaigns_file_that_is_not_there_is_refused() -> None:
    with pytest.raises(UsageError, match="no such file"):
        parse_campaign_address("nowhere.toml")
