import { randomUUID } from 'node:crypto'
import { expect, onTestFinished, test } from 'vitest'
import { memoryBroker } from '../../../kafka/memory/broker.ts'
import { memoryRegistry } from '../../../kafka/memory/registry.ts'
import { memoryTransport } from '../../../kafka/memory/transport.ts'
import { partitionFor } from '../../../kafka/partitioner.ts'
import { openSerdes } from '../../../kafka/serdes.ts'
import { createWorker, type Topology, type Worker } from '../../../pipelines/engine/index.ts'
import { repartitionSpec } from '../../../pipelines/engine/topology/internal-topics.ts'
import { matchPairs } from '../../../pipelines/matches/pairs/topology.ts'
import { matchProfiles as profilesTopology } from '../../../pipelines/matches/profiles/topology.ts'
import { matchUsers } from '../../../pipelines/matches/users/topology.ts'
import { silentLog, systemRuntime } from '../../../runtime/system.ts'
import { byteWriter } from '../../../schemas/codec.ts'
import type { Command } from '../../../schemas/commands/topics.ts'
import { matchIdOf, pairKey } from '../../../schemas/matches/pair.ts'
import * as topics from '../../../schemas/matches/topics.ts'
import type { DesirabilitySwipe, MatchEvent, MatchProfileCommand, PairCommand, SwipeEvent } from '../../../schemas/matches/types.ts'
import type { AnyTopic, Topic } from '../../../schemas/topic.ts'
import { memoryBackend } from '../../../state/stores/memory-backend.ts'
import { integer, pick, seededRandom } from '../../../tools/random/random.ts'
import { until } from '../../pipelines/engine/harness.ts'
import { profileCommand, swipe } from '../../pipelines/matches/swipes.ts'
import { memoryConfig } from '../config.ts'
import type { Logged } from '../log-reader.ts'
import { decidedCommands } from './decided-commands.ts'
import { certainFrom, deletionsOf, isErased } from './deletions.ts'
import type { Evidence, Logs } from './evidence.ts'
import { memoryView } from './memory-view.ts'
import type { Asked, RequestKind } from './requests.ts'
import { userIds } from './user-ids.ts'
import { faultsOf } from './verdict.ts'

/**
 * Maps partition counts in production to those in this test, as in `tests/api/matches/system.ts`. The counts are lower,
 * but still differ between topics.
 */
const PARTITIONS: ReadonlyMap<number | undefined, number> = new Map([
  [200, 3],
  [64, 2],
  [50, 2],
])
/** Number of runs if the environment sets none. A run takes a few seconds, and waits for commits most of the time. */
const DEFAULT_SEEDS = 2
const { seeds, from } = memoryConfig(DEFAULT_SEEDS)
const USERS = 10
const LEAVERS = 4
const ACTIONS = 400
const WORKERS = 2
const SETTLED_WITHIN_MS = 60_000
/** How long to wait for a verdict without faults before the test makes the pipeline output all scores again. */
const LOOK_MS = 1_500
const DIRECTIONS: readonly SwipeEvent['direction'][] = ['LEFT', 'RIGHT', 'RIGHT', 'SUPER_LIKE', 'REWIND']
const COMMAND_LIFE_MS = 60_000
/** A note is overtaken by fewer than this many later notes. */
const NOTED_LATE = 6

const partitionsOf = ({ partitions, productionPartitions }: AnyTopic) => PARTITIONS.get(productionPartitions) ?? partitions

