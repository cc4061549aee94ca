-- A request with a method and a body, or several requests in one piece (pipelining), as the
-- environment says.
local depth = tonumber(os.getenv("PRONY_PIPELINE") or "1")
local method = os.getenv("PRONY_METHOD")
local body_file = os.getenv("PRONY_BODY_FILE")

if method then
  wrk.method = method
end
if body_file then
  local file = assert(io.open(body_file, "rb"))
  wrk.body = file:read("*a")
  file:close()
end

-- wrk counts the requests in what `request` gives. Without that function it sends the one request
-- that it has made itself, which costs it less.
if depth > 1 then
  function init(_)
    local requests = string.rep(wrk.format(), depth)
    request = function()
      return requests
    end
  end
end
