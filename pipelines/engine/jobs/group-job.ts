import type { SchemaRegistry } from '../../../kafka/registry-interface.ts'
import { openSerdes } from '../../../kafka/serdes.ts'
import { type MemberlessGroup, partitionKey, type TopicPartition, type Transport } from '../../../kafka/transport.ts'
import { endsWithin } from '../../../runtime/ends-within.ts'
import type { Runtime } from '../../../runtime/runtime.ts'
import type { AnyTopic, Topic } from '../../../schemas/topic.ts'
import type { SinkSeat } from '../sinks/sink-group.ts'
import type { Runner } from '../worker/runner.ts'
import { type JobTurn, openTurn } from './turn.ts'

export interface GroupJob<K, V> {
  /**
   * A stable name. The consumer group that stores the position in the request topic has the same name, and the
   * transactional id contains the name.
   */
  readonly name: string
  /** The request topic. It has a single partition, and the process that owns this partition runs the job. */
  readonly requests: Topic<K, V>
  /** Topics to which the job publishes. */
  readonly publishes: readonly AnyTopic[]
  /**
   * Runs the job until `turn.signal` fires. An error ends the turn, and the next turn of this process begins after a
   * pause. If the function returns before the signal fires, this counts as an error.
   */
  run(turn: JobTurn<K, V>): Promise<void>
  /** Called when this process has stopped taking part in the job. */
  close?(): Promise<void>
}

export interface GroupJobDeps {
  readonly transport: Transport
  readonly registry: SchemaRegistry
  /** The job's membership in the consumer group that divides the partitions among the processes. */
  readonly seat: SinkSeat
  readonly runtime: Runtime
}

/** The number of the only partition of the request topic. */
const ONLY_PARTITION = 0
const LONGEST_WAIT_MS = 1_000
const FIRST_PAUSE_MS = 500
const LONGEST_PAUSE_MS = 30_000
/** How long a stopping process waits for the current turn to end and for the job to close. */
const STOP_GRACE_MS = 15_000

/**
 * Runs a job in only one process of a group: the process that owns the single partition of the request topic. Every
 * turn confirms the membership and then initialises the same transactional id. This fences the process of the previous
 * turn: even if it has not noticed that its turn is over, it can publish nothing. The job itself must protect its
 * changes to other systems, with `turn.token` and `turn.confirm`.
 */
export function groupJob<K, V>(job: GroupJob<K, V>, { transport, registry, seat, runtime }: GroupJobDeps): Runner {
  const { name, requests } = job
  const place: TopicPartition = { topic: requests.name, partition: ONLY_PARTITION }
  const stopping = new AbortController()
  const { promise: done, resolve, reject } = Promise.withResolvers<void>()
  done.catch(() => {}) // Prevents an unhandled rejection. Callers that await `done` still get the error.
  let wake = Promise.withResolvers<void>()
  let turn: { readonly end: AbortController; readonly ended: Promise<void> } | undefined
  let isOwner = false
  let turns = 0
  let failure: string | undefined
  let pauseMs = FIRST_PAUSE_MS
  let group: MemberlessGroup | undefined

  async function loop(): Promise<void> {
    await createMissingTopics()
    group = transport.memberlessGroup(name)
    seat.take({ topics: [requests.name], wake: () => wake.resolve() })
    while (!stopping.signal.aborted) {
      await followAssignment()
      const waiting = new AbortController()
      await Promise.race([wake.promise, runtime.sleep(LONGEST_WAIT_MS, waiting.signal)])
      waiting.abort()
      wake = Promise.withResolvers()
    }
    await endTurn()
  }

  async function createMissingTopics(): Promise<void> {
    const wanted = [requests as AnyTopic, ...job.publishes]
    const existing = await transport.partitionCounts(wanted.map((topic) => topic.name))
    const missing = wanted.filter((topic) => !existing.has(topic.name))
    await transport.ensureTopics(missing.map(({ name: topic, partitions, config }) => ({ name: topic, partitions, config })))
  }

  async function followAssignment(): Promise<void> {
    const assignment = seat.assigned()
    if (assignment === undefined) return
    isOwner = !assignment.isFenced && assignment.partitions.has(partitionKey(place.topic, place.partition))
    if (!isOwner) {
      await endTurn()
      // This process no longer runs the job, so it no longer reports its failures.
      recovered()
    } else if (turn === undefined) turn = beginTurn()
    seat.settle(assignment)
  }

  function beginTurn(): NonNullable<typeof turn> {
    const end = new AbortController()
    const ended = runTurn(end.signal).finally(() => {
      turn = undefined
      wake.resolve()
    })
    return { end, ended }
  }

  async function runTurn(signal: AbortSignal): Promise<void> {
    turns++
    runtime.log.info({ job: name, turn: turns }, 'job_turn_begins')
    try {
      const serdes = await openSerdes(registry, [requests, ...job.publishes], { runtime })
      const connections = { transport, seat, group: group as MemberlessGroup, runtime }
      const opened = await openTurn({ name, place, requests, signal, serdes, onSuccess: recovered, ...connections })
      try {
        await job.run(opened.turn)
      } finally {
        await opened.close()
      }
      if (!signal.aborted) throw new Error('the job returned before its turn ended')
    } catch (error) {
      if (signal.aborted) return
      failure = (error as Error).message
      runtime.log.warn({ job: name, turn: turns, err: error }, 'job_turn_failed')
      await runtime.sleep(pauseMs, signal)
      pauseMs = Math.min(pauseMs * 2, LONGEST_PAUSE_MS)
    }
  }

  function recovered(): void {
    pauseMs = FIRST_PAUSE_MS
    failure = undefined
  }

  async function endTurn(): Promise<void> {
    turn?.end.abort()
    await turn?.ended
  }

  async function run(): Promise<void> {
    try {
      await loop()
    } finally {
      // If the group has failed, a turn may still be running. It might not end while servers are unreachable, so the
      // wait is limited.
      await endsWithin(runtime, STOP_GRACE_MS, endTurn())
      await seat.leave()
      await group?.close()
      await job.close?.()
    }
  }

  return {
    name,
    kind: 'sink',
    async start() {
      run().then(resolve, reject)
    },
    done,
    async stop() {
      stopping.abort()
      wake.resolve()
      // A turn might not end while servers are unreachable, so the process waits only for a limited time.
      await endsWithin(
        runtime,
        STOP_GRACE_MS,
        done.catch(() => {}),
      )
      resolve()
    },
    notReady: () => undefined,
    describe: () => undefined,
    report: () => ({ owner: isOwner, turns, failure }),
    samples: () => [
      { name: 'job_owned', help: '1 in the process that runs the job', labels: { job: name }, value: isOwner ? 1 : 0 },
      { name: 'job_turns_total', help: 'Turns that this process has begun', labels: { job: name }, value: turns },
      {
        name: 'job_failing',
        help: '1 after a turn has failed, until the job completes a request, finds no request for a second, or moves to another process',
        labels: { job: name },
        value: failure === undefined ? 0 : 1,
      },
    ],
  }
}
