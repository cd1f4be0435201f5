import type { SimulatedBroker } from './broker.ts'
import type { Cluster } from './cluster.ts'
import { Refused } from './errors.ts'
import type { Identity, Transaction } from './transactions.ts'

/** Range of the times that a message between two brokers takes, ms. */
const MESSAGE_MS = [0.05, 1.5] as const
/** Range of the pauses between a leader's retries while the coordinator is ending the previous transaction, ms. */
const RETRY_MS = [1, 20] as const
/** How long a leader retries before it reports the error to the producer, ms. */
const PATIENCE_MS = 100

/**
 * A request to add a partition or group to a transaction, or to check that it was added. The leader of the partition or
 * the coordinator of the group sends this request when it receives the first records or offsets of the transaction.
 */
export interface Joining {
  readonly id: string
  readonly producer: Identity
  readonly what: string
  /**
   * True if this request adds the partition or group to the transaction. False if the request only checks that the
   * producer has added it.
   */
  readonly adds: boolean
  /**
   * Notes that the partition or group is waiting for the coordinator's answer. Must be called before the request is
   * sent.
   */
  expect(): void
  isPart(open: Transaction): boolean
  add(): void
}

/**
 * Asks the transaction coordinator, on behalf of a leader, to add a partition or group to a transaction, or to check
 * whether it was added (KIP-890). If the leader dies in the meantime, `done` is not called, but the coordinator may
 * still add the partition or group.
 * @param leader the leader of the partition, or the coordinator of the group
 * @param done is called with the name of the error, if any
 */
export function join(cluster: Cluster, leader: SimulatedBroker, joining: Joining, done: (error: string | undefined) => void): void {
  const { scheduler, transactions } = cluster
  const { generation } = leader
  const { id, producer, what, adds, expect, isPart, add } = joining
  const startedAt = scheduler.now()
  ask()

  function ask(): void {
    expect()
    const coordinator = cluster.coordinator('transaction', id)
    if (coordinator === undefined) {
      later(leader, 'finds no coordinator', () => done('COORDINATOR_NOT_AVAILABLE'))
      return
    }
    later(coordinator, `is asked ${adds ? 'to add' : 'about'} ${what}`, () => {
      const error = errorFrom(() => {
        cluster.checkCoordinator('transaction', id, coordinator)
        if (adds) add()
        else transactions.verify(id, producer, isPart)
      })
      later(leader, `learns ${error ?? 'success'} for ${what}`, () => answered(error))
    })
  }

  function answered(error: string | undefined): void {
    if (!leader.isUp() || leader.generation !== generation) return
    if (error === 'CONCURRENT_TRANSACTIONS' && scheduler.now() - startedAt < PATIENCE_MS) {
      scheduler.after(scheduler.between(...RETRY_MS), leader.actor, `asks again about ${what}`, ask)
    } else done(error === 'PRODUCER_FENCED' ? 'INVALID_PRODUCER_EPOCH' : error)
  }

  function later(broker: SimulatedBroker, label: string, action: () => void): void {
    scheduler.after(scheduler.between(...MESSAGE_MS), broker.actor, label, action)
  }
}

function errorFrom(step: () => void): string | undefined {
  try {
    step()
    return undefined
  } catch (error) {
    if (error instanceof Refused) return error.message
    throw error
  }
}
