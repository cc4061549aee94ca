// Three requests, of which the second depends on the response to the first.
import http from "k6/http";
import { check } from "k6";
import exec from "k6/execution";
import { given, options } from "./scenario.js";
import { httpSummary as handleSummary } from "./summary.js";

export { handleSummary, options };

const parameters = {
  responseType: "text",
  timeout: `${given.PRONY_TIMEOUT_S}s`,
};

export default function () {
  const session = http.get(`${given.PRONY_ORIGIN}/session`, parameters);
  const id = session.json("user.item");
  const item = http.get(`${given.PRONY_ORIGIN}/items/${id}`, {
    ...parameters,
    tags: { name: "item" },
  });
  const isRight = check(item, {
    "the id is the one that was requested": (response) =>
      response.json("id") === id,
    "there are three tags": (response) => response.json("tags").length === 3,
  });
  if (!isRight) {
    exec.test.abort("the item is not the one that was requested");
  }
  http.get(`${given.PRONY_ORIGIN}/hello`, parameters);
}
