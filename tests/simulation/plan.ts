import type { Guarantee } from '../../pipelines/engine/worker/worker-config.ts'
import { chanceOf, seedFor } from './chance.ts'
import type { TransactionVersion } from './cluster/transactions.ts'
import { FAULT_KINDS, type FaultKind } from './faults.ts'
import type { WorkerSettings } from './slot.ts'

export const SUBJECTS = ['counter', 'bank', 'shop', 'trends'] as const
export type SubjectName = (typeof SUBJECTS)[number]

/** Something that happens at a time, in ms since the beginning. `chance` determines the details. */
interface Planned {
  readonly at: number
  readonly chance: number
}

export interface PlannedRecord extends Planned {
  readonly number: number
}

export interface PlannedFault extends Planned {
  readonly kind: FaultKind
}

/**
 * All events of a simulated world, without the delays. A plan is plain JSON, so a plan that shows a fault can be
 * stored, and can be reduced by leaving out parts.
 */
export interface Plan {
  readonly subject: SubjectName
  /** Decides all delays, and what processes draw. */
  readonly seed: number
  readonly brokers: number
  readonly partitions: number
  readonly guarantee: Guarantee
  readonly standby: 0 | 1
  readonly sinks: boolean
  /**
   * True if decisions about commands use the time at which the broker appended the command, instead of the worker's
   * clock.
   */
  readonly judgedByAppend: boolean
  /** Number of bytes by which each record of the output is made larger. */
  readonly padding: number
  readonly transactionVersion: TransactionVersion
  /** When the cluster enables version 2 of transactions, ms; null for never. */
  readonly upgradedAt: number | null
  readonly firstEpoch: number
  /** Settings of all workers. */
  readonly settings: WorkerSettings
  /**
   * Maximum time for which new workers copy state before they request partitions, ms. If absent or 0, they do not copy
   * state.
   */
  readonly warmUpMaxMs?: number
  /** How long clients wait for an answer, ms. If absent, they wait for the default time. */
  readonly requestTimeoutMs?: number
  /**
   * The probability that a check mistakes a live process for an ended one, as long as faults happen. If this is given,
   * workers watch each other, and remove members of ended processes from their groups.
   */
  readonly mistakenlyEnded?: number
  /** Period in which records are sent and faults begin, ms. */
  readonly troubleMs: number
  /** When each worker starts, ms. */
  readonly workers: readonly number[]
  readonly records: readonly PlannedRecord[]
  readonly faults: readonly PlannedFault[]
}

const TROUBLE_MS = [500, 4_000] as const
/** Trends publish a list every 30 s. */
const TRENDS_TROUBLE_MS = [20_000, 90_000] as const
const COMMIT_INTERVAL_MS = [5, 120] as const
const MOST_RECORDS = 30
/**
 * Share of the worlds that have a tiny cache of decoded objects. The next constant is the maximum size of this cache.
 */
const SHARE_SMALL_CACHE = 0.4
const MOST_CACHE_BYTES = 1_000
/** Share of the worlds whose workers keep their place when they stop. */
const SHARE_KEEP_PLACE = 0.3
/**
 * Share of the worlds that soon delete the state of partitions that have moved, and the time after which they delete
 * it.
 */
const SHARE_STATE_CLEANED = 0.3
const KEEP_STATE_MS = [100, 4_000] as const
const SHARE_COMPRESSED = 0.1
/** Share of the worlds whose new workers copy state first. The next constant is the maximum time for this copy. */
const SHARE_WARM_UP = 0.5
const WARM_UP_MAX_MS = [200, 10_000] as const
/**
 * Share of the worlds whose clients wait only a short time for an answer. The next constant is the range of this time.
 */
const SHARE_IMPATIENT = 0.5
const IMPATIENT_MS = [2_000, 6_000] as const
/**
 * Share of the worlds whose workers watch each other, share of those worlds in which their checks are sometimes wrong,
 * and the probability of a wrong result.
 */
const SHARE_WATCHED = 0.6
const SHARE_MISTAKEN = 0.4
const MISTAKEN = 0.6
const MOST_FAULTS = 7
/** Share of the worlds with a storm: many faults in quick succession over a longer period. */
const SHARE_STORM = 0.08
const MOST_FAULTS_IN_STORM = 40
const STORM_TIMES = 2.5
const MOST_WORKERS = 3
const MOST_BROKERS = 3
const MOST_PARTITIONS = 3
const SHARE_STANDBY = 0.3
const SHARE_SINKS = 0.3
const SHARE_AT_LEAST_ONCE = 0.15
const SHARE_JUDGED_BY_APPEND = 0.5
/**
 * Share of the clusters that start with version 1 of transactions, and share of those clusters that are upgraded during
 * a run.
 */
