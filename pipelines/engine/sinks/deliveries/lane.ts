import type { Fetcher, OffsetToCommit, PartitionData, TopicPartition } from '../../../../kafka/transport.ts'
import type { Runtime } from '../../../../runtime/runtime.ts'
import { missingSchemas } from '../../missing-schemas.ts'
import { committedTopic, withTopicId } from '../committed-topic.ts'
import { COMMIT_AGAIN_MS, type Lane, type LaneState, laneStateAfter } from '../lane.ts'
import { laneBuffer } from '../lane-buffer.ts'
import type { LaneTools } from '../lane-tools.ts'
import { firstOffset, lostRecords } from '../lost-records.ts'
import type { SinkMetrics } from '../metrics.ts'
import { isPassing } from '../passing.ts'
import type { BadRecord, QueuedRecord } from '../queue.ts'
import { retriedJob } from '../retried-job.ts'
import { type PartitionFacts, TargetUnavailableError } from '../target.ts'
import type { Attempt, Courier } from './courier.ts'
import { doneOffsets, MAX_WINDOW_SPAN, type OffsetWindow, offsetWindow } from './offset-window.ts'
import { retryStateOf } from './retry-record.ts'
import { LONGEST_PAUSE_MS } from './retry-schedule.ts'
import type { DeliverySlots } from './slots.ts'

export interface DeliveryLaneDeps extends LaneTools {
  readonly courier: Courier
  readonly slots: DeliverySlots
  /** True if the partition belongs to the retry topic. */
  readonly isRetry: boolean
  readonly fetcher: Fetcher
  readonly metrics: SinkMetrics
  /** How soon after a change a commit is due. */
  readonly commitEveryMs: number
  readonly runtime: Pick<Runtime, 'now' | 'random' | 'log'>
}

/** A decoded record that waits until it is due or until a slot is free. */
interface Waiting {
  readonly attempt: Attempt
  /** Monotonic ms. */
  readonly dueAt: number
}

/** A delivery in progress, or the write of an undecodable record to the dead letters. */
interface Running {
  readonly offset: number
  /**
   * True if the log has lost the record since the delivery began. A new record may have the same offset, so the end of
   * this delivery does not mark the offset as done.
   */
  isLost: boolean
}

/**
 * Maximum number of records of a partition that are decoded but not done yet. Further records stay in the buffer, or in
 * the log if the buffer is full.
 */
const MAX_RECORDS = 500
/** No limit on the bytes that are taken from the buffer at once, because the size of the buffer itself is limited. */
const ANY_BYTES = Number.POSITIVE_INFINITY
const LIMITS = { maxRecords: MAX_RECORDS, maxBytes: ANY_BYTES, lingerMs: 0 }
const NEVER = Number.POSITIVE_INFINITY

/**
 * Delivers the records of one partition, many at a time and in any order. A record is done when it was delivered or
 * dropped, or when it is in the retry topic or the dead letters. The sink commits the first offset that is not done.
 * The metadata of the commit lists the later offsets that are done.
 */
