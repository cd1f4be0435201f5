/**
 * The scripts that clear a partition of a view: begin, remove keys, end. In between, the hash of positions holds a
 * random mark. With it, no sink fills the partition while old keys remain, and a late removal cannot delete newer keys.
 * KEYS[1] is always the hash of positions.
 */

/** A field of the hash of positions. Names of topics contain no colon. */
export const CLEARING_FIELD = ':clearing'
/** Shows that the partition was cleared and not filled yet. */
const CLEARED_FIELD = ':cleared'

/** KEYS: 2 the caught-up flag. ARGV: 1 the mark. A clearing that another process has begun continues. */
export const BEGIN_CLEARING = `
redis.call('DEL', KEYS[2])
if redis.call('HEXISTS', KEYS[1], '${CLEARING_FIELD}') == 1 then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], '${CLEARING_FIELD}', ARGV[1])
return 1
`

/** KEYS: from 2 on, the keys to remove. ARGV[1]: the mark. */
export const REMOVE_WHILE_CLEARING = `
if redis.call('HGET', KEYS[1], '${CLEARING_FIELD}') ~= ARGV[1] then return 0 end
for index = 2, #KEYS do redis.call('UNLINK', KEYS[index]) end
return 1
`

/** ARGV: 1 the mark. */
export const END_CLEARING = `
if redis.call('HGET', KEYS[1], '${CLEARING_FIELD}') ~= ARGV[1] then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], '${CLEARED_FIELD}', '1')
return 1
`
