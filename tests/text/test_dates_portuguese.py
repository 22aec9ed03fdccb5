"""Portuguese times, read on Wednesday 18 February 2026."""

from __future__ import annotations

import pytest
from dates_table import days, rows

TABLE = """
ontem fui ao médico | past | 2026-02-17
anteontem chegou a encomenda | past | 2026-02-16
hoje estou de folga | now | 2026-02-18
amanhã viajo para o Porto | future | 2026-02-19
amanhã de manhã ligo | future | 2026-02-19
depois de amanhã é a prova | future | 2026-02-20
ontem à noite jantamos fora | past | 2026-02-17
hoje à noite ficamos em casa | future | 2026-02-18
na segunda tenho entrevista | future | 2026-02-23
na segunda-feira ele ligou | past | 2026-02-16
sexta à tarde viajo | future | 2026-02-20
na próxima sexta é a entrega | future | 2026-02-27
nesta sexta não estou | future | 2026-02-20
na terça passada ela ficou doente | past | 2026-02-10
sexta-feira da semana que vem | future | 2026-02-27
a semana passada chegaram | past | 2026-02-09..2026-02-15
semana que vem viajo | future | 2026-02-23..2026-03-01
no próximo mês começa o curso | future | 2026-03-01..2026-03-31
no ano passado fomos a Viena | past | 2025-01-01..2025-12-31
há três dias | past | 2026-02-15
há duas semanas pedi demissão | past | 2026-02-04
faz um mês que se mudou | past | 2026-01-18
duas semanas atrás | past | 2026-02-04
daqui a duas semanas ela volta | future | 2026-03-04
em dez dias | future | 2026-02-28
ela vem em 24 de dezembro | future | 2026-12-24
casámos a 3 de maio de 2025 | past | 2025-05-03
mudo de apartamento no dia 20 | future | 2026-02-20
a consulta é dia 14 | future | 2026-03-14
de 3 a 9 de maio | future | 2026-05-03..2026-05-09
do dia 3 ao dia 9 | future | 2026-03-03..2026-03-09
entre os dias 6 e 9 de março | future | 2026-03-06..2026-03-09
fatura de 03/05/2025 | none | 2025-05-03
fica até 2 de janeiro | future | 2027-01-02
entregar até sexta | future | 2026-02-20
ele está com o carro até sexta | now | 2026-02-18..2026-02-20
parado desde segunda | now | 2026-02-16
a partir de outubro estuda | future | 2026-10-01
em março mudamos | future | 2026-03-01..2026-03-31
em agosto vendi | past | 2025-08-01..2025-08-31
no início de junho | future | 2026-06-01
no final de março acaba | future | 2026-03-21..2026-03-31
em meados de junho | future | 2026-06-10
no verão passado | past | 2025-06-01..2025-08-31
na primavera pintamos | future | 2026-03-01..2026-05-31
no terceiro trimestre de 2026 | future | 2026-07-01..2026-09-30
neste fim de semana pinto | future | 2026-02-21..2026-02-22
na semana do dia 3 de maio | future | 2026-04-27..2026-05-03
em 2019 mudei de vida | past | 2019-01-01
todas as segundas nado | now | -
às segundas tenho coro | now | -
toda terça | now | -
a primeira segunda-feira de março | future | 2026-03-02
dois dias antes do Natal | future | 2026-12-23
quarta-feira, 9 de julho, às 18h | future | 2026-07-09
sábado tem churrasco | future | 2026-02-21
tenho 3 gatos e um cão | none | -
"""


@pytest.mark.parametrize(("text", "tense", "expected"), rows(TABLE))
def test_portuguese_times_are_resolved_against_the_moment_they_were_said(text: str, tense: str, expected: str) -> None:
    assert days(text, tense, "pt", expected) == expected
