import type { AddressInfo } from 'node:net'
import { createServer, connect as dial, type Server, type Socket } from 'node:net'

/**
 * API keys of the requests that tests count or interfere with, and of the requests in whose responses the proxy
 * replaces the addresses of brokers.
 */
const API = {
  produce: 0,
  fetch: 1,
  metadata: 3,
  findCoordinator: 10,
  apiVersions: 18,
  initProducerId: 22,
  addPartitionsToTxn: 24,
  addOffsetsToTxn: 25,
  endTxn: 26,
  txnOffsetCommit: 28,
  describeTransactions: 65,
  consumerGroupHeartbeat: 68,
} as const
export type ApiName = keyof typeof API

/**
 * A fault that the proxy causes in exchanges, each of which is a request and its response. `edit` gets and returns the
 * response without its 4-byte length.
 */
export interface Interference {
  readonly api: ApiName
  /** The number of exchanges to affect. Default 1. */
  readonly times?: number
  /** The number of exchanges to let pass first. Default 0. */
  readonly after?: number
  /**
   * `lose-request`: the broker never receives the request. `lose-response`: the broker processes the request, but the
   * client receives no response. `cut`: like `lose-response`, and the proxy closes the connection. `edit`: the function
   * `edit` changes the response.
   */
  readonly action: 'lose-request' | 'lose-response' | 'cut' | 'edit'
  readonly edit?: (response: Buffer) => Buffer
}

export interface BrokerProxy {
  /** Address at which clients reach the first broker. */
  readonly address: string
  /** Addresses at which clients reach the brokers, in the given order. */
  readonly addresses: readonly string[]
  /** Returns all requests of one kind so far, oldest first. Their 4-byte lengths are removed. */
  requests(api: ApiName): Buffer[]
  interfere(interference: Interference): void
  /** Cancels all faults that were planned with `interfere`. */
  heal(): void
  /** Closes all connections. New connections are still accepted. */
  cutAll(): void
  /**
   * Simulates a network outage: until `thaw` is called, nothing passes in either direction, and connections stay open.
   */
  freeze(): void
  thaw(): void
  /** Delays all messages in both directions from now on, without changing their order. 0 ends the delay. */
  delay(ms: number): void
  close(): Promise<void>
}

const LENGTH_BYTES = 4
const LOOPBACK = '127.0.0.1'
const BROKER_NAME = Buffer.concat([Buffer.from([LOOPBACK.length + 1]), Buffer.from(LOOPBACK)])

/**
 * Starts a proxy in front of real brokers, so that a test can drop or change single messages. In responses, the proxy
 * replaces the brokers' addresses with its own, so that clients cannot bypass it.
 * @param brokers address of the broker, or of all brokers of a cluster
 * @param options.remember false to record no requests, for traffic that would fill the memory
 */
