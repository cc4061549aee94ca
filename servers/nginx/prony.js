// The responses that nginx's configuration cannot express. `assets` is preloaded, see nginx.conf.

/** A page as one datastar-patch-elements event. */
function patchElements(page) {
  const lines = page.trimEnd().split("\n");
  return `event: datastar-patch-elements\ndata: elements ${lines.join("\ndata: elements ")}\n\n`;
}

function sse(r) {
  r.return(200, patchElements(assets.page));
}

function sse20k(r) {
  r.return(200, patchElements(assets.smallPage));
}

function quote(r) {
  const quotes = assets.quotes.trimEnd().split("\n");
  r.return(200, quotes[Math.floor(Math.random() * quotes.length)]);
}

export default { sse, sse20k, quote };
