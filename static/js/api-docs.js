// Shows the OpenAPI document. Requests that are tried out carry the session's CSRF token.
const place = document.getElementById("swagger-ui");
const csrf = () => /(?:^|; )csrftoken=([^;]+)/.exec(document.cookie)?.[1] ?? "";
SwaggerUIBundle({
  url: place.dataset.document,
  domNode: place,
  deepLinking: true,
  validatorUrl: null,
  requestInterceptor(request) {
    request.headers["X-CSRFToken"] = csrf();
    return request;
  },
});
