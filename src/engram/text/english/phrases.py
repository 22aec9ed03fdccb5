"""The words and phrases that tell statements from talk about nothing. English first; other languages where a short list
does it. Sentences in other languages have no words in these lists and are therefore kept, never lost.
"""

from __future__ import annotations

import re

from engram.text.terms import word_set


def _opening(*ways: str, after: str = "") -> re.Pattern[str]:
    """Matches at the head of a sentence; `after` are words that may stand before it, any number of them."""
    lead = rf"(?:(?:{after})[\s,!.]+)*" if after else ""
    return re.compile(rf"^\W*{lead}(?:{'|'.join(ways)})", re.IGNORECASE)


def _anywhere(*ways: str) -> re.Pattern[str]:
    return re.compile("|".join(ways), re.IGNORECASE)


# Words that carry no fact by themselves: grammar …
GRAMMAR = word_set(
    """
    a an the and or but so as if then than too also just only even still yet very really quite pretty totally truly super
    such much many more most lot lots bit little all both each every any some no not never ever always again already of in
    on at to for from with by about into out up off over down through around without i i'm i've i'll i'd me my mine myself
    we we're we've we'll we'd us our ours ourselves you you're you've you'll you'd your yours yourself u ur ya he she it
    it's it'll its they they're them their he's she's this that that's that'd that'll these those there there's here here's
    who what what's which when where why how how's is are am was were be been being isn't aren't wasn't weren't do does did
    don't doesn't didn't have has had haven't hasn't can could can't couldn't will would won't wouldn't should shouldn't may
    might must gonna wanna gotta kinda sorta let let's lets get got gets getting go going goes make makes made making take
    takes keep keeps put
    """
)
# … praise, feeling and agreement …
FEELING = word_set(
    """
    wow woohoo hooray woah whoa oh ooh aw aww awww ah aha haha hahaha lol lmao omg yay yeah yep yup yes yess nope nah ok
    okay okey kk sure right true exactly definitely absolutely totally indeed certainly agreed agree course well hmm hm mm
    uh um er gosh cool nice great good best better awesome amazing fantastic wonderful incredible excellent perfect
    brilliant lovely beautiful gorgeous stunning fabulous terrific impressive inspiring inspirational sweet cute adorable
    fun funny hilarious interesting exciting excited thrilled happy glad proud sorry sad bad tough hard rough crazy insane
    wild epic sick dope delicious tasty yummy special powerful meaningful touching heartwarming important huge big neat rad
    kind thoughtful brave strong lucky blessed deserved deserve fair enough love loved loving like liked likes enjoy enjoyed
    hope hoping hopefully wish wishing feel feels felt sound sounds sounded look looks looked looking seem seems mean means
    think thought guess bet know knew see seeing saw hear hearing heard say said tell told talk talking chat chatting
    imagine believe understand congrats congratulations congratulation bravo cheers kudos welcome please pleasure worries
    problem way idea job work thing things stuff guy guys man dude bro buddy pal friend mate girl everyone everything
    anything something nothing one ones vibe vibes word words moment time times day life world heart up keep going forward
    wait rest luck soon later now today
    """
)
# … and the small change of keeping in touch.
CONTACT = word_set(
    """
    hey hi hello hiya heya howdy yo greetings morning afternoon evening night goodnight gday thanks thank thx ty tysm
    appreciate appreciated grateful gratitude support supporting encouragement supportive kindness kind bye goodbye cya ttyl
    farewell cheers care catch talk chat see take later soon weekend long no been while ages nice meet meeting hear share
    sharing shared listening help helping helped inspired inspire inspiring check checking sure will do helpful useful
    recommendation recommendations suggestion suggestions tips tip info information advice ideas options point answer
    detailed explanation hola gracias adiós bonjour salut merci hallo danke tschüss ciao grazie olá obrigado obrigada привет
    спасибо пока
    """
)
CONTENTLESS = GRAMMAR | FEELING | CONTACT

YES_OR_NO = word_set("yes yeah yep yup yea nope nah no sure definitely absolutely totally of course not exactly indeed")

# At the head of a sentence, said to hold the floor: taken off before the sentence is stored.
INTERJECTION = re.compile(
    r"(?:(?:oh|ah|aw+|wow|whoa|woah|haha|lol|yeah|yep|yup|yes|no|nope|nah|ok|okay|sure|well|hmm+|so|um+|uh+|hey|hi|hello|thanks"
    r"|thank you|totally|absolutely|definitely|exactly|right|true|great|cool|nice|awesome|by the way|btw|anyway|anyways|actually"
    r"|honestly|also|and|but|plus|man|omg|gosh|congrats)\b(?=[\s,.!–—-])[\s,.!–—-]*)+",
    re.IGNORECASE,
)
_EXCLAIMED = "oh|wow|yeah|yes|aw+|haha|well|and|but|so|man|hey|ok|okay|thanks|nice|cool|awesome|great"
_VERY = r"(?:so |really |very |truly |totally |completely |pretty |super |quite |just |also |always )?"
_GOOD = r"(?:great|good|nice|lovely|awesome|amazing|wonderful|fantastic|perfect|cool|fun|inspiring|excellent|brilliant)"

