import { reviewOf } from '../../../schemas/fraud/cases/review.ts'
import { fraudReviews } from '../../../schemas/fraud/cases/topics.ts'
import { ENTITY_KINDS, type EntityKind, parseEntityKey } from '../../../schemas/fraud/entity.ts'
import { eventsOf, judgedEntities } from '../../../schemas/fraud/events.ts'
import { packEvents } from '../../../schemas/fraud/profile/events.ts'
import { foldEvents, NEW_PROFILE } from '../../../schemas/fraud/profile/fold.ts'
import { DAY_MS, PROFILE_SHAPES } from '../../../schemas/fraud/profile/shape.ts'
import { foldVerdict } from '../../../schemas/fraud/profile/verdicts.ts'
import { fraudFeedback, fraudProfiles, txnScored } from '../../../schemas/fraud/topics.ts'
import type { FraudEntityChanges, FraudEvent, FraudFeedback, TxnScored } from '../../../schemas/fraud/types.ts'
import { avro, type Context, deadLetter, drop, keyedStore, type RecordContext, sweep, topology, utf8 } from '../../engine/index.ts'
import { whyNotCountable } from './accept.ts'
import { entityChanges } from './changes.ts'
import { countedAt } from './counted.ts'

/** A record that a processor cannot take must not stop those of all other entities. */
const SKIPPED = { process: 'dead-letter', produce: 'dead-letter' } as const
/** The topology itself writes these, so a bad record is a bug. */
const INTERNAL = { onError: { decode: 'fail', reject: 'fail' } } as const

const BY_ENTITY = { partitions: 1, productionPartitions: 128 }

/** Time for which a repeated transaction is recognised. The API gives its first answer for as long. */
const COUNTED_MS = DAY_MS
const SWEEP_EVERY_MS = 1_000
const COUNTED_PER_TICK = 1_000
const WALK_EVERY_MS = 6 * 3_600_000

/** Profiles of these kinds are forgotten when they were idle for this long and no fraud is known of them. */
const IDLE_MS: Readonly<Partial<Record<EntityKind, number>>> = { device: 90 * DAY_MS, ip: 90 * DAY_MS, card: 90 * DAY_MS }
const PROFILES_PER_TICK = 200

/** Maximum number of transactions that a record of a profile says it includes, 900 KB. */
const MOST_INCLUDED = 50_000

/**
 * Several transactions of one entity share a commit, because each commit has a fixed cost for worker and broker. In the
 * meantime the transactions count as in flight, so scores miss none. Both stages wait once: a profile is in Redis after
 * about half a second, of the five that are allowed.
 */
const COMMIT_INTERVAL_MS = 250

