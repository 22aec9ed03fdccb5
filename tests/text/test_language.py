"""The language of short pieces of chat."""

from __future__ import annotations

import pytest

from engram.text.language import language_of


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("im Garten ist alles grün", "de"),
        ("Mila hat Fieber", "de"),
        ("im running late, start without me", "en"),
        ("we moved to uv, not pip", "en"),
        ("on a mangé chez eux hier soir", "fr"),
        ("el lunes tengo la entrevista", "es"),
        ("mudo de apartamento no dia 20", "pt"),
        ("vado al mare domani", "it"),
        ("ik ga morgen naar huis", "nl"),
        ("我下周一去上海出差", "zh"),
        ("来週の金曜に健康診断があります", "ja"),
        ("다음 주에 서울에 가요", "ko"),
        ("завтра я буду дома", "ru"),
        ("帮我把 README 翻成英文", "zh"),
        ("", ""),
        ("3.5.2026", ""),
    ],
)
def test_the_language_of_a_piece_is_recognised(text: str, code: str) -> None:
    assert language_of(text) == code
