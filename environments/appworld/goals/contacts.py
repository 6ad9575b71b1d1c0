"""Goals about the people in the phone's contacts."""

from .dealings import single
from .people import TIES, contacts, every_contact, known, next_birthday
from .registry import goal
from .scene import Scene, Unavailable, Wish, call, done

SEARCH = "phone.search_contacts"
ADDRESSES = (
    "18 Orchard Lane, Millbrook",
    "402 Harbor Street, Apartment 6, Westport",
    "77 Quarry Road, Fairview",
    "9 Linden Court, Ashford",
    "251 Mill Street, Riverton",
)


@goal(SEARCH)
def next_birthday_among_contacts(scene: Scene) -> Wish:
    today = scene.data.now.date()
    row = single(contacts(scene), lambda one: next_birthday(one, today), largest=False)
    return Wish(
        scene.say(
            "Which of the people in my phone's contacts has a birthday next? Their first name is enough.",
            "Whose birthday do I have to think of next? Look through my contacts and tell me just the first name.",
            "I want to buy a birthday card in time. Who of my contacts is the first to have a birthday, from today on? First name only.",
        ),
        [*every_contact(scene), done(row["first_name"])],
    )


@goal(SEARCH)
def age_at_the_next_birthday(scene: Scene) -> Wish:
    one = scene.pick(known(scene))
    at = next_birthday(one.row, scene.data.now.date())
    return Wish(
        scene.say(
            f"How old will {one.my} be on {_on(one.relationship)} next birthday? It is in my contacts.",
            f"I want to order a cake for {one.my} with the right number of candles on it. How many does the next birthday take?",
        ),
        [one.lookup, done(at.year - int(str(one.row["birthday"])[:4]))],
    )


def _on(relationship: str) -> str:
    male, female = ("brother", "father", "husband", "son", "uncle"), ("sister", "mother", "wife", "daughter", "aunt")
    return "his" if relationship in male else "her" if relationship in female else "the"


@goal(SEARCH)
def oldest_or_youngest_contact(scene: Scene) -> Wish:
    rows = contacts(scene)
    if not all(row["birthday"] for row in rows):
        raise Unavailable("a birthday is missing")
    which = scene.pick(("oldest", "youngest"))
    row = single(rows, lambda one: one["birthday"], largest=which == "youngest")
    return Wish(
        scene.say(
            f"Who is the {which} person in my phone's contacts? Give me the full name.",
            f"Going by the birthdays in my contacts, which of the people I know is the {which}? Please answer with first and last name.",
        ),
        [*every_contact(scene), done(f"{row['first_name']} {row['last_name']}")],
    )


@goal(SEARCH, "phone.update_contact")
def contact_is_a_friend_too(scene: Scene) -> Wish:
    one = scene.pick(one for one in known(scene) if one.relationship in TIES and "friend" not in one.row["relationships"])
    change = call("phone.update_contact", contact_id=one.row["contact_id"], relationships=[*one.row["relationships"], "friend"])
    return Wish(
        scene.say(
            f"Over the last months {one.my} has become a friend of mine. Note that down in my contacts as well, and keep what is there.",
            f"In my phone's contacts, {one.my} should be listed as a friend too, not just as a {one.relationship}.",
        ),
        [one.lookup, change, done()],
    )


@goal(SEARCH, "phone.update_contact")
def contact_has_moved(scene: Scene) -> Wish:
    one, address = scene.pick(known(scene)), scene.pick(ADDRESSES)
    change = call("phone.update_contact", contact_id=one.row["contact_id"], home_address=address)
    return Wish(
        scene.say(
            f'{one.my.capitalize()} has moved. Save "{address}" as the home address in my contacts.',
            f'Could you put the new home address of {one.my} into my phone? It is "{address}".',
        ),
        [one.lookup, change, done()],
    )


@goal(SEARCH, "phone.delete_contact")
def contact_is_not_needed_any_more(scene: Scene) -> Wish:
    one = scene.pick(one for one in known(scene) if one.relationship in TIES and len(one.row["relationships"]) == 1)
    return Wish(
        scene.say(
            f"{one.my.capitalize()} {TIES[one.relationship]} and we have lost touch. Please remove that person from my phone's contacts.",
            f"I do not need the number of {one.my} any more, who {TIES[one.relationship]}. Delete the entry from the contacts on my phone.",
        ),
        [one.lookup, call("phone.delete_contact", contact_id=one.row["contact_id"]), done()],
    )


@goal(SEARCH, "phone.send_text_message")
def ask_about_the_next_birthday(scene: Scene) -> Wish:
    today = scene.data.now.date()
    row = single(contacts(scene), lambda one: next_birthday(one, today), largest=False)
    words = scene.pick(
        (
            "What would you like for your birthday?",
            "I would love to bake you a cake for your birthday. Chocolate or lemon?",
            "Do you have plans for your birthday yet?",
        )
    )
    if next_birthday(row, today) == today:
        raise Unavailable("it is today")
    return Wish(
        scene.say(
            f'Find out which of my contacts has a birthday next and text that person "{words}"',
            f'Someone in my contacts has the next birthday coming up. Send whoever it is this text: "{words}"',
        ),
        [*every_contact(scene), call("phone.send_text_message", phone_number=row["phone_number"], message=words), done()],
    )
