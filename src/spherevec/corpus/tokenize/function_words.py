"""Closed-class words of a few languages, with which no phrase begins or ends ("of the", "bin ich")."""

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
    "Spanish, Portuguese and Italian": (
        "al ao aos até con cual cuando da dal dalla das degli dei del della delle di do dos e el ella em era esta "
        "este fue gli ha han hasta il la las lo los más muy na nas nel nella não no nos o os para pela pelo però "
        "per pero più porque por que sem si sin sobre sono su sua sue sul sulla también também um uma una unas "
        "uno unos"
    ),
    "Dutch": (
        "aan bij dan dat de deze die dit door een en er haar heeft het hij hun ik is maar met naar niet nog of om "
        "ook op te tot uit van voor waren was wat werd wordt ze zich zijn zo"
    ),
}

FUNCTION_WORDS = frozenset(word for words in _WORDS.values() for word in words.split())
