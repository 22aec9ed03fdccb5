"""French times, read on Wednesday 18 February 2026."""

from __future__ import annotations

import pytest
from dates_table import days, rows

TABLE = """
hier j'ai vu le médecin | past | 2026-02-17
avant-hier le colis est arrivé | past | 2026-02-16
aujourd'hui je suis en congé | now | 2026-02-18
je pars demain matin | future | 2026-02-19
après-demain c'est l'examen | future | 2026-02-20
hier soir on a mangé chez eux | past | 2026-02-17
ce matin j'ai couru | past | 2026-02-18
ce soir on reste à la maison | future | 2026-02-18
lundi je commence | future | 2026-02-23
lundi il m'a appelé | past | 2026-02-16
samedi matin je pars à Nantes | future | 2026-02-21
vendredi prochain c'est la fête | future | 2026-02-27
ce vendredi je ne suis pas là | future | 2026-02-20
mardi dernier elle était malade | past | 2026-02-10
vendredi de la semaine prochaine | future | 2026-02-27
la semaine dernière on a reçu le carrelage | past | 2026-02-09..2026-02-15
le mois prochain le cours commence | future | 2026-03-01..2026-03-31
l'année dernière nous étions à Vienne | past | 2025-01-01..2025-12-31
l'an prochain | future | 2027-01-01..2027-12-31
il y a trois jours | past | 2026-02-15
il y a deux semaines j'ai démissionné | past | 2026-02-04
il y a un mois | past | 2026-01-18
dans deux semaines elle revient | future | 2026-03-04
dans une dizaine de jours | future | 2026-02-28
elle arrive le 24 décembre | future | 2026-12-24
on s'est mariés le 3 mai 2025 | past | 2025-05-03
le 1er mars je change de poste | future | 2026-03-01
rendez-vous le 14 | future | 2026-03-14
du 3 au 9 mai on est absents | future | 2026-05-03..2026-05-09
du 3 au 9 on est absents | future | 2026-03-03..2026-03-09
entre le 6 et le 9 mars | future | 2026-03-06..2026-03-09
facture du 03/05/2025 | none | 2025-05-03
elle reste jusqu'au 2 janvier | future | 2027-01-02
à rendre avant vendredi | future | 2026-02-20
il a la voiture jusqu'à vendredi | now | 2026-02-18..2026-02-20
depuis lundi le chauffage est coupé | now | 2026-02-16
à partir d'octobre elle étudie | future | 2026-10-01
en mars on déménage | future | 2026-03-01..2026-03-31
en août je l'ai vendu | past | 2025-08-01..2025-08-31
début juin on est à Rome | future | 2026-06-01
le contrat finit fin mars | future | 2026-03-21..2026-03-31
d'ici fin mars | future | 2026-03-31
mi-juin on se marie | future | 2026-06-10
l'été dernier on était au Danemark | past | 2025-06-01..2025-08-31
au printemps on repeint | future | 2026-03-01..2026-05-31
au troisième trimestre 2026 | future | 2026-07-01..2026-09-30
ce week-end je peins la chambre | future | 2026-02-21..2026-02-22
la semaine du 3 mai | future | 2026-04-27..2026-05-03
en 2019 j'ai changé de vie | past | 2019-01-01
tous les lundis je nage | now | -
ouvert le lundi | now | -
chaque mardi chorale | now | -
le premier lundi de mars | future | 2026-03-02
deux jours avant Noël | future | 2026-12-23
mercredi 9 juillet à 18 h | future | 2026-07-09
le mardi 14 avril | future | 2026-04-14
j'ai 3 chats et un chien | none | -
la nuit dernière il a plu | past | 2026-02-17
je pars dans quinze jours | future | 2026-03-04
la veille il était malade | past | -
le lendemain on est rentrés | past | -
on se voit lundi en huit | future | 2026-03-02
"""


@pytest.mark.parametrize(("text", "tense", "expected"), rows(TABLE))
def test_french_times_are_resolved_against_the_moment_they_were_said(text: str, tense: str, expected: str) -> None:
    assert days(text, tense, "fr", expected) == expected
