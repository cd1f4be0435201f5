import { type MemoryBroker, memoryBroker } from '../../../kafka/memory/broker.ts'
import type { LogRecord } from '../../../kafka/memory/log.ts'
import { type MemoryProducer, memoryProducer } from '../../../kafka/memory/producer.ts'
import { partitionFor } from '../../../kafka/partitioner.ts'
import { partitionKey, type RecordHeader, type TopicPartition, type TopicSpec } from '../../../kafka/transport.ts'
import { manualRuntime } from '../../../runtime/manual.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { byteWriter, type Codec } from '../../../schemas/codec.ts'
import type { AnyTopic, Topic } from '../../../schemas/topic.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import type { EngineStore, StateBackend } from '../../../state/stores/store.ts'
import { type FailedRecords, failedRecords } from '../task/failed-records.ts'
import { type TaskMetrics, taskMetrics } from '../task/metrics.ts'
import { type StreamTask, streamTask } from '../task/task.ts'
import { topicsOf, topologyCodecs } from '../topology/codecs.ts'
import type { Declaration } from '../topology/declaration.ts'
import { changelogSpec, deadLetterSpec, deadLetterTopicName, repartitionSpec } from '../topology/internal-topics.ts'
import { commonPartitions } from '../topology/sub-topology.ts'
import type { Topology } from '../topology/topology.ts'
import { type CommitFaultPoint, encodeCommit, writeCommit } from '../worker/commit.ts'
import { changelogNames } from '../worker/worker-topics.ts'
import { localCodecs } from './local-codecs.ts'
import { restoreTask } from './restore-task.ts'

export interface TestDriverOptions {
  /** Initial clock reading, epoch ms. Default 2026-01-01T00:00Z. */
  readonly startAt?: number
  /**
   * When the driver processes and commits. `record` (default) processes and commits everything after every pipe and
   * every tick. `manual` processes only in `run`, `settle` and `advanceWallClock`, and commits only in `settle` and
   * `commit`.
   */
  readonly commit?: 'record' | 'manual'
  /**
   * Partition counts, keyed by topic name. They override the counts that the topics declare. The topology must use each
   * of these topics.
   */
  readonly partitions?: Readonly<Record<string, number>>
  /**
   * Cache size in bytes for the decoded objects of each store. Default 256 KiB. With a small cache, the stores have to
   * read state back from the database.
   */
  readonly cacheBytes?: number
  /**
   * Opens the database for the state. By default, the state is in memory. With another database, a test can measure the
   * cost of the topology on that database.
   */
  readonly openState?: () => StateBackend
}

/** A decoded record of a topic. */
export interface TestRecord<K, V> {
  readonly key: K | undefined
  readonly value: V | null
  readonly partition: number
  readonly offset: number
  readonly timestamp: number
  readonly headers: readonly RecordHeader[]
}

export interface PipeOptions {
  /** Timestamp of the record in epoch ms. The default is the current time of the driver's clock. */
  readonly timestamp?: number
  /**
   * Time at which the broker appends the record (epoch ms), for topics with LogAppendTime. The default is the current
   * time of the driver's clock.
   */
  readonly appendedAt?: number
  /**
   * Partition of the record. By default, the murmur2 hash of the key determines it, as in producers; without a key, it
   * is 0.
   */
  readonly partition?: number
  readonly headers?: readonly RecordHeader[]
}

/**
 * Runs a topology with an in-memory broker, an in-memory database and a manual clock. Every call does its work
 * synchronously, with the same code as a worker. The driver runs all sub-topologies and partitions, and each stage
 * reads what the previous stage has committed.
 */
