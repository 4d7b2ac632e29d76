"""Static files, served so that asynchronous views stay asynchronous."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from asgiref.sync import iscoroutinefunction, markcoroutinefunction, sync_to_async
from django.http import HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware

if TYPE_CHECKING:
    from collections.abc import Callable

    from django.http import HttpRequest


class StaticFilesMiddleware(WhiteNoiseMiddleware):  # type: ignore[misc]
    """WhiteNoise without a thread in the way of asynchronous views.

    WhiteNoise 6 is synchronous only, so that Django would run everything below it
    through a thread, and a browser that leaves would not end its search.
    """

    sync_capable = True
    async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Any]) -> None:
        super().__init__(get_response)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def add_files(self, root: str, prefix: str | None = None) -> None:
        """Add a folder; one that `collectstatic` has not made yet is no fault."""
        if Path(root).is_dir():
            super().add_files(root, prefix)

    def __call__(self, request: HttpRequest) -> Any:
        """Serve a static file, or pass the request on."""
        file = self._file(request.path_info)
        if file is None:
            return self.get_response(request)
        if iscoroutinefunction(self):
            return sync_to_async(self._whole)(file, request)
        return self._whole(file, request)

    def _file(self, path: str) -> Any:
        if self.autorefresh:
            return self.find_file(path)
        return self.files.get(path)

    def _whole(self, file: Any, request: HttpRequest) -> HttpResponse:
        """Return the file read whole: ours are small, and a stream would be sync."""
        streamed = self.serve(file, request)
        whole = HttpResponse(
            b"".join(streamed.streaming_content),
            status=streamed.status_code,
            headers=dict(streamed.items()),
        )
        streamed.close()
        return whole
