"""Ways to change a certificate: each takes a document (JSON) and a source of chance, and changes one thing of its kind.

A change gives back whether it found something to change.  Digests are made to fit afterwards.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

Json = dict[str, Any]
Change = Callable[[Json, random.Random], bool]


def contract(document: Json, chance: random.Random) -> bool:
    """Another launch: a requirement more or less, another grid, another type, a clause gone or made up."""
    launch = document["launch"]
    ways: list[Callable[[], object]] = [
        lambda: launch["requires"].append(chance.choice(("grid.x == 1", "grid.x >= 1")))
    ]
    for key in ("requires", "data"):
        if launch.get(key):
            ways.append(lambda key=key: launch[key].pop(chance.randrange(len(launch[key]))))  # type: ignore[misc]
    if document["requires"]:
        ways.append(lambda: document["requires"].pop(chance.randrange(len(document["requires"]))))
    ways.append(lambda: document["requires"].append("grid.x <= 1"))
    if document["facts"]:
        ways.append(lambda: document["facts"].pop(chance.randrange(len(document["facts"]))))
    ways.append(lambda: document["facts"].append("false"))
    arguments = [each for each in launch["arguments"] if isinstance(each.get("is"), str)]
    if arguments:
        one = chance.choice(arguments)
        ways.append(lambda: one.update({"is": _other_word(one["is"], chance)}))
    chance.choice(ways)()
    return True


def _other_word(text: str, chance: random.Random) -> str:
    pairs = [("f16", "f32"), ("f32", "f64"), ("i32", "i64"), ("M", "M + 1"), ("N", "2 * N"), ("N", "N - 1"), ("1", "2")]
    fitting = [pair for pair in pairs if pair[0] in text] or [(text, f"{text}x")]
    return text.replace(*chance.choice(fitting), 1)


def summary(document: Json, chance: random.Random) -> bool:
    """An access left out, twice, of another kind, of another array, awaited otherwise."""
    reading = document.get("reading")
    if not reading or not reading["sites"]:
        return False
    sites = reading["sites"]
    number = chance.randrange(len(sites))
    site = sites[number]
    ways: list[Callable[[], object]] = [
        lambda: sites.pop(number),
        lambda: sites.append(list(site)),
        lambda: site.__setitem__(2, "read" if site[2] != "read" else "write"),
        lambda: site.__setitem__(3, "relaxed" if site[3] == "weak" else "weak"),
        lambda: site.__setitem__(15, not site[15]),
        lambda: site.__setitem__(0, site[0] + 1),
        lambda: reading["written"].pop() if reading["written"] else reading["written"].append("?"),
    ]
    if site[9]:
        ways.append(lambda: site[9].pop())
        ways.append(lambda: site[9][0].__setitem__(1, _condition(reading, chance)))
    if reading["promises"]:
        ways.append(lambda: reading["promises"].pop(chance.randrange(len(reading["promises"]))))
        ways.append(lambda: reading["assertions"].append(reading["promises"].pop()))
    chance.choice(ways)()
    return True


def guard(document: Json, chance: random.Random) -> bool:
    """The guard or the mask of an access or the guard of a promise is another condition of the table."""
    reading = document.get("reading") or {"sites": [], "promises": []}
    rows = [(site, key) for site in reading["sites"] for key in (6, 10)]
    rows += [(item, key) for item in reading["promises"] for key in (2, 3)]
    if not rows:
        return False
    row, key = chance.choice(rows)
    row[key] = _condition(reading, chance)
    return True


def _condition(reading: Json, chance: random.Random) -> int:
    """The number of a condition that is there, or of `false`."""
    kinds = ("true", "false", "not", "and", "or", "lt", "le", "eq", "iff")
    found = [number for number, term in enumerate(reading["terms"]) if term[0] in kinds]
    if chance.random() < 0.3 or not found:
        reading["terms"].append(["false", None, []])
        return len(reading["terms"]) - 1
    return chance.choice(found)


def _number(reading: Json, chance: random.Random) -> int:
    found = [number for number, term in enumerate(reading["terms"]) if term[0] in ("const", "var", "sum", "product")]
    if chance.random() < 0.3 or not found:
        reading["terms"].append(["const", chance.choice((0, 1, 64)), []])
        return len(reading["terms"]) - 1
    return chance.choice(found)


def loop_form(document: Json, chance: random.Random) -> bool:
    """A carried value, the counter, or what holds in every iteration is another term."""
    reading = document.get("reading")
    if not reading or not (reading["loop_forms"] or reading["loops"]):
        return False
    ways: list[Callable[[], object]] = []
    for form in reading["loop_forms"]:
        for i, carried in enumerate(form[3]):
            if isinstance(carried, int):
                ways.append(lambda form=form, i=i: form[3].__setitem__(i, _number(reading, chance)))  # type: ignore[misc]
            elif isinstance(carried, dict) and carried["awaits"]:
                pair = chance.choice(carried["awaits"])
                ways.append(lambda pair=pair: pair.__setitem__(1, _condition(reading, chance)))  # type: ignore[misc]
        ways.append(lambda form=form: form.__setitem__(5, _condition(reading, chance)))  # type: ignore[misc]
        ways.append(lambda form=form: form.__setitem__(1, _number(reading, chance)))  # type: ignore[misc]
    for loop in reading["loops"]:
        ways.append(lambda loop=loop: loop.__setitem__(2, _number(reading, chance)))  # type: ignore[misc]
    for row in [term for term in reading["terms"] if term[0] == "var" and term[1][0].startswith("k")]:
        ways.append(lambda row=row: row[1].__setitem__(3, chance.choice((1, 2, 7))))  # type: ignore[misc]
    chance.choice(ways)()
    return True


def layout(document: Json, chance: random.Random) -> bool:
    """A footprint's sizes, strides, first byte, coordinates, tiles; an origin's."""
    reading = document.get("reading")
    if not reading or not reading["sites"]:
        return False
    place = chance.choice(reading["sites"])[5]
    origin = reading["origins"][place[1]]
    ways: list[Callable[[], object]] = []
    if place[0] == "view":
        for key in (3, 4, 6, 7):
            if place[key]:
                at = chance.randrange(len(place[key]))
                ways.append(lambda key=key, at=at: place[key].__setitem__(at, _number(reading, chance)))  # type: ignore[misc]
        ways.append(lambda: place.__setitem__(2, _number(reading, chance)))
        for key in (9, 10):
            ways.append(lambda key=key: place[key].__setitem__(0, place[key][0] * 2))  # type: ignore[misc]
        ways.append(lambda: place.__setitem__(5, place[5] * 2))
        ways.append(lambda: place[12].__setitem__(0, not place[12][0]) if place[12] else place[12].append(True))
    else:
        ways.append(lambda: place.__setitem__(2, _number(reading, chance)))
        ways.append(lambda: place.__setitem__(3, place[3] * 2))
    for key in (3, 4):
        if origin[key]:
            ways.append(lambda key=key: origin[key].__setitem__(-1, _number(reading, chance)))  # type: ignore[misc]
    ways.append(lambda: origin.__setitem__(2, origin[2] * 2))
    chance.choice(ways)()
    return True


def lemma(document: Json, chance: random.Random) -> bool:
    """An instance of a lemma of other terms, of another schema, or one that is not referred to any more."""
    if not document["lemmas"]:
        return False
    stated = chance.choice(document["lemmas"])
    ways: list[Callable[[], object]] = []
    if len(stated) > 2:
        ways.append(lambda: stated.__setitem__(1, stated[2]))
        ways.append(lambda: stated.__setitem__(slice(1, None), list(reversed(stated[1:]))))
    users = [question for question in document["questions"] if question["lemmas"]]
    if users:
        user = chance.choice(users)
        ways.append(lambda: user["lemmas"].pop())
        ways.append(lambda: user["lemmas"].append(chance.randrange(len(document["lemmas"]))))
    ways.append(lambda: stated.__setitem__(0, chance.choice(document["lemmas"])[0]))
    chance.choice(ways)()
    return True


def hashes(document: Json, chance: random.Random) -> bool:
    """A hash of the bytecode, or a question's name."""
    if document["questions"] and chance.random() < 0.4:
        question = chance.choice(document["questions"])
        question["id"] = _other_digit(question["id"], chance)
        return True
    key = chance.choice(("bytecode_sha256", "semantic_sha256"))
    document[key] = _other_digit(document[key], chance)
    return True


