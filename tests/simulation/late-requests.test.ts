import { expect, test } from 'vitest'
import type { WorkerProducer } from '../../kafka/transport.ts'
import { type Handle, simulatedCluster } from './cluster/cluster.ts'
import { handleRequest } from './cluster/requests.ts'
import type { TransactionVersion } from './cluster/transactions.ts'
import { network } from './network.ts'
import { simulatedProcess } from './process.ts'
import { committedRecords } from './read-log.ts'
import { scheduler as newScheduler } from './scheduler.ts'
import { openTransport } from './slot.ts'

const PRODUCE = 0
const END_TXN = 26
const TOPIC = 'records'
const DEADLINE_MS = 60_000

interface Late {
  readonly late: string
  readonly version: TransactionVersion
  /** The request that a broker carries out twice. */
  readonly key: number
  /** The request of the next transaction before which it does so again. */
  readonly before: number
}

const CASES: readonly Late[] = [
  { late: 'an EndTxn', version: 1, key: END_TXN, before: PRODUCE },
  { late: 'an EndTxn', version: 2, key: END_TXN, before: END_TXN },
  { late: 'a Produce', version: 1, key: PRODUCE, before: END_TXN },
  { late: 'a Produce', version: 2, key: PRODUCE, before: END_TXN },
]

test.each(CASES)('version $version: $late that a broker carries out late does not change the next transaction', async (late) => {
  const { version, key, before } = late
  const scheduler = newScheduler(1)
  let carryOut: (() => void) | undefined
  let commits = 0
  const handle: Handle = (request, broker, cluster) => {
    if (request.apiKey === key && commits === 0 && carryOut === undefined) {
      // The connection breaks while the request waits in the broker.
      carryOut = () => handleRequest(request, broker, cluster)
      net.cut(() => true)
      return
    }
    if (request.apiKey === before && commits === 1) carryOut?.()
    handleRequest(request, broker, cluster)
  }
  const net = network(scheduler, (host) => find(host))
  const { cluster, find } = simulatedCluster(scheduler, 1, handle, () => net)
  cluster.transactions.version = version
  cluster.createTopic(TOPIC, 1, new Map())
  const transport = openTransport(simulatedProcess('producer', scheduler), { network: net, cluster })

  async function commit(producer: WorkerProducer, text: string): Promise<void> {
    const value = Buffer.from(text)
    producer.appender(TOPIC, 0).append(0, null, 0, 0, value, 0, value.length)
    await producer.commit(new Map(), undefined)
    commits++
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
  expect(carryOut).toBeDefined()
  expect(result).toBe('committed')
  expect(
    committedRecords(cluster, TOPIC)
      .flat()
      .map(({ value }) => value),
  ).toEqual(['first', 'second'])
})
