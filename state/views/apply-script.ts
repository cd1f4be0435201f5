import { CLEARING_FIELD } from './clearing-scripts.ts'

/**
 * Applies a batch of operations and advances the view's position, in one atomic step, provided that the view is at the
 * batch's first offset.
 *
 * KEYS: 1 the partition's positions, 2 its caught-up flag, then the keys of the operations.
 *
 * ARGV:
 * 1. topic
 * 2. expected position; '' for none
 * 3. position after the batch
 * 4. now, epoch ms
 * 5. '1' when the batch reaches the end that the log had when reading began
 * 6. the topic's id; '' if unknown
 * 7. the time at which the batch's end was the end of the log, epoch ms; '' if more records follow
 * 8. number of the view's topics, then their names, then the operations: code, index into KEYS, arguments
 *
 * Returns {1} when the batch was applied, {0} when the view has no position in the topic, and {0, position} when the
 * view is at a different position. A view that is being cleared has no positions.
 *
 * If the view's position went backwards (Redis was emptied, or failed over to an older copy), the script deletes the
 * caught-up flag, because a missing key no longer means that the record does not exist.
 */
export const APPLY_SCRIPT = `
local positions, flag, topic = KEYS[1], KEYS[2], ARGV[1]
local stored = redis.call('HGET', positions, topic)
if redis.call('HEXISTS', positions, '${CLEARING_FIELD}') == 1 then return {0} end
if (stored or '') ~= ARGV[2] then
  if ARGV[2] ~= '' and (not stored or tonumber(stored) < tonumber(ARGV[2])) then
    redis.call('HDEL', positions, topic .. ':caught-up')
    redis.call('DEL', flag)
  end
  if stored then return {0, stored} end
  return {0}
end
local topics = tonumber(ARGV[8])
local at = 9 + topics
while ARGV[at] do
  local code, key = ARGV[at], KEYS[tonumber(ARGV[at + 1])]
  if code == 'set' then
    redis.call('SET', key, ARGV[at + 2])
    at = at + 3
  elseif code == 'newer' then
    local version = redis.call('HGET', key, 'version')
    if not version or tonumber(version) < tonumber(ARGV[at + 2]) then
      redis.call('HSET', key, 'version', ARGV[at + 2], 'value', ARGV[at + 3])
    end
    at = at + 4
  elseif code == 'del' then
    redis.call('DEL', key)
    at = at + 2
  elseif code == 'hset' then
    local last = at + 2 + 2 * tonumber(ARGV[at + 2])
    for field = at + 3, last, 2 do redis.call('HSET', key, ARGV[field], ARGV[field + 1]) end
    at = last + 1
  elseif code == 'hdel' then
    redis.call('HDEL', key, ARGV[at + 2])
    at = at + 3
  elseif code == 'hdelupto' then
    local held = redis.call('HGET', key, ARGV[at + 2])
    local number, text = string.match(held or '', '^(%d+) (%S+)')
    local upTo = tonumber(ARGV[at + 3])
    if number and (tonumber(number) < upTo or (tonumber(number) == upTo and text <= ARGV[at + 4])) then
      redis.call('HDEL', key, ARGV[at + 2])
    end
    at = at + 5
  elseif code == 'hsetfrom' then
    local number = string.match(redis.call('HGET', key, ARGV[at + 2]) or '', '^%d+')
    if not number or tonumber(number) <= tonumber(ARGV[at + 3]) then redis.call('HSET', key, ARGV[at + 2], ARGV[at + 4]) end
    at = at + 5
  elseif code == 'hkeep' then
    local suffix, upTo = ARGV[at + 2], tonumber(ARGV[at + 3])
    for _, field in ipairs(redis.call('HKEYS', key)) do
      local isKept = string.sub(field, -#suffix) == suffix
      if not isKept and tonumber(string.match(redis.call('HGET', key, field), '^%d+') or 0) <= upTo then
        redis.call('HDEL', key, field)
      end
    end
    at = at + 4
  elseif code == 'removerows' then
    local counters, rowBytes, items = KEYS[tonumber(ARGV[at + 2])], tonumber(ARGV[at + 3]), tonumber(ARGV[at + 4])
    local first = at + 5
    local isIncluded, startBytes = {}, #ARGV[first]
    at = first
    for _ = 1, items do
      isIncluded[ARGV[at]] = true
      at = at + 3 + tonumber(ARGV[at + 2])
    end
    local rows, kept, isRemoved = redis.call('GET', key) or '', {}, {}
    for row = 1, #rows, rowBytes do
      local start = string.sub(rows, row, row + startBytes - 1)
      if isIncluded[start] then isRemoved[start] = true
      else table.insert(kept, string.sub(rows, row, row + rowBytes - 1)) end
    end
    if #kept * rowBytes < #rows then
      if #kept == 0 then redis.call('DEL', key) else redis.call('SET', key, table.concat(kept), 'KEEPTTL') end
    end
    local item = first
    for _ = 1, items do
      local last = item + 2 + tonumber(ARGV[item + 2])
      if isRemoved[ARGV[item]] then isRemoved[ARGV[item]] = nil
      else
        for index = item + 3, last do
          local count, sum = string.match(redis.call('HGET', counters, ARGV[index]) or '', '^(%d+) (%d+)$')
          if count then
            count, sum = tonumber(count) - 1, math.max(0, tonumber(sum) - tonumber(ARGV[item + 1]))
            if count == 0 then redis.call('HDEL', counters, ARGV[index])
            else redis.call('HSET', counters, ARGV[index], string.format('%d %.0f', count, sum)) end
            break
          end
        end
      end
      item = last + 1
    end
  elseif code == 'zadd' then
    redis.call('ZADD', key, ARGV[at + 2], ARGV[at + 3])
    if ARGV[at + 4] ~= '' then redis.call('ZREMRANGEBYRANK', key, 0, -1 - tonumber(ARGV[at + 4])) end
    at = at + 5
  elseif code == 'zrem' then
    redis.call('ZREM', key, ARGV[at + 2])
    at = at + 3
  elseif code == 'expire' then
    redis.call('EXPIRE', key, ARGV[at + 2])
    at = at + 3
  elseif code == 'publish' then
    redis.call('PUBLISH', ARGV[at + 2], ARGV[at + 3])
    at = at + 4
  else
    return redis.error_reply('ERR unknown view operation ' .. code)
  end
end
redis.call('HSET', positions, topic, ARGV[3])
if ARGV[6] ~= '' then redis.call('HSET', positions, topic .. ':id', ARGV[6]) end
if ARGV[7] ~= '' then redis.call('HSET', positions, topic .. ':at', ARGV[7])
else redis.call('HSETNX', positions, topic .. ':at', ARGV[4]) end
if ARGV[5] == '1' and redis.call('HSET', positions, topic .. ':caught-up', '1') == 1 then
  for index = 9, 8 + topics do
    if redis.call('HEXISTS', positions, ARGV[index] .. ':caught-up') == 0 then return {1} end
  end
  redis.call('SET', flag, ARGV[4])
end
return {1}
`