def _other_digit(text: str, chance: random.Random) -> str:
    at = chance.randrange(len(text))
    return text[:at] + ("0" if text[at] != "0" else "1") + text[at + 1 :]


def names(document: Json, chance: random.Random) -> bool:
    """The kernel's, an argument's, an obligation's code or words, an array's, an entry's."""
    ways: list[Callable[[], object]] = [
        lambda: document.__setitem__("kernel", "other"),
        lambda: document.__setitem__("symbol", f"{document['symbol']}2"),
        lambda: document.__setitem__("file", "other.py"),
    ]
    if document["obligations"]:
        one = chance.choice(document["obligations"])
        ways.append(lambda: one.__setitem__("code", chance.choice(("TV101", "TV301", "TV402"))))
        ways.append(lambda: one.__setitem__("detail", "nothing at all"))
        ways.append(lambda: one.__setitem__("level", chance.choice(("block", "instance", "lane", ""))))
    if document["places"]:
        place = chance.choice(document["places"])
        ways.append(lambda: place.__setitem__(2, "other"))
        ways.append(lambda: place.__setitem__(1, 0 if place[1] else 1))
        ways.append(lambda: place.__setitem__(3, "other.py:1:1"))
    ways.append(lambda: document["parameters"][0].__setitem__(1, "other"))
    chance.choice(ways)()
    return True


def order(document: Json, chance: random.Random) -> bool:
    """Obligations or questions change places."""
    table = document[chance.choice(("obligations", "questions"))]
    if len(table) < 2:
        return False
    i, j = chance.sample(range(len(table)), 2)
    table[i], table[j] = table[j], table[i]
    return True


def left_out(document: Json, chance: random.Random) -> bool:
    """An obligation, a question, a condition of one is missing; or one is answered by another's question."""
    obligations, questions = document["obligations"], document["questions"]
    if not obligations:
        return False
    one, question = chance.choice(obligations), chance.choice(questions)
    ways: list[Callable[[], object]] = [
        lambda: obligations.remove(one),
        lambda: one.__setitem__("question", chance.randrange(len(questions))),
        lambda: one.__setitem__("rung", "structural"),
        lambda: question["conditions"].append("false"),
    ]
    if question["conditions"]:
        ways.append(lambda: question["conditions"].pop(chance.randrange(len(question["conditions"]))))
    if one["wraps"]:
        ways.append(lambda: one["wraps"].pop())
    chance.choice(ways)()
    return True


KINDS: Final[dict[str, Change]] = {
    "contract": contract,
    "summary": summary,
    "guard": guard,
    "loop form": loop_form,
    "layout": layout,
    "lemma instance": lemma,
    "hash": hashes,
    "names": names,
    "order of obligations": order,
    "left-out obligations": left_out,
}
