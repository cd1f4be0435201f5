import { byteWriter } from '../../../schemas/codec.ts'
import { reviewOf } from '../../../schemas/fraud/cases/review.ts'
import { fraudReviews } from '../../../schemas/fraud/cases/topics.ts'
import { ENTITY_KINDS, type EntityKind, entityKey, parseEntityKey } from '../../../schemas/fraud/entity.ts'
import { judgedEntities } from '../../../schemas/fraud/events.ts'
import { parseProfile, unpackProfile } from '../../../schemas/fraud/profile/packed.ts'
import { foldPackedVerdict, foldRows, setIncluded } from '../../../schemas/fraud/profile/packed-fold.ts'
import { isRepeatedAt, kindsAt, ROW_BYTES } from '../../../schemas/fraud/profile/rows.ts'
import { DAY_MS } from '../../../schemas/fraud/profile/shape.ts'
import { fraudFeedback, fraudProfiles } from '../../../schemas/fraud/topics.ts'
import type { FraudFeedback } from '../../../schemas/fraud/types.ts'
import type { Topic } from '../../../schemas/topic.ts'
import { type Context, deadLetter, drop, keyedStore, type RecordContext, sweep, topology, utf8 } from '../../engine/index.ts'
import { whyNotCountable } from './accept.ts'
import { type ChangedEntities, changedEntities } from './changed-entities.ts'
import { entityChanges } from './changes.ts'
import { countedAt } from './counted.ts'
import { newProfile, readingState, type StoredProfile, storedProfiles } from './stored.ts'
import { type CountedTransaction, countedTransactions } from './transaction.ts'

/**
 * Policy for records on which a processor fails or whose output cannot be written. They become dead letters, so that
 * one bad record does not hold up all other entities.
 */
const SKIPPED = { process: 'dead-letter', produce: 'dead-letter' } as const
/** Policy for records that the topology itself writes. A bad record there is a bug, so the worker stops. */
const INTERNAL = { onError: { decode: 'fail', reject: 'fail' } } as const

const BY_ENTITY = { partitions: 1, productionPartitions: 128 }

/** How long a repeated transaction is recognised. By default, the API also repeats its first answer for this long. */
const COUNTED_MS = DAY_MS
/**
 * Memory for cached times of counted transactions in each task. It is small: few transactions are repeated, so a cached
 * time is hardly ever used again.
 */
const COUNTED_CACHE_BYTES = 1_048_576
const SWEEP_EVERY_MS = 1_000
const COUNTED_PER_TICK = 1_000
const WALK_EVERY_MS = 6 * 3_600_000

/**
 * An idle profile of one of these kinds is forgotten after this time, unless it contains a known fraud. Profiles of all
 * other kinds are kept forever.
 */
const IDLE_MS: Readonly<Partial<Record<EntityKind, number>>> = { device: 90 * DAY_MS, ip: 90 * DAY_MS, card: 90 * DAY_MS }
const PROFILES_PER_TICK = 200

/** Maximum number of included transactions that one record of a profile lists. This many transactions take 900 KB. */
const MOST_INCLUDED = 50_000

/**
 * Commit interval. It is long enough for several transactions of one entity to share a commit and its fixed cost for
 * worker and broker. Until the commit, the transactions remain in flight, so no score misses one of them. Each of the
 * two stages waits for one interval, so a profile is in Redis after about half a second, well within the required five
 * seconds.
 */
const COMMIT_INTERVAL_MS = 250

/**
 * The changelog of the profiles, as a topic to emit to. If a list of included transactions does not fit into one
 * record, parts of the list are emitted separately.
 */
const shownProfiles: Topic<string, StoredProfile> = { ...fraudProfiles, value: storedProfiles }

const NO_ROWS: readonly number[] = []
const MERCHANT = ENTITY_KINDS.indexOf('merchant')
const USER_PREFIX = entityKey('user', '')

