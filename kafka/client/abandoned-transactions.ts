import type { Cluster } from './cluster.ts'
import { ask, type Broker } from './connections.ts'
import { errorName } from './errors.ts'
import type { Context } from './options.ts'
import { describeTransactionsV0, initProducerIdV4, listTransactionsV1 } from './protocol.ts'

const ANY_DURATION = -1n
/**
 * Only version 2 and later of ListTransactions can filter transactional ids by a pattern, so this request contains no
 * pattern.
 */
const NO_PATTERN = null

/** An open transaction as its coordinator describes it. */
interface OpenTransaction {
  readonly coordinator: Broker
  readonly transactionalId: string
  readonly producerId: bigint
  readonly producerEpoch: number
  readonly timeoutMs: number
}

/**
 * See `Transport.endTransactions`. This function does not retry. If it could not end a transaction, for example because
 * a broker did not answer, the transaction stays open until the caller tries again or the transaction times out.
 */
export async function endAbandonedTransactions(
  { runtime: { log } }: Pick<Context, 'runtime'>,
  cluster: Pick<Cluster, 'brokers' | 'connectionTo'>,
  prefix: string,
  abandoned: (ids: readonly string[]) => Promise<readonly string[]>,
): Promise<string[]> {
  async function openAt(coordinator: Broker): Promise<OpenTransaction[]> {
    const connection = await cluster.connectionTo(coordinator)
    const listed = await ask(connection, listTransactionsV1.api, ['Ongoing'], [], ANY_DURATION, NO_PATTERN)
    const ids = listed.transactionStates.map(({ transactionalId }) => transactionalId).filter((id) => id.startsWith(prefix))
    return describe(coordinator, ids)
  }

  async function describe(coordinator: Broker, ids: readonly string[]): Promise<OpenTransaction[]> {
    if (ids.length === 0) return []
    const connection = await cluster.connectionTo(coordinator)
    const { transactionStates } = await ask(connection, describeTransactionsV0.api, [...ids])
    return transactionStates
      .filter(({ errorCode, transactionState }) => errorCode === 0 && transactionState === 'Ongoing')
      .map(({ transactionalId, producerId, producerEpoch, transactionTimeoutMs: timeoutMs }) => {
        return { coordinator, transactionalId, producerId, producerEpoch, timeoutMs }
      })
  }

  /**
   * Aborts a transaction by sending InitProducerId for its transactional id. If the transaction is still open, the
   * coordinator begins the abort and answers CONCURRENT_TRANSACTIONS.
   */
  async function end({ coordinator, transactionalId, producerId, producerEpoch, timeoutMs }: OpenTransaction): Promise<string[]> {
    // Another worker may have ended the transaction since it was listed. A second InitProducerId would then only raise
    // the epoch, and the owner of the id would conclude that another process uses the same id.
    const [still] = await describe(coordinator, [transactionalId])
    if (still?.producerId !== producerId || still.producerEpoch !== producerEpoch) return []
    const connection = await cluster.connectionTo(coordinator)
    const { errorCode } = await ask(connection, initProducerIdV4.api, transactionalId, timeoutMs, producerId, producerEpoch)
    const reason = errorName(errorCode)
    const isEnding = reason === 'CONCURRENT_TRANSACTIONS'
    log.info({ transactionalId, reason }, isEnding ? 'kafka_abandoned_transaction_ended' : 'kafka_abandoned_transaction_not_ended')
    return isEnding ? [transactionalId] : []
  }

  async function each<Item, Result>(items: readonly Item[], step: (item: Item) => Promise<Result[]>): Promise<Result[]> {
    const settled = await Promise.allSettled(items.map(step))
    for (const { status, reason } of settled as PromiseRejectedResult[])
      if (status === 'rejected') log.debug({ err: reason }, 'kafka_abandoned_transactions_not_known')
    return settled.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
  }

  async function endAt(coordinator: Broker): Promise<string[]> {
    const open = await openAt(coordinator)
    if (open.length === 0) return []
    const gone = new Set(await abandoned(open.map(({ transactionalId }) => transactionalId)))
    return each(
      open.filter(({ transactionalId }) => gone.has(transactionalId)),
      end,
    )
  }

  // All brokers get the request at the same time. A broker that hangs therefore does not delay the end of transactions
  // that other brokers coordinate.
  return each(cluster.brokers(), endAt)
}
