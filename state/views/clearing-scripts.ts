/**
 * The scripts that clear a partition of a view: begin, remove keys, and end. Between begin and end, the hash of
 * positions contains a random mark. While the mark is present, no sink fills the partition. A removal that arrives late
 * no longer finds its mark, so it has no effect and cannot delete newer keys. KEYS[1] is always the hash of positions.
 */

/** A field of the hash of positions. It cannot be the name of a topic, because topic names contain no colon. */
export const CLEARING_FIELD = ':clearing'
/**
 * A field that shows that the partition was cleared. A sink clears a partition that has neither positions nor this
 * field.
 */
const CLEARED_FIELD = ':cleared'

/**
 * Begins a clearing, unless another process has begun one, or the positions have changed since the sink read them. A
 * request that arrives late must not clear what another process has filled in the meantime.
 * KEYS: 1 the positions, from 2 on caught-up flags.
 * ARGV: 1 the mark, 2 the topic, 3 and 4 its next offset and time, both empty if the sink found no positions.
 */
export const BEGIN_CLEARING = `
if redis.call('HEXISTS', KEYS[1], '${CLEARING_FIELD}') == 1 then return 0 end
if ARGV[3] == '' then
  if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
elseif redis.call('HGET', KEYS[1], ARGV[2]) ~= ARGV[3] or redis.call('HGET', KEYS[1], ARGV[2] .. ':at') ~= ARGV[4] then
  return 0
end
redis.call('DEL', unpack(KEYS, 2))
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], '${CLEARING_FIELD}', ARGV[1])
return 1
`

/** Removes keys during a clearing. KEYS: from 2 on, the keys to remove. ARGV: 1 the mark. */
export const REMOVE_WHILE_CLEARING = `
if redis.call('HGET', KEYS[1], '${CLEARING_FIELD}') ~= ARGV[1] then return 0 end
for index = 2, #KEYS do redis.call('UNLINK', KEYS[index]) end
return 1
`

/** Ends a clearing. ARGV: 1 the mark. */
export const END_CLEARING = `
if redis.call('HGET', KEYS[1], '${CLEARING_FIELD}') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], '${CLEARED_FIELD}', '1')
return 1
`
