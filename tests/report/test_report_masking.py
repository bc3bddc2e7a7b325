"""Secrets stay out of the page; what only looks alike stays in."""

from __future__ import annotations

import pytest

from merlinkit.report.masking import HIDDEN, masked, masked_text


@pytest.mark.parametrize(
    "key",
    [
        "password",
        "db_password",
        "SECRET",
        "aws_secret_access_key",
        "aws_access_key_id",
        "account_key",
        "api_key",
        "apiKey",
        "token",
        "hf_token",
        "aws_session_token",
        "storage.token",
        "credentials",
        "dbPassword",
        "s3AccessKey",
        "connection_string",
    ],
)
def test_values_of_secret_keys_are_hidden(key: str) -> None:
    assert masked({"outer": [{key: "s3cr3t"}]}) == {"outer": [{key: HIDDEN}]}
    assert masked({key: {"inner": "s3cr3t"}}) == {key: HIDDEN}
    assert masked({key: 1234}) == {key: HIDDEN}
    assert "s3cr3t" not in masked_text(f"merlinkit run {key}=s3cr3t seed=1")


@pytest.mark.parametrize(
    "key",
    [
        "max_tokens",
        "tokenizer",
        "key",
        "keys",
        "primary_key",
        "monkey",
        "seed",
        "passes",
        "user_id",
    ],
)
def test_other_keys_keep_their_values(key: str) -> None:
    content = {key: "value", "list": ["password", "token"]}
    assert masked(content) == content
    command = f"merlinkit run {key}=value"
    assert masked_text(command) == command


def test_unset_secrets_stay_visible() -> None:
    content = {"password": None, "token": "", "api_key": False}
    assert masked(content) == content


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        ("run a.password='x y' b=1", "run a.password=(hidden) b=1"),
        ('run a.password="x y" b=1', "run a.password=(hidden) b=1"),
        ("run +store={password:abc,region:eu}", "run +store={password:(hidden),region:eu}"),
        ("run s=s3://me:pw@host/a", "run s=s3://(hidden)@host/a"),
        ("run '++store.api_key=abc' b=1", "run '++store.api_key=(hidden)' b=1"),
    ],
)
def test_commands_keep_all_but_the_secret(command: str, expected: str) -> None:
    assert masked_text(command) == expected
