"""Goals that carry something from the file system to another service."""

from typing import Any

from .file_view import FILES, Seen, below, enter, folder_at, free, keep_file, quoted, spot, the_file, where
from .files_changes import fresh_files
from .registry import goal
from .scene import NotHere, Scene
from .tickets import TICKETS, keep_ticket, priority_words, sign_in

TWEETS, MESSAGES, MATH = "TwitterAPI", "MessageAPI", "MathAPI"
_LONGEST_TWEET = 280
_ANNOUNCEMENTS = (
    ("announcement.txt", "Our spring report comes out on Monday."),
    ("news.txt", "We are hiring two data analysts. Write to us!"),
    ("teaser.txt", "Something new is coming next week. Stay tuned!"),
    ("thank_you.txt", "Thank you all for coming to our open day!"),
)
_BUDGETS = (160, 200, 250, 280, 400, 500, 800)
"""Limits of characters that forms and short messages have."""


def siblings(scene: Scene, least: int) -> list[Seen]:
    """Two or three legible files of one folder."""
    places = sorted({file.path for file in below(scene)})
    groups = [[file for file in below(scene) if file.path == place and file.legible and file.words > 2] for place in places]
    group = scene.pick(group for group in groups if len(group) >= least)
    return group[:3]


def sign_in_to_tweets(scene: Scene) -> str:
    """Log in where the user is not yet; the sentence in which the user gives the credentials, with a blank before it."""
    account = scene.service(TWEETS)
    if account.authenticated:
        return ""
    scene.call("authenticate_twitter", username=account.username, password=account.password)
    return scene.say(
        f" My Twitter login is {quoted(scene, account.username)} with the password {quoted(scene, account.password)}.",
        f" Log in to Twitter as {quoted(scene, account.username)}, password {quoted(scene, account.password)}, first.",
    )


def sign_in_to_messages(scene: Scene) -> tuple[str, str]:
    """Log in where nobody is; the sentence in which the user says who they are, and the name of somebody else to write to."""
    service = scene.service(MESSAGES)
    people = dict(service.user_map)
    own, said = service.current_user, ""
    if own is None:
        own = scene.pick(sorted(people.values()))
        scene.call("message_login", user_id=own)
        said = scene.say(
            f" Log me in to the messenger with my ID, {own}, for that.", f" I'm {own} in the messenger; please log me in first."
        )
    return said, scene.pick(name for name, number in sorted(people.items()) if number != own)


def send(scene: Scene, name: str, text: str) -> None:
    """Write to somebody known by name."""
    receiver: Any = scene.call("get_user_id", user=name)
    scene.call("send_message", receiver_id=receiver["user_id"], message=text)
    scene.keep("message", name=name, text=text, turn=len(scene.turns))


@goal(FILES, also=(TWEETS,), topic="tweet")
def tweet_a_file(scene: Scene) -> str:
    file = scene.pick(
        file for file in fresh_files(scene) if file.presentable and file.ending in (".txt", ".md", ".csv", "") and file.words > 2
    )
    place = where(scene, file.path)
    enter(scene, file.path)
    scene.call("cat", file_name=file.name)
    login = sign_in_to_tweets(scene)
    tweet = scene.call("post_tweet", content=file.content)
    scene.keep("tweet", id=tweet["id"], text=file.content, turn=len(scene.turns))
    keep_file(scene, file.name, read=True)
    return scene.say(
        f"I'd like my followers to see what's in {file.said}{place}. Tweet its text exactly as it stands.{login}",
        f"Please tweet the contents of {file.said}{place}, word for word and nothing added.{login}",
    )


@goal(FILES, needs=("file",), also=(TWEETS,), topic="tweet")
def tweet_that_text(scene: Scene) -> str:
    file, kept = the_file(scene), scene.last("file")
    scene.need(file.presentable and kept.get("read") and len(file.content) <= _LONGEST_TWEET)
    tag = scene.pick(("#work", "#update", "#notes", "#progress"))
    login = sign_in_to_tweets(scene)
    tweet = scene.call("post_tweet", content=file.content, tags=[tag])
    scene.keep("tweet", id=tweet["id"], text=file.content, turn=len(scene.turns))
    return scene.say(
        f"People should see that. Tweet exactly that text and add the tag {tag}.{login}",
        f"Post that text on Twitter as it is, tagged {tag}.{login}",
    )


