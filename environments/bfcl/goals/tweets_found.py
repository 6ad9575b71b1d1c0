"""Goals around tweets that are there already, followed accounts, and the Twitter account itself."""

from typing import Any

from .messages import quoted
from .registry import goal
from .scene import Scene
from .trading import BROKER
from .tweets import TWITTER, sign_in, tweet

ACCOUNTS = ("natgeo", "nasa", "bbcearth", "lonelyplanet", "thedailychart", "greenkitchen", "runnersweekly")


def _own(scene: Scene) -> list[dict[str, Any]]:
    """The user's earlier tweets that read well."""
    twitter = scene.service(TWITTER)
    scene.need(len(twitter.tweets) > 1 and not scene.called("post_tweet"))
    return [one for one in twitter.tweets.values() if one["username"] == twitter.username]


@goal(TWITTER, topic="my tweets")
def list_my_tweets(scene: Scene) -> str:
    found = _own(scene)
    scene.need(found)
    user = scene.service(TWITTER).username
    scene.call("get_user_tweets", username=user)
    scene.keep("own tweets", tweets=found, turn=len(scene.turns))
    return scene.say(
        f"What have I tweeted so far? My account is '{user}'.",
        f"I'm thinking of cleaning up my Twitter account '{user}'. Show me everything it has tweeted.",
        f"List all the tweets by '{user}', please. That's me, and I've lost track.",
    )


def _spoken_of(scene: Scene, tweets: list[dict[str, Any]]) -> tuple[dict[str, Any], str]:
    """One of several tweets, and the words of it that none of the others holds."""
    choices = []
    for one in tweets:
        for word in one["content"].replace("!", " ").replace(".", " ").split():
            if len(word) > 5 and word.isalpha() and sum(word.lower() in str(other).lower() for other in tweets) == 1:
                choices.append((one, word))
    return scene.pick(choices)


@goal(TWITTER, needs=("own tweets",), topic="retweet")
def retweet_one_of_them(scene: Scene) -> str:
    kept = scene.last("own tweets")
    scene.need(kept["turn"] == len(scene.turns) - 1)
    who = sign_in(scene)
    one, word = _spoken_of(scene, kept["tweets"])
    _retweet(scene, one["id"])
    return scene.say(
        f"The one with the word '{word}' deserves another round. Retweet it, please.{who}",
        f"Hardly anybody saw the one that says '{word}'. Please retweet that one.{who}",
    )


def _retweet(scene: Scene, number: int) -> None:
    twitter = scene.service(TWITTER)
    scene.need(number not in twitter.retweets.get(twitter.username, ()))
    scene.call("retweet", tweet_id=number)


@goal(TWITTER, needs=("own tweets",), topic="comment")
def comment_on_one_of_them(scene: Scene) -> str:
    kept = scene.last("own tweets")
    scene.need(kept["turn"] == len(scene.turns) - 1)
    who = sign_in(scene)
    one, word = _spoken_of(scene, kept["tweets"])
    text = scene.pick(["Still true today.", "An update on this will follow soon.", "Good times!"])
    scene.call("comment", tweet_id=one["id"], comment_content=text)
    scene.keep("comment", id=one["id"], turn=len(scene.turns))
    words = quoted(scene, text)
    return scene.say(
        f"Leave a comment under the one with the word '{word}': {words}{who}",
        f"I'd like to comment on the one that says '{word}'. Write {words}{who}",
    )


@goal(TWITTER, topic="find")
def find_and_retweet(scene: Scene) -> str:
    tweets = _own(scene)
    one, word = _spoken_of(scene, tweets)
    found = scene.call("search_tweets", keyword=word)
    scene.need(len(found) == 1)
    who = sign_in(scene)
    _retweet(scene, one["id"])
    return scene.say(
        f"I once tweeted something with the word '{word}'. Search for it and retweet it, it's topical again.{who}",
        f"Search Twitter for '{word}'. There should be one tweet of mine; please retweet it.{who}",
    )


@goal(TWITTER, topic="find")
def search_for_a_topic(scene: Scene) -> str:
    tweets = _own(scene)
    tags = {tag[1:] for one in tweets for tag in one["tags"] if len(tag) > 5}
    word = scene.pick(sorted(tags))
    scene.need(scene.call("search_tweets", keyword=word))
    return scene.say(
        f"Search the tweets for '{word}' and show me what comes up. I'm looking for inspiration.",
        f"I'm planning a post about '{word}' and don't want to repeat what's out there. Search the tweets for that word, please.",
    )


@goal(TWITTER, topic="find")
def look_at_one_tweet(scene: Scene) -> str:
    one = scene.pick(_own(scene))
    scene.need(not scene.called("get_user_tweets"))
    scene.call("get_tweet", tweet_id=one["id"])
    scene.keep("one tweet", id=one["id"], turn=len(scene.turns))
    return scene.say(
        f"Somebody quoted the tweet with ID {one['id']} to me. What does it say?",
        f"Show me the tweet with the ID {one['id']}, I need its exact wording.",
        f"I got a notification about tweet number {one['id']}. Can you pull up that tweet?",
    )


