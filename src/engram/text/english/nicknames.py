"""Short forms of English first names: "Mel" may stand for Melanie, Melissa, Melinda or Melvin. Pure.

The table holds what a short form commonly stands for. Besides it, the first three or four letters of a name stand for it
("Gabi" is no beginning of Gabriella, "Gabr" is), unless they are a first name of their own: Ann is not Annette.
"""

from __future__ import annotations

from collections.abc import Mapping

from engram.text.english.gazetteer import GIVEN_NAMES

_TABLE = """
    abby: abigail; abe: abraham; addie: adelaide addison; aggie: agnes agatha; al: albert alan allan alfred alvin
    alec: alexander; alex: alexander alexandra alexandria alexis alejandro alexei; alf: alfred
    allie: alison allison alexandra; andy: andrew andrea anderson; angie: angela angelina; annie: anna anne ann
    archie: archibald; art: arthur; barb: barbara; bart: bartholomew; bea: beatrice beatrix; becca: rebecca; becky: rebecca
    bella: isabella arabella; ben: benjamin benedict bennett; benny: benjamin benedict; bernie: bernard bernadette
    bert: albert herbert robert bertram; bess: elizabeth; beth: elizabeth bethany; betsy: elizabeth; betty: elizabeth
    bill: william; billy: william; bob: robert; bobby: robert; brad: bradley bradford; bram: abraham abram
    bri: brianna brian; cal: calvin caleb; cam: cameron camille; carrie: caroline carolyn; caro: caroline carolina
    cass: cassandra; cassie: cassandra; cat: catherine; cathy: catherine cathleen; charlie: charles charlotte; chaz: charles
    chris: christopher christine christina christian; chrissy: christine christina; christy: christine christina
    chuck: charles; cindy: cynthia lucinda; clem: clement clementine; connie: constance; dan: daniel; danny: daniel
    dani: danielle daniela; dave: david; davy: david; deb: deborah debra; debbie: deborah debra; del: delbert adela
    dee: deirdre diana; di: diana diane; dick: richard; dom: dominic dominick; don: donald donovan; donnie: donald
    dora: theodora dorothy isadora; dot: dorothy; doug: douglas; drew: andrew; dusty: dustin
    ed: edward edwin edgar edmund eduardo; eddie: edward edwin edgar; ellie: eleanor elizabeth ellen elena; em: emily emma
    emmy: emily emma; ernie: ernest; evie: evelyn eve; fran: frances francis francesca; frank: francis franklin
    frankie: francis frances; fred: frederick alfred; freddie: frederick; gabby: gabriella gabrielle; gabe: gabriel
    gail: abigail; gene: eugene; geoff: geoffrey; gerry: gerald gerard; gil: gilbert; ginny: virginia; greg: gregory
    gus: augustus august gustav; gwen: gwendolyn; hal: harold henry; hank: henry; harry: harold henry harrison
    hattie: harriet; hugh: hubert; iggy: ignatius; ike: isaac; isa: isabel isabella isadora; izzy: isabel isabella isadora
    jack: john jackson; jackie: jacqueline; jake: jacob; jamie: james; jan: janet janice; jeff: jeffrey jefferson
    jen: jennifer; jenny: jennifer; jerry: gerald jerome jeremiah; jess: jessica; jessie: jessica; jill: gillian; jim: james
    jimmy: james; jo: joanna josephine joanne; joe: joseph; joey: joseph; johnny: john jonathan; jon: jonathan
    jonny: jonathan; josh: joshua; josie: josephine; judy: judith; jules: julian julia juliet julius; kat: katherine katrina
    kate: katherine catherine kaitlyn; kathy: katherine kathleen; katie: katherine kaitlyn kate; kay: katherine
    ken: kenneth kendall; kenny: kenneth; kim: kimberly; kit: christopher katherine; kris: kristen kristina kristin kristian
    larry: lawrence; lena: helena magdalena; len: leonard; lenny: leonard; leo: leonard leonardo leopold; les: leslie lester
    lex: alexander alexandra; lexi: alexandra alexis; libby: elizabeth; lily: lillian; liv: olivia; liz: elizabeth eliza
    lizzie: elizabeth eliza; lou: louis louise; lottie: charlotte; lucy: lucille lucinda; mads: madison madeline
    maddie: madison madeline madeleine; maggie: margaret; mandy: amanda; manny: emmanuel manuel; marge: margaret marjorie
    margie: margaret marjorie; marty: martin; marv: marvin; mat: matthew; matt: matthew matthias; matty: matthew
    max: maximilian maxwell maxine; meg: margaret megan; mel: melanie melissa melinda melvin; mick: michael; mickey: michael
    mike: michael; millie: mildred millicent camilla; mimi: miriam; mindy: melinda; minnie: wilhelmina; missy: melissa
    mitch: mitchell; moe: moses maurice mohammed; molly: mary margaret; mort: mortimer morton; nan: nancy
    nat: nathan nathaniel natalie natasha; nate: nathan nathaniel; ned: edward edmund; nell: eleanor helen
    nellie: eleanor helen; nick: nicholas dominic nicolas; nicky: nicholas nicole; nico: nicholas nicolas nicole
    nikki: nicole; nora: eleanor honora; norm: norman; olly: oliver olivia; ollie: oliver olivia; pam: pamela
    pat: patrick patricia; patty: patricia; peg: margaret; peggy: margaret; penny: penelope; percy: percival; pete: peter
    phil: philip phillip; pip: philip philippa; polly: mary; prue: prudence; randy: randall randolph; ray: raymond
    reg: reginald; reggie: reginald; rich: richard; rick: richard frederick; ricky: richard; rita: margarita; rob: robert
    robbie: robert; rod: rodney roderick; ron: ronald; ronnie: ronald veronica; rosie: rose rosemary; roz: rosalind
    russ: russell; sal: salvatore sally; sally: sarah; sam: samuel samantha samson; sammy: samuel samantha
    sandy: sandra alexander; sasha: alexander alexandra; seb: sebastian; shelly: michelle rochelle; sid: sidney sydney
    si: simon; sly: sylvester; sophie: sophia; stan: stanley; steph: stephanie; steve: steven stephen
    stevie: steven stephen stephanie; stew: stewart; stu: stuart; sue: susan suzanne; susie: susan suzanne
    suzy: susan suzanne; tammy: tamara; tasha: natasha; ted: theodore edward; teddy: theodore edward; terry: terence theresa
    tess: theresa tessa; theo: theodore theodora theobald; tilly: matilda; tim: timothy; timmy: timothy
    tina: christina martina valentina; toby: tobias; tom: thomas; tommy: thomas; toni: antonia; tony: anthony antonio
    tori: victoria; trish: patricia; trudy: gertrude; ty: tyler tyrone; val: valerie valentina; vic: victor victoria
    vicky: victoria; vince: vincent; vinny: vincent; viv: vivian; wally: walter wallace; walt: walter; wendy: gwendolyn
    wes: wesley; will: william wilfred; willy: william; winnie: winifred; woody: woodrow; zach: zachary zachariah
    zack: zachary zachariah; zeke: ezekiel
"""

