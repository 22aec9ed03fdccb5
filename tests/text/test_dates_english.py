"""English times, read on Wednesday 18 February 2026."""

from __future__ import annotations

import pytest
from dates_table import days, rows

TABLE = """
I saw the doctor yesterday | past | 2026-02-17
the parcel came the day before yesterday | past | 2026-02-16
the exam is the day after tomorrow | future | 2026-02-20
tomorrow morning I drive to Leeds | future | 2026-02-19
he had a temperature last night | past | 2026-02-17
retrying tonight | future | 2026-02-18
on Monday we get visitors | future | 2026-02-23
he called on Monday | past | 2026-02-16
it's ready Friday | none | 2026-02-20
the party is next Friday | future | 2026-02-27
I'm off this Friday | future | 2026-02-20
she was ill last Tuesday | past | 2026-02-10
we move this coming Saturday | future | 2026-02-21
Tuesday next week I start | future | 2026-02-24
the tiles came last week | past | 2026-02-09..2026-02-15
the course starts next month | future | 2026-03-01..2026-03-31
we were in Vienna last year | past | 2025-01-01..2025-12-31
I'm away the week after next | future | 2026-03-02..2026-03-08
the invoice came three days ago | past | 2026-02-15
I quit two weeks ago | past | 2026-02-04
she moved in a month ago | past | 2026-01-18
they come back in two weeks | future | 2026-03-04
two weeks from now | future | 2026-03-04
she is landing on the 19th not the 21st | future | 2026-02-19
moved in on the 1st | past | 2026-02-01
his birthday is the 22nd | none | 2026-02-22
surgery on July 8 | none | 2026-07-08
the thesis is due July 15 | future | 2026-07-15
due 9 jan | future | 2027-01-09
we got married on 3 May 2025 | past | 2025-05-03
May 3rd, 2025 was warm | past | 2025-05-03
April 3 to 9 | none | 2026-04-03..2026-04-09
I'm away May 9 to 13 | future | 2026-05-09..2026-05-13
we are off from the 3rd to the 9th | future | 2026-03-03..2026-03-09
the hotel is booked for 16 to 19 April | future | 2026-04-16..2026-04-19
between the 6th and the 9th they send someone | future | 2026-03-06..2026-03-09
by Friday I need the slides | future | 2026-02-20
no squats until the 14th | future | 2026-03-14
Cormac has the car until Friday | now | 2026-02-18..2026-02-20
froze travel until October | none | 2026-10-01
it has been broken since Monday | now | 2026-02-16
has put on 2kg since August | now | 2025-08-01
from September we only have one car | future | 2026-09-01
I'm out from the 27th | future | 2026-02-27
end of March the contract ends | future | 2026-03-21..2026-03-31
by the end of March | future | 2026-03-31
mid-June we marry | future | 2026-06-10
we repaint in the spring | future | 2026-03-01..2026-05-31
last summer we sailed | past | 2025-06-01..2025-08-31
got the kids this weekend | future | 2026-02-21..2026-02-22
they want a demo the week of August 10 | future | 2026-08-10..2026-08-16
the first Monday in March | future | 2026-03-02
tuesday 17th at 8am | none | 2026-03-17
thurs no good | none | 2026-02-19
sat 11 oct, function room | future | 2026-10-11
in Q3 2026 | future | 2026-07-01..2026-09-30
in 2019 I moved | past | 2019-01-01
two days before Christmas | future | 2026-12-23
every Monday I swim | now | -
on Mondays I swim | now | -
I swam every Monday, Wednesday and Friday | past | -
I may go | none | -
we march for peace | none | -
wait a second | none | -
I sat in the sun | none | -
I have lived here for two years | now | -
I saw the 1971 film | past | -
in the end three of us stayed | past | -
I have 3 cats and a dog | none | -
it is on 3/14/2026. | none | 2026-03-14
she was born on 3/14/1990: a Wednesday | past | 1990-03-14
the shop is open 24/7 | now | -
version 1.2.2024.5 is out | none | -
I'm free from 3 to 5 on Friday | none | 2026-02-20..2026-02-20
my shift is from 8 to 4 tomorrow | future | 2026-02-19..2026-02-19
office hours are from 9 to 11 | now | -
choir is Tuesday evenings from 7 to 9 | now | -
rate it on a scale from 1 to 5 | none | -
the fair runs from 6 to 11 next month | future | 2026-03-06..2026-03-11
the fair is from 3 to 5 May | future | 2026-05-03..2026-05-05
we were there the week before last | past | 2026-02-02..2026-02-08
I'm back in a fortnight | future | 2026-03-04
the exam is in a month | future | 2026-03-18
I spend 300 in a month | now | -
it took two and a half weeks | past | -
the parcel left two and a half weeks ago | past | 2026-01-31
I moved 1.5 years ago | past | 2024-08-18
it was 1,500 years ago | past | -
we met on April 2 | past | 2025-04-02
we got married on March 20 | none | 2025-03-20
I cancelled the dentist on March 20 | past | 2026-03-20
the interview got pushed to April 24 | past | 2026-04-24
meeting Monday February 16 | none | 2026-02-16
they moved the audit, it is on Friday April 24 now | past | 2026-04-24
half a year ago we split | past | 2025-08-18..2025-09-17
a year and a half ago we split | past | 2024-08-18..2024-09-17
he broke his leg in January; two days later he lost his job | past | 2026-01-01..2026-01-31
two days later he lost his job | past | -
the following Monday he left | past | -
the following Monday we fly | future | 2026-02-23
the show is Friday week | future | 2026-02-27
the show is the Friday after next | future | -
we're away between Christmas and New Year | future | 2026-12-25..2027-01-01
they sell it in 2000 stores | now | -
in 2000 we moved to Leeds | past | 2000-01-01
April is my sister | now | -
June called me yesterday | past | 2026-02-17
we moved here in April | past | 2025-04-01
the season is June to August | none | 2026-06-01..2026-08-31
I'm abroad from March to May | future | 2026-03-01..2026-05-31
meeting Monday February 16 about the lease | future | 2026-02-16
"""


@pytest.mark.parametrize(("text", "tense", "expected"), rows(TABLE))
def test_english_times_are_resolved_against_the_moment_they_were_said(text: str, tense: str, expected: str) -> None:
    assert days(text, tense, "en", expected) == expected
