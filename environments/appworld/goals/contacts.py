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
            "Who among my phone contacts has the next birthday? Just the first name, please.",
            "I want to buy a birthday card in time. Going by my phone contacts, whose birthday comes up next? Just the first name.",
            "Check the birthdays in my phone contacts and tell me who has the next one. The first name is enough.",
        ),
        [*every_contact(scene), done(row["first_name"])],
    )


@goal(SEARCH)
def age_at_the_next_birthday(scene: Scene) -> Wish:
    one = scene.pick(known(scene))
    at = next_birthday(one.row, scene.data.now.date())
    return Wish(
        scene.say(
            f"How old will {one.my} turn next? The date of birth is in my phone contacts.",
            f"I never remember how old {one.my} is. Going by my phone contacts, what age will {one.my} turn at the next birthday?",
        ),
        [one.lookup, done(at.year - int(str(one.row["birthday"])[:4]))],
    )


@goal(SEARCH)
def oldest_or_youngest_contact(scene: Scene) -> Wish:
    rows = contacts(scene)
    if not all(row["birthday"] for row in rows):
        raise Unavailable("a birthday is missing")
    which = scene.pick(("oldest", "youngest"))
    row = single(rows, lambda one: one["birthday"], largest=which == "youngest")
    return Wish(
        scene.say(
            f"Going by the birthdays in my phone contacts, who is the {which} person there? Give me the full name.",
            f"Who is the {which} of my phone contacts, going by their dates of birth? Please answer with first and last name.",
        ),
        [*every_contact(scene), done(f"{row['first_name']} {row['last_name']}")],
    )


@goal(SEARCH, "phone.update_contact")
def contact_is_a_friend_too(scene: Scene) -> Wish:
    one = scene.pick(one for one in known(scene) if one.relationship in TIES and "friend" not in one.row["relationships"])
    change = call("phone.update_contact", contact_id=one.row["contact_id"], relationships=[*one.row["relationships"], "friend"])
    return Wish(
        scene.say(
            f"{one.my.capitalize()} has become a good friend over the last few months. List {one.my} as both a "
            f"{one.relationship} and a friend in my phone contacts.",
            f"In my phone contacts, {one.my} should be listed as a friend too, not just as a {one.relationship}.",
        ),
        [one.lookup, change, done()],
    )


@goal(SEARCH, "phone.update_contact")
def contact_has_moved(scene: Scene) -> Wish:
    one, address = scene.pick(one for one in known(scene) if one.relationship != "roommate"), scene.pick(ADDRESSES)
    change = call("phone.update_contact", contact_id=one.row["contact_id"], home_address=address)
    return Wish(
        scene.say(
            f'{one.my.capitalize()} has moved. Save "{address}" as the new home address in my phone contacts.',
            f'The new home address of {one.my} is "{address}". Please put it into my phone contacts.',
        ),
        [one.lookup, change, done()],
    )


@goal(SEARCH, "phone.delete_contact")
def contact_is_not_needed_any_more(scene: Scene) -> Wish:
    one = scene.pick(one for one in known(scene) if one.relationship in TIES and len(one.row["relationships"]) == 1)
    return Wish(
        scene.say(
            f"{one.my.capitalize()} {TIES[one.relationship]} and we have lost touch. Please delete the entry from my phone contacts.",
            f"{one.my.capitalize()} {TIES[one.relationship]} and I no longer need the number, so please remove the entry from "
            "my phone contacts.",
        ),
        [one.lookup, call("phone.delete_contact", contact_id=one.row["contact_id"]), done()],
    )