/** Starts all topologies of the match feed on the in-memory broker, with several partitions and two workers each. */
async function world() {
  const broker = memoryBroker()
  const registry = memoryRegistry()
  const scored = matchUsers.declare().repartitions.get('scored') as unknown as Topic<string, DesirabilitySwipe>
  const located = matchUsers.declare().repartitions.get('located') as AnyTopic
  const known = [...topics.matchesSchemas.topics, scored]
  for (const topic of topics.matchesSchemas.topics) broker.createTopic({ name: topic.name, partitions: partitionsOf(topic) })
  for (const topic of [scored, located]) broker.createTopic(repartitionSpec(topic.name, partitionsOf(topic)))
  const { codecFor } = await openSerdes(registry, known)
  const runtime = systemRuntime(silentLog)

  async function startWorker(topology: Topology): Promise<{ readonly worker: Worker; readonly memberId: string }> {
    const memberId = randomUUID()
    const identity = { memberId, transactionalId: `millrace-${memberId}` }
    const transport = memoryTransport(broker)
    const worker = createWorker({ topology }, { transport, registry, backend: memoryBackend(), identity, runtime })
    await worker.start()
    return { worker, memberId }
  }

  const workers: Awaited<ReturnType<typeof startWorker>>[] = []
  for (const topology of [profilesTopology, matchUsers, matchPairs])
    for (let index = 0; index < WORKERS; index++) workers.push(await startWorker(topology))
  onTestFinished(async () => void (await Promise.all(workers.map(({ worker }) => worker.stop()))))

  function append<V>(topic: Topic<string, V>, key: string, value: V): void {
    const bytes = byteWriter()
    codecFor(topic).encode(value, bytes)
    const keyBytes = Buffer.from(key)
    const record = { timestamp: Date.now(), key: keyBytes, value: Buffer.from(bytes.buffer.subarray(0, bytes.length)), headers: [] }
    broker.append(topic.name, partitionFor(keyBytes, partitionsOf(topic)), record)
  }

  /** Returns the records of a topic by partition. */
  function read<V>(topic: Topic<string, V>): Logged<V>[][] {
    const logs = Array.from({ length: partitionsOf(topic) }, (): Logged<V>[] => [])
    for (const { key, value, partition, timestamp } of broker.records(topic.name)) {
      const decoded = value === null ? null : (codecFor(topic).decode(value, 0, value.length) as V)
      logs[partition].push({ key: key!.toString(), value: decoded as V, offset: logs[partition].length, timestamp })
    }
    return logs
  }

  return {
    append,
    read,
    scored,
    /**
     * Without `replaces`, fences a worker, so that it drops its uncommitted work. With `replaces`, stops the worker and
     * starts a new one, which must restore the state.
     */
    async hurt(index: number, replaces: boolean) {
      const { worker, memberId } = workers[index]
      if (!replaces) return broker.groups.expire(worker.topology.name, memberId)
      await worker.stop()
      workers[index] = await startWorker(worker.topology)
    },
    workers: workers.length,
  }
}

