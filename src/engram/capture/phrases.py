"""The words and phrases that tell statements from talk about nothing. English first; other languages where a short list
does it. Sentences in other languages have no words in these lists and are therefore kept, never lost.
"""

from __future__ import annotations

import re

from engram.text.wordlist import word_set

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

GREETING = re.compile(
    r"^\W*(?:hey|hi|hiya|hello|howdy|yo|greetings|good (?:morning|afternoon|evening|day)|long time no|nice to (?:see|meet|hear)"
    r"|(?:so |really |it's |it is )?(?:good|great|nice|lovely) to (?:see|hear from|meet|be))\b",
    re.IGNORECASE,
)
THANKS = re.compile(
    r"^\W*(?:(?:oh|aw+|wow|yeah|okay|ok|great|perfect|no|and)[\s,!.]+)?(?:many |a million )?(?:thanks"
    r"|thank you|thank u|thx|ty\b|cheers"
    r"|much appreciated|(?:i )?(?:really |so |truly )?appreciate (?:it|that|you|your|the)|i'm (?:so |really "
    r"|very )?(?:grateful|thankful) for (?:you|your))",
    re.IGNORECASE,
)
FAREWELL = re.compile(
    r"^\W*(?:(?:well|ok|okay|anyway|alright)[\s,]+)?(?:bye|goodbye|good ?night|see (?:you|ya)|catch (?:you|ya)"
    r"|talk (?:to you )?(?:soon|later)"
    r"|take care|ttyl|have (?:a|an) (?:\w+ )?(?:day|night|one|weekend|evening|time|trip)|until next time|later)\b",
    re.IGNORECASE,
)
# "You're amazing", "Your art is lovely", "What a view", "Keep it up": about what the other one said.
APPLAUSE = re.compile(
    r"^\W*(?:(?:oh|wow|yeah|yes|aw+|haha|well|and|but|so|man|hey)[\s,!.]+)*(?:you(?:'re|'ve|'ll|'d)?|your"
    r"|that(?:'s|'ll)?|those|these|this|what an?"
    r"|how|keep|sounds?|looks?|so|glad|great|good|nice|love|loving|happy|congrats|congratulations|wishing"
    r"|enjoy|cherish|awesome|cool|amazing"
    r"|i(?:'m| am)? (?:so |really |very |totally |completely |just |also )?(?:happy|glad|proud|excited|sorry"
    r"|thrilled|love|hope|bet|agree|hear|know|get|feel|can)"
    r"|can't wait|no (?:problem|worries|doubt)|it(?:'s| is| must| sounds| looks)|let's|let me|they|we|totally"
    r"|absolutely|definitely|exactly)\b",
    re.IGNORECASE,
)

# Said to a person or a machine to make it do something; not a fact about anyone.
REQUEST = re.compile(
    r"^\W*(?:(?:please|kindly|now|ok|okay|great|thanks|and|then|so|also|yes|no|alright|sure|well|hey|hi|next"
    r"|again|just)[\s,!.]+)*"
    r"(?:please\s+)?(?:write|rewrite|give|tell|show|explain|list|create|generate|suggest|recommend|provide"
    r"|summari[sz]e|translate|describe"
    r"|compare|find|make|help|continue|elaborate|expand|act|pretend|imagine|draft|compose|outline|convert"
    r"|calculate|solve|answer|define"
    r"|discuss|analy[sz]e|identify|design|develop|propose|include|add|remove|change|replace|use|try"
    r"|let me know|consider|format|check out"
    r"|take a look|have a look|look at|see if|come up|proofread|edit|correct|fix|implement|choose|pick|name|share|tell me)\b",
    re.IGNORECASE,
)
WISH = re.compile(
    r"^\W*(?:(?:also|and|so|ok|okay|hi|hey|hello|actually|by the way)[\s,!.]+)*i(?:'d| would)? ?(?:was|am"
    r"|'m)? ?(?:just )?(?:wondering|curious|like to know|love to (?:know|hear)"
    r"|want to know|want you to|would like you to|need you to|'d like you to|would love (?:to hear|for you))\b",
    re.IGNORECASE,
)

QUESTION_WORD = re.compile(
    r"^\W*(?:(?:and|so|but|ok|okay|well|hey|oh|wow|also|by the way|btw|then|hmm)[\s,]+)*"
    r"(?:what|what's|whats|who|who's|whose|whom|where|where's|when|why|how|how's|which|do|does|did|don't"
    r"|doesn't|didn't|is|are|am|was|were|isn't|aren't"
    r"|can|could|can't|couldn't|will|would|won't|wouldn't|should|shouldn't|have|has|had|haven't|hasn't|may"
    r"|might|shall|any|got any)\b",
    re.IGNORECASE,
)
# A question even without its mark.
INVERSION = re.compile(
    r"^\W*(?:(?:how|what|why|where|when|who|which)(?:'s|’s)? (?:do|does|did|can|could|should|would|is|are|was"
    r"|were|will|to|about|if)"
    r"|(?:can|could|would|will|do|does|did|is|are|should) (?:you|i|we|there|it|they|he|she|this|that))\b",
    re.IGNORECASE,
)
PLEASANTRY = re.compile(
    r"\bhow(?:'s| is| are| have| has)? (?:you|it|things|everything|life|your day)\b|\bwhat(?:'s| is)? (?:up"
    r"|new|happening|going on)\b"
    r"|\banything (?:new|else|exciting)\b|\bhow about you\b|\bwhat about you\b|\band you\b|\byou (?:ok|okay)\b",
    re.IGNORECASE,
)