FULL_FORMS: Mapping[str, tuple[str, ...]] = {
    short.strip(): tuple(forms.split())
    for short, _, forms in (entry.partition(":") for line in _TABLE.splitlines() for entry in line.split(";") if entry.strip())
}
"""The names that a short form commonly stands for."""

_SHORT_FORMS: dict[str, list[str]] = {}
for _short, _forms in FULL_FORMS.items():
    for _form in _forms:
        _SHORT_FORMS.setdefault(_form, []).append(_short)

_LEAST, _MOST = 3, 4  # letters of a beginning that stands for the whole name
_LEFT_OUT = 2  # letters that it leaves out at least: Paula is not called Paul


def is_short_form(short: str, name: str) -> bool:
    """True if a folded first name may be short for another."""
    return short in short_forms(name)


def is_beginning(short: str) -> bool:
    """True if longer names that begin with these letters may be meant by them."""
    return _LEAST <= len(short) <= _MOST and short.isalpha() and (short in FULL_FORMS or short not in GIVEN_NAMES)


def short_forms(name: str) -> tuple[str, ...]:
    """Return the folded first names that may be short for this one."""
    beginnings = (name[:length] for length in range(_LEAST, min(_MOST, len(name) - _LEFT_OUT) + 1))
    return tuple(dict.fromkeys((*_SHORT_FORMS.get(name, ()), *filter(is_beginning, beginnings))))