GREETING = _opening(
    r"(?:hey|hi|hiya|hello|howdy|yo|greetings)\b",
    r"good (?:morning|afternoon|evening|day)\b",
    r"long time no\b",
    rf"(?:it's |it is )?{_VERY}{_GOOD} to (?:see|hear from|meet|be)\b",
)
CATCHING_UP = _anywhere(
    r"\bbeen (?:a|so|too) (?:long |little )?(?:while|long|time)\b",
    r"\bbeen ages\b|\blong time\b",
    r"\bsince we (?:last )?(?:talked|chatted|spoke|met|caught up)\b",
    r"\b(?:lots?|tons|much)(?:'s)? (?:has |has been |have )?(?:happened|happening|gone (?:on|down)|going on|changed)\b",
    r"\b(?:wanted to|thought i'd) (?:say (?:hi|hello|hey)|check in|catch up)\b",
    rf"\b(?:life|things)(?:'s| has| have) been {_VERY}(?:crazy|wild|busy|hectic|good|great|ok|okay)\b",
)
THANKS = _opening(
    r"(?:many |a million )?(?:thanks|thank you|thank u|thx|ty\b|cheers)",
    r"much appreciated",
    rf"(?:i )?{_VERY}appreciate (?:it|that|you|your|the)",
    rf"i'm {_VERY}(?:grateful|thankful) for (?:you|your)",
    after="oh|aw+|wow|yeah|okay|ok|great|perfect|no|and",
)
FAREWELL = _opening(
    r"(?:bye|goodbye|good ?night|take care|ttyl|later|until next time)\b",
    r"(?:see|catch) (?:you|ya)\b",
    r"(?:talk|speak) (?:to you )?(?:soon|later)\b",
    r"have an? (?:\w+ )?(?:day|night|one|weekend|evening|time|trip)\b",
    after="well|ok|okay|anyway|alright",
)

# "You're amazing", "Your art is lovely", "What a view": may be praise, if little else is in it.
APPLAUSE = _opening(
    r"(?:you(?:'re|'ve|'ll|'d)?|your|that(?:'s|'ll)?|those|these|this|they|we|what an?|how|so|let's|let me)\b",
    r"(?:sounds?|looks?|keep|glad|great|good|nice|love|loving|happy|congrats|congratulations)\b",
    r"(?:wishing|enjoy|cherish|awesome|cool|amazing)\b",
    rf"i(?:'m| am)? {_VERY}(?:happy|glad|proud|excited|sorry|thrilled|love|hope|bet|agree|hear|know|get|feel|can)\b",
    r"(?:can't wait|no (?:problem|worries|doubt)|it(?:'s| is| must| sounds| looks)|totally|absolutely|definitely|exactly)\b",
    after="oh|wow|yeah|yes|aw+|haha|well|and|but|so|man|hey",
)
# "Sounds like a plan", "That's a great point about …", "Hope you're well": an answer to what was said, whatever follows.
REACTING = _opening(
    r"(?:that |this |it )?(?:sounds|looks|seems) like (?:an?|you|your|the|it|fun|things|such|quite)\b",
    rf"that(?:'s| is) (?:such )?(?:an? )?(?:\w+ )?(?:{_GOOD}|interesting|valid|fair|solid|helpful|smart)"
    r" (?:point|idea|question|tip|suggestion|way|start|plan|choice|advice|news)",
    r"(?:i )?(?:really )?hope (?:you|your|it goes|that helps|this helps|all)",
    r"(?:sorry|great|good|glad|nice|happy) to hear",
    r"(?:i'm )?sorry (?:to hear|about|for)",
    rf"(?:i'm |i am )?{_VERY}(?:glad|happy|proud|thrilled|stoked) (?:for|of|that|to hear|you|our|i could)",
    r"(?:i'm )?sure you",
    r"let(?:'s| us) (?:keep|cherish|continue|do (?:it|this)|spread|stay|tackle|make|work|team up|support|help)",
    r"(?:don't|never) (?:be afraid|give up|forget|worry|let|stop|sweat)",
    r"you(?:'re| are)? (?:got this|killing|crushing|nailing|rocking)",
    r"(?:i )?can(?:'t) wait to (?:see|hear|check|try it|read|chat|catch|talk)",
    rf"it(?:'s| is|s)(?: been)? {_VERY}(?:{_GOOD}|wise|easy) (?:to (?:know|see|hear|talk|think|get|chat|catch)|how|that|you)",
    r"(?:i(?:'ve) )?got your back|count me in|i(?:'m) in\b|sign me up",
    r"congrat|best of luck|good luck|way to go|fingers crossed",
    r"keep (?:it )?up|keep (?:up )?(?:the|on|going|rock|shin|inspir|push)",
    r"i can (?:just |totally )?(?:picture|imagine|see) (?:you|your|how|it)",
    r"i (?:totally |completely |can )?(?:understand|imagine|relate|agree|see|hear you|know)"
    r" (?:how|what|why|that|with you|where|it)",
    after=_EXCLAIMED,
)
# What the other one must have felt, will surely do, should believe: encouragement.
CHEERING = _anywhere(
    r"\bmust (?:have been|be|feel|have felt)\b",
    r"\b(?:i'm|i am) sure (?:you|your|it|they|that)",
    r"\bbelieve in you|\b(?:in|on|to|of|for|with) yourself\b",
    rf"\b(?:sounds|looks) {_VERY}(?:like )?{_GOOD}\b",
    r"\b(?:keep (?:pushing|going|at it|it up)|stay (?:positive|strong|true|motivated|focused)|give up)\b",
)