/** Builds the profiles of users, devices, IPs, cards and merchants from scored transactions and verdicts. */
export const fraudProfilesTopology = topology(
  'fraud-profiles',
  function declareProfiles(t) {
    const changesTopic = t.repartition('changes', { key: utf8, value: changedEntities, ...BY_ENTITY })
    declareTransactions()
    declareVerdicts()
    declareFold()

    function declareTransactions(): void {
      const counted = keyedStore('counted', { key: utf8, value: countedAt, cacheBytes: COUNTED_CACHE_BYTES })
      const changes = entityChanges(changesTopic)
      let countedSince = 0
      const forgetting = sweep(counted, { keysPerRun: COUNTED_PER_TICK, isExpired: (_id, at) => at <= countedSince })

      function spread(scored: CountedTransaction, ctx: RecordContext<string>) {
        const { request } = scored
        // Only a few transactions have a case. They are selected here, so that the workers that decide about cases do
        // not have to read all other transactions. Every event of a transaction is checked: if a transaction was scored
        // twice, perhaps only one of the two answers is REVIEW.
        if (scored.decision === 'REVIEW') ctx.emit(fraudReviews, request.transaction_id, reviewOf(scored))
        const reason = whyNotCountable(request, ctx.now)
        if (reason !== undefined) return deadLetter('not_countable', reason)
        const id = request.transaction_id
        const at = counted.get(id)
        const isRepeat = at !== undefined && at > ctx.now - COUNTED_MS
        if (!isRepeat) counted.put(id, ctx.now)
        changes.addTransaction(request, isRepeat, ctx)
        return isRepeat ? drop('counted_before') : undefined
      }

      t.source(countedTransactions, { onError: SKIPPED })
        .process(
          'spread',
          { reads: ({ request }) => counted.prefetch(request.transaction_id), stores: [counted], emits: [changesTopic, fraudReviews] },
          spread,
        )
        .tick('forget-counted', { everyMs: SWEEP_EVERY_MS, clock: 'wall', stores: [counted] }, function forgetCounted(now) {
          countedSince = now - COUNTED_MS
          forgetting.run(Math.floor(now / WALK_EVERY_MS))
        })
        .beforeCommit('emit-events', { emits: [changesTopic] }, changes.emitAll)
    }

    function declareVerdicts(): void {
      const changes = entityChanges(changesTopic)

      function judge(feedback: FraudFeedback, ctx: RecordContext<string>): void {
        const ids = judgedEntities(feedback)
        const { verdict, previous_verdict, at, previous_at } = feedback
        for (const kind of ENTITY_KINDS) {
          const id = ids[kind]
          if (id !== null) changes.addVerdict(kind, id, { verdict, previous: previous_verdict, at, previous_at }, ctx)
        }
      }

      t.source(fraudFeedback, { onError: SKIPPED })
        .process('judge', { emits: [changesTopic] }, judge)
        .beforeCommit('emit-verdicts', { emits: [changesTopic] }, changes.emitAll)
    }

    function declareFold(): void {
      const profiles = keyedStore('profiles', { key: utf8, value: storedProfiles, view: unpackProfile })
      /**
       * The entities that have changed since the last commit. `rows` and `users` contain the transactions that have
       * changed them.
       */
      let changed: { readonly entity: string; readonly kind: number; readonly profile: StoredProfile }[] = []
      const rows = byteWriter()
      let users: string[] = []

      /**
       * Notes that the next commit must change a profile. Returns the profile.
       * @param kind index of the entity's kind in ENTITY_KINDS
       * @param row byte offset of a transaction in `rows`
       */
      function change(entity: string, kind: number, row?: number): StoredProfile {
        const profile = profiles.get(entity) ?? newProfile()
        if (profile.rows === undefined) {
          profile.rows = row === undefined ? [] : [row]
          // The store encodes the profile after `fold` has changed it.
          profiles.put(entity, profile)
          changed.push({ entity, kind, profile })
        } else if (row !== undefined) profile.rows.push(row)
        return profile
      }

      function collect(received: ChangedEntities): void {
        const { keys, judged } = received
        let key = 0
        for (let at = 0; at < received.rows.length; at += ROW_BYTES) {
          const isRepeated = isRepeatedAt(received.rows, at)
          for (let kinds = kindsAt(received.rows, at); kinds !== 0; kinds &= kinds - 1) {
            const profile = change(keys[key++], lowestBit(kinds), rows.length + at)
            if (isRepeated) profile.hasRepeated = true
          }
        }
        rows.reserve(received.rows.length)
        rows.length += received.rows.copy(rows.buffer, rows.length)
        for (const user of received.users) users.push(user)
        for (const { entity, ...verdict } of judged) {
          const profile = change(entity, ENTITY_KINDS.indexOf(parseEntityKey(entity).kind))
          profile.verdicts ??= []
          profile.verdicts.push(verdict)
        }
      }

      /**
       * Folds the changes of each entity into its profile, and lists in the profile the transactions that were included
       * since the last commit. The view reads the changelog of the profiles, so one record per profile and commit is
       * normally enough. If the list is too long for one record, additional records with the earlier parts of the list
       * precede the profile's own record.
       */
      function fold(ctx: Context): void {
        const transactions = { bytes: rows.buffer, userOf: (at: number) => users[at / ROW_BYTES].slice(USER_PREFIX.length) }
        for (const { entity, kind, profile } of changed) {
          const all = profile.rows!
          const counted = profile.hasRepeated ? all.filter((at) => !isRepeatedAt(rows.buffer, at)) : all
          // Transactions in flight are not recorded for merchants, so profiles of merchants need not list the included
          // transactions.
          const included = kind === MERCHANT ? NO_ROWS : all
          foldRows(profile, kind, transactions, counted, included)
          for (const verdict of profile.verdicts ?? []) foldPackedVerdict(profile, ENTITY_KINDS[kind], verdict)
          if (included.length > MOST_INCLUDED) splitIncluded(entity, profile, included, ctx)
          profile.rows = undefined
          profile.hasRepeated = false
          profile.verdicts = undefined
        }
        changed = []
        users = []
        rows.length = 0
      }

      function splitIncluded(entity: string, profile: StoredProfile, included: readonly number[], ctx: Context): void {
        let from = 0
        for (; included.length - from > MOST_INCLUDED; from += MOST_INCLUDED) {
          setIncluded(profile, rows.buffer, included.slice(from, from + MOST_INCLUDED))
          ctx.emit(shownProfiles, entity, profile, { timestamp: ctx.now })
        }
        setIncluded(profile, rows.buffer, included.slice(from))
      }

      let sweptAt = 0
      const forgetting = sweep(profiles, {
        keysPerRun: PROFILES_PER_TICK,
        isExpired(key, profile) {
          const idleMs = IDLE_MS[parseEntityKey(key).kind]
          if (idleMs === undefined || profile.rows !== undefined) return false
          const { fraud_count, newest_at } = readingState(() => parseProfile(profile))
          return fraud_count === 0 && newest_at <= sweptAt - idleMs
        },
      })

      function prefetch({ keys, judged }: ChangedEntities): void {
        for (const entity of keys) profiles.prefetch(entity)
        for (const { entity } of judged) profiles.prefetch(entity)
      }

      t.source(changesTopic, INTERNAL)
        .process('collect', { reads: prefetch, stores: [profiles] }, collect)
        .tick('forget-idle', { everyMs: SWEEP_EVERY_MS, clock: 'wall', stores: [profiles] }, function forgetIdle(now) {
          sweptAt = now
          forgetting.run(Math.floor(now / DAY_MS))
        })
        .beforeCommit('fold', { stores: [profiles], emits: [shownProfiles] }, (ctx) => readingState(() => fold(ctx)))
    }
  },
  { commitIntervalMs: COMMIT_INTERVAL_MS, commitWhenIdle: false },
)

/** Returns the number of the lowest bit that is set. */
function lowestBit(bits: number): number {
  return 31 - Math.clz32(bits & -bits)
}
