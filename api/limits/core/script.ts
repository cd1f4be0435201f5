/**
 * Longest expiry of a bucket, about 30,000 years. Redis refuses expiries of 300 million years. A bucket takes that long
 * to fill up if its rule has a huge burst and allows very few requests per year.
 */
const LONGEST_EXPIRY_US = 1e18

/**
 * Decides requests on one shard, in one atomic step and by the shard's own clock.
 *
 * KEYS: the counter of each ask, in order. A counter may occur several times. ARGV: the number of kinds of asks, then
 * five values for each kind: mode, limit, window (s), extra, units. The rest describes the requests. A request with one
 * ask is given as the number of the ask's kind. A request with several asks is given as the negated number of asks,
 * followed by the number of each ask's kind. Equal asks share one kind.
 *
 * | mode | counter        | what it does                                                            |
 * |------|----------------|-------------------------------------------------------------------------|
 * | 0, 4 | window, bucket | takes all units; if there are fewer, the whole request takes nothing    |
 * | 1, 5 | window, bucket | takes all units; if there are fewer, only this ask takes nothing        |
 * | 2, 6 | window, bucket | takes as many of the units as there are                                 |
 * | 3, 7 | window, bucket | gives units back; takes them, regardless of the limit, if they are < 0  |
 *
 * `extra` is a bucket's capacity, or for mode 3 the index of the window in which the units were taken. An ask for 0
 * units only reads. Returns the current time (µs), then three numbers for each ask. The first number is the number of
 * units that the ask took, or would have taken if another ask had not refused the request. The other two numbers
 * describe the state before the ask. For a window, they are the current and the previous count. For a bucket, they are
 * the µ-tokens and 0.
 *
 * One command reads all counters. A counter of the current window is overwritten in place and keeps the expiry from the
 * window's first request. This expiry is not before the end of the next window. Each command that the script avoids
 * saves a quarter of the cost of a decision.
 *
 * A window counter has 12 bytes: window index, current and previous count (u32 big-endian). A bucket has 16 bytes:
 * tokens and time in µs (doubles). A window counter expires twice the window's length after the first request that it
 * counts in its current window. A bucket expires twice its window's length after its last change, or when it is full if
 * that is later, because an expired bucket counts as full.
 *
 * The clock may be behind a counter, for example after a failover. If it is behind by less than a window, the counter
 * does not go back in time, but stays at the start of its last window. If the clock was further ahead and has been
 * corrected, the counter continues at the present time with the same counts, even if the request is refused. Otherwise,
 * a caller who has used up the limit would be refused until the clock reaches that future time again.
 */
export const DECIDE_SCRIPT = `
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local stored = redis.call('MGET', unpack(KEYS))
local states, changed, changes, out, slot = {}, {}, 0, {now}, 0
local answer = 1
local kinds = {}
local at = 2
for number = 1, tonumber(ARGV[1]) do
  local size = ARGV[at + 2] * 1000000
  kinds[number] = {
    mode = tonumber(ARGV[at]), limit = tonumber(ARGV[at + 1]), size = size, extra = tonumber(ARGV[at + 3]), units = tonumber(ARGV[at + 4]),
    index = floor(now / size), expiry = string.format('%d', ARGV[at + 2] * 2000),
  }
  at = at + 5
end

local function markChanged(key, state)
  if state.isChanged then return end
  state.isChanged = true
  changes = changes + 1
  changed[changes] = key
end

local function windowOf(key, bytes, kind)
  local state = { kind = kind, index = kind.index, current = 0, previous = 0, isStored = false, isChanged = false }
  if bytes then
    local index, current, previous = struct.unpack('>I4I4I4', bytes)
    if index > state.index + 1 then
      state.current, state.previous = current, previous
      markChanged(key, state)
    elseif index >= state.index then
      state.index, state.current, state.previous, state.isStored = index, current, previous, true
    elseif index == state.index - 1 then
      state.previous = current
    end
  end
  return state
end

local function bucketOf(key, bytes, kind)
  local capacity = kind.extra
  local state = { kind = kind, tokens = capacity, since = now, isChanged = false }
  if bytes then
    local tokens, since = struct.unpack('>dd', bytes)
    state.tokens = min(capacity, tokens + max(0, now - since) * kind.limit / kind.size)
    if since - now > kind.size then
      markChanged(key, state)
    else
      state.since = max(now, since)
    end
  end
  return state
end

while ARGV[at] do
  local asks = 1
  local first = tonumber(ARGV[at])
  if first < 0 then
    asks = -first
    at = at + 1
  end
  local refused = false
  for ask = slot + 1, slot + asks do
    local key = KEYS[ask]
    local kind = kinds[tonumber(ARGV[at])]
    local mode, units = kind.mode, kind.units
    at = at + 1
    local state, room = states[key], nil
    if mode < 4 then
      if not state then
        state = windowOf(key, stored[ask], kind)
        states[key] = state
      end
      local current, previous = state.current, state.previous
      out[answer + 2], out[answer + 3] = current, previous
      if previous > 0 then current = current + previous * (1 - max(0, now - state.index * kind.size) / kind.size) end
      room = max(0, ceil(kind.limit - current))
    else
      if not state then
        state = bucketOf(key, stored[ask], kind)
        states[key] = state
      end
      out[answer + 2], out[answer + 3] = floor(state.tokens * 1000000), 0
      room = floor(state.tokens)
      mode = mode - 4
    end
    local take = units
    if mode == 3 then
      take = 0
      if state.tokens then
        state.tokens = max(0, min(kind.extra, state.tokens + units))
      elseif state.index == kind.extra then
        state.current = max(0, state.current - units)
      elseif state.index == kind.extra + 1 then
        state.previous = max(0, state.previous - units)
      end
    elseif mode == 2 then
      take = min(units, room)
    elseif units > room then
      take = 0
      if mode == 0 then refused = true end
    end
    out[answer + 1] = take
    answer = answer + 3
    if take > 0 then
      if state.tokens then state.tokens = state.tokens - take else state.current = state.current + take end
    end
    if take > 0 or mode == 3 then markChanged(key, state) end
  end
  if refused then
    for ask = slot + 1, slot + asks do
      local state, take = states[KEYS[ask]], out[3 * ask - 1]
      if state.tokens then state.tokens = state.tokens + take else state.current = state.current - take end
    end
  end
  slot = slot + asks
end

for change = 1, changes do
  local key = changed[change]
  local state = states[key]
  local kind = state.kind
  if state.tokens then
    local expiry = min(${LONGEST_EXPIRY_US}, max(2 * kind.size, (kind.extra - state.tokens) * kind.size / kind.limit))
    redis.call('SET', key, struct.pack('>dd', state.tokens, state.since), 'PX', string.format('%d', ceil(expiry / 1000)))
  elseif state.isStored then
    redis.call('SETRANGE', key, '4', struct.pack('>I4I4', state.current, state.previous))
  else
    redis.call('SET', key, struct.pack('>I4I4I4', state.index, state.current, state.previous), 'PX', kind.expiry)
  end
end
return out
`
