"""Personal data is found by check digits, form or label; lookalikes are not. C8"""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram.guard import personal_data
from engram.types import Sensitivity

SEEN = [
    ("national-id", "我的身份证是11010519491231002X。", "11010519491231002X"),
    ("tax-id", "Meine Steuer-ID lautet: 86 095 742 719", "86 095 742 719"),
    ("phone", "我的电话是13812345678", "13812345678"),
    ("credit-card", "我的卡号是4111111111111111，请记住", "4111111111111111"),
    ("phone", "mi teléfono: 612345678", "612345678"),
    ("email", "write to ann@mail.example: she knows", "ann@mail.example"),
    ("credit-card", "Pay with 4111 1111 1111 1111 please", "4111 1111 1111 1111"),
    ("credit-card", "my card 5500005555555559 expires", "5500005555555559"),
    ("iban", "wire it to GB82 WEST 1234 5698 7654 32 today", "GB82 WEST 1234 5698 7654 32"),
    ("iban", "My IBAN is DE89370400440532013000.", "DE89370400440532013000"),
    ("ssn", "SSN: 078-05-1120", "078-05-1120"),
    ("ssn", "her social security number is 219099999", "219099999"),
    ("email", "write to ann.lee+x@mail.example.org.", "ann.lee+x@mail.example.org"),
    ("phone", "call me at 555 0142 tonight", "555 0142"),
    ("phone", "+44 20 7946 0958 is the desk", "+44 20 7946 0958"),
    ("phone", "(212) 555-0187 rings", "(212) 555-0187"),
    ("ip-address", "blocked 203.0.113.77 again", "203.0.113.77"),
    ("ip-address", "ping 2001:db8:0:0:0:0:2:1 now", "2001:db8:0:0:0:0:2:1"),
    ("mac-address", "the printer is 00:1B:44:11:3A:B7", "00:1B:44:11:3A:B7"),
    ("passport", "my passport number is X1234567", "X1234567"),
    ("driver-license", "driver's license number: D123-4567-8901", "D123-4567-8901"),
    ("date-of-birth", "What is your date of birth? It's 3/14/1988", "3/14/1988"),
    ("date-of-birth", "born on 4 March 1971 in a small town", "4 March 1971"),
    ("routing-number", "routing number 021000021", "021000021"),
    ("bank-account", "my account number is 000123456789", "000123456789"),
    ("medical-number", "NHS number 943 476 5919", "943 476 5919"),
    ("crypto-wallet", "send to 1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2", "1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2"),
    ("crypto-wallet", "or bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq", "bc1qar0srrr7xfkvy5l643lydnw9re59gtzzwf5mdq"),
    ("address", "I live at 12 Mill Road, Apt. 4", "12 Mill Road, Apt. 4"),
    ("address", "ship it to Lindenstraße 44", "Lindenstraße 44"),
    ("postal-code", "my zip code is 90210", "90210"),
    ("identity", "my name is Orla Quist", "Orla Quist"),
    ("person", "we met Dr. Quist there", "Quist"),
    ("url", "see https://quist.example/blog.", "https://quist.example/blog"),
]


@pytest.mark.parametrize(("kind", "text", "value"), SEEN, ids=lambda part: str(part)[:24])
def test_personal_data_is_found_with_its_kind_and_span(kind: str, text: str, value: str) -> None:
    assert (kind, value) in [(one.kind, text[one.start : one.end]) for one in personal_data.find(text)]


@pytest.mark.parametrize(
    "text",
    [
        "4111 1111 1111 1112 is no card",
        "GB82 WEST 1234 5698 7654 33",
        "released 2024-05-17 at 10:30:00",
        "python 3.11.9.1 and version 10.0.0.1",
        "pi is 3.14159265 and e 2.718281828",
        "ISBN 9780131103627",
        "a 10 minute walk, 5 great places, 3-5 teas a day",
        "16 17 18 19 20 21 22",
        "the years 1914-1918",
        "I lost my passport",
        "what is a social security number?",
        "send to 1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN3",
        "my name is important to me",
        "it listens at 127.0.0.1:5432 and on 0.0.0.0",
        "git clone git@forge.example:team/tool.git",
        "身份证 110105194912310021",
        "Steuer-ID 86095742718",
    ],
)
def test_lookalikes_of_personal_data_stay_cleartext(text: str) -> None:
    assert personal_data.sensitivity_of(personal_data.find(text)) is Sensitivity.CLEARTEXT


def test_the_most_sensitive_span_decides_the_sensitivity_of_a_text() -> None:
    assert personal_data.sensitivity_of(personal_data.find("Quist lives in Oslo and likes jazz")) is Sensitivity.CLEARTEXT
    assert personal_data.sensitivity_of(personal_data.find("mail ann@mail.example")) is Sensitivity.SENSITIVE
    assert personal_data.sensitivity_of(personal_data.find("mail ann@mail.example, SSN 078-05-1120")) is Sensitivity.CONFIDENTIAL
    assert personal_data.sensitivity_of(personal_data.find("the token is ghp_" + "a1B2c3D4e5" * 4)) is Sensitivity.CONFIDENTIAL


def test_masking_leaves_the_rest_of_the_sentence() -> None:
    assert personal_data.mask("mail ann@mail.example about the boat") == "mail [email] about the boat"
    assert personal_data.mask("Dr. Quist likes boats") == "Dr. Quist likes boats"


def test_the_fast_search_finds_all_sensitive_spans() -> None:
    for _, text, _ in SEEN:
        assert personal_data.find_sensitive(text) == tuple(
            one for one in personal_data.find(text) if one.tier is not Sensitivity.CLEARTEXT
        )


@given(st.text(max_size=300))
def test_spans_are_ordered_and_inside_the_text_and_do_not_overlap(text: str) -> None:
    end = 0
    for one in personal_data.find(text):
        assert end <= one.start < one.end <= len(text)
        end = one.end


@given(st.integers(0, 10**15))
def test_one_changed_digit_breaks_the_checksum(number: int) -> None:
    for check in range(10):
        if personal_data.passes_luhn(f"{number}{check}"):
            assert not personal_data.passes_luhn(f"{number}{(check + 1) % 10}")