export async function brokerProxy(brokers: string | readonly string[], { remember = true } = {}): Promise<BrokerProxy> {
  /** The proxy's port for each broker's port. */
  const ports = new Map<number, number>()
  const seen: { api: number; request: Buffer }[] = []
  const planned: { left: number; skip: number; interference: Interference }[] = []
  const sockets = new Set<Socket>()
  let frozen = false
  let timer: NodeJS.Timeout | undefined
  /** Messages in transit, in order, with the times at which they arrive. */
  const underWay: { readonly at: number; readonly pass: () => void }[] = []
  let delayMs = 0

  function whenThawed(pass: () => void): void {
    if (delayMs === 0 && !frozen && underWay.length === 0) {
      pass()
      return
    }
    underWay.push({ at: performance.now() + delayMs, pass })
    arriveLater()
  }

  /**
   * Starts a timer for the first message, unless a timer is already running. A later message may have a shorter delay,
   * but must not overtake the first message.
   */
  function arriveLater(): void {
    if (frozen || timer !== undefined || underWay.length === 0) return
    timer = setTimeout(arrive, Math.max(0, underWay[0].at - performance.now()))
  }

  function arrive(): void {
    timer = undefined
    const now = performance.now()
    while (!frozen && underWay.length > 0 && underWay[0].at <= now) underWay.shift()?.pass()
    arriveLater()
  }

  function plan(api: number): Interference | undefined {
    const entry = planned.find(({ left, interference }) => left > 0 && API[interference.api] === api)
    if (entry === undefined) return undefined
    if (entry.skip-- > 0) return undefined
    entry.left--
    return entry.interference
  }

  function serve(client: Socket, brokerPort: number): void {
    const upstream = dial(brokerPort, LOOPBACK)
    const waiting = new Map<number, { api: number; interference: Interference | undefined }>()
    for (const socket of [client, upstream]) {
      sockets.add(socket)
      socket.setNoDelay(true)
      socket.on('error', () => {})
      socket.on('close', () => sockets.delete(socket))
    }
    upstream.on('close', () => client.destroy())
    // Data that the client sent before it closed the connection still arrives, as in a real network.
    client.on('close', () => whenThawed(() => upstream.end()))
    client.on(
      'data',
      frames((request) => {
        const api = request.readInt16BE(0)
        if (remember) seen.push({ api, request })
        const interference = plan(api)
        if (interference?.action === 'lose-request') return
        waiting.set(request.readInt32BE(4), { api, interference })
        whenThawed(() => upstream.write(framed(request)))
      }),
    )
    upstream.on(
      'data',
      frames((response) => {
        const exchange = waiting.get(response.readInt32BE(0))
        waiting.delete(response.readInt32BE(0))
        const interference = exchange?.interference
        if (interference?.action === 'lose-response') return
        if (interference?.action === 'cut') {
          client.destroy()
          return
        }
        let answer = response
        if (exchange?.api === API.metadata || exchange?.api === API.findCoordinator) answer = readdressed(answer)
        if (interference?.action === 'edit') answer = (interference.edit as (response: Buffer) => Buffer)(answer)
        whenThawed(() => client.write(framed(answer)))
      }),
    )
  }

  const servers: Server[] = []
  for (const broker of [brokers].flat()) {
    const brokerPort = Number(broker.slice(broker.lastIndexOf(':') + 1))
    const server = createServer((client) => serve(client, brokerPort))
    await new Promise<void>((resolve) => server.listen(0, LOOPBACK, resolve))
    ports.set(brokerPort, (server.address() as AddressInfo).port)
    servers.push(server)
  }
  const addresses = [...ports.values()].map((port) => `${LOOPBACK}:${port}`)

  function readdressed(response: Buffer): Buffer {
    const copy = Buffer.from(response)
    for (let at = copy.indexOf(BROKER_NAME); at >= 0; at = copy.indexOf(BROKER_NAME, at + 1)) {
      const portAt = at + BROKER_NAME.length
      const port = portAt + 4 <= copy.length ? ports.get(copy.readInt32BE(portAt)) : undefined
      if (port !== undefined) copy.writeInt32BE(port, portAt)
    }
    return copy
  }

  function cutAll(): void {
    for (const socket of sockets) socket.destroy()
  }

  return {
    address: addresses[0],
    addresses,
    requests: (name) => seen.filter(({ api }) => api === API[name]).map(({ request }) => request),
    interfere: (interference) => planned.push({ left: interference.times ?? 1, skip: interference.after ?? 0, interference }),
    heal: () => void planned.splice(0),
    cutAll,
    freeze: () => {
      frozen = true
    },
    thaw: () => {
      frozen = false
      arriveLater()
    },
    delay: (ms) => {
      delayMs = ms
    },
    close: async () => {
      clearTimeout(timer)
      cutAll()
      for (const server of servers) await new Promise((resolve) => server.close(resolve))
    },
  }
}

function framed(message: Buffer): Buffer {
  const frame = Buffer.allocUnsafe(LENGTH_BYTES + message.length)
  frame.writeInt32BE(message.length, 0)
  message.copy(frame, LENGTH_BYTES)
  return frame
}

function frames(each: (message: Buffer) => void): (chunk: Buffer) => void {
  let rest: Buffer = Buffer.alloc(0)
  let later: Buffer[] = []
  let size = 0
  return (chunk) => {
    later.push(chunk)
    size += chunk.length
    // Joins the parts of a message only when the message is complete. Joining the parts at each chunk would copy a
    // large message many times.
    if (rest.length >= LENGTH_BYTES && size < LENGTH_BYTES + rest.readInt32BE(0)) return
    rest = Buffer.concat([rest, ...later])
    later = []
    while (rest.length >= LENGTH_BYTES && rest.length >= LENGTH_BYTES + rest.readInt32BE(0)) {
      const end = LENGTH_BYTES + rest.readInt32BE(0)
      const message = Buffer.from(rest.subarray(LENGTH_BYTES, end))
      rest = rest.subarray(end)
      each(message)
    }
    size = rest.length
  }
}
