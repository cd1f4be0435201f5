import { randomUUID } from 'node:crypto'
import { join } from 'node:path'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import type { GroupMember } from '../../../../kafka/transport.ts'
import { rangeOwner, standbyOwners } from '../../../../pipelines/engine/state/placement.ts'
import { connected, newTopic } from '../../../kafka/client/harness.ts'
import { AT_FIRST_TRY, testStack, uniqueName } from '../../../stack/index.ts'
import { DEADLINE_MS, wordBench } from '../worker/broker-bench.ts'

let brokers: string
beforeAll(async () => {
  brokers = await testStack().kafka()
})

const PARTITIONS = 5

test('the broker assigns partitions as the placement of copies predicts, before and after a member leaves', async () => {
  const transport = await connected(brokers)
  const topic = await newTopic(transport, PARTITIONS)
  const groupId = uniqueName('group')
  const members = [1, 2, 3].map(() => transport.groupMember({ groupId, memberId: randomUUID(), topics: [topic] }))
  onTestFinished(async () => {
    for (const member of members) await member.leave()
  })
  for (const member of members) await member.join()

  /** Acknowledges the assignments of the members, and returns the owner of each partition. */
  async function owners(of: readonly GroupMember[]): Promise<(string | undefined)[]> {
    for (const member of of) {
      const event = member.takeEvent()
      if (event?.type === 'assignment') member.acknowledge(event.partitions)
    }
    const described = await of[0].members()
    return numbers.map((i) => described.find(({ partitions }) => partitions.some(({ partition }) => partition === i))?.memberId)
  }

  const numbers = Array.from({ length: PARTITIONS }, (_, partition) => partition)
  const ids = members.map(({ memberId }) => memberId).sort()
  const before = numbers.map((partition) => rangeOwner(ids, partition, PARTITIONS))
  await expect.poll(() => owners(members), { timeout: DEADLINE_MS }).toEqual(before)
  const gone = members[0]
  const left = ids.filter((id) => id !== gone.memberId)
  const heirs = numbers.map((partition) =>
    before[partition] === gone.memberId ? standbyOwners(ids, partition, PARTITIONS, 1)[0] : rangeOwner(left, partition, PARTITIONS),
  )
  await gone.leave()
  await expect.poll(() => owners(members.slice(1)), { timeout: DEADLINE_MS }).toEqual(heirs)
})

test('after a worker is killed and does not return, its standby continues and every word is counted once', AT_FIRST_TRY, async () => {
  const bench = await wordBench(brokers)
  const [one, two] = ['one', 'two'].map((name) => bench.spawn({ standby: 1, folder: join(bench.folder.path, name) }))
  await Promise.all([one.ready, two.ready])
  const words = Array.from({ length: 200 }, (_, i): [string, string] => [`author-${i}`, `a b word-${i % 50}`])
  await bench.send(words)
  await bench.complete()
  await bench.send(words)
  one.child.kill('SIGKILL')
  await one.exited
  await bench.send(words)
  await bench.complete()
  for (const [word, list] of await bench.output()) expect([word, list]).toEqual([word, list.map((_, i) => i + 1)])
})