@goal(FILES, also=(TWEETS,), topic="tweet")
def tweet_the_length(scene: Scene) -> str:
    file = scene.pick(file for file in fresh_files(scene) if file.legible and file.words > 4)
    place = where(scene, file.path)
    enter(scene, file.path)
    count = scene.call("wc", file_name=file.name, mode="w")["count"]
    form = scene.pick(("Today's word count: {}.", "My text has {} words so far.", "{} words written, and counting!"))
    login = sign_in_to_tweets(scene)
    tweet = scene.call("post_tweet", content=form.format(count))
    scene.keep("tweet", id=tweet["id"], text=form.format(count), turn=len(scene.turns))
    gap = f'"{form.format("N")}"'
    return scene.say(
        f"Count the words in {file.said}{place} and tweet {gap} with the real number instead of the N.{login}",
        f"I share my progress on Twitter. Please post {gap}, where N is the number of words in {file.said}{place}.{login}",
    )


@goal(FILES, needs=("stored",), also=(TWEETS,), topic="tweet")
def tweet_the_tidying(scene: Scene) -> str:
    stored = scene.last("stored")
    scene.need(stored["moved"] and stored["turn"] == len(scene.turns) - 1)
    text = scene.pick(("Finally tidied up my files. Small steps!", "One file less on my desk today.", "Spring cleaning, the digital kind."))
    login = sign_in_to_tweets(scene)
    tweet = scene.call("post_tweet", content=text)
    scene.keep("tweet", id=tweet["id"], text=text, turn=len(scene.turns))
    return scene.say(
        f"That feels good. Tweet this for me: {quoted(scene, text)}{login}",
        f"Let my followers know, too. Post {quoted(scene, text)} on Twitter.{login}",
    )


@goal(FILES, also=(TWEETS,), topic="tweet")
def announce_and_keep(scene: Scene) -> str:
    name, text = scene.pick(_ANNOUNCEMENTS)
    free(scene, name)
    scene.call("touch", file_name=name)
    scene.call("echo", content=text, file_name=name)
    login = sign_in_to_tweets(scene)
    tweet = scene.call("post_tweet", content=text)
    scene.keep("tweet", id=tweet["id"], text=text, turn=len(scene.turns))
    said, folder = quoted(scene, text), spot(scene)
    return scene.say(
        f"We have news! Tweet {said} and keep the same text in a new file called {name} in {folder}.{login}",
        f"Save {said} in a new file {name} in {folder}, for our records, and then post it on Twitter as well.{login}",
    )


@goal(FILES, also=(MESSAGES,), topic="message")
def send_a_file_text(scene: Scene) -> str:
    file = scene.pick(file for file in fresh_files(scene) if file.presentable and file.words > 2)
    place = where(scene, file.path)
    enter(scene, file.path)
    scene.call("cat", file_name=file.name)
    login, name = sign_in_to_messages(scene)
    send(scene, name, file.content)
    keep_file(scene, file.name, read=True)
    scene.leave_out(
        f"Please send somebody the exact text of {file.said}{place} as a message, with nothing added.{login}", f"It's for {name}."
    )
    return scene.say(
        f"{name} can't open my folders. Send the text of {file.said}{place} over as a message, word for word and nothing else.{login}",
        f"Please message {name} the exact text of {file.said}{place}, without any introduction.{login}",
    )


@goal(FILES, needs=("file",), also=(MESSAGES,), topic="message")
def send_that_text(scene: Scene) -> str:
    file = the_file(scene)
    scene.need(file.presentable and scene.last("file").get("read"))
    login, name = sign_in_to_messages(scene)
    send(scene, name, file.content)
    return scene.say(
        f"{name} has been asking for this. Send exactly that text as a message.{login}",
        f"Forward that text to {name} in a message, unchanged and without anything added.{login}",
    )


@goal(FILES, needs=("file",), also=(MESSAGES,), topic="message")
def tell_about_the_file(scene: Scene) -> str:
    file, kept = the_file(scene), scene.last("file")
    scene.need(kept.get("new") or kept.get("renamed"))
    login, name = sign_in_to_messages(scene)
    if kept.get("new"):
        verb = "written" if scene.called("touch") else "updated"
        text = scene.pick((f"I've {verb} {file.name}. Could you have a look at it?", f"The text of {file.name} is ready."))
    else:
        text = scene.pick((f"The file is now called {file.name}.", f"Please use {file.name} from now on."))
    send(scene, name, text)
    return scene.say(
        f"{name} should know about this, so send the message {quoted(scene, text)}{login}",
        f"Please drop {name} a line that says {quoted(scene, text)}{login}",
    )


@goal(FILES, also=(MATH,), topic="file count")
def share_of_the_limit(scene: Scene) -> str:
    file = scene.pick(file for file in fresh_files(scene) if file.legible and file.words > 3)
    limit = scene.pick(limit for limit in _BUDGETS if limit > len(file.content) + 10)
    place = where(scene, file.path)
    enter(scene, file.path)
    count = scene.call("wc", file_name=file.name, mode="c")["count"]
    scene.call("percentage", part=count, whole=limit)
    keep_file(scene, file.name)
    return scene.say(
        f"The form takes at most {limit} characters. How many does {file.said}{place} have, and what percentage of the limit is that?",
        f"Count the characters in {file.said}{place} and work out what percent of my limit of {limit} characters they use.",
        f"I may write {limit} characters. What percentage of that does the text in {file.said}{place} use up, counted in characters?",
    )