# Said to a person or a machine to make it do something; not a fact about anyone.
REQUEST = _opening(
    r"(?:please\s+)?(?:write|rewrite|give|tell|show|explain|list|create|generate|suggest|recommend|provide|summari[sz]e|translate"
    r"|describe|compare|find|make|help|continue|elaborate|expand|act|pretend|imagine|draft|compose|outline|convert|calculate|solve"
    r"|answer|define|discuss|analy[sz]e|identify|design|develop|propose|include|add|remove|change|replace|use|try|let me know"
    r"|consider|format|check out|take a look|have a look|look at|see if|come up|proofread|edit|correct|fix|implement|choose|pick"
    r"|name|share)\b",
    after="please|kindly|now|ok|okay|great|thanks|and|then|so|also|yes|no|alright|sure|well|hey|hi|next|again|just",
)
WISH = _opening(
    r"i(?:'d| would)? ?(?:was|am|'m)? ?(?:just |also )?(?:wondering|curious|like to know|love to (?:know|hear))\b",
    r"i(?:'d| would)? (?:want|like|need|love) (?:you to|to know|for you|to hear)\b",
    after="also|and|so|ok|okay|hi|hey|hello|actually|by the way",
)
ASKING = _anywhere(
    r"\b(?:can|could|would|will) you (?:please |also |kindly )?"
    r"(?:help|give|tell|suggest|recommend|show|provide|explain|share|write)\b",
    r"\bi was (?:also |just )?wondering\b",
)
OFFER = _anywhere(
    r"\b(?:just )?(?:let me know|hit me up|give me a (?:shout|call)|reach out to me|here for you)\b",
    r"\bi(?:'m) (?:always )?here (?:if you|to (?:help|support|listen|cheer))\b",
    r"\bcount on me\b|\bif you(?:'re| are) interested\b",
    r"\bif you(?:'d like| need| want| ever need)\b.*\b(?:just ask|i can|i could|i'm here|happy to)\b",
)

QUESTION_WORD = _opening(
    r"(?:what|what's|whats|who|who's|whose|whom|where|where's|when|why|how|how's|which)\b",
    r"(?:do|does|did|don't|doesn't|didn't|is|are|am|was|were|isn't|aren't|have|has|had|haven't|hasn't)\b",
    r"(?:can|could|can't|couldn't|will|would|won't|wouldn't|should|shouldn't|may|might|shall|any|got any)\b",
    after="and|so|but|ok|okay|well|hey|oh|wow|also|by the way|btw|then|hmm",
)
# A question even without its mark.
INVERSION = _opening(
    r"(?:how|what|why|where|when|who|which)(?:'s)? (?:do|does|did|can|could|should|would|is|are|was|were|will|to|about|if)\b",
    r"(?:can|could|would|will|do|does|did|is|are|should) (?:you|i|we|there|it|they|he|she|this|that)\b",
)
PLEASANTRY = _anywhere(
    r"\bhow(?:'s| is| are| have| has)? (?:you|it|things|everything|life|your day)\b",
    r"\bwhat(?:'s| is)? (?:up|new|happening|going on)\b",
    r"\banything (?:new|else|exciting)\b",
    r"\b(?:how|what) about you\b|\band you\b|\byou (?:ok|okay)\b",
    r"\bcan i (?:do for you|(?:help|assist)(?: you)?)(?: today| now| further| with (?:that|this|anything|something)| else)*\W*$",
)

