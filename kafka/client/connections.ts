import { isIP } from 'node:net'
import { TransportError } from '../transport.ts'
import { Disconnected } from './errors.ts'
import type { Context } from './options.ts'
import {
  type API,
  AuthenticationError,
  Connection,
  type ConnectionOptions,
  ConnectionStatuses,
  findErrorBy,
  ResponseError,
} from './protocol.ts'

export interface Broker {
  readonly host: string
  readonly port: number
}

/**
 * The connections of one client component (such as a fetch slot, a producer or a group member), one per broker. A
 * broker answers the requests of a connection in order, so slow requests (fetch, acks=all) must not share a connection
 * with urgent requests.
 */
export interface Connections {
  get(broker: Broker): Promise<Connection>
  /** Returns the connection if it is already open, so that a request can be sent in the same turn of the event loop. */
  established(broker: Broker): Connection | undefined
  /**
   * Closes the connection to one broker, so that its unanswered requests fail. The next `get` opens a new connection.
   */
  drop(broker: Broker): void
  close(): Promise<void>
}

/**
 * Maximum number of unanswered requests per connection. Further requests wait in this process. With more than five,
 * idempotent produce requests could get out of order.
 */
const MAX_IN_FLIGHT = 5

export function openConnections({ options, newConnection = systemConnection }: Pick<Context, 'options' | 'newConnection'>): Connections {
  const open = new Map<string, Promise<Connection>>()
  const live = new Map<string, Connection>()
  let closed = false

  async function connect(key: string, broker: Broker): Promise<Connection> {
    const connection = newConnection(options.clientId, {
      connectTimeout: options.connectTimeoutMs,
      requestTimeout: options.requestTimeoutMs,
      maxInflights: MAX_IN_FLIGHT,
      tls: options.tls,
      // TLS does not allow an IP address as a server name, so no server name is sent to a broker with an IP address.
      tlsServerName: options.tls === undefined || isIP(broker.host) ? undefined : broker.host,
      sasl: options.sasl,
    })
    const forget = () => {
      if (open.get(key) === opening) open.delete(key)
      if (live.get(key) === connection) live.delete(key)
    }
    // This listener must not be removed, because an error event without a listener would end the process.
    connection.on('error', forget)
    connection.once('close', forget)
    const opening = open.get(key)
    try {
      await connection.connect(broker.host, broker.port)
      live.set(key, connection)
      return connection
    } catch (error) {
      // If `drop` was called in the meantime, `open` may already contain a later connection. `forget` keeps that one.
      forget()
      throw connectError(broker, error)
    }
  }

  function throwIfClosed(): void {
    if (closed) throw new TransportError('CLOSED', 'the transport was closed', { fatal: false })
  }

  async function get(broker: Broker): Promise<Connection> {
    throwIfClosed()
    const key = keyOf(broker)
    const known = open.get(key)
    if (known !== undefined) {
      const connection = await known
      if (await isUsable(connection)) return connection
      if (open.get(key) === known) open.delete(key)
    }
    const current = open.get(key)
    if (current !== undefined) return current
    // Nothing would close a connection that is opened after `close`.
    throwIfClosed()
    const { promise, resolve } = Promise.withResolvers<Connection>()
    open.set(key, promise)
    resolve(connect(key, broker))
    return promise
  }

  /**
   * Returns whether requests can be sent. When the SASL session of a connection ends, the connection authenticates
   * again and soon becomes usable. A request that is sent in the meantime would close the connection.
   */
  async function isUsable(connection: Connection): Promise<boolean> {
    if (connection.isConnected()) return true
    if (connection.status !== ConnectionStatuses.REAUTHENTICATING) return false
    try {
      await connection.ready()
      return true
    } catch {
      return false
    }
  }

  function established(broker: Broker): Connection | undefined {
    const connection = live.get(keyOf(broker))
    return connection?.isConnected() ? connection : undefined
  }

  function drop(broker: Broker): void {
    const key = keyOf(broker)
    // A connection that failed to open need not be closed.
    open
      .get(key)
      ?.then((connection) => connection.close())
      .catch(() => {})
    live.delete(key)
    open.delete(key)
  }

  async function close(): Promise<void> {
    closed = true
    const closing = [...open.values()].map(async (opening) => {
      try {
        await (await opening).close()
      } catch {
        // The connection failed to open, so there is nothing to close.
      }
    })
    open.clear()
    live.clear()
    await Promise.all(closing)
  }

  return { get, established, drop, close }
}

function systemConnection(clientId: string, options: ConnectionOptions): Connection {
  return new Connection(clientId, options)
}

function keyOf({ host, port }: Broker): string {
  return `${host}:${port}`
}

function connectError(broker: Broker, error: unknown): Error {
  if (isAuthentication(error)) {
    return new TransportError(
      'SASL_AUTHENTICATION_FAILED',
      `${broker.host}:${broker.port} refused the credentials; check sasl.mechanism, and the username and password or the token`,
      {
        fatal: true,
        cause: error,
      },
    )
  }
  return new Disconnected(`cannot connect to ${broker.host}:${broker.port} (${rootMessage(error)})`, error)
}

/**
 * Returns the message of the innermost cause, such as a refused connection, a bad certificate or an unknown host name.
 */
function rootMessage(error: unknown): string {
  let deepest = error
  while (deepest instanceof Error && deepest.cause !== undefined) deepest = deepest.cause
  return deepest instanceof Error ? deepest.message : String(deepest)
}

function isAuthentication(error: unknown): boolean {
  for (let cause = error; cause instanceof Error; cause = cause.cause) {
    if (findErrorBy(cause, 'code', AuthenticationError.code)) return true
  }
  return false
}

/**
 * Sends one request. A response with error codes is returned, so that the caller can interpret the codes.
 * @throws Disconnected when there is no response
 */
export async function ask<Args extends unknown[], Response>(
  connection: Connection,
  api: API<Args, Response>,
  ...args: Args
): Promise<Response> {
  try {
    return await api.async(connection, ...args)
  } catch (error) {
    if (error instanceof ResponseError) return (error as ResponseError & { response: Response }).response
    throw new Disconnected(`no answer from ${connection.host}:${connection.port}`, error)
  }
}
