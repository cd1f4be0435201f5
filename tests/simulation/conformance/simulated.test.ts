import { expect, test } from 'vitest'
import { simulatedCluster } from '../cluster/cluster.ts'
import { handleRequest } from '../cluster/requests.ts'
import { type Network, network as newNetwork } from '../network.ts'
import { simulatedProcess } from '../process.ts'
import { scheduler as newScheduler } from '../scheduler.ts'
import { CASES } from './cases.ts'
import { Wire } from './wire.ts'

/**
 * Number of seeds. Each seed has different latencies, so the markers of a transaction are written at different times.
 */
const SEEDS = 10
const DEADLINE_MS = 120_000

test.each(CASES)('simulated brokers: $name', async ({ run, answers }) => {
  for (let seed = 1; seed <= SEEDS; seed++) {
    const scheduler = newScheduler(seed)
    const network: Network = newNetwork(scheduler, (host) => find(host))
    const { cluster, find } = simulatedCluster(scheduler, 1, handleRequest, () => network)
    const { actor, runtime } = simulatedProcess('wire', scheduler)
    let names = 0
    let given: unknown

    async function talk(): Promise<unknown[]> {
      const [{ host, port }] = cluster.brokers
      const connection = network.connection(actor, 'conformance', {})
      await connection.connect(host, port)
      return run(new Wire(connection, runtime, (prefix) => `${prefix}-${++names}`))
    }

    talk().then(
      (all) => {
        given = all
      },
      (error) => {
        given = error
      },
    )
    await scheduler.run(DEADLINE_MS, () => given !== undefined)
    expect({ seed, answers: given }).toEqual({ seed, answers })
  }
})
