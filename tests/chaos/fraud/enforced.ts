import { neverAccepted } from '../never-accepted.ts'
import { described, meets } from './answered.ts'
import type { Evidence } from './evidence.ts'
import { FIELDS } from './plan.ts'
import { type BlockCall, RULE_ID, type ScoreCall, wasAnswered } from './requests.ts'

/** How soon every API must apply a rule change, counted from the response to the change request. */
const RULES_AFTER_MS = 10_000
/** How soon every API must enforce a block, counted from the response to the block request. */
const ENFORCED_AFTER_MS = 1_000
/** How soon an API must have caught up with Kafka after Kafka or the API was down. */
const FOLLOWS_AGAIN_MS = 20_000
/**
 * Statuses that a block request or a rule change may get during a fault. 0: the API was killed. 409: an earlier attempt
 * has succeeded, although its response was lost.
 */
const REFUSALS: ReadonlySet<number> = new Set([0, 409, 503, 504])

/**
 * Checks that blocks and rule changes fail only with statuses that a fault explains. Every API must enforce them in
 * time or say in `degraded` that it does not.
 */
export function enforced(evidence: Evidence): string[] {
  return [...refused(evidence), ...outdated(evidence), ...blocks(evidence), ...rules(evidence)]
}

/**
 * Checks that changes fail only with statuses that a fault explains, and that not all changes of a kind fail. The other
 * checks ignore changes that failed.
 */
function refused({ calls }: Evidence): string[] {
  const changes = [...calls.blocks.map((call) => ({ kind: 'block', call })), ...calls.rules.map((call) => ({ kind: 'rule change', call }))]
  const wrong = changes.filter(({ call }) => !wasAnswered(call) && !REFUSALS.has(call.status))
  return [
    ...wrong.map(
      ({ kind, call: { api, from, to, status, body } }) => `${kind} at API ${api}, ${from} to ${to}: ${status} ${JSON.stringify(body)}`,
    ),
    ...neverAccepted(changes.map(({ kind, call }) => ({ kind, isAccepted: wasAnswered(call) }))),
  ]
}

/** Checks that `degraded` names `blocklist` or `rules` only while Kafka or the API is down, or shortly afterwards. */
function outdated({ calls, inflicted }: Evidence): string[] {
  return calls.scores
    .filter(({ status, body }) => status === 200 && (body.degraded.includes('blocklist') || body.degraded.includes('rules')))
    .flatMap((call) => {
      const troubles = [...inflicted.kafka, ...inflicted.apis.filter(({ api }) => api === call.api)]
      const isExcused = troubles.some((trouble) => meets(trouble, call, FOLLOWS_AGAIN_MS))
      return isExcused ? [] : [`${described(call)}, but neither Kafka nor the API was down`]
    })
}

/**
 * Checks that payments of an entity are blocked once it has been on the blocklist for a second, unless `degraded`
 * names `blocklist`. Also checks that a payment is blocked only if the round sent a block request for one of its
 * entities.
 */
function blocks({ calls }: Evidence): string[] {
  const blocksOf = Map.groupBy(calls.blocks, ({ type, value }) => `${type} ${value}`)

  function wrong(call: ScoreCall): string[] {
    const mine = blocksOfCall(call)
    const isBlocked = call.body.reason === 'blocklist_hit'
    const isStale = call.body.degraded.includes('blocklist')
    const found: string[] = []
    const due = mine.find((block) => wasAnswered(block) && block.to + ENFORCED_AFTER_MS <= call.from)
    if (due !== undefined && !isBlocked && !isStale) found.push(`${described(call)}, but ${due.type} was blocked at ${due.to}`)
    if (isBlocked && !mine.some((block) => block.from <= call.to))
      found.push(`${described(call)}, but no block request had been sent for its entities`)
    return found
  }

  function blocksOfCall({ payment }: ScoreCall): BlockCall[] {
    return Object.entries(FIELDS).flatMap(([type, field]) => blocksOf.get(`${type} ${payment[field]}`) ?? [])
  }

  return calls.scores.filter(({ status }) => status === 200).flatMap(wrong)
}

/**
 * Checks that no rule change was lost, and that each answer which does not use a change in time names `rules` in
 * `degraded`.
 */
function rules({ calls, logs }: Evidence): string[] {
  const changes = calls.rules.filter(wasAnswered).map(({ name, to }) => ({ name, from: to + RULES_AFTER_MS, version: versionOf(name) }))

  function versionOf(name: string): number | undefined {
    const found = logs.settings.find(({ value }) => value?.rules?.rules.some((rule) => rule.rule_id === RULE_ID && rule.name === name))
    return found?.value?.rules?.version
  }

  const lost = changes.filter(({ version }) => version === undefined).map(({ name }) => `the rule change ${name} is lost`)
  const late = calls.scores
    .filter(({ status, body }) => status === 200 && !body.degraded.includes('rules'))
    .flatMap((call) => {
      const due = changes.find(({ from, version = 0 }) => call.from >= from && call.body.ruleset_version < version)
      return due === undefined ? [] : [`${described(call)}, but the rules had version ${due.version} since ${due.from - RULES_AFTER_MS}`]
    })
  return [...lost, ...late]
}