/** Scored transactions and verdicts → the profiles of users, devices, IPs, cards and merchants. */
export const fraudProfilesTopology = topology(
  'fraud-profiles',
  function declareProfiles(t) {
    const byEntity = t.repartition('by-entity', { key: utf8, value: avro('fraud/FraudEntityChanges'), ...BY_ENTITY })
    declareTransactions()
    declareVerdicts()
    declareFold()

    function declareTransactions(): void {
      const counted = keyedStore('counted', { key: utf8, value: countedAt })
      const changes = entityChanges(byEntity)
      let countedSince = 0
      const forgetting = sweep(counted, { keysPerRun: COUNTED_PER_TICK, isExpired: (_id, at) => at <= countedSince })

      function spread(scored: TxnScored, ctx: RecordContext<string>) {
        const { request } = scored
        // Only few transactions have a case. They are selected here, so that the workers that decide about cases need
        // not read all the others. Every event of a transaction counts, because only one of two answers may be REVIEW.
        if (scored.decision === 'REVIEW') ctx.emit(fraudReviews, request.transaction_id, reviewOf(scored))
        const reason = whyNotCountable(request, ctx.now)
        if (reason !== undefined) return deadLetter('not_countable', reason)
        const id = request.transaction_id
        const at = counted.get(id)
        const isRepeat = at !== undefined && at > ctx.now - COUNTED_MS
        if (!isRepeat) counted.put(id, ctx.now)
        for (const { kind, entityId, event } of eventsOf(request)) {
          if (isRepeat) changes.addRepeat(kind, entityId, event, ctx)
          else changes.addEvent(kind, entityId, event, ctx)
        }
        return isRepeat ? drop('counted_before') : undefined
      }

      t.source(txnScored, { onError: SKIPPED })
        .process(
          'spread',
          { reads: ({ request }) => counted.prefetch(request.transaction_id), stores: [counted], emits: [byEntity, fraudReviews] },
          spread,
        )
        .tick('forget-counted', { everyMs: SWEEP_EVERY_MS, clock: 'wall', stores: [counted] }, function forgetCounted(now) {
          countedSince = now - COUNTED_MS
          forgetting.run(Math.floor(now / WALK_EVERY_MS))
        })
        .beforeCommit('emit-events', { emits: [byEntity] }, changes.emitAll)
    }

    function declareVerdicts(): void {
      const changes = entityChanges(byEntity)

      function judge(feedback: FraudFeedback, ctx: RecordContext<string>): void {
        const ids = judgedEntities(feedback)
        const { verdict, previous_verdict, at, previous_at } = feedback
        for (const kind of ENTITY_KINDS) {
          const id = ids[kind]
          if (id !== null) changes.addVerdict(kind, id, { verdict, previous: previous_verdict, at, previous_at }, ctx)
        }
      }

      t.source(fraudFeedback, { onError: SKIPPED })
        .process('judge', { emits: [byEntity] }, judge)
        .beforeCommit('emit-verdicts', { emits: [byEntity] }, changes.emitAll)
    }

    function declareFold(): void {
      const profiles = keyedStore('profiles', { key: utf8, value: avro('fraud/FraudProfile') })
      /** Entities whose record is due with the next commit, and the transactions that it includes. */
      let shown = new Map<string, FraudEvent[]>()

      function fold({ events, repeats, verdicts }: FraudEntityChanges, ctx: RecordContext<string>): void {
        const { kind } = parseEntityKey(ctx.key)
        const known = profiles.get(ctx.key) ?? NEW_PROFILE
        let profile = foldEvents(known, PROFILE_SHAPES[kind], events)
        for (const verdict of verdicts) profile = foldVerdict(profile, kind, verdict)
        if (profile !== known) profiles.put(ctx.key, profile)
        const included = shown.get(ctx.key) ?? []
        shown.set(ctx.key, included)
        // Nothing about merchants is in flight.
        if (kind === 'merchant') return
        for (const event of events) included.push(event)
        for (const event of repeats) included.push(event)
      }

      /** Emits one record per commit and entity, unless it includes very many transactions. */
      function show(ctx: Context): void {
        const due = shown
        shown = new Map()
        for (const [key, all] of due) {
          const profile = profiles.get(key) ?? NEW_PROFILE
          let from = 0
          do {
            const included = packEvents(all.slice(from, from + MOST_INCLUDED))
            ctx.emit(fraudProfiles, key, { ...profile, included }, { timestamp: ctx.now })
            from += MOST_INCLUDED
          } while (from < all.length)
        }
      }

      let ticking: { readonly now: number; readonly ctx: Context } | undefined
      const forgetting = sweep(profiles, {
        keysPerRun: PROFILES_PER_TICK,
        isExpired(key, { newest_at, fraud_count }) {
          const idleMs = IDLE_MS[parseEntityKey(key).kind]
          if (ticking === undefined || idleMs === undefined || fraud_count > 0 || newest_at > ticking.now - idleMs) return false
          if (shown.has(key)) return false
          ticking.ctx.emit(fraudProfiles, key, null)
          return true
        },
      })

      t.source(byEntity, INTERNAL)
        .process('fold', { reads: (_changes, key) => profiles.prefetch(key), stores: [profiles], emits: [fraudProfiles] }, fold)
        .tick(
          'forget-idle',
          { everyMs: SWEEP_EVERY_MS, clock: 'wall', stores: [profiles], emits: [fraudProfiles] },
          function forgetIdle(now, ctx) {
            ticking = { now, ctx }
            forgetting.run(Math.floor(now / DAY_MS))
            ticking = undefined
          },
        )
        .beforeCommit('show-profiles', { stores: [profiles], emits: [fraudProfiles] }, show)
    }
  },
  { commitIntervalMs: COMMIT_INTERVAL_MS, commitWhenIdle: false },
)