@goal(TWITTER, needs=("one tweet",), topic="comments")
def comments_on_the_one(scene: Scene) -> str:
    one = scene.last("one tweet")
    scene.need(one["turn"] == len(scene.turns) - 1)
    scene.call("get_tweet_comments", tweet_id=one["id"])
    return scene.say(
        "Did anybody comment on it? Show me the comments.",
        "And what are the comments on it, if there are any?",
    )


@goal(TWITTER, topic="follow")
def follow_an_account(scene: Scene) -> str:
    who = sign_in(scene)
    name = scene.pick(account for account in ACCOUNTS if account not in scene.service(TWITTER).following_list)
    scene.call("follow_user", username_to_follow=name)
    scene.keep("followed", name=name, turn=len(scene.turns))
    if not who:
        scene.leave_out("There's an account on Twitter that I'd like to follow. Can you do that for me?", f"It's called '{name}'.")
    return scene.say(
        f"A friend recommended the Twitter account '{name}'. Follow it for me.{who}",
        f"Please follow '{name}' on Twitter, I don't want to miss their posts.{who}",
        f"I'd like to see more of '{name}' in my timeline. Can you follow that account?{who}",
    )


@goal(TWITTER, topic="following")
def whom_do_i_follow(scene: Scene) -> str:
    scene.need(not scene.called("follow_user", "unfollow_user"))
    who = sign_in(scene)
    names = scene.call("list_all_following")["following_list"]
    scene.keep("following", names=list(names), turn=len(scene.turns))
    return scene.say(
        f"My timeline is a mess. Which accounts do I follow on Twitter?{who}",
        f"List everyone that I'm following on Twitter, please.{who}",
        f"Whom am I following on Twitter? I've lost track.{who}",
    )


@goal(TWITTER, needs=("following",), topic="unfollow")
def unfollow_one_of_them(scene: Scene) -> str:
    kept = scene.last("following")
    scene.need(kept["turn"] == len(scene.turns) - 1)
    name = scene.pick(kept["names"])
    scene.call("unfollow_user", username_to_unfollow=name)
    return scene.say(
        f"I can't stand the constant posts of '{name}' any longer. Unfollow that account.",
        f"Please unfollow '{name}'. I scroll past all of those posts anyway.",
    )


@goal(TWITTER, topic="unfollow")
def unfollow_directly(scene: Scene) -> str:
    who = sign_in(scene)
    followed = [kept["name"] for kept in scene.things.get("followed", ())]
    name = scene.pick(n for n in scene.service(TWITTER).following_list if n not in followed)
    scene.call("unfollow_user", username_to_unfollow=name)
    return scene.say(
        f"'{name}' posts far too much for my taste. Unfollow that account on Twitter, please.{who}",
        f"I no longer want to see tweets from '{name}'. Please unfollow that account.{who}",
    )


@goal(TWITTER, topic="stats")
def my_numbers(scene: Scene) -> str:
    user = scene.service(TWITTER).username
    scene.need(not scene.called("post_tweet", "retweet", "follow_user", "unfollow_user"))
    scene.call("get_user_stats", username=user)
    return scene.say(
        f"How active is my Twitter account '{user}'? I'd like the number of tweets, retweets and accounts I follow.",
        f"I'm curious how my Twitter account '{user}' is doing. How many tweets and retweets are there, and how many accounts do I follow?",
        f"For my media kit I need the current figures of my Twitter account '{user}'. What are they?",
    )


@goal(TWITTER, needs=("twitter session",), topic="session check")
def check_the_twitter_session(scene: Scene) -> str:
    scene.need(scene.turns[-1].goal == "sign_in_to_twitter")
    scene.call("posting_get_login_status")
    return scene.say(
        "My browser shows me as a guest. Can you double-check that I'm logged in to Twitter?",
        "Did that really work? Check my login status on Twitter once more, please.",
    )


@goal(TWITTER, topic="session")
def sign_in_to_twitter(scene: Scene) -> str:
    who = sign_in(scene)
    scene.need(who)
    scene.keep("twitter session")
    return scene.say(
        f"Please sign me in to Twitter, I'm going to post a few things today.{who}",
        f"I want to be on Twitter this evening, so log me in.{who}",
    )


@goal(TWITTER, needs=("order",), topic="tweet", also=(BROKER,))
def tweet_about_the_order(scene: Scene) -> str:
    order = scene.last("order")
    scene.need(order["turn"] == len(scene.turns) - 1 and order["side"] == "Buy")
    who = sign_in(scene)
    text = f"Just ordered {order['amount']} {order['stock']} shares. Wish me luck!"
    tweet(scene, text, tags=["#Investing"])
    words = quoted(scene, text)
    return scene.say(
        f"My followers love to see what I'm up to. Tweet {words} with the hashtag #Investing.{who}",
        f"Let Twitter know as well: post {words} and tag it #Investing.{who}",
    )


@goal(TWITTER, needs=("booking",), topic="tweet", also=("TravelAPI",))
def tweet_about_the_booking(scene: Scene) -> str:
    scene.need(not scene.called("cancel_booking"))
    who = sign_in(scene)
    text = "The flight is booked, now the countdown begins!"
    tweet(scene, text, tags=["#TravelPlans"])
    words = quoted(scene, text)
    return scene.say(
        f"I have to share this. Tweet {words} with the hashtag #TravelPlans.{who}",
        f"Tell the world: post {words} on Twitter and tag it #TravelPlans.{who}",
    )
