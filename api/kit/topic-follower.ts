import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises'
import {
  type Fetcher,
  type PartitionData,
  partitionKey,
  type RecordChunk,
  type TopicPartition,
  type Transport,
  TransportError,
} from '../../kafka/transport.ts'
import type { Logger } from './logging.ts'
import { spacedWarning } from './spaced-warning.ts'

/** Reads a whole topic, and then every new record. */
export interface TopicFollower {
  /**
   * Why the topic has not been read up to the end that it had at the start; undefined once it has been read that far.
   */
  readonly missing: string | undefined
  /** The failure that stops reading; undefined while reading succeeds. */
  readonly failure: ReadFailure | undefined
  /** The offset of the next record in each partition. */
  readonly positions: ReadonlyMap<number, number>
  /**
   * For each partition, the latest leader epoch in which the log is known to contain all records before the position.
   * If no such epoch is known, the partition is missing from this map or has the epoch -1.
   */
  readonly epochs: ReadonlyMap<number, number>
  /** The id of the topic that the positions belong to; undefined before it is known. */
  readonly topicId: string | undefined
  /**
   * When the partition that has been silent the longest last responded, in monotonic ms; undefined if a partition has
   * not responded yet. An unreachable broker does not respond, but does not cause a failure either.
   */
  readonly heardAt: number | undefined
  close(): Promise<void>
}

/** Why reading fails. Times are in monotonic ms. */
export interface ReadFailure {
  readonly reason: string
  readonly since: number
  /** When an attempt last failed because no broker responded. If this has not happened, equal to `since`. */
  readonly respondingSince: number
}

export interface FollowOptions {
  readonly transport: Transport
  readonly topic: string
  readonly log: Logger
  monotonic(): number
  /** Poll timeout. If there are no records, Kafka responds after this time. */
  readonly pollMs: number
  /**
   * Approximate number of bytes that are applied at a time. The number limits how long requests have to wait. Default 4
   * MiB.
   */
  readonly maxPollBytes?: number
  /** Where to continue: the offset of the next record in each partition. Default: from the beginning. */
  readonly from?: ReadonlyMap<number, number>
  /**
   * The leader epochs of the offsets in `from`, as in `TopicFollower.epochs`. Without them, the follower cannot detect
   * that the log has lost records before an offset if the log has since grown beyond this offset again.
   */
  readonly fromEpochs?: ReadonlyMap<number, number> | undefined
  /** The id of the topic that the offsets in `from` belong to; undefined if it is unknown. */
  readonly fromTopicId?: string | undefined
  /** When the topic had been read up to the offsets in `from`, in monotonic ms. Default: now. */
  readonly fromAt?: number | undefined
  /**
   * Applies one record with a key. If the returned promise rejects, the records since the last completely applied batch
   * are read again.
   */
  apply(chunk: RecordChunk, index: number): void | Promise<void>
  /**
   * Called before the topic is read from the beginning again. This happens if the topic was deleted and created again,
   * if the topic has lost records that were read, or if Kafka did not respond for longer than `maxGapMs`. If this
   * function is undefined, reading continues at the next offset that exists.
   */
  onStartOver?(reason: string): void
  /**
   * If Kafka does not respond for longer than this, reading starts over, because tombstones may have been removed in
   * the meantime.
   */
  readonly maxGapMs?: number
  /** Called when the topic is read up to the end that it had at the start. Called again after each `onStartOver`. */
  onCaughtUp?(): void
}

/**
 * How long a reader of a compacted topic may miss changes before it has to read the topic again. Kafka removes
 * tombstones after `delete.retention.ms` (24 hours by default), so a reader that continued later would keep deleted
 * entries forever.
 */
export const MAX_GAP_MS = 12 * 3_600_000

/** Error code for brokers that do not respond. */
const DISCONNECTED = 'DISCONNECTED'
/** Error code for a topic that was deleted and created again. */
const RECREATED = 'TOPIC_RECREATED'
const OFFSETS_MISSING = 'the topic no longer has the offsets up to which it was read'
const TOO_LONG_SILENCE = 'Kafka did not respond for too long'
/** Interval between checks of the partition count, so that a topic that gains partitions is read completely. */
const COUNT_LOOK_MS = 30_000
/**
 * How long records are applied without a pause. During a pause, the process answers requests. A poll may return 4 MiB,
 * which is twenty thousand small records. Applying them may take a tenth of a second.
 */