/** Lets users swipe, block and leave, while workers are fenced and replaced. */
async function play(seed: number): Promise<{ showScores(): void; evidence(): Promise<Evidence> }> {
  const random = seededRandom(seed)
  const { append, read, scored, hurt, workers } = await world()
  const users = userIds(USERS + LEAVERS)
  const asked: Asked[] = []
  /** Time of the newest swipe or of the newest answer to a profile command, whichever is later. Epoch ms. */
  let last = 0
  const command = <B>(body: B): Command<B> => {
    return { command_id: randomUUID(), reply_to: '', request_hash: '', deadline: Date.now() + COMMAND_LIFE_MS, body }
  }

  async function decided(userId: string, body: MatchProfileCommand, kind?: RequestKind): Promise<void> {
    const from = Date.now()
    const one = command(body)
    append(topics.matchProfileCommands, userId, one)
    const isDecided = () => read(topics.matchProfiles).some((log) => log.some(({ value }) => value?.result?.command_id === one.command_id))
    await until(isDecided, `${body.action} of ${userId}`, SETTLED_WITHIN_MS)
    const nobody = { other: undefined, direction: undefined, key: undefined, api: 0, status: 204, body: undefined }
    const to = Date.now()
    if (kind !== undefined) asked.push({ kind, user: userId, from, to, ...nobody })
    // The next swipe gets a later time than the answer, because the order of the two would be uncertain in the same
    // millisecond.
    last = Math.max(last, to)
  }

  const create = (userId: string, kind?: RequestKind) =>
    decided(userId, profileCommand('put', { display_name: 'X', birth_date: '1990-05-01' }), kind)
  await Promise.all(users.map((userId) => create(userId)))

  const late: SwipeEvent[] = []
  function send(swiper: string, target: string): void {
    last = Math.max(last + 1, Date.now())
    const event = swipe(swiper, target, pick(random, DIRECTIONS), last)
    const fate = random()
    // Some swipes arrive late, as if from a spool, and some arrive twice.
    if (fate < 0.1) late.push(event)
    else append(topics.swipeEvents, swiper, event)
    if (fate > 0.95) append(topics.swipeEvents, swiper, event)
    while (late.length > 0 && random() < 0.2) append(topics.swipeEvents, late[0].swiper_id, late.shift()!)
  }

  const leaving = users.slice(USERS).map((userId, index) => ({ userId, at: integer(random, ACTIONS), returns: index % 2 === 0 }))
  const away = new Set<string>()
  for (let action = 0; action < ACTIONS; action++) {
    for (const { userId, returns } of leaving.filter(({ at }) => at === action)) {
      await decided(userId, profileCommand('delete'), 'leave')
      if (returns) await create(userId, 'return')
      else away.add(userId)
    }
    const [one, other] = [pick(random, users), pick(random, users)]
    if (one === other || away.has(one)) continue
    if (random() < 0.85) send(one, other)
    else {
      const body: PairCommand = {
        action: pick(random, ['block', 'unblock', 'unmatch', 'notify'] as const),
        actor_id: one,
        other_id: other,
        match_id: matchIdOf(one, other),
        matched_at: null,
        not_before: 0,
      }
      append(topics.matchPairCommands, pairKey(one, other), command(body))
    }
    if (random() < 0.01) await hurt(integer(random, workers), random() < 0.3)
    // Lets the workers process some of the input.
    await new Promise((resolve) => setTimeout(resolve, integer(random, 4)))
  }
  for (const event of late) append(topics.swipeEvents, event.swiper_id, event)

  /**
   * Reports a place for every user, because the pipeline outputs a user's score only after the user has reported a
   * place.
   */
  function showScores(): void {
    const place = { lat: 1, lon: 1, accuracy_m: null, ts: Date.now() }
    for (const user_id of users) append(topics.locationUpdates, user_id, { user_id, ...place })
  }

  async function evidence(): Promise<Evidence> {
    const flat = <V>(topic: Topic<string, V>) => read(topic).flat()
    const logs: Logs = {
      swipeEvents: flat(topics.swipeEvents),
      matchSwipes: flat(topics.matchSwipes),
      pairSwipes: flat(topics.pairSwipes),
      pairCommands: flat(topics.matchPairCommands),
      pairDecisions: flat(topics.matchPairDecisions).filter(({ value }) => value !== null),
      matchEvents: flat(topics.matchEvents),
      matchNotifications: flat(topics.matchNotifications),
      matchDeletions: flat(topics.matchDeletions),
      matchSeen: read(topics.matchSeen),
      scored: flat(scored),
    }
    const partitionOf = (userId: string) => partitionFor(Buffer.from(userId), partitionsOf(topics.matchProfiles))
    const view = memoryView(partitionsOf(topics.matchProfiles))
    const random = seededRandom(seed)
    const steps: (() => void)[][] = []
    for (const topic of [topics.matchProfiles, topics.matchSeen, topics.matchRelations] as Topic<string, never>[])
      for (const [partition, log] of read(topic).entries())
        steps.push(log.map(({ key, value }) => view.apply.bind(view, partition, key, value)))
    steps.push(notesOf(logs, random).map(({ userId, ...severance }) => view.note.bind(view, partitionOf(userId), userId, severance)))
    for (const step of merged(steps, random)) step()
    const lists = await Promise.all(users.map(async (userId) => [userId, await view.listsOf(userId, users, partitionOf)] as const))
    const inflicted = { redis: [], apisKilled: 1, apiStarts: [] }
    const known: Evidence = {
      users,
      asked,
      inflicted,
      logs,
      tables: { swipes: [], matches: [] },
      delivered: [],
      lists: new Map(),
      view: [],
      remains: [],
    }
    const deletions = deletionsOf(known)
    const gone = [...certainFrom(known)].filter(([, from]) => from === Infinity).map(([userId]) => userId)
    return {
      ...known,
      // This test has no tables and no webhook. Their contents are derived from the logs.
      tables: {
        swipes: logs.matchSwipes
          .map(({ value }) => value)
          .filter(({ swiper_id, target_id, ts }) => !isErased([swiper_id, target_id], ts, deletions)),
        matches: newestOfEach(logs.matchEvents.map(({ value }) => value))
          .map((value) => ({ ...value, conversation_id: value.conversation_id ?? '' }))
          .filter(({ user_a, user_b, matched_at }) => !isErased([user_a, user_b], matched_at, deletions)),
      },
      delivered: logs.matchNotifications.map(({ value }) => ({ key: `${value.match_id}:${value.user_id}`, isGenuine: true })),
      lists: new Map(lists.flatMap(([userId, list]) => (list === undefined ? [] : [[userId, list] as const]))),
      remains: view.keys().filter((key) => /:(profile|self|seen):/.test(key) && gone.some((userId) => key.endsWith(userId))),
    }
  }
  return { showScores, evidence }
}

