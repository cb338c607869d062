"""Function words of a few languages, which neither begin nor end a phrase nor found a topic; and forms of one word."""

from __future__ import annotations

_WORDS = {
    "English": (
        "a about above after again against all almost also although always am among an and another any are aren't "
        "as at be because been before being below between both but by can can't cannot could couldn't did didn't "
        "do does doesn't doing don't down during each either else ever every few for from further get gets got "
        "had hadn't has hasn't have haven't having he he's hence her here hers herself him himself his how "
        "however i i'd i'll i'm i've if in instead into is isn't it it's its itself just least less let let's "
        "like many may maybe me might more most much must my myself neither never no none nor not now of off "
        "often on once one only onto or other others otherwise our ours ourselves out over own per perhaps quite "
        "rather really same shall she she's should shouldn't since so some such than that that's the their theirs "
        "them themselves then there there's therefore these they they're this those though through throughout "
        "thus to together too toward towards under until up upon us very via was wasn't we we're we've were "
        "weren't what what's when where whether which while who whom whose why will with within without won't "
        "would wouldn't yet you you'd you'll you're you've your yours yourself e.g. i.e. etc"
    ),
    "German": (
        "aber als am an auch auf aus bei bin bis bist da damit dann das dass dein deine dem den der des dich die "
        "dies diese diesem diesen dieser dieses dir doch du durch ein eine einem einen einer eines er es euch "
        "euer für gegen hab habe haben hat hatte hatten ich ihm ihn ihnen ihr ihre ihrem ihren ihrer im ins ist "
        "ja kann kein keine können mein meine mich mir mit muss nach nicht noch nun nur ob oder ohne sehr sein "
        "seine seinem seinen seiner sich sie sind so über um und uns unser unter vom von vor war waren weil wenn "
        "werden wie wir wird wo wurde wurden zu zum zur zwischen"
    ),
    "French": (
        "au aux avec c'est ce ces cet cette comme d'un d'une dans de des donc dont du elle elles en entre est et "
        "être eu ils je la le les leur leurs lui mais ne ni nos notre nous ont ou où par pas pour qu'il qu'elle "
        "que qui sa sans se ses si son sont sous sur tu un une vos votre vous y"
    ),
    "Spanish": (
        "a al algo algún alguna algunas algunos ante antes aquel aquella aquellos así aun aunque cada casi como con "
        "cual cuales cualquier cuando de debe deben del desde después donde durante e el ella ellas ello ellos en "
        "entre era eran es esa esas ese eso esos esta está están estas este esto estos fue fueron ha había han hasta "
        "hay he la las le les lo los más me mediante menos mi mientras misma mismo mucho muy nada ni ningún ninguna no "
        "nos nosotros o os otra otras otro otros para pero poco por porque puede pueden que quien se ser si sí "
        "sido siempre sin sino sobre son su sus tal también tampoco tan tanto te tiene tienen todas todo todos "
        "tras tu un una unas uno unos usted ya yo"
    ),
    "Portuguese": (
        "ao aos as até com como da das de dela dele do dos e ela elas ele eles em entre era essa esse esta este está "
        "foi foram há isso isto já lhe mais mas me mesmo muito na nas nem no nos num numa não o os ou para pela pelas "
        "pelo pelos por porque quando que quem se sem ser seu seus sua suas são só também tem têm um uma umas uns você"
    ),
    "Italian": (
        "ad agli ai al alla alle anche c'è che chi ci con cui da dagli dai dal dalla dalle degli dei del della "
        "delle dello di dove e ed era essere gli ha hanno ho i il in io la le lei loro lui ma mi nei nel nella nelle "
        "noi non o per perché però più quando quella quello questa questo qui se si sono su sua sue sugli sui sul "
        "sulla suo tra tutti un una uno è"
    ),
    "Dutch": (
        "aan bij dan dat de deze die dit door een en er haar heeft het hij hun ik is maar met naar niet nog of om "
        "ook op te tot uit van voor waren was wat werd wordt ze zich zijn zo"
    ),
    "Russian": (
        "а без более бы был была были было быть в вам вас весь во вот все всего всех вы где да даже для до его ее если "
        "есть еще же за здесь и из или им их к как ко когда который которая которое которые ли либо между мне может мы "
        "на над не него нет ни но о об однако он она они оно от очень по под при с со так также такой там то того тоже "
        "только том ты у уже чем что чтобы эта эти это этого этой этот"
    ),
    "Japanese": (
        "の に は を が と で も へ や から まで より など か な ね よ だ た て し れ さ せ い う る ば する した して "
        "します しない される された され させる ます ません ました です である でき できる ある あり あれ ない なく "
        "なる なり なっ れる られ られる いる いない いう こと もの とき ため よう ように これ それ この その あの "
        "ここ そこ という として について において による により によって における または および 及び ただし しかし "
        "なお また もし 場合 とする っ ん り っている ている っと には では とは のは のが のに のを にも でも がある "
        "があ ので れば れた れて てい いま ませ せん まし した たは また にな なる なり とな され ある ので"
    ),
    "Chinese": (
        "的 了 是 在 和 与 與 或 及 有 不 也 都 就 而 但 这 那 這 其 它 他 她 我 你 们 們 我们 你们 他们 个 個 一 一个 "
        "为 為 以 于 於 被 将 將 把 从 從 到 对 對 由 之 所 可 可以 会 會 能 能够 要 应 应该 如果 则 則 若 因为 因此 "
        "所以 但是 并 並 并且 或者 以及 这个 这些 那些 这样 某 每 各 当 當 时 時 后 後 前 中 上 下 里 没有 沒有 不是 "
        "不能 就是 什么 什麼 怎么 如何 使 使用 用 用于 等 等等 只 还 還 又 再 已 已经 很 更 最"
    ),
}

BY_LANGUAGE = {language: frozenset(words.split()) for language, words in _WORDS.items()}
FUNCTION_WORDS = frozenset().union(*BY_LANGUAGE.values())


# What two forms of one word differ by, each with the shortest stem that it is taken off.
_ENDINGS = {"'s": 2, "s": 3, "ies": 3, "y": 3, "es": 4, "e": 4, "ed": 4, "er": 4, "ers": 4, "ing": 4, "ly": 4}


def same_word(first: str, second: str) -> bool:
    """Whether two words are forms of one, or one is part of the other as a phrase.

    Phrases are joined by a space; "_" is a character of a word.

    >>> same_word("share", "shares"), same_word("israel", "israeli's"), same_word("new york", "york")
    (True, False, True)
    >>> same_word("size_t", "wint_t")
    False
    """
    if " " in first or " " in second:
        return bool(set(first.split()) & set(second.split()))
    return not _stems(first).isdisjoint(_stems(second))


def _stems(word: str) -> set[str]:
    """The word, and what is left when one ending is taken off."""
    stems = {word}
    for ending, shortest in _ENDINGS.items():
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= shortest:
            stems.add(stem)
    return stems
