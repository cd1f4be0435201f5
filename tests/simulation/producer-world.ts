import type { Transport, WorkerProducer } from '../../kafka/transport.ts'
import { type Cluster, type ClusterFaults, type Handle, simulatedCluster } from './cluster/cluster.ts'
import { handleRequest } from './cluster/requests.ts'
import type { TransactionVersion } from './cluster/transactions.ts'
import { type Network, network as newNetwork } from './network.ts'
import { simulatedProcess } from './process.ts'
import { committedRecords } from './read-log.ts'
import { scheduler as newScheduler } from './scheduler.ts'
import { openTransport } from './slot.ts'

export const TOPIC = 'records'
const DEADLINE_MS = 600_000
/** How long a run continues after its steps, so that late requests and markers arrive. */
const CALM_MS = 1_000

/** One or more brokers with a topic of one partition, and a single producer. For tests of one particular schedule. */
export interface ProducerWorld {
  readonly cluster: Cluster
  readonly faults: ClusterFaults
  readonly network: Network
  /** Returns the simulated time, ms. */
  now(): number
  /** Opens another client in a separate process. */
  open(name: string): Transport
  /**
   * Runs the steps with an initialised producer.
   * @throws the error of a step, or an Error if the steps take too long
   */
  run(steps: Steps): Promise<void>
}

type Steps = (producer: WorkerProducer, transport: Transport) => Promise<void>

export function producerWorld(version: TransactionVersion, handle: Handle = handleRequest, brokers = 1): ProducerWorld {
  const scheduler = newScheduler(1)
  const network = newNetwork(scheduler, (host) => find(host))
  const { cluster, faults, find } = simulatedCluster(scheduler, brokers, handle, () => network)
  cluster.transactions.version = version
  cluster.createTopic(TOPIC, 1, new Map())
  const open = (name: string) => openTransport(simulatedProcess(name, scheduler), { network, cluster })
  const transport = open('producer')

  async function run(steps: Steps): Promise<void> {
    let isOver = false
    const all = live(steps).finally(() => {
      isOver = true
    })
    // The error is rethrown below, after the scheduler has stopped.
    all.catch(() => {})
    if (!(await scheduler.run(DEADLINE_MS, () => isOver))) throw new Error(`the steps take more than ${DEADLINE_MS} ms`)
    await scheduler.run(scheduler.now() + CALM_MS, () => false)
    await all
  }

  async function live(steps: Steps): Promise<void> {
    await transport.connect()
    const producer = transport.producer({ transactionalId: 'single' })
    await producer.init()
    await steps(producer, transport)
  }

  return { cluster, faults, network, now: scheduler.now, open, run }
}

export function append(producer: WorkerProducer, text: string): void {
  const value = Buffer.from(text)
  producer.appender(TOPIC, 0).append(0, null, 0, 0, value, 0, value.length)
}

export function valuesIn(cluster: Cluster): string[] {
  return committedRecords(cluster, TOPIC)
    .flat()
    .map(({ value }) => value)
}
