import { described, meets } from './answered.ts'
import type { Evidence } from './evidence.ts'
import { FIELDS } from './plan.ts'
import { type BlockCall, type ScoreCall, wasAnswered } from './requests.ts'

/** How long after the answer every API enforces a block. */
const ENFORCED_AFTER_MS = 1_000
/** How long an API may need until it follows Kafka again, after Kafka or itself was away. */
const FOLLOWS_AGAIN_MS = 20_000

/**
 * Nothing is approved that has been on the blocklist for a second, unless the answer says that the API may lack
 * changes, and Kafka or the API was away shortly before. Nothing is blocked that nobody has asked to block.
 */
export function enforced(evidence: Evidence): string[] {
  const { calls, inflicted } = evidence
  const blocksOf = Map.groupBy(calls.blocks, ({ type, value }) => `${type} ${value}`)

  function wrong(call: ScoreCall): string[] {
    const blocks = blocksOfCall(call)
    const isBlocked = call.body.reason === 'blocklist_hit'
    const isStale = call.body.degraded.includes('blocklist')
    const found: string[] = []
    const due = blocks.find((block) => wasAnswered(block) && block.to + ENFORCED_AFTER_MS <= call.from)
    if (due !== undefined && !isBlocked && !isStale) found.push(`${described(call)}, but ${due.type} was blocked at ${due.to}`)
    if (isBlocked && !blocks.some((block) => block.from <= call.to)) found.push(`${described(call)}, but nobody has blocked it`)
    const troubles = [...inflicted.kafka, ...inflicted.apis.filter(({ api }) => api === call.api)]
    if (isStale && !troubles.some((trouble) => meets(trouble, call, FOLLOWS_AGAIN_MS)))
      found.push(`${described(call)}, but neither Kafka nor the API was away`)
    return found
  }

  function blocksOfCall({ payment }: ScoreCall): BlockCall[] {
    return Object.entries(FIELDS).flatMap(([type, field]) => blocksOf.get(`${type} ${payment[field]}`) ?? [])
  }

  return calls.scores.filter(({ status }) => status === 200).flatMap(wrong)
}