const LONGEST_TURN_MS = 4
/** Number of records between two clock readings. */
const RECORDS_PER_LOOK = 64
/** Pause after a failure of the transport or of `apply`. */
const RETRY_MS = 1_000
/** Minimum time between two reports of failures. More frequent reports would only repeat the same reason. */
const BETWEEN_REPORTS_MS = 60_000

/** Creates a follower. The follower starts to read immediately and continues until it is closed. */
export function followTopic(options: FollowOptions): TopicFollower {
  const { transport, topic, log, monotonic, pollMs } = options
  const ends = new Map<number, number>()
  let positions = new Map<number, number>(options.from)
  const epochs = new Map<number, number>(options.fromEpochs)
  let topicId = options.fromTopicId
  const heard = new Map<number, number>()
  /** When the topic had been read up to the first positions, in monotonic ms. */
  let begunAt = options.fromAt ?? monotonic()
  const stopping = new AbortController()
  let lastReason = ''
  const interrupted = spacedWarning({
    everyMs: BETWEEN_REPORTS_MS,
    say: (failures) => log.error({ topic, failures, reason: lastReason }, 'global_table_interrupted'),
  })
  let fetcher: Fetcher | undefined
  let missing: string | undefined = `topic ${topic} has not been read yet`
  let failure: TopicFollower['failure']
  let mustStartOver: string | undefined
  /** The partition count when the fetcher was opened; 0 before the first fetcher is opened. */
  let opened = 0
  let nextLook = monotonic() + COUNT_LOOK_MS
  const running = run()

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      try {
        fetcher ??= await open()
        await assertNoGrowth()
        // If `close` was called meanwhile, it could not wake the poll.
        if (stopping.signal.aborted) break
        const polled = await fetcher.poll(pollMs, options.maxPollBytes)
        if (polled.length > 0) assertNoGap()
        for (const data of polled) {
          await applyAll(data)
          // Polling returns fetched data without waiting, so a long topic would block requests without this pause.
          await nextTurn()
        }
        const wasFailing = failure !== undefined
        failure = undefined
        const lag = behind()
        // If `onCaughtUp` throws, the topic still counts as missing, so `onCaughtUp` is called again.
        if (missing !== undefined && lag === undefined) options.onCaughtUp?.()
        missing = lag
        if (wasFailing) reportResumed()
      } catch (error) {
        const reason = (error as Error).message
        lastReason = reason
        interrupted.happened()
        const code = error instanceof TransportError ? error.code : undefined
        const now = monotonic()
        const { since, respondingSince } = failure ?? { since: now, respondingSince: now }
        failure = { reason, since, respondingSince: code === DISCONNECTED ? now : respondingSince }
        if (missing !== undefined) missing = reason
        if (code === RECREATED) mustStartOver = reason
        await reopen()
      }
    }
    await fetcher?.close()
  }

  /**
   * Logs that reading has resumed. First logs the failures that no report has counted yet, because their report would
   * otherwise follow up to a minute later.
   */
  function reportResumed(): void {
    interrupted.flush()
    log.info({ topic }, 'global_table_resumed')
  }

  /** Opens a fetcher at the positions reached so far, or at the beginning if reading must start over. */
  async function open(): Promise<Fetcher> {
    const count = (await transport.partitionCounts([topic])).get(topic)
    if (count === undefined) throw new Error(`topic ${topic} does not exist`)
    const partitions = Array.from({ length: count }, (_, partition) => ({ topic, partition }))
    const id = (await transport.topicIds([topic])).get(topic)
    const earliest = await transport.offsets(partitions, 'earliest')
    const latest = await transport.offsets(partitions, 'end')
    const offsetIn = (offsets: ReadonlyMap<string, number>, partition: number) => offsets.get(partitionKey(topic, partition)) ?? 0
    const fits = ({ partition }: TopicPartition) => {
      const at = positions.get(partition)
      // A partition that was added to the topic has no position yet. It is read from its beginning, so no record is
      // missed.
      if (at === undefined && opened > 0 && partition >= opened) return true
      return at !== undefined && at >= offsetIn(earliest, partition) && at <= offsetIn(latest, partition)
    }
    const isMisfit = positions.size > 0 && (positions.size > count || !partitions.every(fits))
    const isOther = topicId !== undefined && id !== topicId
    const misfit = isMisfit ? OFFSETS_MISSING : isOther ? 'the topic was recreated' : undefined
    // Kafka may have been unreachable since the positions were saved, so they may have become too old only now.
    const reason = mustStartOver ?? misfit ?? (positions.size > 0 && hasGap() ? TOO_LONG_SILENCE : undefined)
    // The epochs of the deleted topic are not valid in the new topic.
    if (isOther) epochs.clear()
    if (reason !== undefined) startOver(reason)
    if (positions.size === 0) begunAt = monotonic()
    if (ends.size === 0) for (const { partition } of partitions) ends.set(partition, offsetIn(latest, partition))
    const reader = transport.fetcher({ unreadableBatches: 'stand-in', idleWaitMs: () => pollMs })
    for (const partition of partitions) {
      const from = Math.max(positions.get(partition.partition) ?? 0, offsetIn(earliest, partition.partition))
      // With the epoch, the fetcher detects that the log has lost its last records since they were read, even if the
      // log has since grown beyond this position again.
      const epoch = positions.get(partition.partition) === from ? epochs.get(partition.partition) : undefined
      positions.set(partition.partition, from)
      reader.assign(partition, from, options.onStartOver === undefined ? 'earliest' : 'rebuild', epoch)
    }
    opened = count
    topicId = id
    nextLook = monotonic() + COUNT_LOOK_MS
    return reader
  }

  async function assertNoGrowth(): Promise<void> {
    if (monotonic() < nextLook) return
    nextLook = monotonic() + COUNT_LOOK_MS
    const count = (await transport.partitionCounts([topic])).get(topic) ?? 0
    if (count > opened) throw new Error(`the topic now has ${count} partitions, but only ${opened} are read`)
  }

  function startOver(reason: string): void {
    mustStartOver = undefined
    if (options.onStartOver === undefined) return
    options.onStartOver(reason)
    positions = new Map()
    epochs.clear()
    heard.clear()
    ends.clear()
    missing = `topic ${topic} is being read again`
  }

  function hasGap(): boolean {
    return options.maxGapMs !== undefined && monotonic() - (heardAt() ?? begunAt) > options.maxGapMs
  }

  function assertNoGap(): void {
    if (!hasGap()) return
    mustStartOver = TOO_LONG_SILENCE
    throw new Error(mustStartOver)
  }

  function heardAt(): number | undefined {
    return heard.size < Math.max(1, ends.size) ? undefined : Math.min(...heard.values())
  }

  async function reopen(): Promise<void> {
    await fetcher?.close().catch(() => undefined)
    fetcher = undefined
    await delay(RETRY_MS, undefined, { signal: stopping.signal }).catch(() => undefined)
  }

  async function applyAll({ partition, chunks, nextOffset, leaderEpoch, wasReset }: PartitionData): Promise<void> {
    // The topic has lost records that may have been applied, so applying the remaining records again is not enough.
    if (wasReset === true && options.onStartOver !== undefined) {
      mustStartOver = OFFSETS_MISSING
      throw new Error(mustStartOver)
    }
    let turnBegan = monotonic()
    let applied = 0
    for (const chunk of chunks) {
      if (chunk.unreadable !== undefined) {
        log.error({ topic, partition, reason: chunk.unreadable }, 'global_table_bad_batch')
        continue
      }
      for (let index = 0; index < chunk.count; index++) {
        if (chunk.keyStart[index] < 0) continue
        const waiting = options.apply(chunk, index)
        // Most records need no wait, and awaiting a million promises would take a second.
        if (waiting !== undefined) await waiting
        if (++applied % RECORDS_PER_LOOK !== 0 || monotonic() - turnBegan < LONGEST_TURN_MS) continue
        await nextTurn()
        turnBegan = monotonic()
      }
    }
    positions.set(partition, nextOffset)
    if (leaderEpoch === undefined) epochs.delete(partition)
    else epochs.set(partition, leaderEpoch)
    heard.set(partition, monotonic())
  }

  function behind(): string | undefined {
    let records = 0
    for (const [partition, end] of ends) records += Math.max(0, end - (positions.get(partition) ?? 0))
    return records === 0 ? undefined : `topic ${topic} is ${records} records behind its high watermarks`
  }

  return {
    get missing() {
      return missing
    },
    get failure() {
      return failure
    },
    get positions() {
      return positions
    },
    epochs,
    get topicId() {
      return topicId
    },
    get heardAt() {
      return heardAt()
    },
    async close() {
      stopping.abort()
      fetcher?.wake()
      await running
      interrupted.flush()
    },
  }
}
