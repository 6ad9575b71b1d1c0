"""What users report to support: subjects that fit the other services of a task, so that a story stays in one life."""

from attrs import frozen

from .scene import Scene


@frozen
class Subject:
    """Something to report: the ticket's texts, what is learned later, and how it ends."""

    title: str
    text: str
    """The description."""
    more: str
    """The description once more is known."""
    fix: str
    """The resolution where the user finds one."""
    clearer: str
    """A better title."""


_SUBJECTS: dict[str, tuple[Subject, ...]] = {
    "TradingBot": (
        Subject("Price charts frozen", "The price charts have not moved since this morning.",
                "The price charts have not moved since this morning, neither on the web nor in the app.",
                "Cleared the browser cache; the charts move again.", "Price charts frozen on web and app"),
        Subject("Statement missing", "The account statement for last month is not in my documents.",
                "The account statements for the last two months are not in my documents.",
                "Found the statement in the tax folder.", "Monthly statement missing"),
        Subject("Two-factor code delayed", "The codes for signing in reach me ten minutes late.",
                "The codes for signing in reach me ten minutes late, by text message as well as by email.",
                "Switched to an authenticator app.", "Sign-in codes arrive too late"),
    ),
    "TravelAPI": (
        Subject("Seat map does not load", "The seat map stays blank when I try to choose a seat.",
                "The seat map stays blank when I try to choose a seat, in every browser that I tried.",
                "Updated the app; the seat map loads now.", "Seat map stays blank"),
        Subject("Receipt for expenses", "My employer needs a receipt that shows the tax separately.",
                "My employer needs a receipt that shows the tax separately, and it has to name our company.",
                "Accounting accepted the receipt as it was.", "Receipt with separate tax"),
        Subject("Miles not credited", "The miles of my last trip are missing from my account.",
                "The miles of my last two trips are missing from my account.",
                "The miles appeared in the account overnight.", "Frequent flyer miles not credited"),
    ),
    "VehicleControlAPI": (
        Subject("Phone does not pair", "My phone no longer connects to the car.",
                "My phone no longer connects to the car, not even after a restart.",
                "Deleted the old pairing and paired the phone again.", "Phone does not connect to car"),
        Subject("Rattle at the rear", "There is a rattle from the rear whenever I drive over bumps.",
                "There is a rattle from the rear left whenever I drive over bumps.",
                "The noise came from a loose jack in the trunk.", "Rattling noise at the rear"),
    ),
    "GorillaFileSystem": (
        Subject("Printer on floor 2", "The printer on floor 2 prints blank pages.",
                "The printer on floor 2 prints blank pages, but only when I print from the laptop.",
                "Changed the toner; it prints again.", "Printer on floor 2 prints blank pages"),
        Subject("Shared drive is slow", "Opening a file on the shared drive takes minutes.",
                "Opening a file on the shared drive takes minutes, mostly in the afternoon.",
                "The cable was loose; the drive is fast again.", "Shared drive very slow"),
        Subject("More storage needed", "My home folder is almost full. Please add 20 GB.",
                "My home folder is almost full. Please add 50 GB.",
                "Deleted old videos; there is enough space now.", "Storage for home folder"),
    ),
}  # fmt: skip
_EVERYWHERE = (
    Subject("Password reset email", "The email for resetting my password never arrives.",
            "The email for resetting my password never arrives, and it is not in the spam folder.",
            "The email had gone to an old address.", "Password reset email never arrives"),
    Subject("Wrong phone number on file", "My profile still shows my old phone number and I cannot change it.",
            "My profile still shows my old phone number. The button for saving a new one does nothing.",
            "Could change the number from another browser.", "Cannot change phone number"),
)  # fmt: skip


def subject(scene: Scene) -> Subject:
    """A subject that fits what else the task is about."""
    own = [one for owner, subjects in _SUBJECTS.items() if scene.has(owner) for one in subjects]
    return scene.pick([*own, *own, *_EVERYWHERE])


def subject_called(title: str) -> Subject | None:
    """The subject with a title; None where the ticket is about something else."""
    everything = [*_EVERYWHERE, *(one for subjects in _SUBJECTS.values() for one in subjects)]
    return next((one for one in everything if one.title == title), None)