const SHARE_VERSION_1 = 0.3
const SHARE_UPGRADED = 0.4
/** Share of the clusters whose producers soon use up their epochs, and the first epoch of these producers. */
const SHARE_USED_UP = 0.15
const HIGH_EPOCH = 2 ** 15 - 12
/** Share of all kinds of faults that occur in a run. */
const SHARE_OF_KINDS = 0.4
/**
 * Share of the worlds with large records. The records come in bursts, so that transactions have several MiB and are
 * sent before they end.
 */
const SHARE_LARGE = 0.02
const PADDING_BYTES = [100_000, 400_000] as const
const BURST_MS = 700
const TWO_32 = 2 ** 32

function troubleOf(subject: SubjectName): readonly [least: number, most: number] {
  return subject === 'trends' ? TRENDS_TROUBLE_MS : TROUBLE_MS
}

function canHappen(kind: FaultKind, subject: SubjectName, sinks: boolean, brokers: number): boolean {
  if (kind === 'isolate' || kind === 'outdate') return brokers > 1
  if (kind === 'store' || kind === 'empty') return sinks
  if (kind === 'grow') return subject === 'counter'
  // Trends need a correct clock, because the clock decides which tweets are late.
  return kind !== 'clock' || subject !== 'trends'
}

/** Draws the plan of a seed. */
export function planOf(seed: number, subject: SubjectName): Plan {
  const { random, between, below, one } = chanceOf(seedFor(seed, subject))
  const upTo = (most: number) => 1 + below(most)
  const isStorm = random() < SHARE_STORM
  const troubleMs = Math.round(between(...troubleOf(subject)) * (isStorm ? STORM_TIMES : 1))
  const moment = (until = troubleMs) => Math.round(between(0, until))
  const chance = () => below(TWO_32)
  const isCounter = subject === 'counter'
  const padding = isCounter && random() < SHARE_LARGE ? Math.round(between(...PADDING_BYTES)) : 0
  const sinks = isCounter && random() < SHARE_SINKS && padding === 0
  const brokers = upTo(MOST_BROKERS)
  const kinds = FAULT_KINDS.filter((kind) => random() < SHARE_OF_KINDS && canHappen(kind, subject, sinks, brokers))
  const faults = kinds.length === 0 ? 0 : upTo(isStorm ? MOST_FAULTS_IN_STORM : MOST_FAULTS)
  const recordMoment = () => (padding === 0 ? moment() : Math.floor(moment() / BURST_MS) * BURST_MS)
  const plan = {
    subject,
    seed,
    brokers,
    partitions: upTo(MOST_PARTITIONS),
    guarantee: isCounter && random() < SHARE_AT_LEAST_ONCE ? 'at-least-once' : 'exactly-once',
    standby: random() < SHARE_STANDBY ? 1 : 0,
    sinks,
    judgedByAppend: subject === 'bank' && random() < SHARE_JUDGED_BY_APPEND,
    padding,
    transactionVersion: random() < SHARE_VERSION_1 ? 1 : 2,
    upgradedAt: random() < SHARE_UPGRADED ? moment() : null,
    firstEpoch: random() < SHARE_USED_UP ? HIGH_EPOCH : 0,
    settings: {
      commitIntervalMs: Math.round(between(...COMMIT_INTERVAL_MS)),
      cacheBytes: random() < SHARE_SMALL_CACHE ? upTo(MOST_CACHE_BYTES) : undefined,
      keepPlaceOnStop: random() < SHARE_KEEP_PLACE,
      keepStateMs: random() < SHARE_STATE_CLEANED ? Math.round(between(...KEEP_STATE_MS)) : undefined,
      compression: random() < SHARE_COMPRESSED ? 'gzip' : undefined,
    },
    troubleMs,
    workers: Array.from({ length: upTo(MOST_WORKERS) }, () => moment(troubleMs / 2)),
    records: Array.from({ length: upTo(MOST_RECORDS) }, recordMoment)
      .sort((a, b) => a - b)
      .map((at, number) => ({ at, number, chance: chance() })),
    faults: Array.from({ length: faults }, () => ({ at: moment(), kind: one(kinds), chance: chance() })).sort((a, b) => a.at - b.at),
  } as const satisfies Plan
  // These settings are drawn last, so that the other settings of a plan are the same as before these settings existed.
  const warmUpMaxMs = random() < SHARE_WARM_UP ? Math.round(between(...WARM_UP_MAX_MS)) : 0
  const requestTimeoutMs = random() < SHARE_IMPATIENT ? Math.round(between(...IMPATIENT_MS)) : undefined
  const watches = random() < SHARE_WATCHED
  const mistakenlyEnded = watches ? (random() < SHARE_MISTAKEN ? MISTAKEN : 0) : undefined
  return { ...plan, warmUpMaxMs, requestTimeoutMs, mistakenlyEnded }
}
