import { expect, onTestFinished, test, vi } from 'vitest'
import type { Cluster } from '../../../kafka/client/cluster.ts'
import type { Coordinator } from '../../../kafka/client/coordinator.ts'
import { Disconnected } from '../../../kafka/client/errors.ts'
import { openGroupMember } from '../../../kafka/client/group-member.ts'
import type { KeptSession, StallGuard } from '../../../kafka/client/kept-session.ts'
import { type Context, kafkaOptions } from '../../../kafka/client/options.ts'
import type { GroupMember } from '../../../kafka/transport.ts'
import type { Log } from '../../../runtime/runtime.ts'
import { systemRuntime } from '../../../runtime/system.ts'
import { silent } from './harness.ts'

/** The fields of a heartbeat request (ConsumerGroupHeartbeat v1) that the tests check. */
interface Heartbeat {
  readonly memberId: string
  readonly epoch: number
  readonly rebalanceTimeoutMs: number
  readonly topics: readonly string[] | null
  readonly assignor: string | null
  readonly owned: readonly { topicId: string; partitions: number[] }[] | null
}

interface Answer {
  readonly intervalMs?: number
  readonly errorCode?: number
  readonly errorMessage?: string
  readonly memberEpoch?: number
  readonly assignment?: readonly number[]
  /** The coordinator does not answer this heartbeat until `release` is called. */
  readonly held?: boolean
}

const FENCED_MEMBER_EPOCH = 110
const GROUP_AUTHORIZATION_FAILED = 30
const COORDINATOR_LOAD_IN_PROGRESS = 14
const UNCHANGED = -1
const INTERVAL_MS = 10
/** Number of partitions of the topic. */
const PARTITIONS = 3

/**
 * Creates a member whose coordinator answers heartbeats according to a script. After the end of the script, the
 * coordinator repeats the last answer.
 */
function scripted(
  script: readonly (Answer | 'lost')[],
  {
    takeAtOnce = false,
    stallGuard,
    refresh = async () => {},
    topicId = (topic) => `id-of-${topic}`,
    topicName = (id) => id.replace('id-of-', ''),
    log = silent,
    monotonic = () => 0,
  }: {
    /** Whether the owner takes each event as soon as the member announces it. */
    takeAtOnce?: boolean
    stallGuard?: StallGuard
    refresh?: () => Promise<void>
    topicId?: (topic: string) => string | undefined
    topicName?: (id: string) => string | undefined
    log?: Log
    /** By default, the clock does not advance, so each wait for the next heartbeat is a full interval. */
    monotonic?: () => number
  } = {},
): {
  member: GroupMember
  heartbeats: Heartbeat[]
  /** Member ids that the member passed to `onMemberId`, so that its caller persists them. */
  kept: string[]
  /** Types of the member's events, in order. */
  announced: (string | undefined)[]
  forgotten: () => number
  release: () => void
  /** The duration of each wait of the member in ms, in order. */
  waits: number[]
} {
  const { promise: released, resolve: release } = Promise.withResolvers<void>()
  const heartbeats: Heartbeat[] = []
  const kept: string[] = []
  const announced: (string | undefined)[] = []
  let forgotten = 0
  const coordinator = {
    send: async (_api: unknown, ...args: unknown[]) => {
      const [, memberId, epoch, , , rebalanceTimeoutMs, topics, , assignor, owned] = args
      const answer = script[Math.min(heartbeats.length, script.length - 1)]
      heartbeats.push({ memberId, epoch, rebalanceTimeoutMs, topics, assignor, owned } as Heartbeat)
      if (answer === 'lost') throw new Disconnected('lost')
      if (answer.held) await released
      return {
        throttleTimeMs: 0,
        errorCode: answer.errorCode ?? 0,
        errorMessage: answer.errorMessage ?? null,
        memberId: null,
        memberEpoch: answer.memberEpoch ?? 1,
        heartbeatIntervalMs: answer.intervalMs ?? INTERVAL_MS,
        assignment:
          answer.assignment === undefined ? null : { topicPartitions: [{ topicId: 'id-of-t', partitions: [...answer.assignment] }] },
      }
    },
    forget: () => {
      forgotten++
    },
    // A closed connection ends its unanswered requests.
    close: async () => release(),
  } as unknown as Coordinator
  const cluster = {
    refresh,
    topicId,
    topicName,
    partitionCount: () => PARTITIONS,
  } as unknown as Cluster
  const system = systemRuntime(log)
  const waits: number[] = []
  const sleep: typeof system.sleep = (ms, signal) => {
    waits.push(ms)
    return system.sleep(ms, signal)
  }
  const context: Context = {
    options: kafkaOptions.parse({ brokers: ['localhost:9092'], clientId: 'test' }),
    closing: new AbortController().signal,
    stallGuard,
    runtime: { ...system, monotonic, sleep, random: () => 0.5, id: () => 'a new id' },
  }
  const onEvent = () => announced.push(member.takeEvent()?.type)
  const options = { groupId: 'g', memberId: 'the kept id', onMemberId: (id: string) => kept.push(id), topics: ['t'] }
  const member = openGroupMember(context, cluster, takeAtOnce ? { ...options, onEvent } : options, coordinator)
  onTestFinished(() => member.leave())
  return { member, heartbeats, kept, announced, forgotten: () => forgotten, release, waits }
}

