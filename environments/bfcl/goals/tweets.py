"""Goals around the Twitter account: posting, finding, following."""

from typing import Any

from .messages import quoted
from .registry import goal
from .scene import Scene, joined

TWITTER = "TwitterAPI"

Post = tuple[str, tuple[str, ...], tuple[str, ...]]
"""A text, hashtags that fit it, accounts that fit it."""

GENERAL: tuple[Post, ...] = (
    ("First coffee of the day, and the sun is out.", ("#MorningMood", "#Coffee"), ("@thedailyroast",)),
    ("Finally finished the book everybody was talking about.", ("#Reading", "#BookTips"), ("@readers_corner",)),
    ("My tomatoes are ripe at last!", ("#Gardening", "#Homegrown"), ("@greenkitchen",)),
    ("Ran my first ten kilometers today.", ("#Running", "#NewGoals"), ("@runnersweekly",)),
    ("Homemade bread tastes best when it is still warm.", ("#Baking", "#Homemade"), ("@greenkitchen",)),
    ("The neighbors' cat has adopted us.", ("#CatsOfTwitter",), ("@catlovers",)),
    ("Learning to play the guitar at forty is humbling.", ("#GuitarLife", "#NeverTooLate"), ("@strings_daily",)),
    ("A long walk solves half of my problems.", ("#Walking", "#MentalHealth"), ("@outdoorsmag",)),
    ("Board game night was a success.", ("#BoardGames",), ("@gamecorner",)),
)
BY_CLASS: dict[str, tuple[Post, ...]] = {
    "VehicleControlAPI": (
        ("Nothing beats an empty road on a Sunday morning.", ("#RoadTrip", "#SundayDrive"), ("@scenicroads",)),
        ("Does anyone have a good playlist for a long drive?", ("#RoadTrip", "#Playlist"), ("@scenicroads",)),
        ("A clean car feels like a new car.", ("#CarCare",), ("@carcaredaily",)),
        ("Checked the map twice and still took the wrong exit last week.", ("#Driving", "#Lost"), ("@scenicroads",)),
        ("Winter tires or all-season tires, what do you drive?", ("#CarTalk", "#Tires"), ("@carcaredaily",)),
        ("The best ideas come to me behind the wheel.", ("#DrivingThoughts",), ("@roadnotes",)),
    ),
    "TravelAPI": (
        ("Counting the days until my next trip.", ("#Travel", "#Wanderlust"), ("@lonelyplanet",)),
        ("Window or aisle? I will always pick the window.", ("#FlightTalk", "#Travel"), ("@frequentflyers",)),
        ("What is the one thing you never travel without?", ("#TravelTips",), ("@lonelyplanet",)),
        ("Airport coffee is expensive, but the view is free.", ("#AirportLife",), ("@frequentflyers",)),
        ("A small suitcase makes a happy traveler.", ("#PackLight", "#TravelTips"), ("@carryonclub",)),
        ("My bucket list gets longer with every trip.", ("#BucketList", "#Wanderlust"), ("@lonelyplanet",)),
    ),
    "GorillaFileSystem": (
        ("Name your files properly, your future self will thank you.", ("#Productivity", "#OfficeLife"), ("@tidydesk",)),
        ("Spending the afternoon sorting old documents.", ("#Decluttering", "#OfficeLife"), ("@tidydesk",)),
        ("Backups are boring until you need one.", ("#Backup", "#TechTips"), ("@dataguild",)),
        ("Half of my job is remembering where I saved things.", ("#OfficeLife",), ("@tidydesk",)),
        ("The draft is done, now comes the editing.", ("#AmWriting", "#Editing"), ("@writersroom",)),
        ("Old notes are like letters from a younger me.", ("#Notes", "#Nostalgia"), ("@writersroom",)),
    ),
    "TradingBot": (
        ("Patience is the hardest part of investing.", ("#Investing", "#StockMarket"), ("@marketwatchers",)),
        ("What is everyone watching on the market today?", ("#Stocks", "#Trading"), ("@marketwatchers",)),
        ("Never invest money that you need next month.", ("#InvestingTips",), ("@marketwatchers",)),
        ("The market moves, I keep calm and drink tea.", ("#StockMarket",), ("@calminvestor",)),
    ),
}
"""What people tweet about, by what else they are busy with in a world."""


def sign_in(scene: Scene) -> str:
    """Sign the user in, unless that is done; returns the sentence with the credentials and a space before it, or nothing."""
    twitter = scene.service(TWITTER)
    if twitter.authenticated:
        return ""
    user, password = twitter.username, twitter.password
    scene.call("authenticate_twitter", username=user, password=password)
    return scene.say(
        f" My user name there is '{user}' and the password '{password}'.",
        f" You can log in as '{user}' with the password '{password}'.",
    )


