import { topology } from '../../../../pipelines/engine/topology/topology.ts'
import { utf8 } from '../../../../schemas/keys.ts'
import type { Topic } from '../../../../schemas/topic.ts'
import { keyedStore } from '../../../../state/stores/keyed-store.ts'
import { numberFormat, numberTopic } from '../words.ts'

const EVERY_MS = 200
export const ELECTION_DELAY_MS = 20
export const votes = numberTopic('votes', 3)
export const results = numberTopic('results', 1)

export interface ElectionOptions {
  readonly name?: string
  readonly topics?: { readonly votes: Topic<string, number>; readonly results: Topic<string, number> }
  /** Runs inside the time handler, before it emits anything. */
  readonly beforeReport?: (time: number) => Generator<void, void, void>
}

/**
 * Creates a topology that aggregates votes per candidate until each commit. Every 200 ms, it publishes each candidate's
 * total together with the time.
 */
export function election({ name = 'election', topics = { votes, results }, beforeReport }: ElectionOptions = {}) {
  return topology(
    name,
    (t) => {
      const counts = t.repartition('counts', { key: utf8, value: numberFormat, partitions: 2 })
      const pending = new Map<string, number>()
      t.source(topics.votes)
        .process('count', {}, (by, ctx) => void pending.set(ctx.key, (pending.get(ctx.key) ?? 0) + by))
        .beforeCommit('send', { emits: [counts] }, (ctx) => {
          for (const [candidate, by] of pending) ctx.emit(counts, candidate, by)
          pending.clear()
        })
        .markTime({ everyMs: EVERY_MS, delayMs: ELECTION_DELAY_MS, to: counts })
      const totals = keyedStore('totals', { key: utf8, value: numberFormat })
      t.source(counts)
        .process('add', { stores: [totals] }, (by, ctx) => totals.put(ctx.key, (totals.get(ctx.key) ?? 0) + by))
        .onTime('report', { stores: [totals], emits: [topics.results] }, function* report(time, ctx) {
          if (beforeReport !== undefined) yield* beforeReport(time)
          for (const [candidate, total] of totals.scan()) ctx.emit(topics.results, `${time} ${candidate}`, total)
        })
    },
    { commitWhenIdle: false },
  )
}

/**
 * Returns the published totals by time.
 * @throws Error if a time was published twice for a candidate
 */
export function publishedTimes(out: Iterable<{ readonly key: string; readonly value: number }>): Map<number, Map<string, number>> {
  const times = new Map<number, Map<string, number>>()
  for (const { key, value } of out) {
    const [time, candidate] = key.split(' ')
    const at = times.get(Number(time)) ?? new Map<string, number>()
    if (at.has(candidate)) throw new Error(`${candidate} was published twice for ${time}`)
    times.set(Number(time), at.set(candidate, value))
  }
  return times
}

/**
 * Returns the times at which a candidate was published with fewer votes than had been sent before. A missing candidate
 * does not count: each partition publishes its own candidates, and a partition that moves may skip a time that another
 * partition publishes.
 * @param sent the number of votes for all candidates that had been sent by each `time`, in order
 * @param candidates the number of candidates; all of them get the same number of votes
 */
export function undercounted(
  times: ReadonlyMap<number, ReadonlyMap<string, number>>,
  sent: readonly { readonly time: number; readonly count: number }[],
  candidates: number,
): number[] {
  return [...times].flatMap(([time, totals]) => {
    const due = sent.findLast((each) => each.time < time)?.count ?? 0
    return [...totals.values()].some((total) => total < due / candidates) ? [time] : []
  })
}
