"""Dutch times, read on Wednesday 18 February 2026."""

from __future__ import annotations

import pytest
from dates_table import days, rows

TABLE = """
gisteren was ik bij de dokter | past | 2026-02-17
eergisteren kwam het pakket | past | 2026-02-16
vandaag ben ik vrij | now | 2026-02-18
morgen rij ik naar Gent | future | 2026-02-19
morgenochtend bel ik | future | 2026-02-19
overmorgen is het examen | future | 2026-02-20
gisteravond zijn we uit eten geweest | past | 2026-02-17
vanavond blijven we thuis | future | 2026-02-18
maandag komt er iemand kijken | future | 2026-02-23
maandag heeft hij gebeld | past | 2026-02-16
vrijdagmiddag vertrek ik | future | 2026-02-20
volgende vrijdag is de deadline | future | 2026-02-27
deze vrijdag ben ik er niet | future | 2026-02-20
vorige dinsdag was ze ziek | past | 2026-02-10
komende zaterdag verhuizen we | future | 2026-02-21
vrijdag van volgende week | future | 2026-02-27
volgende week maandag heb ik vrij | future | 2026-02-23
vorige week kwamen de tegels | past | 2026-02-09..2026-02-15
volgende maand begint de cursus | future | 2026-03-01..2026-03-31
vorig jaar waren we in Wenen | past | 2025-01-01..2025-12-31
drie dagen geleden | past | 2026-02-15
twee weken geleden heb ik ontslag genomen | past | 2026-02-04
een maand geleden | past | 2026-01-18
over twee weken komt ze terug | future | 2026-03-04
binnen tien dagen | future | 2026-02-28
ze komt op 24 december | future | 2026-12-24
op 3 mei 2025 zijn we getrouwd | past | 2025-05-03
de afspraak is op de 14e | future | 2026-03-14
van 3 tot 9 mei zijn we weg | future | 2026-05-03..2026-05-09
van 3 t/m 9 mei | future | 2026-05-03..2026-05-09
tussen 6 en 9 maart | future | 2026-03-06..2026-03-09
factuur van 3-5-2025 | none | 2025-05-03
ze blijft tot 2 januari | future | 2027-01-02
inleveren voor vrijdag | future | 2026-02-20
hij heeft de auto tot vrijdag | now | 2026-02-18..2026-02-20
het dak is sinds maandag dicht | now | 2026-02-16
vanaf oktober studeert ze | future | 2026-10-01
in maart verhuizen we | future | 2026-03-01..2026-03-31
in augustus heb ik hem verkocht | past | 2025-08-01..2025-08-31
begin juni zijn we in Rome | future | 2026-06-01
eind maart loopt het af | future | 2026-03-21..2026-03-31
half juni trouwen we | future | 2026-06-10
afgelopen zomer | past | 2025-06-01..2025-08-31
in de lente wordt er geverfd | future | 2026-03-01..2026-05-31
in het derde kwartaal van 2026 | future | 2026-07-01..2026-09-30
in het weekend schilder ik | future | 2026-02-21..2026-02-22
de week van 3 mei | future | 2026-04-27..2026-05-03
in week 12 | future | 2026-03-16..2026-03-22
in 2019 ben ik verhuisd | past | 2019-01-01
elke maandag zwem ik | now | -
's maandags is er koor | now | -
de eerste maandag van maart | future | 2026-03-02
twee dagen voor kerst | future | 2026-12-23
woensdag 9 juli om 18 uur | future | 2026-07-09
ik heb 3 katten en een hond | none | -
het feest is op 17-06. | future | 2026-06-17
ik werk van 9 tot 5 | now | -
"""


@pytest.mark.parametrize(("text", "tense", "expected"), rows(TABLE))
def test_dutch_times_are_resolved_against_the_moment_they_were_said(text: str, tense: str, expected: str) -> None:
    assert days(text, tense, "nl", expected) == expected
