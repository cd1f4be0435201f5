import { randomUUID } from 'node:crypto'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { waitUntil } from '../../../../deploy/local/wait.ts'
import { memoryRegistry } from '../../../../kafka/memory/registry.ts'
import type { GroupMember, Transport } from '../../../../kafka/transport.ts'
import { rangeOwner } from '../../../../pipelines/engine/state/placement.ts'
import { createWorker, type Worker } from '../../../../pipelines/engine/worker/worker.ts'
import type { Log } from '../../../../runtime/runtime.ts'
import { silentLog, systemRuntime } from '../../../../runtime/system.ts'
import { memoryBackend } from '../../../../state/stores/memory-backend.ts'
import { connected, newTopic } from '../../../kafka/client/harness.ts'
import { testStack, uniqueName } from '../../../stack/index.ts'
import { gatedTransport } from '../gated-transport.ts'
import { newIdentity } from '../harness.ts'
import { numberTopic, textTopic, wordCount } from '../words.ts'
import { authorLines, DEADLINE_MS, exactCounts, wordBench } from './broker-bench.ts'

const LOOK_MS = 20
const TASKS = 5

let brokers: string
beforeAll(async () => {
  brokers = await testStack().kafka()
})

const until = (condition: () => boolean | Promise<boolean>, what: string) =>
  waitUntil(condition, { what, timeoutMs: DEADLINE_MS, intervalMs: LOOK_MS })

test('members can read which topics a learner subscribes to and what it announces, and the learner gets partitions of the source once it subscribes to it', async () => {
  const transport = await connected(brokers)
  const [source, changelog] = [await newTopic(transport, 3), await newTopic(transport, 2)]
  const groupId = uniqueName('group')
  const member = (topic: string) => transport.groupMember({ groupId, memberId: randomUUID(), topics: [topic] })
  const [active, learner] = [member(source), member(changelog)]
  const members = [active, learner]
  onTestFinished(async () => {
    for (const each of members) await each.leave()
  })
  learner.announce('first words')
  await active.join()
  await assigned(active, 3)
  const { epoch } = active
  await learner.join()
  await until(() => active.epoch > epoch, 'the epoch shows the new member')
  const seen = async () => (await active.members()).find(({ memberId }) => memberId === learner.memberId)
  expect(await seen()).toMatchObject({ topics: [changelog], notice: 'first words' })
  learner.announce('other words')
  await until(async () => (await seen())?.notice === 'other words', 'the notice changes')
  expect(await assigned(learner, 2)).toEqual([0, 1])
  expect(active.takeEvent()).toBeUndefined()

  learner.subscribe([source])
  const ids = members.map(({ memberId }) => memberId).sort()
  const shareOf = ({ memberId }: GroupMember) => [0, 1, 2].filter((partition) => rangeOwner(ids, partition, 3) === memberId)
  await until(async () => {
    for (const each of members) acknowledgeNews(each)
    const described = await active.members()
    const owned = members.map(({ memberId }) => described.find((peer) => peer.memberId === memberId)?.partitions ?? [])
    const found = owned.map((of) => of.filter(({ topic }) => topic === source).map(({ partition }) => partition))
    return JSON.stringify(found.map((of) => of.sort())) === JSON.stringify(members.map(shareOf))
  }, 'the assignment of partitions')
})

function acknowledgeNews(member: GroupMember): readonly number[] | undefined {
  const event = member.takeEvent()
  if (event?.type !== 'assignment') return undefined
  member.acknowledge(event.partitions)
  return event.partitions.map(({ partition }) => partition).sort()
}

async function assigned(member: GroupMember, partitions: number): Promise<readonly number[]> {
  let last: readonly number[] = []
  await until(() => {
    last = acknowledgeNews(member) ?? last
    return last.length === partitions
  }, 'an assignment')
  return last
}

test('the previous owner processes partitions until the new owner has warm copies, and every record is counted while the partitions move', async () => {
  const bench = await wordBench(brokers)
  const topology = wordCount(bench.topology, { lines: textTopic(bench.lines), wordCounts: numberTopic(bench.counts) })

  const ends: string[] = []
  const log: Log = {
    ...silentLog,
    info(fields, event) {
      if (event === 'warm_up_ended') ends.push((fields as { reason: string }).reason)
    },
  }

  async function start(transport: Transport, runtime = systemRuntime()): Promise<Worker> {
    const deps = { transport, registry: memoryRegistry(), backend: memoryBackend(), identity: newIdentity(), runtime }
    const worker = createWorker({ topology, warmUpLeastRecords: 1 }, deps)
    onTestFinished(() => worker.stop())
    await worker.start()
    return worker
  }

  const one = await start(await connected(brokers))
  await bench.send(authorLines(200, 1))
  await bench.complete()
  const gate = gatedTransport(await connected(brokers))
  const two = await start(gate.transport, systemRuntime(log))
  await until(() => (two.status().warmUp?.remaining ?? 0) > 0, 'the second worker begins to copy')
  await bench.send(authorLines(200, 2))
  await bench.complete()
  expect(one.status().tasks).toHaveLength(TASKS)
  expect(two.status().tasks).toHaveLength(0)

  gate.open()
  const running = (worker: Worker) => worker.status().tasks.filter(({ state }) => state === 'RUNNING').length
  for (let round = 0; !(two.status().ready && running(one) + running(two) === TASKS && running(two) > 0); round++) {
    await bench.send(authorLines(13, round))
    await bench.complete()
  }
  // If the copies were not warm when the partitions moved, the new owner would restore its state from the whole
  // changelog, and processing would stall.
  expect(ends).toEqual(['warm'])
  expect(await bench.output()).toEqual(exactCounts(bench.expected))
})