# What assistants say around an answer.
_IDEAS = r"(?:ideas?|tips|suggestions?|recommendations?|options?|resources?|steps|guidelines|list)"
BOILERPLATE = _opening(
    r"as an? (?:ai|artificial|large|language)|i(?:'m| am) (?:just |only )?an? (?:ai|artificial|language)",
    r"(?:sure(?: thing)?|certainly|of course|noted|got it|understood|hello|hi|hey)\b|(?:absolutely|definitely)[!,.]",
    r"(?:great|good|excellent) (?:question|idea|choice|point)",
    rf"that(?:'s| is) (?:an? )?(?:{_VERY}|absolutely )(?:{_GOOD}|interesting|fascinating|terrific)\b",
    r"what an? (?:great|lovely|wonderful|fantastic|interesting|exciting|amazing|score)",
    r"i(?:'d| would|'m| am) (?:be )?(?:so |very |more than )?(?:happy|glad|delighted|thrilled|excited) (?:to|that|you|for)",
    r"you(?:'re| are) (?:very |most )?welcome|no problem|my pleasure|happy to help|glad (?:to|i|you|that)",
    r"i hope (?:this|that|these|you|it|the)|hope (?:this|that|it) helps",
    r"let me know|feel free|don't hesitate|i(?:'m| am) here to|is there any|are there any",
    r"if you (?:have|need|want|would|'d|are) (?:any |more |further |additional |other |specific )*"
    r"(?:questions?|help|assistance|clarification|information|concerns?|suggestions?)",
    r"please (?:let me know|feel free|provide|note that (?:i|as)\b)",
    r"i(?:'m| am) sorry|i apologi[sz]e|sorry(?: for|,| about)|my apologies|apologies",
    r"thank you for|thanks for|congratulations|good luck|best of luck|enjoy|have (?:a |fun)|remember[,:]? (?:i\b|to have fun)",
    r"i(?:'ll| will) (?:do my best|be happy|try to|be here)",
    r"would you like|do you have|(?:can|could) you (?:tell|provide|share)",
    r"(?:and )?don't forget to (?:celebrate|have fun|enjoy)|you can't go wrong|it sounds like you",
    rf"(?:these|those|this) (?:\w+ )?{_IDEAS} (?:should|will|can) (?:give|help|get|provide)",
    rf"by \w+ing (?:these|this|the above)|with these (?:\w+ )?{_IDEAS}",
    r"(?:ok|okay|done|great|perfect|alright)[\s,.!:–—-]+(?:noted|got it|understood|will do|sure|done|saved)\b",
    r"i think there(?:'s| has) been a|regarding your [^.]{0,60}that's",
)
# The same in a word or two of other languages, with no more than a courtesy behind it.
NODDING = re.compile(
    r"^\W*(?:verstanden|alles klar|gern(?:e geschehen)?|notiert|entendido|anotado|de acuerdo|de nada|(?:c'est )?(?:bien )?noté"
    r"|d'accord|compris|de rien|capito|entendi|понял[аи]?|понятно|хорошо|пожалуйста)\b[^\d:;]{0,30}$"
    r"|^\W*(?:好的|明白了?|了解|没问题|收到|不客气|はい|承知|了解です|شكر|حسن|عفو|تم )[^\d:：]{0,12}$",
    re.IGNORECASE,
)

_KEPT = r"(?:saved|noted|stored|remembered|recorded|updated|logged|added|deleted|removed|created|fixed|changed|done)"
# What an assistant says that it did, and no more: with a name, a number or a word more it is part of the answer.
RECEIPT = _opening(
    rf"(?:i(?:'ve| have)? |we(?:'ve| have) )(?:(?:now|just|also|successfully) )?{_KEPT}"
    r"(?: (?:it|this|that|them|(?:the|your|these|those) [a-z]+))?(?: (?:for you|now|as well|too|accordingly))?[\s.!]*$",
    rf"(?:it|this|that|everything|all|(?:the|your) [a-z]+)(?:'s| is| are| was| (?:has|have) been)? (?:now )?{_KEPT}[\s.!]*$",
    rf"(?:all )?{_KEPT}[\s.!]*$",
    after="ok|okay|done|great|sure|yes|all right|alright",
)

# Begins a sentence that means nothing without the one before it; "this weekend" and "that day" are times, not pronouns.
LEANING = re.compile(
    r"^\W*(?:(?:and|but|so|plus|also|then)[\s,]+)?"
    r"(?:it|it's|it'll|it'd|its|that|that's|this|they|they're|they've|they'll|them|their|those|these|he|he's|she|she's|his|her"
    r"|which|there|because|'cause|cause|plus|especially|same|both|such|otherwise|instead|afterwards?|then|so|and|but|or)\b"
    r"(?![’'-]?\w*\s+(?:one|day|week|month|year|morning|weekend|summer|time)\b)",
    re.IGNORECASE,
)
CAPTION = re.compile(r"^\[[^\[\]]{3,}\]$")