@goal(FILES, also=(MATH,), topic="file count")
def average_length(scene: Scene) -> str:
    group = siblings(scene, 2)
    place = where(scene, group[0].path)
    unit = scene.pick(("words", "characters"))
    enter(scene, group[0].path)
    counts = [scene.call("wc", file_name=file.name, mode=unit[0])["count"] for file in group]
    scene.need(len(set(counts)) > 1)
    scene.call("mean", numbers=counts)
    names = f"{', '.join(file.name for file in group[:-1])} and {group[-1].name}"
    return scene.say(
        f"What's the average number of {unit} in {names}{place}? Count each file, then work out the mean with the calculator.",
        f"I'm writing a status report: how many {unit} do {names}{place} have each, and what is the mean of those counts?",
    )


@goal(FILES, also=(MATH,), topic="file count")
def spread_of_length(scene: Scene) -> str:
    group = siblings(scene, 3)
    place = where(scene, group[0].path)
    enter(scene, group[0].path)
    counts = [scene.call("wc", file_name=file.name, mode="c")["count"] for file in group]
    scene.need(len(set(counts)) > 1)
    scene.call("standard_deviation", numbers=counts)
    names = f"{', '.join(file.name for file in group[:-1])} and {group[-1].name}"
    return scene.say(
        f"Our texts should be about equally long. Get the character counts of {names}{place} and give me their standard deviation.",
        f"How much does the length of {names}{place} vary? I mean the standard deviation of their character counts.",
    )


@goal(FILES, also=(TICKETS,), topic="open ticket")
def ticket_with_a_file(scene: Scene) -> str:
    file = scene.pick(file for file in fresh_files(scene) if file.presentable)
    place = where(scene, file.path)
    enter(scene, file.path)
    scene.call("cat", file_name=file.name)
    login = sign_in(scene)
    title, priority = scene.pick(("Review requested", "Text to be proofread", "Please publish this text")), scene.pick((1, 2, 3))
    ticket = scene.call("create_ticket", title=title, description=file.content, priority=priority)
    keep_ticket(scene, ticket, own=True)
    return scene.say(
        f"Open a support ticket titled {quoted(scene, title)} at {priority_words(priority)}. "
        f"Its description should be the exact text of {file.said}{place}.{login}",
        f"I need somebody from support for {file.said}{place}: file a ticket called {quoted(scene, title)} "
        f"with {priority_words(priority)}, and use the file's text, unchanged, as the description.{login}",
    )


@goal(FILES, also=(TICKETS,), topic="file new file")
def save_a_ticket_text(scene: Scene) -> str:
    ticket = scene.pick(
        ticket for ticket in scene.service(TICKETS).ticket_queue if ticket.get("id") is not None and ticket.get("description")
    )
    number, name, folder = ticket["id"], f"ticket_{ticket['id']}.txt", spot(scene)
    scene.need(name not in folder_at(scene, ()).contents and "'" not in ticket["description"])
    found = scene.call("get_ticket", ticket_id=number)
    scene.call("touch", file_name=name)
    scene.call("echo", content=found["description"], file_name=name)
    keep_file(scene, name, new=True)
    keep_ticket(scene, ticket, own=False)
    return scene.say(
        f"Look up ticket {number} and save its description, word for word, in a new file {name} in {folder}.",
        f"I need the description of support ticket {number} as a file. Create {name} in {folder} and put exactly that text in it.",
    )


@goal(FILES, needs=("file",), also=(TICKETS,), topic="open ticket")
def ticket_about_the_file(scene: Scene) -> str:
    file = the_file(scene)
    if scene.last("file").get("new"):
        raise NotHere("nothing is wrong with a new file")
    login = sign_in(scene)
    title, text = scene.pick(
        (
            (f"Access to {file.name}", f"My colleagues cannot open {file.name}. Please give the whole team access."),
            (f"Backup of {file.name}", f"Please include {file.name} in the nightly backup."),
        )
    )
    priority = scene.pick((2, 3, 4))
    ticket = scene.call("create_ticket", title=title, description=text, priority=priority)
    keep_ticket(scene, ticket, own=True)
    return scene.say(
        f"Support has to do something about that file. Open a ticket titled {quoted(scene, title)} "
        f"at {priority_words(priority)} that says {quoted(scene, text)}{login}",
        f"I need help from support with that file, so file a ticket called {quoted(scene, title)}. "
        f"Describe it as {quoted(scene, text)} and give it {priority_words(priority)}.{login}",
    )
