"""Standing instructions that people give an assistant and mean: how to answer them, and which of their own words to forget. Pure.

They share their grammar with attacks ("from now on …", "forget everything …"). The forms of an answer are a closed list
(language, length, layout, tone), so that an instruction that says what to answer is not one of them. A retraction counts only
if it is of the speaker's own words, about something other than the model and its rules, and no demand follows.
"""

from __future__ import annotations

import re

_LEVERS = (
    r"(?:you|yours?|yourself|users?|assistants?|ai|models?|l?lm|\w{0,8}gpt|\w{0,8}bot|admin\w*|root|systems?|developers?|safe\w*|"
    r"secur\w+|secre\w+|hidden|ethic\w*|moral\w*|laws?|legal\w*|filter\w*|polic(?:y|ies)|careful|privacy|confidential\w*|refus\w+|"
    r"obey\w*|pretend\w*|behav\w+|persona|roles?|tasks?|jailbr\w+|hack\w*|passwords?|passcodes?|api|tokens?|credentials?|"
    r"(?:secret|access|private|master) keys?|"
    r"instruct\w*|direct(?:ions?|ives?)|rules?|prompts?|guidelines?|commands?|constraints?|restrict\w*|limit\w*|"
    r"programming|above|print|outputs?|reveal|repeat|respond|reply|say|sing|translate|execute|act as|exactly|"
    r"(?:and|then|now|instead|please|just),? (?:write|tell|show|answer|give|list|send|forward|do|start|begin|run|call|use|make))"
)
"""Words about the model, its rules, secrets or a demand. A sentence with one of them may be more than a wish of its speaker."""
_DEMAND = r"(?:write|tell|show|answer|give|list|send|forward|do|start|begin|run|call|use|make|create|explain|how|what|why|who)"
_HARMLESS_REST = rf"(?![^\n]{{0,200}}\b{_LEVERS}\b)(?![^\n]{{0,200}}[.!?:;,–—-] {{0,2}}{_DEMAND}\b)"
_DROP = r"\b(?:forget|ignore|disregard|discard)(?: about)?"
_SAID = (
    r"(?:I|we)(?:['’]ve| have| had)? (?:just |already |ever )?(?:said|told you|wrote|written|mentioned|discussed|explained|"
    r"talked|spoke)(?: to you)?(?:,? (?:before|earlier|previously|yesterday|last \w{2,12}|on \w{3,12}))?"
)
_RETRACTIONS = (
    rf"{_DROP} (?:all|everything|anything|what(?:ever)?)(?: that)? {_SAID} (?:about|regarding|concerning) "
    rf"(?!not |how |what |being ){_HARMLESS_REST}|"
    rf"{_DROP} what {_SAID}(?:,| ?[;:–—-]) (?=(?:it|the|we|he|she|they|I|my|our|that|there)\b){_HARMLESS_REST}|"
    rf"\bforget everything(?: you know)? about (?=(?:my|our) ){_HARMLESS_REST}|"
    r"\b(?:vergiss|vergessen sie|ignorier(?:e|en sie)?),? (?:bitte )?(?:(?:das )?alles,? |das,? )?was (?:ich|wir) "
    r"(?:dir |ihnen |euch )?(?:über|von|zu|wegen) (?![^\n]{0,200}\b(?:anweisung|regel|vorgabe|befehl|aufgabe|sicherheit|rolle|"
    r"passw|prompt|system|geheim|dein|ihre|du|antworte|schreib|sag(?!t)|nenn|zeig|gib|tu\b))|"
    r"\b(?:oubliez?|ignorez?) tout ce que (?:je t['’]ai|je vous ai|j['’]ai|nous avons) (?:dit|écrit|raconté) "
    r"(?:sur|de|à propos de) (?![^\n]{0,200}\b(?:instruc|consigne|règle|rôle|sécurité|secret|prompt|syst|mot de passe|te[s ]|"
    r"vo[st]|tu|vous|dis|dites|écri|réponds|montre|donne|affiche))|"
    r"\b(?:olvid[ae]|ignor[ae]) todo lo que (?:te |os |le )?(?:he dicho|dije|conté|escribí) (?:sobre|de|acerca de) "
    r"(?![^\n]{0,200}\b(?:instruc|regla|norma|rol\b|papel|segur|secret|prompt|sistema|contraseña|tus?\b|sus?\b|di\b|diga|escrib|"
    r"respond|muestr|dame|eres))"
)
"""The beginnings of retractions of the speaker's own words, in English, German, French and Spanish: "forget all I said about"."""

