import { reviewOf } from '../../../schemas/fraud/cases/review.ts'
import { fraudReviews } from '../../../schemas/fraud/cases/topics.ts'
import { ENTITY_KINDS, type EntityKind, parseEntityKey } from '../../../schemas/fraud/entity.ts'
import { eventsOf, judgedEntities } from '../../../schemas/fraud/events.ts'
import { packEvents } from '../../../schemas/fraud/profile/events.ts'
import { addEvents, NEW_PROFILE } from '../../../schemas/fraud/profile/fold.ts'
import { DAY_MS, PROFILE_SHAPES } from '../../../schemas/fraud/profile/shape.ts'
import { foldVerdict } from '../../../schemas/fraud/profile/verdicts.ts'
import { fraudFeedback, fraudProfiles } from '../../../schemas/fraud/topics.ts'
import type { FraudChangedEntities, FraudEvent, FraudFeedback, FraudProfile } from '../../../schemas/fraud/types.ts'
import { avro, type Context, deadLetter, drop, keyedStore, type RecordContext, sweep, topology, utf8 } from '../../engine/index.ts'
import { whyNotCountable } from './accept.ts'
import { entityChanges } from './changes.ts'
import { countedAt } from './counted.ts'
import { type CountedTransaction, countedTransactions } from './transaction.ts'

/**
 * The policy for records on which a processor fails. They are skipped, because they must not stop the records of all
 * other entities.
 */
const SKIPPED = { process: 'dead-letter', produce: 'dead-letter' } as const
/** The policy for records that the topology itself writes. It stops on a bad record, because that is a bug. */
const INTERNAL = { onError: { decode: 'fail', reject: 'fail' } } as const

const BY_ENTITY = { partitions: 1, productionPartitions: 128 }

/** How long a repeated transaction is recognised. For the same time, the API returns its first answer. */
const COUNTED_MS = DAY_MS
const SWEEP_EVERY_MS = 1_000
const COUNTED_PER_TICK = 1_000
const WALK_EVERY_MS = 6 * 3_600_000

/** How long an idle profile is kept, by kind. A profile is forgotten after this time if it contains no known fraud. */
const IDLE_MS: Readonly<Partial<Record<EntityKind, number>>> = { device: 90 * DAY_MS, ip: 90 * DAY_MS, card: 90 * DAY_MS }
const PROFILES_PER_TICK = 200

/** Maximum number of transactions that a record of a profile lists as included. This many take 900 KB. */
const MOST_INCLUDED = 50_000

/**
 * Several transactions of one entity share a commit, because each commit has a fixed cost for worker and broker. In the
 * meantime the transactions count as in flight, so scores miss none. Each of the two stages waits for one interval, so
 * a profile is in Redis after about half a second. Five seconds are allowed.
 */
const COMMIT_INTERVAL_MS = 250

/**
 * An entity that has changed since the last commit. Its profile object is changed in place until the store encodes it.
 */
interface Changing {
  readonly kind: EntityKind
  readonly profile: FraudProfile
  /** Transactions that the profile has included since the last commit. */
  readonly included: FraudEvent[]
}

function include(kind: EntityKind, included: FraudEvent[], events: readonly FraudEvent[]): void {
  // Transactions of merchants are never in flight, so their profiles need no list.
  if (kind !== 'merchant') for (const event of events) included.push(event)
}

