import { expect, test } from 'vitest'
import type { WorkerProducer } from '../../kafka/transport.ts'
import { type Handle, simulatedCluster } from './cluster/cluster.ts'
import { handleRequest } from './cluster/requests.ts'
import { network } from './network.ts'
import { simulatedProcess } from './process.ts'
import { committedRecords } from './read-log.ts'
import { scheduler as newScheduler } from './scheduler.ts'
import { openTransport } from './slot.ts'

const ADD_PARTITIONS = 24
const END_TXN = 26
const TOPIC = 'records'
const DEADLINE_MS = 60_000

test('an EndTxn that a broker carries out late does not end the next transaction', async () => {
  const scheduler = newScheduler(1)
  let late: (() => void) | undefined
  let endings = 0
  const handle: Handle = (request, broker, cluster) => {
    if (request.apiKey === END_TXN && ++endings === 1) {
      // The connection breaks while the request waits in the broker.
      late = () => handleRequest(request, broker, cluster)
      net.cut(() => true)
      return
    }
    handleRequest(request, broker, cluster)
    if (request.apiKey === ADD_PARTITIONS && endings === 2) late?.()
  }
  const net = network(scheduler, (host) => find(host))
  const { cluster, find } = simulatedCluster(scheduler, 1, handle, () => net)
  cluster.createTopic(TOPIC, 1, new Map())
  const transport = openTransport(simulatedProcess('producer', scheduler), { network: net, cluster })

  async function commit(producer: WorkerProducer, text: string): Promise<void> {
    const value = Buffer.from(text)
    producer.appender(TOPIC, 0).append(0, null, 0, 0, value, 0, value.length)
    await producer.commit(new Map(), undefined)
  }

  async function commitTwice(): Promise<void> {
    await transport.connect()
    const producer = transport.producer({ transactionalId: 'late' })
    await producer.init()
    await commit(producer, 'first')
    await commit(producer, 'second')
  }

  let result = 'unfinished'
  commitTwice().then(
    () => {
      result = 'committed'
    },
    (error) => {
      result = String(error)
    },
  )
  await scheduler.run(DEADLINE_MS, () => result !== 'unfinished')
  await scheduler.run(scheduler.now() + 1_000, () => false)
  expect(endings).toBeGreaterThan(1)
  expect(result).toBe('committed')
  expect(
    committedRecords(cluster, TOPIC)
      .flat()
      .map(({ value }) => value),
  ).toEqual(['first', 'second'])
})