test('the join sends all fields, and later heartbeats send only the member id and the epoch', async () => {
  const { member, heartbeats } = scripted([{ memberEpoch: 1 }, { memberEpoch: 1 }])
  await member.join()
  await member.heartbeat()
  expect(heartbeats[0]).toEqual({
    memberId: 'the kept id',
    epoch: 0,
    rebalanceTimeoutMs: 300_000,
    topics: ['t'],
    assignor: 'range',
    owned: [],
  })
  expect(heartbeats[1]).toEqual({
    memberId: 'the kept id',
    epoch: 1,
    rebalanceTimeoutMs: UNCHANGED,
    topics: null,
    assignor: null,
    owned: null,
  })
})

test('Kafka 4.0 and 4.1 refuse epoch 0 from a known member (KAFKA-19233), so the member joins with a new id for the same slot', async () => {
  const { member, heartbeats, kept } = scripted([{ errorCode: FENCED_MEMBER_EPOCH }, { memberEpoch: 3 }])
  await member.join()
  expect(heartbeats.map(({ memberId, epoch }) => [memberId, epoch])).toEqual([
    ['the kept id', 0],
    ['the kept id.a new id', 0],
  ])
  expect(member.memberId).toBe('the kept id.a new id')
  expect(kept).toEqual(['the kept id.a new id'])
  expect(member.epoch).toBe(3)
  expect(member.takeEvent()).toBeUndefined()
})

test('a member notifies its owner when an event is available', async () => {
  const { member, announced } = scripted([{ assignment: [0] }, {}, { assignment: [0, 1] }, { errorCode: FENCED_MEMBER_EPOCH }], {
    takeAtOnce: true,
  })
  await member.join()
  await expect.poll(() => announced).toEqual(['assignment', 'assignment', 'fenced'])
  expect(member.takeEvent()).toBeUndefined()
})

test('a member delivers an assignment once, and reports the owned partitions once, after `acknowledge`', async () => {
  const { member, heartbeats } = scripted([{ assignment: [0, 1] }, { assignment: [0, 1] }, {}])
  await member.join()
  expect(member.takeEvent()).toEqual({
    type: 'assignment',
    partitions: [
      { topic: 't', partition: 0 },
      { topic: 't', partition: 1 },
    ],
  })
  await member.heartbeat()
  expect(member.takeEvent()).toBeUndefined()
  expect(heartbeats[1].owned).toBeNull()
  member.acknowledge([{ topic: 't', partition: 1 }])
  await expect.poll(() => heartbeats.some(({ owned }) => owned !== null && owned.length > 0)).toBe(true)
  const reports = heartbeats.filter(({ owned }, i) => i > 0 && owned !== null)
  expect(reports.map(({ owned }) => owned)).toEqual([[{ topicId: 'id-of-t', partitions: [1] }]])
})

test('a partition that was assigned and revoked before the owner took the assignment is reported as not owned', async () => {
  const { member, heartbeats } = scripted([{ assignment: [1] }, {}, { assignment: [0, 1] }, { assignment: [1] }, {}])
  await member.join()
  member.takeEvent()
  const owned = [{ topic: 't', partition: 1 }]
  member.acknowledge(owned)
  // The owner is busy, so it does not take the second assignment before that assignment is revoked.
  await expect.poll(() => heartbeats.length).toBeGreaterThan(4)
  const before = heartbeats.length
  expect(heartbeats.slice(2).map((heartbeat) => heartbeat.owned)).not.toContainEqual(expect.anything())
  expect(member.takeEvent()).toEqual({ type: 'assignment', partitions: owned })
  member.acknowledge(owned)
  await expect.poll(() => heartbeats.slice(before).some((heartbeat) => heartbeat.owned !== null)).toBe(true)
  const reports = heartbeats.slice(before).filter((heartbeat) => heartbeat.owned !== null)
  expect(reports.map((heartbeat) => heartbeat.owned)).toEqual([[{ topicId: 'id-of-t', partitions: [1] }]])
})