/** Returns the newest event of each match, like a table with one row per match. */
function newestOfEach(events: readonly MatchEvent[]): MatchEvent[] {
  return [...new Map(events.map((event) => [event.match_id, event])).values()]
}

/**
 * Returns the notes about blocks, lifted blocks and ended matches that the API stores for both users. Some notes are
 * out of order.
 */
function notesOf(logs: Logs, random: () => number) {
  const notes = decidedCommands(logs).flatMap(({ command: { action, actor_id, other_id }, decidedAt: at, outcome }) => {
    if (outcome !== 'done' || action === 'notify') return []
    const [own, others] = action === 'unmatch' ? (['ended', 'ended'] as const) : (['blocks', 'blocked'] as const)
    const isSevered = action !== 'unblock'
    return [
      { userId: actor_id, otherId: other_id, cause: own, at, isSevered },
      { userId: other_id, otherId: actor_id, cause: others, at, isSevered },
    ]
  })
  // Each API notes the answers to its own commands, so another API may note a later answer first.
  return notes
    .map((note, index) => ({ note, place: index + NOTED_LATE * random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ note }) => note)
}

/** Merges lists at random. The items of each list keep their order. */
function* merged<T>(lists: readonly (readonly T[])[], random: () => number): Generator<T> {
  const left = lists.filter(({ length }) => length > 0).map((list) => ({ list, next: 0 }))
  while (left.length > 0) {
    const at = integer(random, left.length)
    yield left[at].list[left[at].next++]
    if (left[at].next === left[at].list.length) left.splice(at, 1)
  }
}

test.each(Array.from({ length: seeds }, (_, index) => from + index))(
  'seed %i: on several partitions and workers, with users who leave and return, every result agrees with the log',
  async (seed) => {
    const { showScores, evidence } = await play(seed)
    const endsAt = Date.now() + SETTLED_WITHIN_MS
    let faults = ['not judged']
    while (faults.length > 0 && Date.now() < endsAt) {
      showScores()
      const judge = async () => {
        faults = faultsOf(await evidence())
        return faults.length === 0
      }
      await until(judge, 'no faults', LOOK_MS).catch(() => undefined)
    }
    expect(faults).toEqual([])
    const { logs } = await evidence()
    expect([logs.matchEvents.length > 5, new Set(logs.matchDeletions.map(({ key }) => key)).size]).toEqual([true, LEAVERS])
  },
)