export interface TestDriver {
  /** Epoch ms. */
  readonly now: number
  pipe<K, V>(topic: Topic<K, V>, key: K | undefined, value: V | null, options?: PipeOptions): void
  /** Pipes a record of arbitrary bytes, to test invalid records. */
  pipeBytes(topic: AnyTopic, key: Uint8Array | null, value: Uint8Array | null, options?: PipeOptions): void
  /** Returns the records of a topic that were committed since the last call for this topic, partition by partition. */
  read<K, V>(topic: Topic<K, V>): TestRecord<K, V>[]
  /** Returns the dead letters that were written since the last call, as bytes with headers. */
  readDeadLetters(): LogRecord[]
  /** Advances the clock step by step, so that every tick runs and every time marker is sent at its own time. */
  advanceWallClock(ms: number): void
  /** Returns the store of the task that owns a partition. Must be called after `settle` or in record mode. */
  store<S extends EngineStore>(name: string, partition?: number): S
  /**
   * Processes everything that has been committed upstream, without committing. A task that has skipped a failed record
   * continues only after the next commit.
   */
  run(): void
  /** Commits once, for all tasks that have something to commit. */
  commit(): void
  /** Processes and commits until there are no new records and no task has anything to commit. */
  settle(): void
  /** Makes the next commit throw DriverCrash right after this step. Call `restart` to continue. */
  crashAt(step: CommitFaultPoint): void
  /**
   * Simulates a crash and a restart. Uncommitted results are lost, and the state is restored.
   * - `wipeState`: deletes the state as well
   * - `topology`: deploys a new version with the same name, on the topics and the state of the old version
   * - `downMs`: how far the clock advances while nothing runs; default 0
   */
  restart(options?: { wipeState?: boolean; topology?: Topology; downMs?: number }): void
  readonly metrics: TaskMetrics
  readonly tasks: readonly StreamTask[]
  readonly broker: MemoryBroker
}

/** Thrown at the step that was passed to `crashAt`. */
export class DriverCrash extends Error {
  override readonly name = 'DriverCrash'
}

const DEFAULT_CACHE_BYTES = 256 * 1024
const MEMBER_ID = 'driver'
/**
 * Maximum number of rounds in `settle`. It is far more than the stages of any topology need, and stops a topology that
 * feeds its own input.
 */
const MAX_ROUNDS = 10_000
const ALL_RECORDS = Number.MAX_SAFE_INTEGER
const never = () => false