def _post(scene: Scene) -> Post:
    special = [post for owner, found in BY_CLASS.items() if scene.has(owner) for post in found]
    sent = {call.arguments.get("content") for call in scene.earlier()}
    return scene.pick(post for post in (special * 2 + list(GENERAL)) if post[0] not in sent)


def tweet(scene: Scene, text: str, **more: Any) -> None:
    """Post a tweet and leave it behind."""
    posted = scene.call("post_tweet", content=text, **more)
    scene.keep("tweet", id=posted["id"], text=text, turn=len(scene.turns), **more)


def recent(scene: Scene) -> dict[str, Any]:
    """The tweet that the turn just before this one posted."""
    scene.need([call.name for call in scene.turns[-1].calls].count("post_tweet") == 1)
    return scene.last("tweet")


@goal(TWITTER, topic="tweet")
def post_plainly(scene: Scene) -> str:
    who = sign_in(scene)
    text, _, _ = _post(scene)
    tweet(scene, text)
    words = quoted(scene, text)
    if not who:
        scene.leave_out(scene.say("Please post a tweet for me.", "I'd like to tweet something."), f"It should say {words}")
    return scene.say(
        f"My followers haven't heard from me in a while. Tweet {words}{who}",
        f"Please post this on Twitter for me: {words}{who}",
        f"Time for a tweet. It should read {words}{who}",
    )


@goal(TWITTER, topic="tweet")
def post_with_tags(scene: Scene) -> str:
    who = sign_in(scene)
    text, tags, _ = _post(scene)
    tweet(scene, text, tags=list(tags))
    words, tagged = quoted(scene, text), joined(tags)
    noun = "hashtags" if len(tags) > 1 else "hashtag"
    return scene.say(
        f"Please tweet {words} with the {noun} {tagged}.{who}",
        f"Post a tweet that says {words} and tag it {tagged}, so that more people see it.{who}",
        f"I'd like to share this on Twitter: {words} The {noun} should be {tagged}.{who}",
    )


@goal(TWITTER, topic="tweet")
def post_with_tags_and_mention(scene: Scene) -> str:
    who = sign_in(scene)
    text, tags, mentions = _post(scene)
    tweet(scene, text, tags=list(tags[:1]), mentions=list(mentions))
    words = quoted(scene, text)
    return scene.say(
        f"Tweet {words} with the hashtag {tags[0]} and mention {mentions[0]}. They like to share such things.{who}",
        f"Let's post something: {words} Use the hashtag {tags[0]} and mention {mentions[0]}.{who}",
    )


@goal(TWITTER, needs=("tweet",), topic="comment")
def comment_on_it(scene: Scene) -> str:
    posted = recent(scene)
    text = scene.pick(["What do you all think?", "I would love to hear your stories.", "More about this tomorrow.", "Who is with me?"])
    scene.call("comment", tweet_id=posted["id"], comment_content=text)
    scene.keep("comment", id=posted["id"], turn=len(scene.turns))
    words = quoted(scene, text)
    return scene.say(
        f"Get the conversation going and leave a comment under that tweet: {words}",
        f"Now put a comment below it from my account, saying {words}",
        f"I'd like to add a comment to that tweet. It should say {words}",
    )


@goal(TWITTER, needs=("comment",), topic="comments")
def read_the_comments(scene: Scene) -> str:
    comment = scene.last("comment")
    scene.need(comment["turn"] == len(scene.turns) - 1)
    scene.call("get_tweet_comments", tweet_id=comment["id"])
    return scene.say(
        "How do the comments on that tweet look now? Read all of them to me.",
        "Show me the comments under that tweet, I want to see whether anybody else wrote something.",
    )


@goal(TWITTER, needs=("tweet",), topic="mention")
def mention_in_it(scene: Scene) -> str:
    posted = recent(scene)
    name = scene.pick(n for n in ("@julia_m", "@sam_writes", "@theo_k", "@weekendclub") if n not in posted.get("mentions", ()))
    scene.call("mention", tweet_id=posted["id"], mentioned_usernames=[name])
    return scene.say(
        f"I forgot to mention a friend. Please add the mention '{name}' to that tweet.",
        f"A friend should see that. Add '{name}' as a mention to the tweet you just posted.",
    )


@goal(TWITTER, needs=("tweet",), topic="stats")
def numbers_after_posting(scene: Scene) -> str:
    scene.need(scene.chance(0.4))  # otherwise every second tweet would be counted
    user = scene.service(TWITTER).username
    scene.call("get_user_stats", username=user)
    return scene.say(
        f"I keep a record of my account '{user}'. How many tweets are there now, and how many accounts do I follow?",
        f"And what are the figures of my account '{user}' after that? I mean tweets, retweets and accounts I follow.",
    )