test('while a report of the owned partitions is unanswered, the member delivers no assignment from before the report, because the report may lack some of the assigned partitions', async () => {
  const intervalMs = 60_000
  const { member, heartbeats, release } = scripted([
    { assignment: [1], intervalMs },
    { intervalMs },
    { assignment: [0, 1], intervalMs },
    { assignment: [1], intervalMs, held: true },
    { intervalMs },
  ])
  const owned = [{ topic: 't', partition: 1 }]
  await member.join()
  member.takeEvent()
  member.acknowledge(owned)
  await expect.poll(() => heartbeats.length).toBe(2)
  await member.heartbeat()
  // The owner was busy with the first assignment until now, so its report lacks partition 0 of the second assignment.
  // In the meantime, the coordinator has revoked partition 0. It assigns the partition to another member as soon as
  // this report arrives.
  member.acknowledge(owned)
  expect(member.takeEvent()).toBeUndefined()
  await expect.poll(() => heartbeats.length).toBe(4)
  expect(heartbeats[3].owned).toEqual([{ topicId: 'id-of-t', partitions: [1] }])
  expect(member.takeEvent()).toBeUndefined()
  release()
  await expect.poll(() => member.takeEvent()).toEqual({ type: 'assignment', partitions: owned })
})

test('the stall thread gets the owned partitions immediately after `acknowledge`, before the next heartbeat is answered', async () => {
  const sessions: KeptSession[] = []
  const guarded = { update: (session: KeptSession) => void sessions.push(session), takeEpoch: () => undefined, release: () => {} }
  const stallGuard: StallGuard = { guard: () => guarded, close: async () => {} }
  const { member } = scripted([{ assignment: [1] }, { held: true }], { stallGuard })
  await member.join()
  member.takeEvent()
  member.acknowledge([{ topic: 't', partition: 1 }])
  expect(sessions.at(-1)?.owned).toEqual([{ topicId: 'id-of-t', partitions: [1] }])
})

test('a member reports the partitions that it owns even if a broker does not know their topic yet', async () => {
  const sessions: KeptSession[] = []
  const guarded = { update: (session: KeptSession) => void sessions.push(session), takeEpoch: () => undefined, release: () => {} }
  const stallGuard: StallGuard = { guard: () => guarded, close: async () => {} }
  let isKnown = true
  const { member, heartbeats } = scripted([{ assignment: [1] }, {}, 'lost', {}, {}], {
    stallGuard,
    topicId: (topic) => (isKnown ? `id-of-${topic}` : undefined),
  })
  await member.join()
  member.takeEvent()
  isKnown = false
  member.acknowledge([{ topic: 't', partition: 1 }])
  await expect.poll(() => heartbeats.length).toBeGreaterThan(4)
  // If a report omits a partition, the coordinator may assign that partition to another member.
  const reports = heartbeats.slice(1).flatMap(({ owned }) => (owned === null ? [] : [owned]))
  expect(reports.length).toBeGreaterThan(1)
  for (const owned of [...reports, sessions.at(-1)?.owned]) expect(owned).toEqual([{ topicId: 'id-of-t', partitions: [1] }])
})

test('if the response to an earlier heartbeat is processed only after a rejoin has begun, the member drops the assignment in this response', async () => {
  const lookUp = Promise.withResolvers<void>()
  let isUnknown = false
  let lookUps = 0
  const intervalMs = 60_000
  const script = [
    { assignment: [1], intervalMs },
    { assignment: [0, 1, 2], intervalMs },
    { assignment: [1], intervalMs, held: true },
  ]
  const { member, heartbeats, release } = scripted(script, {
    async refresh() {
      lookUps++
      if (isUnknown) await lookUp.promise
    },
    topicName: (id) => (isUnknown ? undefined : id.replace('id-of-', '')),
  })
  await member.join()
  member.takeEvent()
  isUnknown = true
  const before = lookUps
  const beating = member.heartbeat().catch(() => {})
  await expect.poll(() => lookUps).toBe(before + 1)
  isUnknown = false
  const rejoining = member.rejoin()
  // Joining begins with a lookup of the topics.
  await expect.poll(() => lookUps).toBe(before + 2)
  lookUp.resolve()
  await beating
  expect(member.takeEvent()).toBeUndefined()
  await expect.poll(() => heartbeats.at(2)?.epoch).toBe(0)
  release()
  await rejoining
  expect(member.takeEvent()).toEqual({ type: 'assignment', partitions: [{ topic: 't', partition: 1 }] })
})

