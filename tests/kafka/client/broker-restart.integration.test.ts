import { expect, test } from 'vitest'
import { AT_FIRST_TRY, privateKafka, uniqueName } from '../../stack/index.ts'
import {
  append,
  commit,
  connected,
  flatten,
  newMember,
  newTopic,
  offsetsOf,
  ownPartitions,
  pollUntil,
  readToEnd,
  valuesOf,
} from './harness.ts'

const ROUNDS = 40
/** In this round, the test kills the broker just before the commit. */
const KILL_AFTER = 10
const RESTART_TEST_MS = 120_000

test('when the broker is killed and restarted, producer, group member and reader continue, and every record is read once and in order', {
  ...AT_FIRST_TRY,
  timeout: RESTART_TEST_MS,
}, async () => {
  const broker = await privateKafka()
  const transport = await connected(broker.address, { requestTimeoutMs: 5_000, deliveryTimeoutMs: 60_000 })
  const topic = await newTopic(transport, 2)
  const member = newMember(transport, uniqueName('group'), [topic])
  await member.join()
  const owned = await ownPartitions(member, 2)
  // A transaction must survive the outage, so its timeout is much longer than the transport's default.
  const producer = transport.producer({ transactionalId: uniqueName('producer'), transactionTimeoutMs: 60_000 })
  await producer.init()
  const fetcher = transport.fetcher({ maxWaitMs: 100 })
  for (const partition of owned) fetcher.assign(partition, 0, 'fail')

  const write = async () => {
    for (let round = 0; round < ROUNDS; round++) {
      append(producer, topic, 0, `${round}`)
      append(producer, topic, 1, `${round}`)
      if (round === KILL_AFTER) void broker.kill().then(() => broker.start())
      await producer.commit(offsetsOf(owned, round), member)
    }
  }
  const [, data] = await Promise.all([write(), pollUntil(fetcher, (seen) => flatten(seen).length >= 2 * ROUNDS, 'all records')])
  const rounds = Array.from({ length: ROUNDS }, (_, i) => `${i}`)
  for (const partition of [0, 1]) {
    expect(valuesOf(flatten(data.filter((one) => one.partition === partition)))).toEqual(rounds)
    expect(valuesOf(await readToEnd(transport, { topic, partition }))).toEqual(rounds)
  }
  expect((await member.committed(owned)).get(`${topic}-0`)?.offset).toBe(ROUNDS - 1)
  await commit(producer)
})