_LANGUAGE = (
    r"(?:english|german|french|spanish|italian|portuguese|dutch|polish|russian|ukrainian|czech|slovak|hungarian|romanian|"
    r"bulgarian|greek|turkish|arabic|hebrew|persian|farsi|hindi|urdu|bengali|tamil|chinese|mandarin|cantonese|japanese|korean|"
    r"vietnamese|thai|indonesian|malay|swedish|norwegian|danish|finnish|icelandic|estonian|latvian|lithuanian|croatian|serbian|"
    r"slovenian|albanian|catalan|basque|galician|irish|welsh|swiss german|swahili|afrikaans|deutsch|français|español|italiano)"
)
_AMOUNT = (
    r"(?:(?:no more than|not more than|at most|under|fewer than|less than|a maximum of|max\.?|about|only) )?(?:one|two|three|"
    r"four|five|six|ten|a few|\d{1,3}) (?:short )?(?:words?|sentences?|lines?|paragraphs?|bullet points|bullets)"
    r"(?: at most| or less| max)?"
)
_SHAPE = (
    r"(?:(?:a |an |the )?(?:(?:short|brief|simple|plain|numbered|bulleted|formal|informal|friendly|polite|casual|neutral|full|"
    r"complete|clear|concise|easy|everyday|british|american|metric|compact|small|more|less|fewer|longer|shorter) ){0,2}"
    r"(?:bullet points?|bullets|lists?|tables?|sentences|paragraphs?|prose|text|markdown|json|yaml|csv|html|words|language|tone|"
    r"style|lower ?case|units|spelling|headings?|examples?|sources|citations|footnotes|detail|depth|emojis?|smileys|"
    r"exclamation marks|jargon|code blocks|code comments|code examples|comments|code|type hints|small talk|filler|preambles?|"
    r"introductions?|explanations?|apologies|summar(?:y|ies)|24-hour times?|iso dates|euros|dollars|pounds|celsius|"
    r"kilomet(?:re|er)s|python|typescript|javascript|rust|java|kotlin|swift|go|sql|ruby|bash)|"
    rf"(?:(?:simple|plain|formal|informal|good|proper|easy|british|american|brazilian) )?{_LANGUAGE})"
)
_MANNER = (
    r"(?:(?:a bit |much |very |as |more |less ){0,2}(?:briefly|shortly|concisely|succinctly|formally|informally|politely|slowly|"
    r"simply|plainly|directly|clearly|honestly|casually|short|brief|concise|formal|informal|polite|direct|simple|clear|friendly|"
    r"to the point)(?: as possible)?|step by step|one step at a time)"
)
_THING = rf"(?:{_AMOUNT}|(?:any )?{_SHAPE})"
_BY = r"(?:in|with|without|using|as|no|not in)"
_FORM = (
    rf"(?:{_MANNER}|(?:only |just |mainly |mostly )?{_BY} {_THING}|{_AMOUNT})"
    rf"(?:(?:,|,? and|,? but| or) (?:(?:only |just )?(?:{_BY} )?{_THING}|{_MANNER})| {_BY} {_THING}){{0,2}}"
)
"""Forms of an answer: its language, length, layout and tone."""
_ANSWERS = r"(?:answers?|repl(?:y|ies)|responses?)"
_WISH = (
    r"(?:(?:please|kindly|always|only|just|never|you (?:should|must|can|may)|i(?: would|['’]d) like you to|i want you to),? )"
    r"{0,3}"
    r"(?:(?:answer|respond|reply|speak|talk|write|explain)(?: (?:to me|me|us|to us|back|(?:all |to )?my (?:questions|messages)|"
    rf"everything|(?:your |the )?{_ANSWERS}|code))? {_FORM}|"
    rf"(?:use|give(?: me)?|show(?: me)?|include|prefer|avoid|skip|drop|stop using|do not use|don['’]?t use|no) (?:only |just )?"
    rf"{_SHAPE}(?:(?:,|,? and| or) (?:no |without |never )?{_SHAPE}){{0,2}}|"
    rf"(?:keep|make) (?:it|(?:all )?your {_ANSWERS}) (?:{_MANNER}|(?:to |under )?{_AMOUNT})|"
    rf"(?:your|every|each|all|all your) {_ANSWERS} (?:should|must|have to|has to|need to) "
    rf"(?:be {_FORM}|(?:end|start|begin) with {_SHAPE}|(?:have|use|include|contain) {_SHAPE}))"
    rf"(?: in (?:all )?(?:your|the|my)? ?(?:{_ANSWERS}|texts?|code))?"
    r"(?:,? (?:only|always|please|too|thanks|instead|to me)){0,2}"
)
_LASTING = r"(?:from now on|for the rest of (?:this|the|our) (?:chat|conversation))"
_END = (
    r"(?:,? (?:please|thanks|thank you|ok(?:ay)?))?(?= {0,2}(?:[.!?\n)]|$)|"
    r"(?:,|;|:| -| –| —)? (?:(?:because|since|as|so|so that|even (?:when|if|though)|unless|when|if) )?(?:i|my|it|we|our)\b"
    rf"{_HARMLESS_REST})"
)
"""The end of the sentence, or a reason of the speaker's own."""
_WISHES = rf"\b{_LASTING}[,:]? {_WISH}{_END}|\b{_WISH},? {_LASTING}{_END}"
_STANDING = re.compile(rf"{_WISHES}|{_RETRACTIONS}", re.IGNORECASE)
_NEEDS = ("from now on", "for the rest of", "forget", "ignor", "disregard", "discard", "vergiss", "vergessen", "oubli", "olvid")
"""Substrings of which every standing instruction has one; texts without any are not searched."""


def drop_standing_instructions(text: str) -> str:
    """Return a text without its harmless standing instructions; of a retraction, what follows its first words is kept."""
    low = text.lower()
    return _STANDING.sub(" ", text) if any(part in low for part in _NEEDS) else text


__all__ = ["drop_standing_instructions"]