test('`acknowledge` sends a heartbeat immediately instead of waiting for the next regular heartbeat', async () => {
  const { member, heartbeats } = scripted([{ assignment: [0], intervalMs: 60_000 }, { intervalMs: 60_000 }])
  await member.join()
  member.acknowledge([{ topic: 't', partition: 0 }])
  await expect.poll(() => heartbeats.length).toBe(2)
  expect(heartbeats[1].owned).toEqual([{ topicId: 'id-of-t', partitions: [0] }])
  // The member must also report a change that happens while a heartbeat is in flight.
  const beating = member.heartbeat()
  member.acknowledge([])
  await beating
  await expect.poll(() => heartbeats.at(-1)?.owned).toEqual([])
})

test('a member that owns every partition of its topics sends heartbeats at half the rate', async () => {
  const { member, waits } = scripted([{ assignment: [0, 1, 2], intervalMs: 60_000 }, { intervalMs: 60_000 }])
  await member.join()
  await expect.poll(() => waits).toEqual([60_000])
  member.acknowledge([0, 1, 2].map((partition) => ({ topic: 't', partition })))
  await expect.poll(() => waits).toEqual([60_000, 120_000])
  member.acknowledge([0, 1].map((partition) => ({ topic: 't', partition })))
  await expect.poll(() => waits).toEqual([60_000, 120_000, 60_000])
})

test('a member that was fenced and has rejoined sends heartbeats at the full rate, even if it owns every partition', async () => {
  const { member, waits } = scripted([
    { assignment: [0, 1, 2] },
    { errorCode: FENCED_MEMBER_EPOCH },
    { assignment: [0, 1, 2], intervalMs: 60_000 },
    { intervalMs: 60_000 },
  ])
  await member.join()
  await expect.poll(() => member.takeEvent()?.type).toBe('fenced')
  await member.rejoin()
  member.acknowledge([0, 1, 2].map((partition) => ({ topic: 't', partition })))
  await expect.poll(() => waits.slice(-2)).toEqual([60_000, 60_000])
})

test('a changed subscription is sent at once with all fields, even if a heartbeat is in flight', async () => {
  const { member, heartbeats, release } = scripted([
    { assignment: [0], intervalMs: 60_000 },
    { intervalMs: 60_000 },
    { held: true, intervalMs: 60_000 },
    { intervalMs: 60_000 },
  ])
  await member.join()
  member.subscribe(['t', 'u'])
  await expect.poll(() => heartbeats.length).toBe(2)
  expect(heartbeats[1]).toMatchObject({ topics: ['t', 'u'], assignor: 'range', rebalanceTimeoutMs: 300_000 })
  const beating = member.heartbeat()
  await expect.poll(() => heartbeats.length).toBe(3)
  expect(heartbeats[2].topics).toBeNull()
  member.subscribe(['u'])
  release()
  await beating
  await expect.poll(() => heartbeats.length).toBe(4)
  expect(heartbeats[3].topics).toEqual(['u'])
})

test('a later assignment replaces an earlier one that the owner has not taken yet', async () => {
  const { member } = scripted([{ assignment: [0, 1] }, { assignment: [1] }, {}])
  await member.join()
  await member.heartbeat()
  expect(member.takeEvent()).toEqual({ type: 'assignment', partitions: [{ topic: 't', partition: 1 }] })
  expect(member.takeEvent()).toBeUndefined()
})

test('after an unanswered heartbeat, the next heartbeat sends all fields again', async () => {
  const { member, heartbeats } = scripted([{}, 'lost', {}, {}])
  await member.join()
  await expect.poll(() => heartbeats.length).toBeGreaterThan(3)
  expect(heartbeats[2]).toMatchObject({ epoch: 1, topics: ['t'], assignor: 'range', owned: [] })
  expect(heartbeats[3]).toMatchObject({ epoch: 1, topics: null, owned: null })
})

