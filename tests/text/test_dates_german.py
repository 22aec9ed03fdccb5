"""German times, read on Wednesday 18 February 2026."""

from __future__ import annotations

import pytest
from dates_table import days, rows

TABLE = """
Ich war gestern beim Zahnarzt | past | 2026-02-17
vorgestern kam das Paket | past | 2026-02-16
Heute habe ich frei | now | 2026-02-18
morgen früh fahre ich nach Köln | future | 2026-02-19
übermorgen ist die Prüfung | future | 2026-02-20
gestern Abend waren wir im Kino | past | 2026-02-17
heute Morgen war ich laufen | past | 2026-02-18
am Montag bekommen wir Besuch | future | 2026-02-23
Am Montag hat er angerufen | past | 2026-02-16
Freitagabend ist die Feier | future | 2026-02-20
nächsten Freitag ist Abgabe | future | 2026-02-27
diesen Freitag bin ich nicht da | future | 2026-02-20
letzten Dienstag war sie krank | past | 2026-02-10
kommenden Samstag ziehen wir um | future | 2026-02-21
am Freitag nächster Woche | future | 2026-02-27
nächste Woche Montag habe ich Urlaub | future | 2026-02-23
letzte Woche waren die Fliesen da | past | 2026-02-09..2026-02-15
nächsten Monat beginnt der Kurs | future | 2026-03-01..2026-03-31
letztes Jahr waren wir in Wien | past | 2025-01-01..2025-12-31
übernächste Woche bin ich weg | future | 2026-03-02..2026-03-08
vor drei Tagen kam die Rechnung | past | 2026-02-15
vor zwei Wochen habe ich gekündigt | past | 2026-02-04
vor einem Monat ist sie eingezogen | past | 2026-01-18
in zwei Wochen kommt sie zurück | future | 2026-03-04
in 10 Tagen geht es los | future | 2026-02-28
Sie kommt am 24. Dezember | future | 2026-12-24
am 3. Mai 2025 haben wir geheiratet | past | 2025-05-03
der Termin ist am 14. | future | 2026-03-14
Wir sind vom 3. bis 9. Mai weg | future | 2026-05-03..2026-05-09
zwischen dem 6. und dem 9. März | future | 2026-03-06..2026-03-09
3.-9. April Urlaub | none | 2026-04-03..2026-04-09
Rechnung vom 03.05.2025 | none | 2025-05-03
bis zum 2. Januar bleibt sie | future | 2027-01-02
Abgabe bis Freitag | future | 2026-02-20
er hat das Auto bis Freitag | now | 2026-02-18..2026-02-20
seit Montag ist die Heizung aus | now | 2026-02-16
ab Oktober studiert sie in Jena | future | 2026-10-01
im März ziehen wir um | future | 2026-03-01..2026-03-31
im August habe ich es verkauft | past | 2025-08-01..2025-08-31
Anfang Juni sind wir in Rom | future | 2026-06-01
Ende März läuft der Vertrag aus | future | 2026-03-21..2026-03-31
bis Ende März | future | 2026-03-31
Mitte Juni heiraten wir | future | 2026-06-10
in der KW 12 ist Messe | future | 2026-03-16..2026-03-22
letzten Sommer waren wir in Dänemark | past | 2025-06-01..2025-08-31
im Frühling wird gestrichen | future | 2026-03-01..2026-05-31
im dritten Quartal 2026 | future | 2026-07-01..2026-09-30
am Wochenende male ich das Zimmer | future | 2026-02-21..2026-02-22
2019 war ein schwieriges Jahr, im Jahr 2019 | none | 2019-01-01
jeden Montag gehe ich schwimmen | now | -
montags ist Chor | now | -
am ersten Montag im März | future | 2026-03-02
zwei Tage vor Weihnachten | future | 2026-12-23
Mittwoch, den 9. Juli um 11:15 Uhr | future | 2026-07-09
Ich habe 3 Katzen und einen Hund | none | -
seit zwei Jahren wohne ich hier | now | -
die Feier ist am 14.3.2026. | future | 2026-03-14
Termin 14.03.2026: 9 Uhr | none | 2026-03-14
am 3.5. 2025 sind wir umgezogen | past | 2025-05-03
der Laden hat 24/7 offen | now | -
ich nehme 1/2 Liter Milch | none | -
geöffnet Mo-Fr 9-17 Uhr | now | -
die Praxis hat von 9 bis 11 offen | now | -
Freitag 9-17 Uhr ist Flohmarkt | future | 2026-02-20
vom 3. bis 9. sind wir weg | future | 2026-03-03..2026-03-09
in vierzehn Tagen ziehen wir um | future | 2026-03-04
vor 1,5 Jahren sind wir umgezogen | past | 2024-08-18
sie wohnt seit dem 2. April hier | now | 2025-04-02
der Termin am 3. April wurde abgesagt | past | 2026-04-03
drei Tage später ist sie ausgezogen | past | -
seit dem 2. Lockdown arbeite ich daheim | now | -
der 2. Anlauf hat geklappt | past | -
am 14. Zahnarzt | future | 2026-03-14
seit dem 2. wohne ich hier | now | 2026-02-02
am Morgen war ich beim Arzt | past | -
guten Morgen, ich bin wieder da | none | -
am nächsten Morgen war er weg | past | -
gestern am Morgen hat es geregnet | past | 2026-02-17
morgen am Morgen habe ich Zeit | future | 2026-02-19
Freitag in einer Woche ist Premiere | future | 2026-02-27
heute in zwei Wochen fliegen wir | future | 2026-03-04
"""


@pytest.mark.parametrize(("text", "tense", "expected"), rows(TABLE))
def test_german_times_are_resolved_against_the_moment_they_were_said(text: str, tense: str, expected: str) -> None:
    assert days(text, tense, "de", expected) == expected
