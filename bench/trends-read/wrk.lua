-- Requests the paths in the file that the first argument names. All further arguments are headers, `Name: value`.
-- Each thread cycles through the paths from a random start. At the end, the script prints the line `RESULT <JSON>`.
local paths, headers, at = {}, {}, 0

function init(args)
  for line in io.lines(args[1]) do paths[#paths + 1] = line end
  for index = 2, #args do
    local name, value = args[index]:match('^([^:]+): (.*)$')
    headers[name] = value
  end
  math.randomseed(tonumber(tostring({}):match('0x(%x+)'), 16) % 2147483647)
  at = math.random(#paths)
end

function request()
  at = at % #paths + 1
  return wrk.format('GET', paths[at], headers)
end

function done(summary, latency, requests)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"durationMs":%.1f,"p50Ms":%.3f,"p99Ms":%.3f,"p999Ms":%.3f,"maxMs":%.3f,"failed":%d}\n',
    summary.requests, summary.duration / 1000, latency:percentile(50) / 1000, latency:percentile(99) / 1000,
    latency:percentile(99.9) / 1000, latency.max / 1000, errors.connect + errors.read + errors.write + errors.status + errors.timeout))
end
