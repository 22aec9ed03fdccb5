"""Signs of a prompt injection, matched by grammar: each has a name and a weight in logits, added to the wording's score. Pure.

A text is first normalised to what a model would read (`normalize`): invisible characters removed, look-alike letters of other
alphabets in mixed words mapped to Latin, and text hidden in base64, hexadecimal or rot13 decoded. Patterns are bounded. Harmless
standing instructions (`guard/standing_instructions.py`) are dropped before signs are matched; the wording is scored with them.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import chain

from engram.guard.standing_instructions import drop_standing_instructions
from engram.values.frozen import frozen


@frozen
class InjectionSign:
    """A sign of an attack, and its weight in logits."""

    name: str
    weight: float


@frozen
class NormalizedText:
    """A text as a model would read it, the text that was decoded from it, and the tricks that hid something."""

    text: str
    decoded: str = ""
    tricks: tuple[str, ...] = ()


_LOOKALIKES = str.maketrans(
    "аеорсухкіјѕԁһԛԝАВЕКМНОРСТУХЅІЈαεικνορτυχΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "aeopcyxkijsdhqwABEKMHOPCTYXSIJaeikvoptuxABEZHIKMNOPTYX"
)
_MIXED = re.compile(r"\b(?=\w*[a-zA-Z])(?=\w*[\u0370-\u04ff])\w{3,40}\b")
_BLOB = re.compile(r"(?<![A-Za-z0-9+/=])[A-Za-z0-9+/]{16,4000}={0,2}(?![A-Za-z0-9+/=])")
_HEX = re.compile(r"(?<![0-9A-Fa-f])(?:[0-9A-Fa-f]{2}[ :]?){12,2000}(?![0-9A-Fa-f])")
_ROT13 = re.compile(r"\b(?:vtaber|cerivbhf|cebzcg|vafgehpgvbaf?|cnffjbeq)\b", re.IGNORECASE)
_SPACED = re.compile(r"(?<!\w)(?:\w[ .\-_*]){6,80}\w(?!\w)")
_TAGS = "\U000e0020-\U000e007e"
_INVISIBLE = re.compile(rf"[\u200b-\u200f\u202a-\u202e\u2060-\u2064\ufeff\u00ad{_TAGS}]")

_DROP = (
    r"(?:ignor(?:e|ing)|disregard(?:ing)?|forget|skip|discard|overrid(?:e|ing)|bypass|neglect|abandon|overrule|dismiss|"
    r"unlearn|"
    r"(?:do not|don'?t|never|stop|no longer) (?:follow(?:ing)?|obey(?:ing)?|listen(?:ing)? to|adher(?:e|ing) to|"
    r"consider)|pay no attention to|set aside)"
)
_RULES = (
    r"(?:instructions?|directions?|directives?|rules?|prompts?|guidelines?|commands?|orders?|constraints?|restrictions?|"
    r"programming|policies|policy|"
    r"messages?|conversations?|context|training|assignments?|limitations?|specifications?)"
)
_EARLIER = (
    r"(?:previous(?:ly)?|prior|earlier|above|preceding|former|initial|original|system|existing|foregoing|all|your|other|"
    r"past|any)"
)
_OWN = (
    r" (?:what I (?:just )?(?:said|told you|wrote) about|"
    r"my (?:last|previous|earlier) (?:messages?|mails?|emails?)(?:,| about| on)) "
)
"""People retracting their own words: "forget what I said about Friday"."""
_SHOW = (
    r"(?:repeat|print|show|reveal|output|display|tell me|list|write|spell|copy|dump|recite|return|echo|disclose|give me|"
    r"type|expose|leak|quote|"
    r"reproduce|summari[sz]e|translate|paraphrase|rephrase|explain|encode|restate|transcribe|state|share|provide|"
    r"describe|convert|what (?:is|are|was|were))"
)
_MAIL = r"(?:[\w.+-]{1,64}@[\w-]{1,63}\.[\w.]{2,30}|https?://\S{3,200}|www\.\S{3,100})"
_ACTS = (
    r"(?:transfer|withdraw|sell|buy|purchase|pay|delete|remove|move|copy|rename|grant|give|revoke|cancel|unlock|open|"
    r"disable|disarm|turn off|turn on|update|"
    r"schedule|book|add|block|report|post|create|install|download|send|email|forward|share|order|ship|change|reset|run|"
    r"execute|retrieve|list|find|get|fetch|"
    r"export|search|use|upload|publish|deploy|activate|submit|approve|initiate|guide|navigate|set|modify|edit|record|"
    r"call|view|check|access|read|assist|"
    r"arrange|locate|provide|terminate|stop|erase|release|manage|register|vote|redeem|deposit|place|request|invite|"
    r"assign|dispatch|unblock|unsubscribe)"
)

_SIGNS: tuple[tuple[str, float, str, tuple[tuple[str, ...], ...]], ...] = (
    ("waits for its reader", 3.5, r"\b(?:when(?:ever)?|once|if|as soon as) (?:you|(?:the|an|any) (?:ai|assistant|model|agent|"
        r"llm)) (?:reads?|sees?|process(?:es)?|recalls?|retrieves?|finds?)(?: or \w+)? (?:this|these)\b[^.!?\n]{0,60}\b(?:call|"
        r"invoke|use|run|execute|trigger)\b (?:the |your |its )?(?:\w{1,30} )?(?:tools?|functions?|plugins?|"
        r"\w{1,30}_\w{1,30})\b",
        (("when", "once", "if ", "as soon"), ("this", "these"), ("call", "invoke", "use", "run", "execute", "trigger"))),
    ("overrides its instructions", 4.0, rf"\b{_DROP}\b(?!{_OWN})[^.!?\n]{{0,24}}\b{_EARLIER}\b[^.!?\n]{{0,24}}\b{_RULES}\b",
        (("ignor", "disregard", "forget", "skip", "discard", "overrid", "bypass", "neglect", "abandon", "overrul",
        "dismiss", "unlearn", "follow", "obey", "listen", "adher", "attention", "set aside"), ("instruct", "direct", "rule",
        "prompt", "guideline", "command", "order", "constraint", "restrict", "program", "polic", "message", "conversation",
        "context", "training", "assignment", "limitation", "specification"))),
    ("overrides its instructions", 3.5, rf"\b(?:ignore|disregard|forget|discard)\b(?!{_OWN}) (?:about )?(?:all|everything|"
        r"anything|the above|what(?:ever)?)\b[^.!?\n]{0,20}\b(?:above|before|previous(?:ly)?|prior|you know|told|"
        r"said|so far|instructed|learned)\b",
        (("ignore", "disregard", "forget", "discard"), ("above", "before", "previous", "prior", "you know", "told", "said",
        "so far", "instructed", "learned"))),
    ("overrides its instructions", 3.5, r"\b(?:ignore|disregard|forget)\b (?:about )?(?:(?:all|everything|the|of|that|"
        r"what) ){0,3}(?:above|before|(?:preceding|previous(?:ly)?|foregoing)\b(?! \w)|(?:preceding|previous(?:ly)?|"
        r"foregoing) (?:and|or|then|text|input|inputs|information|content|words?|sentences?|questions?|said|given|told)|"
        r"(?:preceding|previous(?:ly)?|foregoing) (?:\w+ )?" + _RULES + r")\b|\b(?:ignore|forget) everything\b",
        (("ignore", "disregard", "forget"), ("above", "before", "preceding", "previous", "foregoing", "everything"))),
    ("overrides its instructions", 2.5, r"\b(?:do not|don'?t|dont|never) (?:look|use|answer|read|respond|follow|"
        r"consider)\b[^.\n]{0,40}\b(?:documents?|context|question|text|provided|rules)\b[^.\n]{0,30}\b(?:just|instead|"
        r"but|only|output|say|print|answer|write|tell)\b",
        (("do not", "don't", "dont", "never"), ("document", "context", "question", "text", "provided", "rules"))),
    ("overrides its instructions", 3.5, r"\b(?:vergiss|vergessen sie|ignorier(?:e|en)|missachte)\b.{0,24}\b(?:alle|"
        r"alles|anweisungen|aufgaben|befehle|instruktionen|regeln|davor|bisherige\w*)\b",
        (("vergiss", "vergessen", "ignorier", "missachte"),)),
    ("overrides its instructions", 3.5, r"\b(?:oubliez?|ignorez?|olvid[ae]|ignor[ae]|dimentica|esqueça|negeer|"
        r"vergeet)\b.{0,24}\b(?:instruc\w+|istruzioni|instruções|consignes|règles|reglas|regole|regras|instructies|"
        r"précéd\w+|anterior\w*|precedent\w*|lo anterior|todo|tout)\b",
        (("oubli", "ignor", "olvid", "dimentica", "esque", "negeer", "vergeet"),)),
    ("overrides its instructions", 3.5, r"(?:забуд\w+|игнорир\w+|αγνο[ήέ]\w+|ξέχασ\w+|zignorować|zaboravi\w*|"
        r"zanemari\w*|ignoriraj\w*|zapomnij|zignoruj).{0,24}(?:инструкц\w+|указани\w+|правил\w*|команд\w+|всё|все|"
        r"οδηγί\w+|προηγούμεν\w+|upute|instrukcij\w*|polecen\w+|sve|prethodn\w+|poprzedni\w+)",
        (("забуд", "игнорир", "αγνο", "ξέχασ", "zaborav", "zanemar", "ignorir", "zapomnij", "zignor"),)),
    ("overrides its instructions", 3.5,
        r"(?:忽略|无视|忘记|不要理会).{0,10}(?:指令|提示|规则|指示|内容|一切)|(?:指示|命令|これまで|上記).{0,10}(?:無視|忘れ)|無視して|अनदेखा|नज़रअंदाज़|지시.{0,6}무시",
        (("忽略", "无视", "忘记", "理会", "指示", "命令", "無視", "これまで", "上記", "지시", "अनदेखा", "नज़रअंदाज़"),)),
    ("overrides its instructions", 3.5, r"\b(?:leav(?:e|ing)|put(?:ting)?|set(?:ting)?|throw(?:ing)?)\b[^.!?\n]{0,16}\b"
        r"(?:previous|prior|earlier|preceding|former)\b (?:\w+ )?(?:information|input|text|" + _RULES[3:] + r" (?:\w+ ){0,2}"
        r"(?:behind|aside|away|out)\b",
        (("leav", "put", "set", "throw"), ("previous", "prior", "earlier", "preceding", "former"))),
    ("overrides its instructions", 3.5, r"\b(?:lass(?:en sie|t)?|legen? sie|lege)\b.{0,16}\b(?:vorherig|bisherig|vorig|"
        r"obig)\w* (?:anweisung|information|instruktion|aufgabe|befehl|regel|vorgabe|eingabe)\w* (?:hinter (?:sich|dir|euch)|"
        r"beiseite|weg)\b|\b(?:abweichend|entgegen|ungeachtet)\b.{0,16}\b"
        r"(?:vorherig|bisherig|vorig|obig)\w* (?:anweisung|instruktion|aufgabe|befehl|regel|vorgabe)\w*",
        (("lass", "lege", "abweichend", "entgegen", "ungeachtet"), ("vorherig", "bisherig", "vorig", "obig"))),
    ("overrides its instructions", 3.5, r"\b(?:ignorera|glöm|bortse från|ignorer|glem|se bort fra|unohda|abaikan|lupakan|"
        r"bỏ qua|quên|zapomeň\w*|ignoruj\w*|hagyd figyelmen kívül|felejtsd el|ignoră|uită)\b.{0,24}\b(?:instruktion\w*|"
        r"instruks\w*|anvisning\w*|regler\w*|tidigare|tidligere|aiemmat|ohjeet|instruksi|perintah|sebelumnya|hướng dẫn|"
        r"chỉ thị|pokyn\w*|předchozí\w*|utasítás\w*|korábbi|instrucțiuni\w*|anterioare)\b|\b(?:önceki|yukarıdaki)\b.{0,24}"
        r"\b(?:talimat|komut|kural)\w*.{0,16}\b(?:unut|yok say|görmezden|dikkate alma)\w*",
        (("ignor", "glöm", "bortse", "glem", "bort fra", "unohda", "abaikan", "lupakan", "bỏ qua", "quên", "zapom", "hagyd",
        "felejtsd", "uită", "önceki", "yukarıdaki"),)),
    ("overrides its instructions", 3.5, r"(?:تجاهل|انس|انسَ).{0,16}(?:التعليمات|الأوامر|القواعد|السابقة)|(?:निर्देश|आदेश|नियम).{0,16}"
        r"(?:अनदेखी|भूल)|(?:התעלם|שכח).{0,16}(?:ההוראות|הכללים|הקודמות)|(?:نادیده|فراموش).{0,24}(?:دستور|قوانین|قبلی)|"
        r"(?:دستور|قوانین).{0,24}(?:نادیده|فراموش)",
        (("تجاهل", "انس", "निर्देश", "आदेश", "नियम", "התעלם", "שכח", "نادیده", "فراموش"),)),
    ("asks for its instructions", 4.0, rf"\b{_SHOW}\b[^.!?\n]{{0,40}}\b(?:your|system|initial|hidden|previous|above|"
        rf"original|secret|pre)[ -](?:\w+ ){{0,2}}(?:prompt|instructions?|rules|directives|guidelines|system message)\b",
        (("prompt", "instruction", "rules", "directives", "guidelines", "system message"), ("your", "system", "initial",
        "hidden", "previous", "above", "original", "secret", "pre"))),
    ("asks for its instructions", 3.0, rf"\b{_SHOW}\b[^.!?\n]{{0,30}}\b(?:(?:text|words|everything|instructions?|prompt|"
        rf"rules|message|conversation|sentences?) (?:that (?:came|stand|is|are) )?(?:above|so far|before this|prior|"
        rf"up to (?:here|now|this)|preceding)|prompt so far|(?:above|preceding|previous) (?:text|words|instructions?|"
        rf"prompt|sentences?))\b",
        (("above", "so far", "before this", "prior", "up to", "preceding", "previous"), ("text", "words", "everything",
        "instruction", "prompt", "rules", "message", "conversation", "sentence"))),
    ("asks for a secret", 2.0, rf"\b{_SHOW}\b[^.!?\n]{{0,30}}\b(?:the |your |secret |correct ){{1,3}}(?:password|"
        rf"passcode|access code|secret key|secret word|secret code|api key|security code|keyword)\b",
        (("password", "passcode", "access code", "secret", "api key", "security code", "keyword"),)),
    ("is a role without rules", 2.5, r"\b(?:no|without|free (?:of|from)|ignor\w+|bypass\w*|unbound by|not bound by|"
        r"doesn'?t (?:care about|follow|have)|does not (?:care about|follow|have)|never follow\w*|"
        r"break\w* free of) (?:any |all |its |your |the |typical |ethical |moral |content |openai(?:'s)? |"
        r"legal ){0,4}(?:restrictions?|filters?|ethic\w*|moral\w*|censorship|guidelines|limitations?|limits|rules|"
        r"polic(?:y|ies)|confines|boundaries|laws|warnings|disclaimers|constraints)\b",
        (("restriction", "filter", "ethic", "moral", "censorship", "guidelines", "limit", "rules", "polic", "confines",
        "boundaries", "laws", "warnings", "disclaimers", "constraints"), ("no ", "without", "any", "free ", "ignor",
        "bypass", "bound", "does", "never"))),
    ("is a role without rules", 2.5, r"\b(?:unfiltered|uncensored|amoral|unrestricted|jailbr(?:eak|oken)|immoral|"
        r"unethical|illegal|no moral)\b[^.\n]{0,120}\b(?:never|always|any|all|no|must|will|you|can|ai|respon\w+|"
        r"answer\w*)\b.{0,400}\b(?:character|refuse|chatgpt|openai|gpt|persona|prompts?|policy|policies|restrictions?|"
        r"morality|disclaimers?)\b",
        (("unfiltered", "uncensored", "amoral", "unrestricted", "jailbr", "immoral", "unethical", "illegal", "no moral"),)),
    ("is a role without rules", 2.5, r"\b(?:do anything now|developer mode|dan mode|god mode|stay in character|"
        r"break character|never refuse|can(?:not|'t) refuse|can never say no|opposite mode|evil mode)\b",
        (("do anything now", " mode", "in character", "break character", "refuse", "say no"),)),
    ("forges a frame", 3.5, r"<\|?(?:im_start|im_end|system|endoftext|assistant|eot_id|start_header_id)\|?>|\[/?INST\]|"
        r"<</?SYS>>|\[system\]\(#|</?(?:system|user_input|user|assistant|instructions?|admin)>|^#{2,4} ?(?:system|"
        r"instruction|response|end|new)\b|^[ \t]*(?:system|assistant|developer|admin)(?: message| note| prompt| override)?: ",
        (("<", "[inst", "[/inst", "[system", "##", "system", "assistant", "developer", "admin"),)),
    ("forges a frame", 3.0, r"(?:^|\n)\W{2,8}\s{0,2}(?:end|begin|start|stop|ignore|new|system|"
        r"update)[\w ]{0,30}(?:ambiguity|input|instructions?|prompt|context|document|user|above|below|message|data|"
        r"task)[\w ]{0,20}\W{0,8}(?:\n|$)",
        (("end", "begin", "start", "stop", "ignore", "new", "system", "update"), ("ambiguity", "input", "instruction",
        "prompt", "context", "document", "user", "above", "below", "message", "data", "task"))),
    ("dictates the answer", 2.5, r"\b(?:begin|start|prefix|end|finish|open)\b(?: (?:your|each|every|the|"
        r"all))?(?: (?:reply|replies|response|answer|output|message|sentence)s?)?(?: (?:out))? (?:with|by (?:saying|"
        r"writing|typing|stating))\b.{0,10}[\"'“‘(<]",
        (("begin", "start", "prefix", "end ", "finish", "open"), ("with", "by "))),
    ("dictates the answer", 2.5, r"\b(?:say|print|output|respond|reply|answer|write|type|return|"
        r"state)\b(?: \w+){0,3} (?:only|just|exactly|simply|solely|nothing (?:but|"
        r"else))?\b.{0,12}[\"'“‘][^\"'”’\n]{2,60}[\"'”’](?:.{0,30}\b(?:only|nothing else|no other|exactly|nothing more|"
        r"without|regardless|instead|forever|and that is all|no matter)\b)",
        (("only", "nothing", "exactly", "no other", "without", "regardless", "instead", "forever", "that is all",
        "no matter"), ("\"", "'", "“", "‘"))),
    ("dictates the answer", 2.5, r"\baccess (?:granted|denied)\b",
        (("access",),)),
    ("dictates the answer", 2.0, r"\b(?:add|insert|include|append|mention|integrate|embed|place|incorporate|weave|"
        r"attach|introduce|modify|augment|alter|adjust|expand|extend|enrich|infuse|supplement)\b[^.\n]{0,90}\b(?:in|"
        r"into|to|with|within|of) (?:your|the) (?:response|reply|answer|output|summary|message|explanation|responses|"
        r"replies|answers)\b|\b(?:modify|augment|alter|adjust|expand|extend|change|enhance|supplement|enrich) (?:your|"
        r"the) (?:response|reply|answer|output|summary|message)\b",
        (("response", "reply", "answer", "output", "summary", "message", "explanation", "replies"), ("your", "the "))),
    ("dictates the answer", 2.5, r"\b(?:your|the) (?:response|reply|answer|output|message|"
        r"explanation)\b[^.\n]{0,30}\b(?:base ?(?:16|32|58|64|85)|morse|hexadecimal|binary|rot ?-?13|caesar|cipher|"
        r"pig latin|emojis?|leet ?speak|reverse|atbash|encod\w+|encrypt\w*|ascii)\b|\b(?:repl\w+|respond|answer|encode|"
        r"render|encrypt|convert)\b[^.\n]{0,30}\b(?:base ?(?:16|32|58|64|85)|morse|hexadecimal|rot ?-?13|caesar|cipher|"
        r"pig latin|atbash|leet ?speak)\b",
        (("base", "morse", "hexadecimal", "binary", "rot", "caesar", "cipher", "pig latin", "emoji", "leet", "reverse",
        "atbash", "encod", "encrypt", "ascii"),)),
    ("plants code", 3.5, r"\b(?:following|subsequent|below|next|given)\b (?:\w+ ){0,2}(?:code|snippet|function|script|"
        r"lines|block|excerpt|segment)\b(?=[^`]{0,100}\byour\b)[^`]{0,160}```|\byour\b[^`]{0,100}\b(?:following|"
        r"subsequent|below|next|given)\b (?:\w+ ){0,2}(?:code|snippet|function|script|lines|block|excerpt|"
        r"segment)\b[^`]{0,60}```",
        (("```",),)),
    ("sends data away", 3.0, rf"\b(?:retrieve|list|find|get|export|fetch|collect|download|look up|search|read|pull|"
        rf"gather|obtain|access|extract|show|use|view|check|retrive)\b.{{2,220}}\b(?:send|e-?mail|forward|mail|post|"
        rf"upload|transmit|deliver|share|submit)\b.{{0,120}}(?:{_MAIL}|\+\d{{7,15}})",
        (("send", "mail", "forward", "post", "upload", "transmit", "deliver", "share", "submit"), ("@", "http", "www.",
        "+"))),
    ("sends data away", 3.0, rf"\b(?:send|forward|post|upload|transmit|exfiltrate|leak)\b[^.\n]{{0,60}}\b(?:password|"
        rf"secret|key|credential|token|history|memor(?:y|ies)|conversation|contacts|data|prompt|"
        rf"files?)\w*\b[^.\n]{{0,40}}(?:{_MAIL})",
        (("send", "forward", "post", "upload", "transmit", "exfiltrate", "leak"), ("@", "http", "www."))),
    ("speaks to the model", 1.5, r"\b(?:chatgpt|gpt-?\d?|openai|language model|as an ai|ai model|ai assistant|chatbot|"
        r"llm)\b.{0,200}\b(?:must|will|never|always|now|pretend|refuse|character|obey|unlocked|rules?)\b",
        (("gpt", "openai", "language model", "as an ai", "ai model", "ai assistant", "chatbot", "llm"),)),
    ("speaks to the model", 2.0, r"<!--.{0,300}\b(?:ai|assistant|model|ignore|instead|instruction|respond|say|summary|"
        r"state|print)\b.{0,300}-->",
        (("<!--",),)),
    ("speaks to the model", 1.5, r"\bfrom now on[,:]? (?:you|your|please|only|always|never|no|act|answer|respond|"
        r"reply|say|speak|ignore|when|whenever|every|each|all)\b|\b(?:you|your|act|answer|respond|reply|speak|talk|pretend)\b"
        r"[^.!?\n]{0,80}\bfrom now on\b|"
        r"\b(?:for the rest of this (?:chat|conversation)|you are now|you will now|now you are|"
        r"your new (?:task|role|name|instructions?))\b",
        (("from now on", "rest of this", "you are now", "you will now", "now you are", "your new"),)),
    ("switches its task", 3.0, r"(?:^|[.!?]\s{1,2})(?:stopp?|halt|alto|arr[eê]tez?)\b ?[:-]{1,3} ?(?:and )?(?:write|say|"
        r"print|state|tell|answer|output|schreib\w*|sag\w*|escrib\w*|écri\w*)\b",
        (("stop", "halt", "alto", "arr"), ("write", "say", "print", "state", "tell", "answer", "output", "schreib", "sag",
        "escrib", "écri"))),
    ("switches its task", 1.5, r"\b(?:new|additional|updated|real|next) (?:task|instructions?|order|command)s?\b ?[:\-]|"
        r"\b(?:forget|stop)\b[.!]? (?:that|this|it|everything|before)\b",
        (("task", "instruction", "order", "command", "forget", "stop"),)),
)  # fmt: skip
"""Name, weight, pattern, and groups of substrings: the pattern is tried only if the text contains one of each group."""
_COMPILED = tuple(
    (InjectionSign(name, weight), re.compile(pattern, re.IGNORECASE | re.MULTILINE), tuple(map(frozenset, needs[1:])))
    for name, weight, pattern, needs in _SIGNS
)
_FIRST = {
    part: tuple(number for number, (*_, needs) in enumerate(_SIGNS) if part in needs[0])
    for part in {part for *_, needs in _SIGNS for part in needs[0]}
}
"""The numbers of the patterns whose first group contains a substring."""
_PARTS = tuple((part, max(part.split(), key=len)) for part in {part for *_, needs in _SIGNS for group in needs for part in group})
"""All substrings of the groups, each with its longest word."""
_BY_HEAD: dict[str, tuple[tuple[str, str], ...]] = {
    head: tuple(part for part in _PARTS if part[1][:2] == head) for head in {longest[:2] for _, longest in _PARTS}
}
_LONG = 2_000  # characters; longer texts are searched for every substring instead of word by word
_ROT13_NEEDS = ("vtaber", "cerivbhf", "cebzcg", "vafgehpgvba", "cnffjbeq")
_VALUE = re.compile(r"(?<=[:\[])\s{0,3}(?P<q>['\"])(?P<value>[^\n]{6,600}?)(?P=q)\s{0,2}(?=[,}\]]|$)(?!\s{0,2}:)")
_COMMAND = re.compile(
    rf"(?:^|[.!?,:;\-]\s{{1,2}})(?:(?:please|kindly|can you|could you|would you|i need you to|i want you to|urgent:?|"
    rf"first,?|hey,?|hi,?)[ ,]{{1,2}}){{0,2}}{_ACTS}\b"
    r"(?=[^.]{0,120}\b(?:my|all|the|to|from|for|with|of|a|an|user|account|using)\b)",
    re.IGNORECASE,
)
_REPEATS = 12  # repetitions that make a flood; texts with fewer skip the search for one
_FLOOD = re.compile(r"(\S{1,24})(?:\s{1,2}\1){13,}|([^\W_]{2,24}?)\2{11,}")
_DATA = re.compile(r"^\s*(?:[\"'`]\s*)?[\[{]\s*[\"'\[{]")


def normalize(text: str) -> NormalizedText:
    """Return a text as a model would read it, with hidden text decoded."""
    tricks: list[str] = []
    plain = unicodedata.normalize("NFKC", text) if not text.isascii() else text
    if not plain.isascii():
        tags = "".join(chr(ord(c) - 0xE0000) for c in plain if 0xE0020 <= ord(c) <= 0xE007E)
        bare = _INVISIBLE.sub("", plain)
        if len(plain) - len(bare) > 2:
            tricks.append("hides letters")
        latin = _MIXED.sub(lambda match: match.group().translate(_LOOKALIKES), bare)
        if latin != bare:
            tricks.append("hides letters")
        plain = f"{latin} {tags}" if len(tags) > 8 else latin
    joined = _SPACED.sub(lambda match: re.sub(r"[ .\-_*]", "", match.group()), plain)
    decoded = " ".join(_decoded(plain))
    return NormalizedText(joined, decoded, tuple(dict.fromkeys(tricks)))


def _decoded(text: str) -> list[str]:
    """Return the parts written in base64, hexadecimal or rot13 that decode to words."""
    decoded: list[str] = []
    low = text.lower()
    for match in _BLOB.finditer(text) if max(map(len, text.split()), default=0) >= 16 else ():
        blob = match.group()
        try:
            raw = base64.b64decode(blob + "=" * (-len(blob) % 4), validate=True)
        except (binascii.Error, ValueError):
            continue
        decoded += _words(raw)
    for match in _HEX.finditer(text) if any(digit in text for digit in "234567") else ():
        decoded += _words(bytes.fromhex(re.sub("[ :]", "", match.group())))
    possible = not text.isascii() or any(part in low for part in _ROT13_NEEDS)
    if possible and _ROT13.search(text):  # ignore, previous, prompt, …
        decoded.append(codecs.decode(text, "rot13"))
    return decoded


def _words(raw: bytes) -> list[str]:
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return []
    letters = sum(c.isalpha() or c == " " for c in text)
    return [text] if letters > 0.8 * len(text) and " " in text else []


def find_signs(text: NormalizedText) -> list[InjectionSign]:
    """Return the signs of an attack in a text, one for each name: the strongest."""
    signs: dict[str, InjectionSign] = {}
    for sign in _matching(drop_standing_instructions(text.text)):
        if signs.get(sign.name, _NO_SIGN).weight < sign.weight:
            signs[sign.name] = sign
    if _DATA.match(text.text) and any(_COMMAND.search(match.group("value")) for match in _VALUE.finditer(text.text)):
        signs["commands inside data"] = InjectionSign("commands inside data", 4.0)
    words = text.text.split()
    repeats = len(words) - len(set(words)) >= _REPEATS or max(map(len, words), default=0) >= 2 * _REPEATS
    if repeats and _FLOOD.search(text.text):
        signs["floods"] = InjectionSign("floods", 2.5)
    for trick in text.tricks:
        signs[trick] = InjectionSign(trick, 1.5)
    if text.decoded and any(_matching(text.decoded)):
        signs["hides words in a code"] = InjectionSign("hides words in a code", 6.0)
    return list(signs.values())


def _matching(text: str) -> Iterator[InjectionSign]:
    present = _present_parts(text.lower())
    candidates = sorted({number for part in present for number in _FIRST.get(part, ())})
    for sign, pattern, other_groups in map(_COMPILED.__getitem__, candidates):
        if any(group.isdisjoint(present) for group in other_groups):
            continue
        if pattern.search(text):
            yield sign


def _present_parts(low: str) -> set[str]:
    """Return the substrings of the groups that a text contains. Word by word through a cache, this takes a tenth of the time
    of searching the text for every substring, because words repeat and most contain none."""
    words = set(low.split()) if len(low) < _LONG else ()
    candidates = chain.from_iterable(map(_parts_in_word, words)) if words else (part for part, _ in _PARTS)
    return {part for part in candidates if part in low}


@lru_cache(maxsize=16_384)
def _parts_in_word(word: str) -> tuple[str, ...]:
    """Return the substrings whose longest word occurs in this word, looked up by their first two letters."""
    heads = ((at, word[at : at + length]) for length in (1, 2) for at in range(len(word) - length + 1))
    return tuple(part for at, head in heads for part, longest in _BY_HEAD.get(head, ()) if word.startswith(longest, at))


_NO_SIGN = InjectionSign("", 0.0)