export function testDriver(tested: Topology, options: TestDriverOptions = {}): TestDriver {
  let topology = tested
  const runtime = manualRuntime({ startAt: options.startAt })
  let brokerClock: number | undefined
  // A sink in the same test may read from this broker. The sink's polls wait in real time, so the broker uses the
  // timers of the system, but takes timestamps from the driver's clock.
  const broker = memoryBroker({ runtime: { ...systemRuntime(), now: () => brokerClock ?? runtime.now() } })
  let declaration = topology.declare()
  const codecFor = localCodecs()
  const codecs = topologyCodecs(topology.name, codecFor)
  const partitionCounts = new Map<string, number>()
  const metrics = taskMetrics()
  let failed = noFailures()
  const readUpTo = new Map<string, number>()
  const scratch = byteWriter()
  const openState = options.openState ?? memoryBackend
  let backend = openState()
  let tasks: StreamTask[] = []
  let producer: MemoryProducer
  let crashStep: CommitFaultPoint | undefined

  const member = { groupId: topology.name, memberId: MEMBER_ID }
  const auto = (options.commit ?? 'record') === 'record'

  createTopics()
  // A misspelt name is an error. Otherwise, the topic would keep its declared count, and the test could pass for the
  // wrong reason.
  for (const topic of Object.keys(options.partitions ?? {})) partitionsOf(topic)
  start()

  function createTopics(): void {
    const repartitions = new Set(declaration.repartitions.values())
    const logs = new Set(changelogNames(topology, declaration))
    for (const topic of topicsOf(declaration)) {
      if (logs.has(topic.name)) continue
      const partitions = broker.partitionCount(topic.name) ?? options.partitions?.[topic.name] ?? topic.partitions
      createTopic(
        repartitions.has(topic) ? repartitionSpec(topic.name, partitions, topic) : { name: topic.name, partitions, config: topic.config },
      )
    }
    for (const part of topology.subTopologies) {
      commonPartitions(
        topology.name,
        part.sources.map((name) => ({ name, partitions: partitionsOf(name) })),
      )
      for (const name of part.stores)
        if (declaration.stores.get(name)?.logged === true) createTopic(changelogSpec(topology.name, name, partitionsOf(part.sources[0])))
    }
    broker.createTopic(deadLetterSpec(topology.name))
    partitionCounts.set(deadLetterTopicName(topology.name), 1)
  }

  function createTopic(spec: TopicSpec): void {
    broker.createTopic(spec)
    partitionCounts.set(spec.name, spec.partitions)
  }

  function partitionsOf(topic: string): number {
    const count = partitionCounts.get(topic)
    if (count === undefined) throw new Error(`topology ${topology.name} does not use topic ${topic}`)
    return count
  }

  function noFailures(): FailedRecords {
    return failedRecords({ topology: tested.name, metrics, runtime })
  }

  function start(): void {
    broker.groups.join(topology.name, MEMBER_ID, [])
    producer = memoryProducer(broker, { transactionalId: topology.name, onCommitStep: fault })
    producer.initSync()
    const session = backend.session(topology.name)
    const deps = { topology, partitionCounts, codecs, session, producer, metrics, runtime, isMissing: () => true, failed }
    const cacheBytes = options.cacheBytes ?? DEFAULT_CACHE_BYTES
    tasks = topology.subTopologies.flatMap((part) =>
      Array.from({ length: partitionsOf(part.sources[0]) }, (_, partition) => streamTask({ ...deps, part, partition, cacheBytes })),
    )
    for (const task of tasks) restoreTask(task, topology.name, session, broker, runtime.now())
  }

  function fault(step: CommitFaultPoint): void {
    if (crashStep !== step) return
    crashStep = undefined
    throw new DriverCrash(`crash after ${step}`)
  }

  function fetch(task: StreamTask, { topic, partition }: TopicPartition): boolean {
    const data = broker.fetch(topic, partition, task.position(topic), ALL_RECORDS)
    const news = data.chunks.length > 0
    task.accept(data)
    return news
  }

  /**
   * Fetches records for every task, and runs the tasks. If a record fails and can be skipped, restarts all tasks and
   * runs them again.
   * @returns true if a fetch returned records
   */
  function run(): boolean {
    for (;;) {
      try {
        return runTasks()
      } catch (error) {
        repeat(error)
      }
    }
  }

  /**
   * Restarts all tasks from the last commit, so that they can process the records since then again. Returns if one of
   * these records failed and can be skipped, or if the commit could not write a row.
   * @throws the error in all other cases, in which a worker would stop. The restart has then dropped all uncommitted
   * results.
   */
  function repeat(error: unknown): void {
    const canContinue = failed.note(error)
    stop()
    start()
    if (!canContinue) throw error
  }

  function runTasks(): boolean {
    let moved = false
    for (const task of tasks) {
      // A task needs more records if its queue is empty, or if it waits for records from another source. A task that
      // has queued records but waits for a commit needs none.
      const fetches = task.queuedRecords === 0 || task.idles
      const sources = fetches ? task.sources.filter(({ topic }) => !task.hasQueued(topic)) : []
      for (const source of sources) if (fetch(task, source)) moved = true
      while (!task.commitDue && task.run(never) === 'more');
    }
    return moved
  }

  function runWallTicks(now: number): void {
    try {
      for (const task of tasks) task.runWallTicks(now)
    } catch (error) {
      repeat(error)
    }
  }

  /** Closes all tasks and drops all uncommitted results. */
  function stop(): void {
    for (const task of tasks) task.close()
    backend.session(topology.name).dropBatch()
  }

  /** Commits. If a row cannot be written, the tasks first repeat the records, to find the one that changed the row. */
  function commit(): void {
    for (;;) {
      try {
        commitOnce()
        return
      } catch (error) {
        repeat(error)
        run()
      }
    }
  }

  function commitOnce(): void {
    const session = backend.session(topology.name)
    const leaderEpoch = () => 0
    // A worker also commits only tasks with work or new positions, and runs `beforeCommit` hooks only for these tasks.
    const involved = tasks.filter((task) => task.hasWork || task.positionsMoved)
    const prepared = encodeCommit(involved, session, leaderEpoch, fault)
    const offsets = producer.commitSync(prepared.offsets.values(), member)
    writeCommit(prepared, { offsets, leaderEpoch }, runtime.now(), fault)
  }

  function settle(): void {
    for (let rounds = 0; run() || tasks.some((task) => task.hasWork); rounds++) {
      if (rounds === MAX_ROUNDS)
        throw new Error(
          `topology ${topology.name} does not come to rest after ${MAX_ROUNDS} commits: does it emit to a topic that it reads?`,
        )
      commit()
    }
  }

  function afterInput(): void {
    if (auto) settle()
  }

  function pipeBytes(topic: AnyTopic, key: Uint8Array | null, value: Uint8Array | null, pipe: PipeOptions = {}): void {
    const partition = pipe.partition ?? (key === null ? 0 : partitionFor(key, partitionsOf(topic.name)))
    const bytes = (given: Uint8Array | null) => (given === null ? null : Buffer.from(given))
    brokerClock = pipe.appendedAt
    broker.append(topic.name, partition, {
      timestamp: pipe.timestamp ?? runtime.now(),
      key: bytes(key),
      value: bytes(value),
      headers: pipe.headers ?? [],
    })
    brokerClock = undefined
    afterInput()
  }

  function encoded<T>(codec: Codec<T>, value: T): Buffer {
    scratch.length = 0
    codec.encode(value, scratch)
    return Buffer.from(scratch.buffer.subarray(0, scratch.length))
  }

  function newRecords(topic: string): (LogRecord & TopicPartition)[] {
    return Array.from({ length: broker.topic(topic).partitions }, (_, partition) => {
      const key = partitionKey(topic, partition)
      const log = broker.log(topic, partition)
      const records = log.read(readUpTo.get(key) ?? 0, ALL_RECORDS)
      readUpTo.set(key, log.endOffset)
      return records.map((record) => ({ ...record, topic, partition }))
    }).flat()
  }

  return {
    get now() {
      return runtime.now()
    },
    pipe(topic, key, value, pipe) {
      const keyBytes = key === undefined ? null : encoded(topic.key, key)
      pipeBytes(topic, keyBytes, value === null ? null : encoded(codecFor(topic), value), pipe)
    },
    pipeBytes,
    read<K, V>(topic: Topic<K, V>) {
      const values = codecFor(topic) as Codec<V>
      return newRecords(topic.name).map(({ key, value, partition, offset, timestamp, headers }): TestRecord<K, V> => {
        const decodedKey = key === null ? undefined : topic.key.decode(key, 0, key.length)
        const decodedValue = value === null ? null : values.decode(value, 0, value.length)
        return { key: decodedKey, value: decodedValue, partition, offset, timestamp, headers }
      })
    },
    readDeadLetters: () => newRecords(deadLetterTopicName(topology.name)),
    advanceWallClock(ms) {
      const end = runtime.now() + ms
      const next = () => nextDue(runtime.now(), declaration, tasks)
      for (let due = next(); due <= end; due = next()) {
        runtime.advance(due - runtime.now())
        runWallTicks(due)
        run()
        afterInput()
      }
      runtime.advance(end - runtime.now())
    },
    store<S extends EngineStore>(name: string, partition = 0): S {
      const task = tasks.find((candidate) => candidate.part.stores.includes(name) && candidate.partition === partition)
      if (task === undefined) throw new Error(`topology ${topology.name} has no store ${name} in partition ${partition}`)
      return task.store(name) as S
    },
    run() {
      run()
    },
    commit,
    settle,
    crashAt(step) {
      crashStep = step
    },
    restart({ wipeState = false, topology: version = topology, downMs = 0 } = {}) {
      if (version.name !== topology.name)
        throw new Error(
          `a new version of topology ${topology.name} must have the same name, not ${version.name}, because the state belongs to that name`,
        )
      stop()
      if (wipeState) backend = openState()
      crashStep = undefined
      // A new process has no list of failed records, and a new version may be able to process these records.
      failed = noFailures()
      topology = version
      declaration = topology.declare()
      createTopics()
      runtime.advance(downMs)
      start()
    },
    metrics,
    get tasks() {
      return tasks
    },
    broker,
  }
}

/**
 * Returns the earliest time after `now` at which a tick or a time marker is due, or a task stops waiting for records
 * from another source.
 */
function nextDue(now: number, { streams }: Declaration, tasks: readonly StreamTask[]): number {
  const marks = streams.flatMap(({ timeMarks, ticks }) => [
    ...timeMarks,
    ...ticks.flatMap(({ clock, everyMs }) => (clock === 'caught-up' ? [{ everyMs, delayMs: 0 }] : [])),
  ])
  const markTimes = marks.map(({ everyMs, delayMs }) => (Math.floor((now - delayMs) / everyMs) + 1) * everyMs + delayMs)
  const idleEnds = tasks.map((task) => task.idlesUntil).filter((time) => time > now)
  return Math.min(...markTimes, ...idleEnds, ...tasks.map((task) => task.nextTickAt))
}
