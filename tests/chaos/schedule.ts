import type { CommitFaultPoint } from '../../pipelines/engine/testing.ts'
import { integer, pick, type Random, seededRandom } from '../../tools/random/random.ts'

export const WORKERS = 3

/** How the harness damages a state file of a killed worker before the worker restarts. */
export type Damage = 'truncate' | 'flip' | 'delete'

/** A fault that the harness can inject. All times are in ms. */
export type Fault =
  /** Kills a worker with SIGKILL. With `wipe`, its state folder is deleted as well. */
  | { readonly kind: 'kill'; readonly worker: number; readonly downMs: number; readonly wipe: boolean }
  /** Kills a worker with SIGKILL directly after a commit step. */
  | { readonly kind: 'kill-at-step'; readonly worker: number; readonly downMs: number; readonly step: CommitFaultPoint }
  /** Stops the worker gracefully, and starts it again. */
  | { readonly kind: 'restart'; readonly worker: number; readonly downMs: number }
  /** Suspends a worker for longer than the session timeout. When the worker is resumed, it is a zombie. */
  | { readonly kind: 'zombie'; readonly worker: number; readonly ms: number }
  /** Like `zombie`, but directly after a commit step. */
  | { readonly kind: 'zombie-at-step'; readonly worker: number; readonly ms: number; readonly step: CommitFaultPoint }
  /** Suspends a worker for longer than the transaction timeout, but for less than the session timeout. */
  | { readonly kind: 'stall'; readonly worker: number; readonly ms: number }
  | { readonly kind: 'broker-kill'; readonly downMs: number }
  | { readonly kind: 'broker-pause'; readonly ms: number }
  /** Repeatedly closes all connections of a worker. */
  | { readonly kind: 'cut'; readonly worker: number; readonly times: number; readonly gapMs: number }
  /** Delays all traffic of a worker. */
  | { readonly kind: 'slow'; readonly worker: number; readonly delayMs: number; readonly ms: number }
  /** A network outage: no connection closes, and data in transit arrives afterwards. */
  | { readonly kind: 'blackhole'; readonly worker: number; readonly ms: number }
  /** Fills the disk of the state folder, and frees it later. */
  | { readonly kind: 'disk-full'; readonly worker: number; readonly ms: number }
  /** Kills the worker, damages a file of its database, and restarts it. */
  | { readonly kind: 'damage'; readonly worker: number; readonly how: Damage; readonly file: number }
  /** Shifts the worker's wall clock, and corrects it later. */
  | { readonly kind: 'clock'; readonly worker: number; readonly offsetMs: number; readonly ms: number }
  /** Moves all partitions of the run's topics and of the coordinators' topics to one of two brokers. */
  | { readonly kind: 'move'; readonly node: 1 | 2 }
  /** Makes one of three brokers the preferred leader of the partitions that `move` moves. */
  | { readonly kind: 'lead'; readonly node: Node }
  /**
   * Kills a broker with SIGKILL, but never the controller. While the broker is down, the other brokers lead its
   * partitions.
   */
  | { readonly kind: 'replica-kill'; readonly node: 2 | 3; readonly downMs: number }
  /** An additional worker joins the group and leaves it again. */
  | { readonly kind: 'join'; readonly ms: number }
  /** Adds partitions to the source topic of the stateless topology. */
  | { readonly kind: 'grow'; readonly more: number }

/** One of three brokers. */
export type Node = 1 | 2 | 3

export type FaultKind = Fault['kind']

export interface PlannedFault {
  /** Time after the start of the input, in ms. */
  readonly atMs: number
  readonly fault: Fault
}

/** Settings of the workers. */
export interface Settings {
  /** Number of standbys of each task. */
  readonly standby: 0 | 1
  /** Whether a worker that leaves gracefully keeps its partitions for its next start. */
  readonly keepPlaceOnStop: boolean
}

export interface Schedule {
  readonly seed: number
  readonly settings: Settings
  /** Whether the run has the large input of VOLUME. */
  readonly atVolume: boolean
  readonly faults: readonly PlannedFault[]
}

