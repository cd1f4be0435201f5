import type { Guarantee } from '../../pipelines/engine/worker/worker-config.ts'
import { chanceOf, seedFor } from './chance.ts'
import type { TransactionVersion } from './cluster/transactions.ts'
import { FAULT_KINDS, type FaultKind } from './faults.ts'
import type { WorkerSettings } from './slot.ts'

export const SUBJECTS = ['counter', 'bank', 'shop', 'trends'] as const
export type SubjectName = (typeof SUBJECTS)[number]

/** An event at the time `at`, in ms since the beginning. `chance` determines the details of the event. */
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
 * All events of a simulated world, without the delays. A plan is plain JSON. If a plan reveals a bug, it can be
 * stored, and it can be reduced by leaving out parts.
 */
export interface Plan {
  readonly subject: SubjectName
  /** Determines all delays, and the random numbers of processes. */
  readonly seed: number
  readonly brokers: number
  readonly partitions: number
  readonly guarantee: Guarantee
  readonly standby: 0 | 1
  readonly sinks: boolean
  /** True if commands are judged by the time at which the broker appended them, and not by the worker's clock. */
  readonly judgedByAppend: boolean
  /** Bytes of padding in each entry of the counter's ledger. */
  readonly padding: number
  readonly transactionVersion: TransactionVersion
  /** When the cluster enables version 2 of transactions, ms; null for never. */
  readonly upgradedAt: number | null
  readonly firstEpoch: number
  /** Settings of all workers. */
  readonly settings: WorkerSettings
  /** How long new workers may copy state before they request partitions, ms. If absent or 0, they do not copy state. */
  readonly warmUpMaxMs?: number
  /** Request timeout of clients, ms. If absent, they use the default. */
  readonly requestTimeoutMs?: number
  /**
   * Probability that a check mistakes a live process for an ended one, as long as faults happen. If given, workers
   * check each other's processes, and remove the members of ended processes from their groups.
   */
  readonly mistakenlyEnded?: number
  /** True if the workers' processes may be suspended in the middle of a turn of the event loop. If absent, false. */
  readonly isSuspended?: boolean
  /** Length of the period in which records are sent and faults begin, ms. */
  readonly troubleMs: number
  /** When each worker starts, ms. */
  readonly workers: readonly number[]
  readonly records: readonly PlannedRecord[]
  readonly faults: readonly PlannedFault[]
}

const TROUBLE_MS = [500, 4_000] as const
/** Replaces `TROUBLE_MS` for trends. It is longer, because the trends pipeline publishes lists only every 30 s. */
const TRENDS_TROUBLE_MS = [20_000, 90_000] as const
const COMMIT_INTERVAL_MS = [5, 120] as const
const MOST_RECORDS = 30
/** Share of worlds whose cache of decoded objects is tiny. */
const SHARE_SMALL_CACHE = 0.4
/** Maximum size of a tiny cache, in bytes. */
const MOST_CACHE_BYTES = 1_000
/** Share of worlds whose workers keep their place in the group when they stop. */
const SHARE_KEEP_PLACE = 0.3
/** Share of worlds whose workers soon delete the state of partitions that have moved to another worker. */
const SHARE_STATE_CLEANED = 0.3
/** Range of the times for which these workers keep the state of such partitions. */
const KEEP_STATE_MS = [100, 4_000] as const
const SHARE_COMPRESSED = 0.1
/** Share of worlds whose new workers copy state before they request partitions. */
const SHARE_WARM_UP = 0.5
/** Range of the maximum times for which such a worker copies state. */
const WARM_UP_MAX_MS = [200, 10_000] as const
/** Share of worlds whose clients have a short request timeout. */
const SHARE_IMPATIENT = 0.5
/** Range of the short timeouts. */
const IMPATIENT_MS = [2_000, 6_000] as const
/** Share of worlds whose workers check whether the processes of other workers are alive. */
const SHARE_WATCHED = 0.6
/** Share of those worlds in which the checks are sometimes wrong. */
const SHARE_MISTAKEN = 0.4
/** Probability that such a check is wrong. */
const MISTAKEN = 0.6
/** Share of worlds whose workers' processes may be suspended in the middle of a turn of the event loop. */
const SHARE_SUSPENDED = 0.5
const MOST_FAULTS = 7
/** Share of worlds with a storm: many faults in quick succession over a longer period. */
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
/** Share of clusters that start with version 1 of transactions. */
const SHARE_VERSION_1 = 0.3
/** Share of those clusters that are upgraded during a run. */
const SHARE_UPGRADED = 0.4
/** Share of clusters whose producers soon use up their epochs. */
const SHARE_USED_UP = 0.15
/** The first epoch of such a producer. The last epoch is 2^15 - 2. */
const HIGH_EPOCH = 2 ** 15 - 12
/** Each kind of fault that can happen in a run is included with this probability. */
const SHARE_OF_KINDS = 0.4
/**
 * Share of the counter's worlds with large records. The records come in bursts, so that transactions contain several
 * MiB and the producer has to send parts of them before the commit.
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
  // Draws these settings last, so that they do not change the other settings of existing seeds.
  const warmUpMaxMs = random() < SHARE_WARM_UP ? Math.round(between(...WARM_UP_MAX_MS)) : 0
  const requestTimeoutMs = random() < SHARE_IMPATIENT ? Math.round(between(...IMPATIENT_MS)) : undefined
  const watches = random() < SHARE_WATCHED
  const mistakenlyEnded = watches ? (random() < SHARE_MISTAKEN ? MISTAKEN : 0) : undefined
  const isSuspended = random() < SHARE_SUSPENDED
  return { ...plan, warmUpMaxMs, requestTimeoutMs, mistakenlyEnded, isSuspended }
}
