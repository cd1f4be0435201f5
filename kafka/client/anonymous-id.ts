import type { Cluster } from './cluster.ts'
import { ask } from './connections.ts'
import { classify, errorName, fatal, throwIfClosed } from './errors.ts'
import type { Context } from './options.ts'
import { initProducerIdV4 } from './protocol.ts'
import { backoff } from './retry.ts'
import type { ProducerId } from './transaction.ts'

const NO_TRANSACTION_TIMEOUT = -1

/**
 * Asks any broker for a new producer id. Idempotent producers without transactions need one.
 * @throws Disconnected when no broker answers; TransportError when the request is refused or `signal` fires
 */
export async function anonymousProducerId(context: Context, cluster: Cluster, signal: AbortSignal): Promise<ProducerId> {
  const retry = backoff(context)
  for (;;) {
    throwIfClosed(signal)
    const answer = await cluster.askAny((connection) => ask(connection, initProducerIdV4.api, null, NO_TRANSACTION_TIMEOUT))
    const name = errorName(answer.errorCode)
    if (name === 'NONE') return { producerId: Number(answer.producerId), producerEpoch: answer.producerEpoch }
    if (classify(name) === 'fatal') throw fatal(name, 'InitProducerId')
    // A broker that is cut off from the controller gets no new ids, so the next request goes to another broker.
    cluster.distrust()
    await retry.wait(signal)
  }
}