# What assistants say around an answer.
BOILERPLATE = re.compile(
    r"^\W*(?:as an? (?:ai|artificial|large|language)|i(?:'m| am) (?:just |only )?an? (?:ai|artificial"
    r"|language)|sure(?: thing)?\b|certainly\b|of course\b"
    r"|absolutely[!,.]|definitely[!,.]|great (?:question|idea|choice|point)|good (?:question|idea|choice"
    r"|point)|excellent (?:question|idea|choice|point)"
    r"|that(?:'s| is) (?:a |an )?(?:really |very |absolutely )?(?:great|good|fantastic|excellent|wonderful"
    r"|awesome|amazing|interesting|lovely|fascinating|terrific|perfect)\b"
    r"|what an? (?:great|lovely|wonderful|fantastic|interesting|exciting|amazing|score)|i(?:'d| would|'m"
    r"| am) (?:be )?(?:so |very |more than )?(?:happy|glad|delighted|thrilled|excited) (?:to|that|you|for)"
    r"|you(?:'re| are) (?:very |most )?welcome|no problem|my pleasure|i hope (?:this|that|these|you|it|the)"
    r"|hope (?:this|that|it) helps|let me know|feel free|don't hesitate"
    r"|if you (?:have|need|want|would|'d|are|need) (?:any |more |further |additional )?(?:other |further "
    r"|more |specific |additional )*(?:questions?|help|assistance|clarification|information|concerns?"
    r"|suggestions?)"
    r"|(?:is|are) there (?:anything|any)|please (?:let me know|feel free|provide|note that (?:i|as))|i(?:'m"
    r"| am) here to|i(?:'m| am) sorry|i apologi[sz]e|sorry(?: for|,| about)|my apologies|apologies"
    r"|thank you for|thanks for|congratulations|happy to help|glad (?:to|i|you|that)|good luck|best of luck"
    r"|enjoy|have (?:a |fun)|remember[,:]? (?:i\b|to have fun)"
    r"|i(?:'ll| will) (?:do my best|be happy|try to|be here)|would you like|do you have|can you (?:tell"
    r"|provide|share)|could you (?:tell|provide|share)|noted\b|got it\b|understood\b|hello\b|hi\b|hey\b)",
    re.IGNORECASE,
)
# Begins a sentence that means nothing without the one before it.
LEANING = re.compile(
    r"^\W*(?:(?:and|but|so|plus|also|then)[\s,]+)?(?:it|it's|it'll|it'd|its|that|that's|this|they|they're"
    r"|they've|they'll|them|their|those|these|he|he's|she|she's|his|her|which"
    r"|there|because|'cause|cause|plus|especially|especially because|same|both|such|otherwise|instead"
    r"|afterwards?|then|so|and|but|or|one of them)\b(?![’'-]?\w*\s+(?:one|day|week|month|year|morning|weekend"
    r"|summer|time)\b)",
    re.IGNORECASE,
)
CAPTION = re.compile(r"^\[[^\[\]]{3,}\]$")

# "Sounds like a plan", "That's a great point about …", "Hope you're well": an answer to what was said, whatever follows.
REACTING = re.compile(
    r"^\W*(?:(?:oh|wow|yeah|yes|aw+|haha|well|and|but|so|man|hey|ok|okay|thanks|nice|cool|awesome|great)[\s,!.]+)*"
    r"(?:(?:that |this |it )?(?:sounds|looks|seems) like (?:an?|you|your|the|it|fun|things|such|quite)\b"
    r"|that(?:'s|’s| is) (?:such )?(?:an? )?(?:\w+ )?(?:great|good|excellent|interesting|wonderful|fantastic"
    r"|amazing|awesome|valid|fair|brilliant|solid|helpful|smart) (?:point|idea|question|tip|suggestion|way"
    r"|start|plan|choice|advice|news)"
    r"|(?:i )?(?:really )?hope (?:you|your|it goes|that helps|this helps|all)|(?:sorry|great|good|glad|nice"
    r"|happy) to hear|(?:i'm |i’m )?sorry (?:to hear|about|for)"
    r"|(?:i'm |i’m |i am )?(?:so |really |very |just )?(?:glad|happy|proud|thrilled|stoked) (?:for|of|that"
    r"|to hear|you|our|i could)"
    r"|(?:i'm |i’m )?sure you|let(?:'s|’s| us) (?:keep|cherish|continue|do (?:it|this)|spread|stay|tackle|make it)|congrat"
    r"|(?:don't|don’t|never) (?:be afraid|give up|forget|worry|let|stop|sweat)|you(?:'re|’re"
    r"| are)? (?:got this|killing|crushing|nailing|rocking)"
    r"|got your back|i(?:'ve|’ve) got your back|best of luck|good luck|way to go|fingers crossed"
    r"|keep (?:it )?up|keep (?:up )?(?:the|on|going|rock|shin|inspir|push)"
    r"|i (?:totally |completely |can )?(?:understand|imagine|relate|agree|see|hear you|know) (?:how|what|why"
    r"|that|with you|where|it))",
    re.IGNORECASE,
)
OFFER = re.compile(
    r"\b(?:just )?(?:let me know|hit me up|give me a (?:shout|call)|reach out to me"
    r"|i'm (?:always )?here (?:for you|if you|to (?:help|support|listen|cheer))|here for you)\b"
    r"|\bif you(?:'d like| need| want| ever need)\b.*\b(?:let me know|just ask|i can|i could|i'm here|happy to)\b",
    re.IGNORECASE,
)
CATCHING_UP = re.compile(
    r"\b(?:lots?|tons|much) (?:has |has been |have |'s |’s )?(?:happened|happening|gone (?:on|down)|going on"
    r"|changed|been going on)\b|"
    r"\b(?:been (?:a|so|too) (?:long |little )?(?:while|long|time)|been ages|long time"
    r"|since we (?:last )?(?:talked|chatted|spoke|met|caught up))\b",
    re.IGNORECASE,
)
