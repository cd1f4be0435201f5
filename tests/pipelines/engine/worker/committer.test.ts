import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { FencedError, type GroupMember, type TopicPartition } from '../../../../kafka/transport.ts'
import { type CommitterDeps, committer } from '../../../../pipelines/engine/worker/committer.ts'

const SOON_MS = 15
const START = 1_000_000

/**
 * Creates a committer for one task, which has something to commit unless the test changes this. The test controls the
 * clock and the brokers.
 */
function clockedCommitter(commitIntervalMs = 100) {
  let now = START
  const fail = ({ err }: { err: Error }) => {
    throw err
  }
  const answers: (() => void)[] = []
  const membership = { isLost: false }
  async function heartbeat(): Promise<void> {
    if (membership.isLost) throw new FencedError('the session timed out')
  }
  const group = { groupId: 'test', heartbeat } as GroupMember
  const positions = new Map<string, number | null>()
  const putPosition = (name: string, value: number | null) => void positions.set(name, value)
  const flushedFor: GroupMember[] = []
  const database = { nearsStall: false }
  const sleeping: (() => void)[] = []
  const task = { hasWork: true, positionsMoved: true, commitSoon: true, caughtUp: false, dirtyKeys: 0, dirtyBytes: 0 }
  /** The sources of tasks that never have anything to commit. */
  const idle: TopicPartition[] = []
  const prepared = {
    sources: [{ topic: 'in', partition: 0 }],
    changelogs: [],
    prepareCommit: () => ({ offsets: [], streamTime: -1 }),
    progress: () => ({ offsets: [], streamTime: -1 }),
    committed() {},
  }
  const idleTask = (source: TopicPartition) => ({ ...task, hasWork: false, positionsMoved: false, ...prepared, sources: [source] })
  const producer = {
    pendingBytes: 1,
    commit: () => new Promise((resolve) => answers.push(() => resolve(new Map()))),
    flushFull: async (member: GroupMember) => void flushedFor.push(member),
  }
  const deps = {
    topology: 'test',
    group,
    producer,
    tasks: { running: () => [{ ...task, ...prepared }, ...idle.map(idleTask)], atRest: true, commitDue: false, closingDue: false },
    session: {
      takeBatch: () => ({ putPosition, write() {}, drop() {} }),
      nearsStall: () => database.nearsStall,
      putPosition,
      write() {},
    },
    commitIntervalMs,
    commitSoonMs: SOON_MS,
    commitWhenIdle: false,
    runtime: {
      now: () => now,
      monotonic: () => now,
      sleep: () => new Promise<void>((resolve) => sleeping.push(resolve)),
      log: { debug() {}, warn: fail, error: fail },
    },
    wake() {},
  } as unknown as CommitterDeps
  const commits = committer(deps)
  return {
    database,
    group,
    idle,
    membership,
    positions,
    task,
    producer,
    flushedFor,
    /** Number of commits that brokers have not answered yet. */
    commitsUnderWay: () => answers.length,
    /** Lets the committer begin to pause, and then ends its pauses as if `ms` had passed. */
    async wake(ms: number) {
      await turn()
      now += ms
      for (const resolve of sleeping.splice(0)) resolve()
      await turn()
    },
    collectMs: () => commits.collectMs(now),
    pass(ms: number) {
      now += ms
    },
    begin: () => commits.commitIfDue(true),
    /** Makes a commit to which the brokers respond after `tookMs`. */
    async commit(tookMs: number) {
      await commits.commitIfDue(true)
      now += tookMs
      answers.shift()?.()
      await turn()
      await commits.settle()
    },
    isDue: () => commits.waitUntil(now) <= now,
  }
}

test('records collect until four milliseconds before the next commit can begin', async () => {
  const { collectMs, pass, begin } = clockedCommitter()
  pass(1_000)
  // Nothing was committed for a while, so a command is committed immediately.
  expect(collectMs()).toBe(0)
  await begin()
  expect(collectMs()).toBe(11)
  pass(5)
  expect(collectMs()).toBe(6)
  pass(6)
  expect(collectMs()).toBe(0)
  pass(60_000)
  expect(collectMs()).toBe(0)
})

