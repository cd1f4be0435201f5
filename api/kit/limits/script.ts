/**
 * Decides requests on one shard, in one atomic step and by the shard's own clock.
 *
 * KEYS: the counter of each ask, in order; one counter may come several times.
 * ARGV: the number of kinds of asks, then five for each kind: mode, limit, window (s), extra, units; then for each request the kind of its
 * ask, or minus the number of its asks and the kind of each. What many ask alike is said once.
 *
 * | mode | counter | what |
 * |---|---|---|
 * | 0, 4 | window, bucket | takes the units; when there are not as many, the whole request takes nothing |
 * | 1, 5 | window, bucket | the same, but a lack does not stop the request |
 * | 2, 6 | window, bucket | takes as many of the units as there are |
 * | 3, 7 | window, bucket | gives units back |
 *
 * `extra`: a bucket's capacity; for mode 3 the index of the window that the units were taken in. 0 units: only looks.
 * Returns now (µs), then three for each ask: units taken, and what the counter held before: current and previous count, or µ-tokens and 0.
 *
 * A window counter is 12 bytes: window index, current and previous count (u32 big-endian); a bucket 16: tokens and time in µs (doubles).
 * Windows expire after twice their length; buckets too, or when they are full if that is later: expiring sooner would fill them.
 * A counter never goes back in time: after a failover to a slower clock it stands at its last window's start.
 */
export const DECIDE_SCRIPT = `
local floor, ceil, min, max = math.floor, math.ceil, math.min, math.max
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local states, out, slot = {}, {now}, 0
local answer = 1
local kinds = {}
local at = 2
for kind = 1, tonumber(ARGV[1]) do
  kinds[kind] = {
    mode = tonumber(ARGV[at]), limit = tonumber(ARGV[at + 1]), size = tonumber(ARGV[at + 2]) * 1000000,
    extra = tonumber(ARGV[at + 3]), units = tonumber(ARGV[at + 4]),
  }
  at = at + 5
end

local function windowOf(key, size)
  local state = states[key]
  if not state then
    state = { index = floor(now / size), current = 0, previous = 0, size = size }
    local stored = redis.call('GET', key)
    if stored then
      local index, current, previous = struct.unpack('>I4I4I4', stored)
      if index >= state.index then
        state.index, state.current, state.previous = index, current, previous
      elseif index == state.index - 1 then
        state.previous = current
      end
    end
    states[key] = state
  end
  return state
end

local function bucketOf(key, limit, size, capacity)
  local state = states[key]
  if not state then
    state = { tokens = capacity, capacity = capacity, limit = limit, size = size }
    local stored = redis.call('GET', key)
    if stored then
      local tokens, since = struct.unpack('>dd', stored)
      state.tokens = min(capacity, tokens + max(0, now - since) * limit / size)
      state.since = max(now, since)
    end
    states[key] = state
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
  local taken = {}
  for ask = 1, asks do
    local key = KEYS[slot + ask]
    local kind = kinds[tonumber(ARGV[at])]
    local mode, limit, size, extra, units = kind.mode, kind.limit, kind.size, kind.extra, kind.units
    at = at + 1
    local state, room
    if mode < 4 then
      state = windowOf(key, size)
      local estimate = state.previous * (1 - max(0, now - state.index * size) / size) + state.current
      out[answer + 2], out[answer + 3] = state.current, state.previous
      room = max(0, ceil(limit - estimate))
    else
      state = bucketOf(key, limit, size, extra)
      out[answer + 2], out[answer + 3] = floor(state.tokens * 1000000), 0
      room = floor(state.tokens)
      mode = mode - 4
    end
    local take = units
    if mode == 3 then
      take = 0
      if state.tokens then
        state.tokens = min(state.capacity, state.tokens + units)
      elseif state.index == extra then
        state.current = max(0, state.current - units)
      elseif state.index == extra + 1 then
        state.previous = max(0, state.previous - units)
      end
      state.changed = true
    elseif mode == 2 then
      take = min(units, room)
    elseif units > room then
      take = 0
      if mode == 0 then refused = true end
    end
    out[answer + 1] = take
    answer = answer + 3
    taken[ask] = take
    if take > 0 then
      state.changed = true
      if state.tokens then state.tokens = state.tokens - take else state.current = state.current + take end
    end
  end
  if refused then
    for ask = 1, asks do
      local state, take = states[KEYS[slot + ask]], taken[ask]
      if take > 0 then
        if state.tokens then state.tokens = state.tokens + take else state.current = state.current - take end
      end
    end
  end
  slot = slot + asks
end

for key, state in pairs(states) do
  if state.changed then
    if state.tokens then
      local expiry = max(2 * state.size, (state.capacity - state.tokens) * state.size / state.limit)
      redis.call('SET', key, struct.pack('>dd', state.tokens, state.since or now), 'PX', ceil(expiry / 1000))
    else
      redis.call('SET', key, struct.pack('>I4I4I4', state.index, state.current, state.previous), 'PX', state.size / 500)
    end
  end
end
return out
`