export function openDeliveryLane(partition: TopicPartition, deps: DeliveryLaneDeps): Lane {
  const { courier, slots, isRetry, fetcher, metrics, runtime } = deps
  const missing = missingSchemas(() => clock)
  const buffer = laneBuffer(partition, fetcher, LIMITS, () => deps.newQueue(missing.has))
  const lost = lostRecords({ partition, target: courier.name, metrics, log: runtime.log })
  const job = retriedJob({
    wake: fetcher.wake,
    runtime,
    onRecovery: (attempts) => runtime.log.info({ ...partition, target: courier.name, attempts }, 'sink_recovered'),
    onFailure: failed,
  })
  const closing = new AbortController()
  let state: LaneState = 'opening'
  let window: OffsetWindow | undefined
  let waiting: Waiting[] = []
  /** Monotonic time at which the next waiting record is due. */
  let firstDueAt = NEVER
  /** Results of background work. The loop applies them. */
  let results: (() => void)[] = []
  const running = new Set<Running>()
  /** True if there is something to commit. */
  let hasNews = false
  let committedAt = 0
  let highWatermark = 0
  /**
   * The latest leader epoch in which the log is known to contain all records in the window; undefined when no such
   * epoch is known.
   */
  let leaderEpoch: number | undefined
  /** Empty if it is unknown. */
  let topicId = ''
  let clock = 0

  function become(next: LaneState): void {
    state = laneStateAfter(state, next)
  }

  function failed(error: unknown, isFirst: boolean): 'repeat' | 'drop' {
    if (state === 'closing') return 'drop'
    if (!isPassing(error)) throw error
    metrics.retries++
    if (isFirst) runtime.log.warn({ ...partition, target: courier.name, reason: error.message }, 'sink_waits')
    return 'repeat'
  }

  async function open(): Promise<() => void> {
    const facts = await deps.factsOf(partition)
    const done = await doneIn(facts)
    return () => opened(facts, done)
  }

  /**
   * Returns the offsets that the last commit marks as done, except those whose records the log has lost since. New
   * records get the same offsets as lost ones.
   */
  async function doneIn({ end, committed: known, topicId: id }: PartitionFacts): Promise<number[]> {
    const done = known === undefined ? [] : [...doneOffsets(known.offset, known.metadata)]
    // The leader epochs of a deleted topic with the same name do not apply to this topic.
    const isSameTopic = known !== undefined && committedTopic(id, known.metadata) === 'same'
    const epoch = isSameTopic ? known.leaderEpoch : undefined
    const keptEnd = done.length > 0 && epoch !== undefined ? Math.min(end, await deps.epochEnd(partition, epoch)) : end
    return done.filter((offset) => offset < keptEnd)
  }

  function opened({ start, end, committed: known, topicId: id }: PartitionFacts, done: readonly number[]): void {
    if (state !== 'opening') return
    become('running')
    topicId = id
    const isOfThisLog = known !== undefined && known.offset <= end && committedTopic(id, known.metadata) !== 'other'
    if (known !== undefined && !isOfThisLog) {
      runtime.log.warn({ ...partition, target: courier.name, committed: known.offset, end }, 'sink_topic_was_recreated')
    }
    const next = isOfThisLog ? known.offset : start
    lost.note(next, start)
    window = offsetWindow(Math.max(next, start), isOfThisLog ? done : [])
    hasNews = true
    runtime.log.info({ ...partition, target: courier.name, next, start, end }, 'sink_partition_opened')
    leaderEpoch = window.next === known?.offset ? known.leaderEpoch : undefined
    fetcher.assign(partition, window.next, 'earliest', leaderEpoch)
  }

  function push(data: PartitionData): void {
    if (state !== 'running') return
    lost.noteSkipped(buffer.end, data)
    loseFrom(firstOffset(data))
    highWatermark = data.highWatermark
    leaderEpoch = data.leaderEpoch
    buffer.push(data, clock)
  }

  /**
   * Drops those records from this offset on that the lane has already taken. If a log has lost its last records, its
   * new records get offsets that the lane has already taken.
   */
  function loseFrom(offset: number): void {
    if (window === undefined || offset >= window.end) return
    window.loseFrom(offset)
    waiting = waiting.filter(({ attempt }) => attempt.record.offset < offset)
    firstDueAt = earliest(waiting)
    for (const one of running) one.isLost ||= one.offset >= offset
    hasNews = true
  }

  function step(now: number): void {
    clock = now
    job.takeResult(now)
    const taken = results
    results = []
    for (const take of taken) take()
    if (state === 'closing' && running.size === 0 && !job.isBusy) become('closed')
    if (state === 'opening' || state === 'running') work(now)
  }

  function work(now: number): void {
    if (!job.isBusy && now >= job.retryAt) {
      if (job.mustRepeat) job.repeat()
      else if (state === 'opening') job.start(open)
      else takeRecords()
    }
    startDue(now)
  }

  /** Returns the number of records that may be taken from the buffer. */
  function room(): number {
    if (window === undefined || window.end - window.next >= MAX_WINDOW_SPAN) return 0
    return MAX_RECORDS - waiting.length - running.size
  }

  function takeRecords(): void {
    const most = room()
    if (window === undefined || most <= 0) return
    const taken = buffer.take(clock, most)
    // Good and bad records are in two lists, each sorted by offset. The window needs all of them in one sorted list.
    const records = [...(taken?.records ?? []), ...(taken?.bad ?? [])]
    records.sort((a, b) => a.chunk.offsets[a.row] - b.chunk.offsets[b.row])
    for (const record of records) takeRecord(record, window)
    const end = taken?.next ?? (buffer.isEmpty ? buffer.end : undefined) ?? window.end
    hasNews ||= end > window.end
    window.skipTo(end)
    if (taken === undefined && buffer.waitsForSchema !== undefined) loadSchema(buffer.waitsForSchema)
  }

  function takeRecord(record: QueuedRecord | BadRecord, into: OffsetWindow): void {
    const offset = record.chunk.offsets[record.row]
    if (!into.add(offset)) return
    if ('code' in record) setAside(record)
    else wait(record)
  }

  function setAside(bad: BadRecord): void {
    const origin = isRetry ? retryStateOf(bad.chunk, bad.row).origin : undefined
    const letter = { ...bad, origin }
    run(bad.chunk.offsets[bad.row], courier.setAside(letter, closing.signal), () => metrics.badRecords++)
  }

  function wait(record: QueuedRecord): void {
    const retry = isRetry ? retryStateOf(record.chunk, record.row) : undefined
    // The clock of the process that wrote the record may be ahead, so the wait is limited to the longest pause.
    const pause = retry === undefined ? 0 : Math.min(retry.notBefore - runtime.now(), LONGEST_PAUSE_MS)
    const dueAt = clock + Math.max(0, pause)
    waiting.push({ attempt: { record, retry }, dueAt })
    firstDueAt = Math.min(firstDueAt, dueAt)
  }

  function loadSchema(schemaId: number): void {
    job.start(async () => {
      const found = await deps.loadSchema(schemaId).catch((error: unknown) => {
        throw new TargetUnavailableError(`schema ${schemaId} cannot be loaded: ${(error as Error).message}`, { cause: error })
      })
      return () => {
        if (found === 'not-found') missing.add(schemaId)
      }
    })
  }

  function startDue(now: number): void {
    if (now < firstDueAt || !slots.hasRoom(isRetry)) return
    waiting = waiting.filter((one) => one.dueAt > now || !start(one))
    firstDueAt = earliest(waiting)
  }

  function start({ attempt }: Waiting): boolean {
    if (!slots.take(isRetry)) return false
    const release = () => {
      slots.release(isRetry)
      fetcher.wake()
    }
    run(attempt.record.offset, courier.deliver(attempt, release, closing.signal), () => metrics.applied++)
    return true
  }

  function run(offset: number, work: Promise<'done' | 'abandoned'>, count: () => void): void {
    const one: Running = { offset, isLost: false }
    running.add(one)
    work
      .then(
        (outcome) => results.push(() => ended(one, outcome, count)),
        (error: unknown) =>
          results.push(() => {
            throw error
          }),
      )
      .then(fetcher.wake)
  }

  function ended(one: Running, outcome: 'done' | 'abandoned', count: () => void): void {
    running.delete(one)
    if (outcome === 'abandoned') return
    count()
    if (one.isLost) return
    window?.finish(one.offset)
    hasNews = true
  }

  function takeCommit(now: number): OffsetToCommit | undefined {
    if (window === undefined || (!hasNews && now - committedAt < COMMIT_AGAIN_MS)) return undefined
    hasNews = false
    committedAt = now
    return { ...partition, offset: window.next, metadata: withTopicId(topicId, window.metadata()), leaderEpoch }
  }

  function dueAt(now: number): number {
    if (results.length > 0 || job.hasResult) return now
    if (state === 'closed') return NEVER
    if (state === 'closing') return running.size === 0 && !job.isBusy ? now : NEVER
    let due = hasNews ? now + deps.commitEveryMs : NEVER
    const hasWork = state === 'opening' || job.mustRepeat || (!buffer.isEmpty && room() > 0)
    if (hasWork && !job.isBusy) due = Math.min(due, Math.max(now, job.retryAt))
    // A record that is already due waits for a slot. This wait needs no timer, because a slot that becomes free wakes
    // the loop.
    return firstDueAt > now ? Math.min(due, firstDueAt) : due
  }

  function close(): void {
    if (state === 'closing' || state === 'closed') return
    become('closing')
    buffer.clear()
    waiting = []
    firstDueAt = NEVER
    closing.abort()
    if (running.size === 0 && !job.isBusy) become('closed')
  }

  return {
    partition,
    get state() {
      return state
    },
    get applied() {
      return window?.next
    },
    /** Does not depend on the receiver, because readiness describes only this process. */
    get caughtUp() {
      return state === 'running'
    },
    isOwnedElsewhere: false,
    get lag() {
      return Math.max(0, highWatermark - (window?.next ?? 0))
    },
    get queuedBytes() {
      return buffer.bytes
    },
    push,
    step,
    dueAt,
    close,
    takeCommit,
    commitFailed() {
      hasNews = true
    },
  }
}

function earliest(waiting: readonly Waiting[]): number {
  return waiting.reduce((first, { dueAt }) => Math.min(first, dueAt), NEVER)
}