export interface ScheduleOptions {
  /**
   * Kinds of faults. The schedule contains one fault of each, at a random time. By default, the kinds are random as
   * well.
   */
  readonly kinds?: readonly FaultKind[]
  /**
   * Number of brokers. Default 1. With 2, every run without chosen `kinds` moves partitions between the brokers. With
   * 3, every run has the large input of VOLUME.
   */
  readonly brokers?: 1 | 2 | 3
  /** Longest pause of the broker. Default 9 s, and occasionally 20 to 30 s. */
  readonly longestPauseMs?: number
}

/** All faults begin within this time after the start of the input, while the input continues. */
export const FAULTS_WITHIN_MS = 7_000
const FIRST_AT_MS = 300
const MIN_FAULTS = 2
const MORE_FAULTS = 3
const SECOND_MS = 1_000
const HOUR_MS = 3_600 * SECOND_MS
/** Duration of a `zombie`: longer than the session timeout of 6 s. */
const ZOMBIE_MS = 7_500
/** Duration of a `stall`: longer than the transaction timeout of 3 s, but shorter than the session timeout. */
const STALL_MS = 3_800
const LONGEST_PAUSE_MS = 9 * SECOND_MS
/** Range of long broker pauses, during which every session and transaction times out. */
const VERY_LONG_PAUSE_MS = [20 * SECOND_MS, 30 * SECOND_MS] as const
const VERY_LONG_PAUSE_SHARE = 0.2
const STEPS: readonly CommitFaultPoint[] = ['encoded', 'produced', 'offsets-added', 'committed', 'written']
const DAMAGES: readonly Damage[] = ['truncate', 'flip', 'delete']
const CLOCK_OFFSETS_MS = [-48 * HOUR_MS, -HOUR_MS, -20 * SECOND_MS, 20 * SECOND_MS, 1_200 * SECOND_MS, HOUR_MS, 48 * HOUR_MS]
const FILES = 1_000
const NODES: readonly Node[] = [1, 2, 3]
const KEEP_PLACE_SHARE = 0.3

/** Draws the parameters of each kind of fault. */
const DRAW: { readonly [Kind in FaultKind]: (random: Random, options: ScheduleOptions) => Extract<Fault, { kind: Kind }> } = {
  kill: (random) => ({ kind: 'kill', worker: integer(random, WORKERS), downMs: integer(random, 2_000), wipe: random() < 0.4 }),
  'kill-at-step': (random) => ({
    kind: 'kill-at-step',
    worker: integer(random, WORKERS),
    downMs: integer(random, 1_500),
    step: pick(random, STEPS),
  }),
  restart: (random) => ({ kind: 'restart', worker: integer(random, WORKERS), downMs: integer(random, 1_000) }),
  zombie: (random) => ({ kind: 'zombie', worker: integer(random, WORKERS), ms: ZOMBIE_MS + integer(random, 2_000) }),
  'zombie-at-step': (random) => ({
    kind: 'zombie-at-step',
    worker: integer(random, WORKERS),
    ms: ZOMBIE_MS + integer(random, 2_000),
    step: pick(random, STEPS),
  }),
  stall: (random) => ({ kind: 'stall', worker: integer(random, WORKERS), ms: STALL_MS + integer(random, 1_000) }),
  'broker-kill': (random) => ({ kind: 'broker-kill', downMs: integer(random, 2_000) }),
  'broker-pause': (random, { longestPauseMs }) => {
    const isVeryLong = longestPauseMs === undefined && random() < VERY_LONG_PAUSE_SHARE
    const [shortest, longest] = isVeryLong ? VERY_LONG_PAUSE_MS : [SECOND_MS, longestPauseMs ?? LONGEST_PAUSE_MS]
    return { kind: 'broker-pause', ms: shortest + integer(random, longest - shortest) }
  },
  cut: (random) => ({ kind: 'cut', worker: integer(random, WORKERS), times: 1 + integer(random, 20), gapMs: integer(random, 150) }),
  slow: (random) => ({
    kind: 'slow',
    worker: integer(random, WORKERS),
    delayMs: 20 + integer(random, 400),
    ms: 1_000 + integer(random, 4_000),
  }),
  blackhole: (random) => ({ kind: 'blackhole', worker: integer(random, WORKERS), ms: 1_000 + integer(random, 9_000) }),
  'disk-full': (random) => ({ kind: 'disk-full', worker: integer(random, WORKERS), ms: 1_000 + integer(random, 4_000) }),
  damage: (random) => ({ kind: 'damage', worker: integer(random, WORKERS), how: pick(random, DAMAGES), file: integer(random, FILES) }),
  clock: (random) => ({
    kind: 'clock',
    worker: integer(random, WORKERS),
    offsetMs: pick(random, CLOCK_OFFSETS_MS),
    ms: 1_000 + integer(random, 5_000),
  }),
  move: (random) => ({ kind: 'move', node: pick(random, [1, 2]) }),
  lead: (random) => ({ kind: 'lead', node: pick(random, NODES) }),
  'replica-kill': (random) => ({ kind: 'replica-kill', node: pick(random, [2, 3]), downMs: integer(random, 4_000) }),
  join: (random) => ({ kind: 'join', ms: 1_000 + integer(random, 6_000) }),
  grow: (random) => ({ kind: 'grow', more: 1 + integer(random, 3) }),
}
export const FAULT_KINDS = Object.keys(DRAW) as FaultKind[]
/**
 * Numbers of brokers for which a kind of fault may be drawn; a kind without an entry may be drawn for any number.
 * `disk-full` is not drawn for 3 brokers. It needs a small disk, and trials with 3 brokers have so much input that the
 * state of a worker does not fit on such a disk.
 */
