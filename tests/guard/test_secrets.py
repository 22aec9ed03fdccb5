"""Keys, tokens and passwords are found; lookalikes and talk about them are not."""

from __future__ import annotations

import base64
import hashlib
import random
import string
import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.guard.secrets import NAMES, find

_DICE = random.Random(5)


def made(count: int, letters: str = string.ascii_letters + string.digits) -> str:
    """Assembled here, so that secret scanners do not report this file."""
    return "".join(_DICE.choice(letters) for _ in range(count))


TOKENS = [
    ("aws-key", "AKIA" + made(16, string.ascii_uppercase + "234567")),
    ("aws-key", f"AKIA{made(16, string.ascii_uppercase + '234567')} / {made(40, string.ascii_letters + '/+')}"),
    ("github-token", "ghp_" + made(36)),
    ("github-token", "github_pat_" + made(22) + "_" + made(59)),
    ("gitlab-token", "glpat-" + made(20)),
    ("slack-token", "xoxb-" + made(12, string.digits) + "-" + made(24)),
    ("stripe-key", "sk_live_" + made(24)),
    ("model-key", "sk-" + made(48)),
    ("model-key", "sk-ant-api03-" + made(80)),
    ("model-key", "sk-proj-" + made(60)),
    ("model-key", "hf_" + made(34)),
    ("google-key", "AIza" + made(35)),
    ("npm-token", "npm_" + made(36)),
    ("pypi-token", "pypi-" + made(120)),
    ("azure-key", "AccountKey=" + made(86) + "=="),
    ("sendgrid-key", "SG." + made(22) + "." + made(43)),
    ("telegram-token", made(9, "123456789") + ":AA" + made(33)),
    ("jwt", "eyJ" + made(20) + ".eyJ" + made(60) + "." + made(43)),
    ("private-key", f"-----BEGIN RSA PRIVATE KEY-----\n{made(64)}\n{made(64)}\n-----END RSA PRIVATE KEY-----"),
    ("private-key", f"-----BEGIN OPENSSH PRIVATE KEY-----\n{made(64)}"),
]


@pytest.mark.parametrize(("kind", "token"), TOKENS, ids=[f"{kind}-{n}" for n, (kind, _) in enumerate(TOKENS)])
@pytest.mark.parametrize("around", ["{}", "Use {} for now, please.", "export KEY={}\n", '{{"key": "{}"}}', "(`{}`)"])
def test_tokens_with_a_vendor_format_are_found(kind: str, token: str, around: str) -> None:
    text = around.format(token)
    (found,) = find(text)
    assert found.kind == kind
    assert text[found.start : found.end] == token or (kind == "private-key" and token in text[found.start : found.end])
    assert kind in NAMES


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        ("my password is hunter2", "hunter2"), ("password: Tr0ub4dor&3", "Tr0ub4dor&3"), ("Password = 'letmein99'", "letmein99"),
        ("My password is swordfish.", "swordfish"), ("the wifi password is BlueHouse7!", "BlueHouse7"),
        ("pwd=s3cret!x", "s3cret!x"), ("password=letmein host=db.local", "letmein"), ("pw: Tr0ub4dor&3", "Tr0ub4dor&3"),
        ("The password for the router is qwerty12", "qwerty12"), ("My PIN is 4711", "4711"),
        ("passphrase: 'opensesame'", "opensesame"),
        ("passphrase: correct horse battery staple", "correct horse battery staple"),
        ("My passphrase is correct horse battery staple and I like it.", "correct horse battery staple"),
        ("the password is 'winter sunshine'", "winter sunshine"),
        ("seed phrase: legal winner thank year wave sausage", "legal winner thank year wave sausage"),
        ("postgres://admin:hunter2@db.local:5432/app", "hunter2"), ("redis://:p4ss@cache", "p4ss"),
        ("Authorization: Bearer 8f3KdkQ0sLmZpX7vB2nR", "8f3KdkQ0sLmZpX7vB2nR"),
        ("api_key = 'Zx81kQpL0mWv93Ty'", "Zx81kQpL0mWv93Ty"), ("CLIENT_SECRET=9Qm2Xv7LpK4tR8zW1sD", "9Qm2Xv7LpK4tR8zW1sD"),
        ("aws_secret_access_key: wJalrXUt3FEMI0K7MDENG1bPxRfiCYzEXAMPLEKEY", "wJalrXUt3FEMI0K7MDENG1bPxRfiCYzEXAMPLEKEY"),
        ("our access token is q8Zt4LmP0xVc7Nb2", "q8Zt4LmP0xVc7Nb2"),
    ],
)  # fmt: skip
def test_labelled_secrets_are_found(text: str, secret: str) -> None:
    (found,) = find(text)
    assert text[found.start : found.end] == secret


@pytest.mark.parametrize(
    "text",
    [
        "my password manager is Bitwarden", "I forgot my password again.", "The password is too short.",
        "My password is expired.",
        "passphrase: see the wiki page", "My passphrase is four random words I made up.", "password is the name of my dog",
        "The catch phrase: winter sunshine forever young", 'The password is "not required here"',
        "My passphrase is hard to guess",
        "The token is missing", "the secret is practice", "The secret of good bread is time and 48 hours of rest.",
        "I changed the password because it was weak.", "password: ********", "password: ${DB_PASSWORD}",
        "password = get_password()",
        "password: Optional[str] = None", "password = config.password", "API key: see the vault", "The key is under the mat.",
        "Commit 3f2a9c1b7d8e4f60a1b2c3d4e5f60718293a4b5c fixed it.", str(uuid.UUID(int=7**40)), hashlib.sha256(b"x").hexdigest(),
        "data:image/png;base64," + base64.b64encode(bytes(range(256))).decode(), "https://example.org:8080/a@b",
        "mailto:ann@example.org",
        "Token ring networks were common.", "sk-learn is a library, and so is scikit-learn-intelex-for-windows",
        "My pin collection is large", "We passed: 12 of 14 tests", "ghp_short", "I can't pass: the road is closed.",
        "The session token expires after 30 minutes", "password: must be at least 12 characters", "token count is 4096 today",
        "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----", "AKIA" + "A" * 16, "the keyboard: QWERTZ",
        "Passwort und Geheimnis sind deutsche Wörter.", "git@github.com:owner/repo.git", "ssh://git@host/repo", "a token: 5",
    ],
)  # fmt: skip
def test_text_about_secrets_and_lookalikes_is_not_a_secret(text: str) -> None:
    assert find(text) == ()


@given(st.text(max_size=200))
def test_spans_of_secrets_are_ordered_and_do_not_overlap(text: str) -> None:
    end = 0
    for secret in find(text):
        assert end <= secret.start < secret.end <= len(text)
        end = secret.end


@pytest.mark.parametrize(
    "hostile",
    [
        "a" * 1_000_000, "password" * 125_000, "password for " * 80_000, "password is " * 80_000, "eyJ" * 330_000,
        "://" * 330_000,
        "a://b:" * 160_000, "-----BEGIN PRIVATE KEY-----" * 30_000, "sk-" + "a" * 1_000_000, "ghp_" * 250_000, " " * 1_000_000,
        "bearer " * 140_000, "password:" + " " * 1_000_000, "eyJ" + "a" * 500_000 + ".eyJ" + "b" * 500_000,
    ],
    ids=range(14),
)  # fmt: skip
def test_adversarial_megabytes_are_scanned_in_linear_time(hostile: str) -> None:
    """A quadratic pattern would take hours, and fail by the time limit of the suite."""
    find(hostile)
