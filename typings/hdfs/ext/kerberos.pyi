import requests

class KerberosClient:
    def __init__(
        self,
        url: str,
        mutual_auth: str = "OPTIONAL",
        max_concurrency: int = 1,
        *,
        session: requests.Session | None = None,
    ) -> None: ...