test('while the coordinator loads the group, the member looks for its coordinator again and reports no event', async () => {
  const { member, forgotten } = scripted([{ errorCode: COORDINATOR_LOAD_IN_PROGRESS }, {}])
  await member.join()
  expect(forgotten()).toBe(1)
  expect(member.takeEvent()).toBeUndefined()
})

test('a fenced member reports that it was fenced and stops its heartbeats, and rejoin starts with epoch 0 and no partitions', async () => {
  const { member, heartbeats } = scripted([{ assignment: [0] }, { errorCode: FENCED_MEMBER_EPOCH }, { memberEpoch: 9, assignment: [0] }])
  await member.join()
  await expect.poll(() => heartbeats.length).toBe(2)
  expect(member.takeEvent()).toEqual({ type: 'fenced', reason: 'FENCED_MEMBER_EPOCH' })
  expect(member.takeEvent()).toBeUndefined()
  await expect(member.heartbeat()).rejects.toThrow('is fenced')
  expect(heartbeats.length).toBe(2)
  await member.rejoin()
  expect(heartbeats[2]).toMatchObject({ memberId: 'the kept id', epoch: 0, owned: [] })
  expect(member.takeEvent()).toEqual({ type: 'assignment', partitions: [{ topic: 't', partition: 0 }] })
})

test('a member that was not fenced can also rejoin, for example because its producer was fenced, and it then starts with no partitions', async () => {
  const { member, heartbeats } = scripted([
    { memberEpoch: 4, assignment: [0], intervalMs: 60_000 },
    { memberEpoch: 4, assignment: [0], intervalMs: 60_000 },
  ])
  await member.join()
  member.takeEvent()
  await member.rejoin()
  expect(heartbeats.at(-1)).toMatchObject({ memberId: 'the kept id', epoch: 0, owned: [] })
  expect(member.takeEvent()).toEqual({ type: 'assignment', partitions: [{ topic: 't', partition: 0 }] })
  member.acknowledge([{ topic: 't', partition: 0 }])
  await expect.poll(() => heartbeats.at(-1)).toMatchObject({ epoch: 4, owned: [{ topicId: 'id-of-t', partitions: [0] }] })
})

test('a response to a heartbeat from before the rejoin does not affect the new membership', async () => {
  const { member, heartbeats, release } = scripted([
    { assignment: [0], intervalMs: 60_000 },
    { held: true, errorCode: FENCED_MEMBER_EPOCH },
    { memberEpoch: 9, assignment: [1], intervalMs: 60_000 },
  ])
  await member.join()
  const beating = member.heartbeat().catch(() => {})
  await expect.poll(() => heartbeats.length).toBe(2)
  const rejoining = member.rejoin()
  release()
  await Promise.all([beating, rejoining])
  expect(member.epoch).toBe(9)
  expect(member.takeEvent()).toEqual({ type: 'assignment', partitions: [{ topic: 't', partition: 1 }] })
  expect(member.takeEvent()).toBeUndefined()
})

test('a heartbeat without an answer fails with a retryable error, and the next heartbeat succeeds', async () => {
  const { member } = scripted([{ assignment: [0], intervalMs: 60_000 }, 'lost', {}])
  await member.join()
  await expect(member.heartbeat()).rejects.toMatchObject({ code: 'DISCONNECTED', fatal: false })
  await member.heartbeat()
})

test('an error that no retry can resolve makes the join fail, and the failure contains the reason', async () => {
  const { member } = scripted([{ errorCode: GROUP_AUTHORIZATION_FAILED, errorMessage: 'no access' }])
  await expect(member.join()).rejects.toMatchObject({
    code: 'GROUP_AUTHORIZATION_FAILED',
    fatal: true,
    message: expect.stringContaining('no access'),
  })
})

test('after the join, an error that no retry can resolve is reported as an event', async () => {
  const { member, heartbeats } = scripted([{}, { errorCode: GROUP_AUTHORIZATION_FAILED }])
  await member.join()
  await expect.poll(() => heartbeats.length).toBe(2)
  expect(member.takeEvent()).toMatchObject({ type: 'failed', error: { code: 'GROUP_AUTHORIZATION_FAILED', fatal: true } })
})

test('leaving sends epoch -1 and ends the heartbeats', async () => {
  const { member, heartbeats } = scripted([{}])
  await member.join()
  await member.leave()
  expect(heartbeats.at(-1)).toMatchObject({ epoch: -1, topics: null, owned: null })
  await expect(member.heartbeat()).rejects.toThrow('is left')
})

