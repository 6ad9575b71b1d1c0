"""Phrases of the travel service's functions."""

from ..realizer import Phrases

_LOGIN = "client ID {client_id}, client secret {client_secret} and refresh token {refresh_token}"
_FLIGHT = "{travel_class} flight from {travel_from} to {travel_to} on {travel_date}"

PHRASES = Phrases(
    functions={
        "authenticate_travel": (
            "sign {user_first_name} {user_last_name} in to the travel service with " + _LOGIN + ", with {grant_type}",
            "log me in to the travel site as {user_first_name} {user_last_name}, with {grant_type}; I have " + _LOGIN,
        ),
        "travel_get_login_status": (
            "check whether I'm still signed in to the travel service",
            "see if my session with the travel site is active",
        ),
        "get_budget_fiscal_year": (
            "tell me which fiscal year the travel budget belongs to",
            "tell me which fiscal year of the travel budget was changed after {lastModifiedAfter}",
            "look up the fiscal year of the travel budget",
        ),
        "register_credit_card": (
            "add my credit card {card_number} to my travel account: it's valid until {expiration_date}, the security code is "
            "{card_verification_number}, "
            "the name on it {cardholder_name}, and my access token {access_token}",
            "register card {card_number} of {cardholder_name}, valid until {expiration_date}, security code "
            "{card_verification_number}, for my travel "
            "bookings with my access token {access_token}",
        ),
        "get_flight_cost": ("find out what a " + _FLIGHT + " costs", "tell me the fare of a " + _FLIGHT),
        "get_credit_card_balance": (
            "tell me the balance of {card_id}, my access token is {access_token}",
            "look up how much is left on {card_id} with my access token {access_token}",
        ),
        "book_flight": (
            "book a " + _FLIGHT + " with {card_id} and my access token {access_token}",
            "reserve a " + _FLIGHT + ", paid with {card_id}; my access token is {access_token}",
        ),
        "retrieve_invoice": (
            "get me the invoice for {booking_id} with my access token {access_token}",
            "pull up the invoice of {booking_id}, my access token is {access_token}",
        ),
        "get_booking_history": (
            "show me all trips that I have booked, my access token is {access_token}",
            "list my bookings with my access token {access_token}",
        ),
        "list_all_airports": ("show me all airports that I can fly to", "list the airports you serve"),
        "cancel_booking": (
            "cancel {booking_id} with my access token {access_token}",
            "call off {booking_id}, my access token is {access_token}",
        ),
        "compute_exchange_rate": (
            "tell me how much {value} {base_currency} is in {target_currency}",
            "convert {value} {base_currency} to {target_currency}",
        ),
        "verify_traveler_information": (
            "verify that {first_name} {last_name}, born on {date_of_birth}, with passport {passport_number}, may travel",
            "check my travel details: {first_name} {last_name}, date of birth {date_of_birth}, passport number {passport_number}",
        ),
        "set_budget_limit": (
            "set my travel budget to {budget_limit}, my access token is {access_token}",
            "limit my travel spending to {budget_limit} with my access token {access_token}",
        ),
        "get_nearest_airport_by_city": ("find the airport closest to {location}", "tell me which airport is nearest to {location}"),
        "purchase_insurance": (
            "buy {insurance_type} insurance for {insurance_cost} for {booking_id}, paid with {card_id}; my access token is {access_token}",
            "insure {booking_id} with the {insurance_type} plan for {insurance_cost} and pay with {card_id}, my access token "
            "is {access_token}",
        ),
        "contact_customer_support": (
            "write {message} to customer support about {booking_id}",
            "tell customer support {message} regarding {booking_id}",
        ),
        "get_all_credit_cards": (
            "show me which credit cards I have on file for travel",
            "list the cards that are saved in my travel account",
        ),
    },
    formats={
        "access_token": "'{}'",
        "client_id": "'{}'",
        "client_secret": "'{}'",
        "refresh_token": "'{}'",
        "card_id": "my card '{}'",
        "booking_id": "booking {}",
        "budget_limit": "${}",
        "insurance_cost": "${}",
        "message": "'{}'",
    },
    references={
        "access_token": "from the sign-in",
        "card_id": "that card",
        "booking_id": "that booking",
        "travel_from": "that airport",
        "travel_to": "that airport",
        "value": "that amount of",
        "budget_limit": "that amount",
    },
    words={
        "authenticate_travel.grant_type": {"read_write": "read and write access", "read": "read access only", "write": "write access only"},
        "get_flight_cost.travel_class": {"economy": "economy", "business": "business class", "first": "first class"},
        "book_flight.travel_class": {"economy": "economy", "business": "business class", "first": "first class"},
    },
)
