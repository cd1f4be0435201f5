import { expect, test } from 'vitest'
import { handleRequest } from './cluster/requests.ts'
import type { TransactionVersion } from './cluster/transactions.ts'
import { append, producerWorld, valuesIn } from './producer-world.ts'

const PRODUCE = 0
const END_TXN = 26

interface Late {
  readonly late: string
  readonly version: TransactionVersion
  /** API key of the request that a broker carries out twice. */
  readonly key: number
  /**
   * API key of a request in the next transaction. Just before this request, the broker carries out the late request,
   * which the client has already repeated.
   */
  readonly before: number
}

const CASES: readonly Late[] = [
  { late: 'an EndTxn', version: 1, key: END_TXN, before: PRODUCE },
  { late: 'an EndTxn', version: 2, key: END_TXN, before: END_TXN },
  { late: 'a Produce', version: 1, key: PRODUCE, before: END_TXN },
  { late: 'a Produce', version: 2, key: PRODUCE, before: END_TXN },
]

test.each(CASES)('version $version: $late request that a broker carries out late does not change the next transaction', async (late) => {
  const { version, key, before } = late
  let carryOut: (() => void) | undefined
  let commits = 0
  const { cluster, network, run } = producerWorld(version, (request, broker, cluster) => {
    if (request.apiKey === key && commits === 0 && carryOut === undefined) {
      // The connection is lost while the request waits in the broker.
      carryOut = () => handleRequest(request, broker, cluster)
      network.cut(() => true)
      return
    }
    if (request.apiKey === before && commits === 1) carryOut?.()
    handleRequest(request, broker, cluster)
  })
  await run(async (producer) => {
    for (const text of ['first', 'second']) {
      append(producer, text)
      await producer.commit(new Map(), undefined)
      commits++
    }
  })
  expect(carryOut).toBeDefined()
  expect(valuesIn(cluster)).toEqual(['first', 'second'])
})
