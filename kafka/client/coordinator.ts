import { type Cluster, type CoordinatorKind, REFUSALS_OF_OUTDATED } from './cluster.ts'
import { ask, type Broker, type Connections, openConnections } from './connections.ts'
import { Disconnected } from './errors.ts'
import type { Context } from './options.ts'
import type { API } from './protocol.ts'

/** Sends requests to the coordinator of one group or transactional id, on a separate connection. */
export interface Coordinator {
  /**
   * Sends a request.
   * @throws Disconnected when there is no answer; the next call looks up the coordinator again
   */
  send<Args extends unknown[], Response>(api: API<Args, Response>, ...args: Args): Promise<Response>
  /**
   * Must be called when the coordinator has moved or is loading its log. The next request looks up the coordinator
   * again.
   */
  forget(): void
  close(): Promise<void>
}

export function openCoordinator(context: Context, cluster: Cluster, kind: CoordinatorKind, key: string): Coordinator {
  const connections: Connections = openConnections(context)
  const closing = new AbortController()
  let broker: Broker | undefined
  let finding: Promise<Broker> | undefined
  /**
   * How many times in succession the broker that was looked up has not answered, or has answered that it is not the
   * coordinator or cannot act as one yet.
   */
  let refusals = 0

  async function find(): Promise<Broker> {
    try {
      return await cluster.findCoordinator(kind, key, closing.signal)
    } finally {
      finding = undefined
    }
  }

  async function send<Args extends unknown[], Response>(api: API<Args, Response>, ...args: Args): Promise<Response> {
    try {
      if (broker === undefined) {
        finding ??= find()
        broker = await finding
      } else refusals = 0
      const connection = connections.established(broker) ?? (await connections.get(broker))
      return await ask(connection, api, ...args)
    } catch (error) {
      if (error instanceof Disconnected) forget()
      throw error
    }
  }

  function forget(): void {
    broker = undefined
    if (++refusals >= REFUSALS_OF_OUTDATED) cluster.distrust()
  }

  async function close(): Promise<void> {
    closing.abort()
    await connections.close()
  }

  return { send, forget, close }
}
