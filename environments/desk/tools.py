"""The desk's 117 tools in 14 apps, one a line: what each takes, what it gives, how a request names it.

There are three kinds. A **lookup** gives a value; it is found by an entity ("the budget meeting") or by a value of another lookup. An
**action** changes the world, most of them with a value. `reads` is the one form that a tool takes its value in; it is not in the
public description: as with many real programming interfaces, it is learnt by use.
"""

from collections.abc import Mapping
from functools import cached_property

from attrs import frozen


@frozen(slots=False)
class Spec:
    """One tool. `phrase` holds `{e}` for the entity and `{v}` for the value, where the tool takes them."""

    name: str
    phrase: str
    entity: str | None = None
    """Name of the argument that takes an entity."""
    takes: str | None = None
    """Kind of value that it takes; also the argument's name."""
    reads: str | None = None
    """The form in which it takes the value."""
    gives: str | None = None
    """Kind of value that it gives: set exactly for lookups, which have an argument `as`."""
    changes: str | None = None
    """The lookup whose value for the entity an action sets."""

    @property
    def app(self) -> str:
        return self.name.partition(".")[0]

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of its arguments; all are required."""
        named = [a for a in (self.entity, self.takes) if a]
        return (*named, "as") if self.gives else tuple(named)


_APPS = """
calendar  meeting   board kickoff review retro
contacts  team      design legal sales finance
mail      thread    survey contract press outage
files     folder    brand tax photo client
wallet    bill      rent power water internet
notes     note      recipe interview idea workshop
tickets   issue     printer login wifi door
travel    trip      spring summer autumn winter
shop      order     desk coffee toner plant
chat      channel   help random news lunch
tasks     task      report audit hiring cleanup
rooms     booking   party training lecture exam
music     playlist  focus piano jazz morning
parcels   parcel    gift sample spare poster
"""
"""App: what its entities are (also the argument that names one), and the entities."""


def _rows(table: str, columns: int) -> list[list[str]]:
    return [line.split(None, columns - 1) for line in table.strip().splitlines()]


APPS: Mapping[str, str] = {app: entity for app, entity, _ in _rows(_APPS, 3)}
"""App -> the argument that names one of its entities."""
ENTITIES: Mapping[str, tuple[str, ...]] = {entity: tuple(names.split()) for _, entity, names in _rows(_APPS, 3)}
"""That argument -> the entities that there are."""

_BY_ENTITY = """
calendar.meeting_date   date      the date of the {e} meeting
calendar.meeting_time   time      the time of the {e} meeting
calendar.meeting_room   room      the room of the {e} meeting
contacts.team_lead      person    the head of the {e} team
contacts.team_phone     phone     the phone of the {e} team
contacts.team_city      place     the city of the {e} team
mail.sender             person    the sender of the {e} thread
mail.attachment         file      the attachment of the {e} thread
mail.deadline           date      the deadline in the {e} thread
files.newest            file      the newest file in the {e} folder
files.owner             person    the owner of the {e} folder
files.label             ticket    the ticket on the {e} folder
wallet.bill_amount      amount    the sum of the {e} bill
wallet.due_date         date      the due date of the {e} bill
wallet.bill_account     account   the account of the {e} bill
notes.writer            person    the writer of the {e} note
notes.place             place     the place in the {e} note
notes.number            phone     the phone in the {e} note
tickets.of_issue        ticket    the ticket of the {e} issue
tickets.effort          duration  the effort of the {e} issue
tickets.device          product   the device of the {e} issue
travel.departure        time      the departure of the {e} trip
travel.fare             amount    the fare of the {e} trip
travel.destination      place     the destination of the {e} trip
shop.item               product   the item of the {e} order
shop.total              amount    the total of the {e} order
shop.paid_from          account   the account of the {e} order
chat.pinned             file      the file pinned in the {e} channel
chat.call_length        duration  the call length of the {e} channel
chat.hotline            phone     the hotline of the {e} channel
tasks.estimate          duration  the estimate of the {e} task
tasks.ticket            ticket    the ticket of the {e} task
tasks.reminder          time      the reminder of the {e} task
rooms.booked            room      the room of the {e} booking
rooms.start             time      the start of the {e} booking
rooms.equipment         product   the device of the {e} booking
music.length            duration  the length of the {e} playlist
music.studio            room      the room of the {e} playlist
music.plan              account   the account of the {e} playlist
parcels.content         product   the content of the {e} parcel
parcels.refund          account   the account of the {e} parcel
parcels.claim           ticket    the ticket of the {e} parcel
"""
"""Lookup by entity: name, kind of value it gives, phrase."""

_BY_VALUE = """
contacts.birthday     person    email    date      the birthday of {v}
contacts.mobile       person    badge    phone     the mobile of {v}
calendar.free_room    date      us       room      the room free on {v}
calendar.first_slot   duration  minutes  time      the first slot of {v}
rooms.keeper          room      number   person    the keeper of {v}
rooms.device          room      label    product   the device in {v}
rooms.free_at         time      utc      room      the room free at {v}
travel.flight_time    place     airport  duration  the flight time to {v}
parcels.next_round    place     city     date      the next delivery day in {v}
wallet.balance        account   iban     amount    the balance of {v}
wallet.cover          amount    gbp      account   the account that covers {v}
files.author          file      path     person    the author of {v}
tickets.log           ticket    serial   file      the log of {v}
tasks.time_left       ticket    key      duration  the time left on {v}
shop.price            product   barcode  amount    the price of {v}
shop.manual           product   sku      file      the manual of {v}
chat.caller           phone     intl     place     the city that {v} calls from
notes.mention         file      hash     ticket    the ticket noted in {v}
music.opening         place     grid     time      the concert hour in {v}
"""
"""Lookup by value: name, kind and form of the value it takes, kind it gives, phrase."""

_WITH_VALUE = """
calendar.invite     person    handle   -                      invite {v} to the {e} meeting
calendar.move       date      iso      calendar.meeting_date  move the {e} meeting to {v}
calendar.block      time      h24      -                      block the calendar at {v}
contacts.add_phone  phone     ext      -                      save {v} in contacts
contacts.star       person    badge    -                      star {v} in contacts
contacts.relocate   place     grid     contacts.team_city     list the {e} team under {v}
mail.forward        person    email    -                      forward the {e} thread to {v}
mail.attach         file      hash     mail.attachment        attach {v} to the {e} thread
mail.send_at        time      h12      -                      send the {e} thread at {v}
files.publish       file      link     -                      publish {v}
files.archive_on    date      dotted   -                      archive the {e} folder on {v}
files.tag           ticket    url      files.label            tag the {e} folder with {v}
wallet.pay_from     account   short    wallet.bill_account    pay the {e} bill from {v}
wallet.save         amount    eur      -                      put aside {v}
wallet.pay_on       date      us       wallet.due_date        pay the {e} bill on {v}
notes.pin           file      path     -                      pin {v} to the {e} note
notes.remind        time      utc      -                      show the {e} note at {v}
notes.write_phone   phone     intl     notes.number           write {v} into the {e} note
tickets.merge       ticket    key      -                      merge the {e} issue into {v}
tickets.log_time    duration  hours    -                      log {v} on the {e} issue
tickets.replace     product   model    tickets.device         replace the device of the {e} issue by {v}
travel.train        date      iso      -                      book a train on {v}
travel.hotel        place     city     -                      book a hotel in {v}
travel.claim        amount    usd      -                      claim {v} for the {e} trip
shop.reorder        product   sku      -                      buy {v} again
shop.refund         account   iban     -                      refund the {e} order to {v}
shop.voucher        amount    gbp      -                      buy a voucher of {v}
chat.mute           duration  minutes  -                      mute the {e} channel for {v}
chat.call           phone     local    -                      call {v}
chat.gather         room      map      -                      gather the {e} channel in {v}
tasks.timer         duration  clock    -                      start a timer of {v}
tasks.depend        ticket    serial   tasks.ticket           make the {e} task wait for {v}
tasks.budget        amount    usd      -                      set the cost of the {e} task to {v}
rooms.reserve       room      label    -                      reserve {v}
rooms.order         product   barcode  rooms.equipment        order {v} for the {e} booking
rooms.extend        duration  hours    -                      extend the {e} booking by {v}
music.alarm         time      h24      -                      wake me with music at {v}
music.charge        account   alias    -                      charge the music plan to {v}
music.play_in       room      number   music.studio           play the {e} playlist in {v}
parcels.send        place     airport  -                      send the {e} parcel to {v}
parcels.text        phone     local    -                      text the {e} parcel code to {v}
parcels.debit       account   alias    parcels.refund         bill the {e} parcel to {v}
"""
"""Action with a value: name, kind and form of the value it takes, the lookup that it changes, phrase."""

_SIMPLE = """
calendar.cancel   cancel the {e} meeting
contacts.sync     sync the {e} team
mail.archive      archive the {e} thread
files.zip         zip the {e} folder
wallet.dispute    dispute the {e} bill
notes.lock        lock the {e} note
tickets.close     close the {e} issue
travel.cancel     cancel the {e} trip
shop.cancel       cancel the {e} order
chat.leave        leave the {e} channel
tasks.finish      finish the {e} task
rooms.release     release the {e} booking
music.shuffle     shuffle the {e} playlist
parcels.insure    insure the {e} parcel
"""
"""Action on an entity alone: name, phrase."""


def _entity(name: str, phrase: str) -> str | None:
    return APPS[name.partition(".")[0]] if "{e}" in phrase else None


def _catalogue() -> dict[str, Spec]:
    specs = [Spec(name, phrase, _entity(name, phrase), gives=gives) for name, gives, phrase in _rows(_BY_ENTITY, 3)]
    specs += [Spec(name, phrase, takes=takes, reads=reads, gives=gives) for name, takes, reads, gives, phrase in _rows(_BY_VALUE, 5)]
    for name, takes, reads, changes, phrase in _rows(_WITH_VALUE, 5):
        specs.append(Spec(name, phrase, _entity(name, phrase), takes, reads, changes=None if changes == "-" else changes))
    specs += [Spec(name, phrase, _entity(name, phrase)) for name, phrase in _rows(_SIMPLE, 2)]
    return {spec.name: spec for spec in specs}


TOOLS: Mapping[str, Spec] = _catalogue()
SOURCES = tuple(s for s in TOOLS.values() if s.gives and s.entity)
"""Lookups by entity, with which a chain begins."""
RELAYS = tuple(s for s in TOOLS.values() if s.gives and s.takes)
"""Lookups by value, in the middle of a chain."""
ACTIONS = tuple(s for s in TOOLS.values() if s.takes and not s.gives)
"""Actions with a value, with which a chain ends."""
SIMPLE = tuple(s for s in TOOLS.values() if not s.takes and not s.gives)
"""Actions on an entity alone."""
LINKS = tuple((p.name, c.name) for p in (*SOURCES, *RELAYS) for c in (*RELAYS, *ACTIONS) if p.gives == c.takes and p is not c)
"""All compositions: a lookup and a tool that takes what it gives."""
