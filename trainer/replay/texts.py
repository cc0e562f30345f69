"""Short news items of four topics, made from word lists: no corpus comes with hrmdoc.

Items to train on and to validate with are of one making, with one usual word for each concept. The unseen
ones are written by others: each concept may be worded by any of its synonyms. A model that knows the usual
words by heart is lost there.
"""

from __future__ import annotations

import random
from dataclasses import dataclass

import torch
from torch import Tensor

LENGTH = 10
"""Words of an item; shorter ones are padded."""
CONCEPTS_OF = {
    "world": """minister,secretary,official treaty,accord,pact border,frontier,boundary election,vote,ballot
        troops,soldiers,forces embassy,consulate,mission parliament,assembly,congress protest,rally,march
        president,leader,premier refugees,exiles,migrants summit,talks,conference war,conflict,battle""",
    "sports": """coach,trainer,manager goal,strike,score match,game,fixture team,squad,side
        striker,forward,attacker stadium,arena,ground league,division,championship medal,trophy,title
        injury,knock,strain referee,umpire,judge fans,crowd,supporters race,sprint,heat""",
    "business": """shares,stock,equities profit,earnings,gain bank,lender,creditor merger,takeover,acquisition
        investors,holders,backers inflation,prices,costs tariff,duty,levy revenue,sales,turnover
        factory,plant,works budget,spending,outlay dividend,payout,yield debt,loan,credit""",
    "science": """researchers,scientists,scholars planet,world,globe virus,germ,pathogen telescope,lens,mirror
        genome,genes,dna orbit,path,ellipse fossil,bone,remains laboratory,lab,bench
        software,program,code robot,machine,android chip,processor,circuit vaccine,serum,jab""",
}
FILLERS = (
    "the a of in on with after before and for at by from new two last early late over under said says told "
    "again still may more less than will has had while since monday friday week month year"
)


@dataclass(frozen=True, slots=True)
class Items:
    """Items as words, and the topic of each."""

    texts: tuple[str, ...]
    topics: Tensor


def concepts() -> list[list[list[str]]]:
    """For each topic its concepts, for each of these its synonyms, the usual word first."""
    return [[one.split(",") for one in words.split()] for words in CONCEPTS_OF.values()]


def synonyms() -> list[list[str]]:
    """All groups of words that mean the same."""
    return [group for topic in concepts() for group in topic]


def vocabulary() -> dict[str, int]:
    """The number of each word; 0 is padding."""
    words = dict.fromkeys([*FILLERS.split(), *(word for group in synonyms() for word in group)])
    return {word: number for number, word in enumerate(words, 1)}


def make(count: int, seed: int, *, unseen: bool = False) -> Items:
    """`count` items; with `unseen` any synonym may stand for a concept."""
    rng = random.Random(seed)
    topics = concepts()
    texts, labels = [], []
    for _ in range(count):
        topic = rng.randrange(len(topics))
        chosen = [rng.choice(group) if unseen else group[0] for group in rng.sample(topics[topic], 4)]
        words = [*chosen, *rng.choices(FILLERS.split(), k=rng.randint(LENGTH - 6, LENGTH - 4))]
        rng.shuffle(words)
        texts.append(" ".join(words))
        labels.append(topic)
    return Items(tuple(texts), torch.tensor(labels))


def encode(texts: list[str] | tuple[str, ...], numbers: dict[str, int]) -> Tensor:
    """Word numbers [item, LENGTH]."""
    rows = torch.zeros(len(texts), LENGTH, dtype=torch.long)
    for row, text in enumerate(texts):
        found = [numbers[word] for word in text.split() if word in numbers][:LENGTH]
        rows[row, : len(found)] = torch.tensor(found)
    return rows