test('the next commit waits longer if the brokers are slow, but records collect no longer than usual, because the commit in flight may be fast', async () => {
  const { pass, begin, commit, isDue, collectMs } = clockedCommitter()
  pass(1_000)
  await commit(5)
  expect(isDue()).toBe(false)
  pass(10)
  expect(isDue()).toBe(true)
  await commit(20)
  expect(isDue()).toBe(false)
  expect(collectMs()).toBe(0)
  pass(19)
  expect(isDue()).toBe(false)
  pass(1)
  expect(isDue()).toBe(true)
  await begin()
  expect(collectMs()).toBe(11)
})

test('a commit waits while a write would block the event loop, but not so long that its transaction times out', async () => {
  const { pass, begin, wake, database, commitsUnderWay } = clockedCommitter()
  pass(1_000)
  database.nearsStall = true
  const first = begin()
  await wake(100)
  expect(commitsUnderWay()).toBe(0)
  database.nearsStall = false
  await wake(10)
  await first
  expect(commitsUnderWay()).toBe(1)

  const other = clockedCommitter()
  other.pass(1_000)
  other.database.nearsStall = true
  const second = other.begin()
  await other.wake(4_990)
  expect(other.commitsUnderWay()).toBe(0)
  await other.wake(20)
  await second
  expect(other.commitsUnderWay()).toBe(1)
})

test('batches that are sent before the commit are sent on behalf of the member, which can confirm that it still owns its partitions', async () => {
  const { group, producer, flushedFor, begin } = clockedCommitter()
  producer.pendingBytes = 2_000_000
  await begin()
  expect(flushedFor).toEqual([group])
})

test('a transaction that was partly sent is committed before it times out, even if the commit interval is longer', async () => {
  const { pass, begin, task, producer, flushedFor, commitsUnderWay } = clockedCommitter(60_000)
  task.commitSoon = false
  producer.pendingBytes = 2_000_000
  pass(1_000)
  await begin()
  expect({ sent: flushedFor.length, commits: commitsUnderWay() }).toEqual({ sent: 1, commits: 0 })
  producer.pendingBytes = 1
  for (let second = 0; second < 3; second++) {
    pass(1_000)
    await begin()
  }
  expect(commitsUnderWay()).toBe(1)
})

test.each([
  { what: 'confirms', isLost: false, writtenAt: START + 90_000_000 },
  { what: 'has removed', isLost: true, writtenAt: undefined },
])(
  'the write time of idle state is refreshed only by a worker that is still a member: the group $what the worker',
  async ({ isLost, writtenAt }) => {
    const { membership, task, pass, begin, positions } = clockedCommitter()
    task.hasWork = false
    task.positionsMoved = false
    membership.isLost = isLost
    // The process was suspended for longer than the broker keeps tombstones.
    pass(90_000_000)
    await begin()
    expect(positions.get('written-at/in-0')).toBe(writtenAt)
  },
)

test('the write time of an idle task is refreshed even if other tasks of the worker always have work', async () => {
  const { idle, pass, commit, positions } = clockedCommitter()
  idle.push({ topic: 'idle', partition: 0 })
  await commit(5)
  expect(positions.get('written-at/idle-0')).toBeUndefined()
  pass(3_600_000)
  await commit(5)
  expect(positions.get('written-at/idle-0')).toBe(START + 3_600_005)
})

test('a commit that sends nothing to the brokers does not refresh the write time, because the worker may have lost its partitions', async () => {
  const { membership, producer, task, pass, begin, positions } = clockedCommitter()
  // A handler has changed only a store without a changelog.
  task.positionsMoved = false
  producer.pendingBytes = 0
  membership.isLost = true
  pass(90_000_000)
  await begin()
  expect(positions.get('written-at/in-0')).toBeUndefined()
})

test('the write time is the time of the commit, even if the process was suspended before it read the answer', async () => {
  const { pass, commit, positions } = clockedCommitter()
  pass(1_000)
  await commit(90_000_000)
  expect(positions.get('written-at/in-0')).toBe(START + 1_000)
})
