"""Phrases of the Twitter account's functions."""

from ..realizer import Phrases

PHRASES = Phrases(
    functions={
        "authenticate_twitter": (
            "log in to my Twitter account, the user name is {username} and the password {password}",
            "sign me in to Twitter as {username} with the password {password}",
        ),
        "posting_get_login_status": ("check whether I'm logged in to Twitter", "see if my Twitter account is signed in"),
        "post_tweet": (
            "post a tweet saying {content}",
            "tweet {content}",
            "tweet {content} with {tags}",
            "post a tweet saying {content}, tagged {tags}",
            "tweet {content} and mention {mentions}",
            "post a tweet saying {content} that mentions {mentions}",
            "post a tweet saying {content}, tagged {tags} and mentioning {mentions}",
        ),
        "retweet": ("retweet {tweet_id}", "share {tweet_id} again as a retweet"),
        "comment": ("comment {comment_content} on {tweet_id}", "leave the comment {comment_content} under {tweet_id}"),
        "mention": ("mention {mentioned_usernames} in {tweet_id}", "add a mention of {mentioned_usernames} to {tweet_id}"),
        "follow_user": ("follow {username_to_follow} on Twitter", "start following {username_to_follow} on Twitter"),
        "list_all_following": ("tell me whom I follow on Twitter", "list the accounts that I follow on Twitter"),
        "unfollow_user": ("unfollow {username_to_unfollow} on Twitter", "stop following {username_to_unfollow} on Twitter"),
        "get_tweet": ("show me {tweet_id}", "pull up {tweet_id}"),
        "get_user_tweets": ("show me everything that {username} has tweeted", "list the tweets of {username}"),
        "search_tweets": ("search Twitter for tweets about {keyword}", "find the tweets that mention {keyword}"),
        "get_tweet_comments": ("show me the comments on {tweet_id}", "tell me what people commented on {tweet_id}"),
        "get_user_stats": ("give me the Twitter statistics of {username}", "tell me how active {username} is on Twitter in numbers"),
    },
    formats={
        "username": "'{}'",
        "password": "'{}'",
        "content": '"{}"',
        "comment_content": '"{}"',
        "keyword": "'{}'",
        "tweet_id": "tweet {}",
        "username_to_follow": "'{}'",
        "username_to_unfollow": "'{}'",
    },
    references={
        "tweet_id": "that tweet",
        "username": "that account",
        "username_to_follow": "that account",
        "username_to_unfollow": "that account",
    },
)
