"""Spanish times, read on Wednesday 18 February 2026."""

from __future__ import annotations

import pytest
from dates_table import days, rows

TABLE = """
ayer vi al médico | past | 2026-02-17
anteayer llegó el paquete | past | 2026-02-16
hoy tengo libre | now | 2026-02-18
mañana salgo para Sevilla | future | 2026-02-19
mañana por la mañana llamo | future | 2026-02-19
pasado mañana es el examen | future | 2026-02-20
anoche cenamos fuera | past | 2026-02-17
esta noche nos quedamos en casa | future | 2026-02-18
el lunes tengo la entrevista | future | 2026-02-23
lo operaron el lunes | past | 2026-02-16
el viernes por la tarde viajo | future | 2026-02-20
el próximo viernes es la entrega | future | 2026-02-27
este viernes no estoy | future | 2026-02-20
el martes pasado estuvo enferma | past | 2026-02-10
el viernes de la semana que viene | future | 2026-02-27
la semana pasada llegaron | past | 2026-02-09..2026-02-15
la semana que viene viajo | future | 2026-02-23..2026-03-01
el mes que viene empieza el curso | future | 2026-03-01..2026-03-31
el año pasado estuvimos en Viena | past | 2025-01-01..2025-12-31
hace tres días | past | 2026-02-15
hace dos semanas renuncié | past | 2026-02-04
hace un mes se mudó | past | 2026-01-18
dos semanas atrás | past | 2026-02-04
en dos semanas vuelve | future | 2026-03-04
dentro de diez días | future | 2026-02-28
viene el 24 de diciembre | future | 2026-12-24
nos casamos el 3 de mayo de 2025 | past | 2025-05-03
volvemos el 26 | future | 2026-02-26
la cita es el día 14 | future | 2026-03-14
del 3 al 9 de mayo | future | 2026-05-03..2026-05-09
del 3 al 9 no estamos | future | 2026-03-03..2026-03-09
entre el 6 y el 9 de marzo | future | 2026-03-06..2026-03-09
factura del 03/05/2025 | none | 2025-05-03
se queda hasta el 2 de enero | future | 2027-01-02
entregar antes del viernes | future | 2026-02-20
tiene el coche hasta el viernes | now | 2026-02-18..2026-02-20
retenido desde el lunes | now | 2026-02-16
a partir de octubre estudia | future | 2026-10-01
en marzo nos mudamos | future | 2026-03-01..2026-03-31
en agosto lo vendí | past | 2025-08-01..2025-08-31
a principios de junio | future | 2026-06-01
a finales de marzo acaba | future | 2026-03-21..2026-03-31
a mediados de junio | future | 2026-06-10
el verano pasado | past | 2025-06-01..2025-08-31
en primavera pintamos | future | 2026-03-01..2026-05-31
en el tercer trimestre de 2026 | future | 2026-07-01..2026-09-30
este fin de semana pinto | future | 2026-02-21..2026-02-22
la semana del 3 de mayo | future | 2026-04-27..2026-05-03
en 2019 cambié de vida | past | 2019-01-01
todos los lunes nado | now | -
los lunes hay coro | now | -
cada martes | now | -
el primer lunes de marzo | future | 2026-03-02
dos días antes de Navidad | future | 2026-12-23
miércoles 9 de julio a las 18 h | future | 2026-07-09
tengo 3 gatos y un perro | none | -
La boda fue el 14/3/2019. | past | 2019-03-14
abierto 24/7 | now | -
nos vamos el 24/7 | future | 2026-07-24
"""


@pytest.mark.parametrize(("text", "tense", "expected"), rows(TABLE))
def test_spanish_times_are_resolved_against_the_moment_they_were_said(text: str, tense: str, expected: str) -> None:
    assert days(text, tense, "es", expected) == expected