test('a member that leaves with `keepPlace` sends no request to the coordinator', async () => {
  const { member, heartbeats } = scripted([{ memberEpoch: 1, intervalMs: 60_000 }])
  await member.join()
  await member.leave({ keepPlace: true })
  expect(heartbeats.map(({ epoch }) => epoch)).toEqual([0])
})

test('after a rebalance during a stall, the member continues with the epoch that the stall thread received, and requests its assignment', async () => {
  const sessions: KeptSession[] = []
  let released = 0
  let guardedEpoch: number | undefined
  const takeEpoch = () => {
    const epoch = guardedEpoch
    guardedEpoch = undefined
    return epoch
  }
  const guarded = { update: (session: KeptSession) => void sessions.push(session), takeEpoch, release: () => void released++ }
  const stallGuard: StallGuard = { guard: () => guarded, close: async () => {} }
  const script = [{ memberEpoch: 1, assignment: [0] }, { memberEpoch: 1 }, { memberEpoch: 3, assignment: [0, 1] }]
  const { member, heartbeats } = scripted(script, { stallGuard })
  await member.join()
  member.takeEvent()
  member.acknowledge([{ topic: 't', partition: 0 }])
  await member.heartbeat()
  guardedEpoch = 3
  await member.heartbeat()
  const afterwards = heartbeats.find(({ epoch }) => epoch === 3)
  expect(afterwards).toMatchObject({ topics: ['t'], owned: [{ topicId: 'id-of-t', partitions: [0] }] })
  expect(sessions.at(-1)).toMatchObject({ epoch: 3, owned: [{ topicId: 'id-of-t', partitions: [0] }] })
  expect(member.takeEvent()).toMatchObject({ type: 'assignment', partitions: [{ partition: 0 }, { partition: 1 }] })
  expect(member.stalls).toBe(1)
  await member.leave()
  expect(released).toBe(1)
})

test('the first stall is logged at once, and later stalls at most once a minute, with the number of stalls since the previous log entry', async () => {
  let now = 0
  const guarded = { update: () => {}, takeEpoch: () => 1, release: () => {} }
  const stallGuard: StallGuard = { guard: () => guarded, close: async () => {} }
  const warn = vi.fn()
  const { member } = scripted([{ memberEpoch: 1, intervalMs: 60_000 }], { stallGuard, log: { ...silent, warn }, monotonic: () => now })
  await member.join()
  for (now of [1_000, 2_000, 60_999, 61_000]) await member.heartbeat()
  const reports = warn.mock.calls.filter(([, event]) => event === 'kafka_membership_kept_in_a_stall').map(([{ stalls }]) => stalls)
  expect(reports).toEqual([1, 3])
  expect(member.stalls).toBe(4)
})

test('leaving the group takes no longer than its time limit, even if a heartbeat gets no answer', async () => {
  const { member, heartbeats, waits } = scripted([{ memberEpoch: 1, intervalMs: 60_000 }, { held: true }])
  await member.join()
  member.heartbeat().catch(() => {})
  await expect.poll(() => heartbeats).toHaveLength(2)
  const left = vi.fn()
  void member.leave().then(left)
  await vi.waitFor(() => expect(left).toHaveBeenCalled(), { timeout: 20_000 })
  expect(waits).toContain(3_000)
})

test('a member can leave even if the response to its heartbeat requires metadata from a broker that hangs', async () => {
  let isHanging = false
  const refresh = () => (isHanging ? new Promise<void>(() => {}) : Promise.resolve())
  const topicName = (id: string) => (isHanging ? undefined : id)
  const script = [{ memberEpoch: 1 }, { memberEpoch: 2, assignment: [0] }]
  const { member, heartbeats } = scripted(script, { refresh, topicName })
  await member.join()
  isHanging = true
  await expect.poll(() => heartbeats).toHaveLength(2)
  await member.leave({ keepPlace: true })
  expect(heartbeats.map(({ epoch }) => epoch)).toEqual([0, 1])
})

test('a member can leave while its rejoin waits for metadata from a broker that hangs', async () => {
  let isHanging = false
  const refresh = () => (isHanging ? new Promise<void>(() => {}) : Promise.resolve())
  const { member, heartbeats } = scripted([{ memberEpoch: 1, intervalMs: 60_000 }], { refresh })
  await member.join()
  isHanging = true
  const rejoined = member.rejoin()
  await member.leave({ keepPlace: true })
  await rejoined
  expect(heartbeats.map(({ epoch }) => epoch)).toEqual([0])
})
