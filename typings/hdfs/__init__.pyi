import requests

class InsecureClient:
    def __init__(self, url: str, user: str | None = None, *, session: requests.Session | None = None) -> None: ...
