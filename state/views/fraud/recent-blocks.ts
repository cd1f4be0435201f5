import type { ViewScript, ViewScripts } from '../view.ts'

/**
 * How many transactions all API processes together have scored in the last five minutes, and how many of them they have
 * blocked. The numbers are stored only here: if Redis is emptied, they are lost.
 *
 * | key | value |
 * |---|---|
 * | `{fraud-blocks}:slot:<number>` | hash for a slot of 15 s: `scored`, and the number of blocks by cause |
 * | `{fraud-blocks}:acted` | the token of the attempt in which a guard last acted; expires after a pause |
 */
const TAG = '{fraud-blocks}'
const SLOT_MS = 15_000
/** Number of slots in five minutes, including the current slot. */
const SLOTS = 20
/**
 * How long a slot is kept. This is a little longer than the five minutes for which the slot is counted, because the
 * clocks of processes differ.
 */
const SLOT_KEPT_MS = (SLOTS + 4) * SLOT_MS
const SCORED = 'scored'

/** Length of the window that the guard checks: five minutes. */
export const BLOCKS_WINDOW_MS = SLOTS * SLOT_MS

export interface BlockCounts {
  /** Number of scored transactions, including blocked ones. */
  readonly scored: number
  /** Number of blocked transactions by cause. */
  readonly blocked: ReadonlyMap<string, number>
}

/**
 * Adds the given counts to the first slot. Returns the alternating fields and values of all slots, one slot after
 * another.
 */
const ADD_AND_READ: ViewScript = {
  name: 'add-blocks',
  source: `
for at = 1, #ARGV - 1, 2 do redis.call('HINCRBY', KEYS[1], ARGV[at], ARGV[at + 1]) end
if #ARGV > 1 then redis.call('PEXPIRE', KEYS[1], ARGV[#ARGV]) end
local found = {}
for _, key in ipairs(KEYS) do
  for _, part in ipairs(redis.call('HGETALL', key)) do found[#found + 1] = part end
end
return found`,
}

/**
 * Returns 1 for the first attempt within a period, so that only one process acts. Returns 1 again for the same token,
 * because the process may not have received the first answer.
 */
const CLAIM: ViewScript = {
  name: 'claim-guard',
  source: `
local holder = redis.call('GET', KEYS[1])
if holder and holder ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1`,
}

const RELEASE: ViewScript = {
  name: 'release-guard',
  source: `if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end`,
}

/**
 * Adds the counts of this process, and returns the counts of all processes in the last five minutes.
 * @param now epoch ms; it selects the slot
 */
export async function addBlocks(scripts: ViewScripts, now: number, { scored, blocked }: BlockCounts): Promise<BlockCounts> {
  const running = Math.floor(now / SLOT_MS)
  const keys = Array.from({ length: SLOTS }, (_, back) => `${TAG}:slot:${running - back}`)
  const added = [...(scored > 0 ? [[SCORED, scored] as const] : []), ...blocked]
  const found = (await scripts.run(ADD_AND_READ, keys, [...added.flat(), SLOT_KEPT_MS])) as string[]
  const sums = new Map<string, number>()
  for (let at = 0; at < found.length; at += 2) sums.set(found[at], (sums.get(found[at]) ?? 0) + Number(found[at + 1]))
  const all = sums.get(SCORED) ?? 0
  sums.delete(SCORED)
  return { scored: all, blocked: sums }
}

/**
 * Returns true for at most one attempt per `pauseMs`, and also for the retries of this attempt.
 * @param token identifies the attempt; the guard passes the same token for each retry until it has moved a rule
 */
export async function claimGuard(scripts: ViewScripts, token: string, pauseMs: number): Promise<boolean> {
  return (await scripts.run(CLAIM, [`${TAG}:acted`], [token, pauseMs])) === 1
}

/** Allows any guard to try again after this attempt failed to act. */
export async function releaseGuard(scripts: ViewScripts, token: string): Promise<void> {
  await scripts.run(RELEASE, [`${TAG}:acted`], [token])
}