/** Builds the profiles of users, devices, IPs, cards and merchants from scored transactions and verdicts. */
export const fraudProfilesTopology = topology(
  'fraud-profiles',
  function declareProfiles(t) {
    const changed = t.repartition('changed-entities', { key: utf8, value: avro('fraud/FraudChangedEntities'), ...BY_ENTITY })
    declareTransactions()
    declareVerdicts()
    declareFold()

    function declareTransactions(): void {
      const counted = keyedStore('counted', { key: utf8, value: countedAt })
      const changes = entityChanges(changed)
      let countedSince = 0
      const forgetting = sweep(counted, { keysPerRun: COUNTED_PER_TICK, isExpired: (_id, at) => at <= countedSince })

      function spread(scored: CountedTransaction, ctx: RecordContext<string>) {
        const { request } = scored
        // Only a few transactions have a case. They are selected here, so that the workers that decide about cases do
        // not have to read all other transactions. Every event of a transaction is checked, because only one of two
        // answers may be REVIEW.
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

      t.source(countedTransactions, { onError: SKIPPED })
        .process(
          'spread',
          { reads: ({ request }) => counted.prefetch(request.transaction_id), stores: [counted], emits: [changed, fraudReviews] },
          spread,
        )
        .tick('forget-counted', { everyMs: SWEEP_EVERY_MS, clock: 'wall', stores: [counted] }, function forgetCounted(now) {
          countedSince = now - COUNTED_MS
          forgetting.run(Math.floor(now / WALK_EVERY_MS))
        })
        .beforeCommit('emit-events', { emits: [changed] }, changes.emitAll)
    }

    function declareVerdicts(): void {
      const changes = entityChanges(changed)

      function judge(feedback: FraudFeedback, ctx: RecordContext<string>): void {
        const ids = judgedEntities(feedback)
        const { verdict, previous_verdict, at, previous_at } = feedback
        for (const kind of ENTITY_KINDS) {
          const id = ids[kind]
          if (id !== null) changes.addVerdict(kind, id, { verdict, previous: previous_verdict, at, previous_at }, ctx)
        }
      }

      t.source(fraudFeedback, { onError: SKIPPED })
        .process('judge', { emits: [changed] }, judge)
        .beforeCommit('emit-verdicts', { emits: [changed] }, changes.emitAll)
    }

    function declareFold(): void {
      const profiles = keyedStore('profiles', { key: utf8, value: avro('fraud/FraudProfile') })
      let changing = new Map<string, Changing>()

      /**
       * Returns the profile that the next commit will write. The store already contains the profile and counts it as
       * changed.
       */
      function changingProfile(entity: string): Changing {
        const known = changing.get(entity)
        if (known !== undefined) return known
        const profile = { ...(profiles.get(entity) ?? NEW_PROFILE) }
        profiles.put(entity, profile)
        const { kind } = parseEntityKey(entity)
        const added: Changing = { kind, profile, included: [] }
        changing.set(entity, added)
        return added
      }

      function fold({ counted, repeated, judged }: FraudChangedEntities): void {
        for (const { entity, events } of counted) {
          const { kind, profile, included } = changingProfile(entity)
          addEvents(profile, PROFILE_SHAPES[kind], events)
          include(kind, included, events)
        }
        for (const { entity, events } of repeated) {
          const { kind, included } = changingProfile(entity)
          include(kind, included, events)
        }
        for (const { entity, ...verdict } of judged) {
          const { kind, profile } = changingProfile(entity)
          Object.assign(profile, foldVerdict(profile, kind, verdict))
        }
      }

      /**
       * Lists the included transactions in each changed profile. The view follows the changelog of the profiles, so a
       * commit normally writes a profile once. If there are very many transactions, separate records are written before
       * the profile. They list all transactions except the last ones.
       */
      function show(ctx: Context): void {
        const due = changing
        changing = new Map()
        for (const [entity, { profile, included }] of due) {
          let from = 0
          for (; included.length - from > MOST_INCLUDED; from += MOST_INCLUDED) {
            const some = packEvents(included.slice(from, from + MOST_INCLUDED))
            ctx.emit(fraudProfiles, entity, { ...profile, included: some }, { timestamp: ctx.now })
          }
          profile.included = packEvents(from === 0 ? included : included.slice(from))
        }
      }

      let sweptAt = 0
      const forgetting = sweep(profiles, {
        keysPerRun: PROFILES_PER_TICK,
        isExpired(key, { newest_at, fraud_count }) {
          const idleMs = IDLE_MS[parseEntityKey(key).kind]
          return idleMs !== undefined && fraud_count === 0 && newest_at <= sweptAt - idleMs && !changing.has(key)
        },
      })

      function prefetch({ counted, repeated, judged }: FraudChangedEntities): void {
        for (const list of [counted, repeated, judged]) for (const { entity } of list) profiles.prefetch(entity)
      }

      t.source(changed, INTERNAL)
        .process('fold', { reads: prefetch, stores: [profiles] }, fold)
        .tick('forget-idle', { everyMs: SWEEP_EVERY_MS, clock: 'wall', stores: [profiles] }, function forgetIdle(now) {
          sweptAt = now
          forgetting.run(Math.floor(now / DAY_MS))
        })
        .beforeCommit('show-profiles', { stores: [profiles], emits: [fraudProfiles] }, show)
    }
  },
  { commitIntervalMs: COMMIT_INTERVAL_MS, commitWhenIdle: false },
)