const BROKERS_OF: { readonly [Kind in FaultKind]?: readonly number[] } = {
  move: [2],
  lead: [3],
  'replica-kill': [3],
  join: [3],
  grow: [3],
  'disk-full': [1, 2],
}
/** Faults that are added to the drawn ones, keyed by the number of brokers. */
const ALWAYS: { readonly [Brokers in 1 | 2 | 3]: readonly FaultKind[] } = {
  1: [],
  2: ['move'],
  3: ['lead', 'replica-kill', 'join', 'grow'],
}

function drawKinds(random: Random, brokers: 1 | 2 | 3): FaultKind[] {
  const pool = FAULT_KINDS.filter((kind) => BROKERS_OF[kind]?.includes(brokers) ?? true)
  const kinds = Array.from({ length: MIN_FAULTS + integer(random, MORE_FAULTS) }, () => pick(random, pool))
  return [...kinds, ...ALWAYS[brokers]]
}

/** Draws a schedule. The same seed and options give the same schedule. */
export function drawSchedule(seed: number, options: ScheduleOptions = {}): Schedule {
  const random = seededRandom(seed)
  const { brokers = 1 } = options
  const kinds = options.kinds ?? drawKinds(random, brokers)
  const faults = kinds.map((kind): PlannedFault => {
    const atMs = FIRST_AT_MS + integer(random, FAULTS_WITHIN_MS - FIRST_AT_MS)
    return { atMs, fault: DRAW[kind](random, options) }
  })
  const settings: Settings = { standby: pick(random, [0, 1]), keepPlaceOnStop: random() < KEEP_PLACE_SHARE }
  return { seed, settings, atVolume: brokers === 3, faults: faults.toSorted((a, b) => a.atMs - b.atMs) }
}

/** Formats a schedule, such as `standby=1 keepPlaceOnStop=false; 1.2 s kill worker=0 downMs=300 wipe=true`. */
export function described({ settings, faults }: Schedule): string {
  const values = (of: object) => Object.entries(of).map(([name, value]) => `${name}=${value}`)
  const texts = faults.map(({ atMs, fault: { kind, ...rest } }) => [`${(atMs / SECOND_MS).toFixed(1)} s`, kind, ...values(rest)].join(' '))
  return [values(settings).join(' '), ...texts].join('; ')
}
