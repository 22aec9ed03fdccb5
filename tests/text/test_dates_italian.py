"""Italian times, read on Wednesday 18 February 2026."""

from __future__ import annotations

import pytest
from dates_table import days, rows

TABLE = """
ieri sono andata dal medico | past | 2026-02-17
l'altro ieri è arrivato il pacco | past | 2026-02-16
oggi sono libero | now | 2026-02-18
domani parto per Roma | future | 2026-02-19
domattina chiamo | future | 2026-02-19
dopodomani c'è l'esame | future | 2026-02-20
ieri sera siamo usciti | past | 2026-02-17
stasera restiamo a casa | future | 2026-02-18
lunedì ho il colloquio | future | 2026-02-23
lunedì mi ha chiamato | past | 2026-02-16
venerdì pomeriggio viaggio | future | 2026-02-20
venerdì prossimo c'è la consegna | future | 2026-02-27
questo venerdì non ci sono | future | 2026-02-20
martedì scorso era malata | past | 2026-02-10
venerdì della prossima settimana | future | 2026-02-27
la settimana scorsa sono arrivate | past | 2026-02-09..2026-02-15
la prossima settimana parto | future | 2026-02-23..2026-03-01
il mese prossimo inizia il corso | future | 2026-03-01..2026-03-31
l'anno scorso eravamo a Vienna | past | 2025-01-01..2025-12-31
tre giorni fa | past | 2026-02-15
due settimane fa mi sono licenziato | past | 2026-02-04
un mese fa si è trasferita | past | 2026-01-18
tra due settimane torna | future | 2026-03-04
fra dieci giorni | future | 2026-02-28
arriva il 24 dicembre | future | 2026-12-24
ci siamo sposati il 3 maggio 2025 | past | 2025-05-03
inizio il 1 marzo | future | 2026-03-01
l'appuntamento è il 14 | future | 2026-03-14
dal 3 al 9 maggio | future | 2026-05-03..2026-05-09
dal 3 al 9 non ci siamo | future | 2026-03-03..2026-03-09
tra il 6 e il 9 marzo | future | 2026-03-06..2026-03-09
fattura del 03/05/2025 | none | 2025-05-03
resta fino al 2 gennaio | future | 2027-01-02
il saldo va versato entro venerdì | future | 2026-02-20
ha la macchina fino a venerdì | now | 2026-02-18..2026-02-20
è chiuso da lunedì | now | 2026-02-16
da settembre va alla materna | future | 2026-09-01
a partire da ottobre studia | future | 2026-10-01
a marzo traslochiamo | future | 2026-03-01..2026-03-31
ad agosto l'ho venduto | past | 2025-08-01..2025-08-31
all'inizio di giugno | future | 2026-06-01
a fine marzo scade | future | 2026-03-21..2026-03-31
a metà giugno | future | 2026-06-10
l'estate scorsa | past | 2025-06-01..2025-08-31
in primavera ridipingiamo | future | 2026-03-01..2026-05-31
nel terzo trimestre 2026 | future | 2026-07-01..2026-09-30
questo fine settimana dipingo | future | 2026-02-21..2026-02-22
la settimana del 3 maggio | future | 2026-04-27..2026-05-03
nel 2019 ho cambiato vita | past | 2019-01-01
ogni lunedì nuoto | now | -
il lunedì c'è il coro | now | -
tutti i martedì | now | -
il primo lunedì di marzo | future | 2026-03-02
due giorni prima di Natale | future | 2026-12-23
mercoledì 9 luglio alle 18 | future | 2026-07-09
il martedì 14 aprile | future | 2026-04-14
ho 3 gatti e un cane | none | -
il voto va da 1 a 10 | none | -
due giorni dopo è partita | past | -
la prima settimana di gennaio 2025 ero a Roma | past | 2024-12-30
"""


@pytest.mark.parametrize(("text", "tense", "expected"), rows(TABLE))
def test_italian_times_are_resolved_against_the_moment_they_were_said(text: str, tense: str, expected: str) -> None:
    assert days(text, tense, "it", expected) == expected
