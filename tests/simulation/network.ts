import { type Connection, type ConnectionOptions, Reader, type Writer } from '../../kafka/client/protocol.ts'
import type { Actor, Scheduler } from './scheduler.ts'

/** Range of the times that most messages take, ms. Occasionally, a message takes far longer. */
const LATENCY_MS = [0.05, 1.5] as const
const SLOW_LATENCY_MS = [5, 60] as const
const SHARE_SLOW = 0.01
const DEFAULT_REQUEST_TIMEOUT_MS = 30_000
const DEFAULT_IN_FLIGHT = 5

type Callback = (error: Error | null, response?: unknown) => void
type Parser = (correlationId: number, apiKey: number, apiVersion: number, reader: Reader) => unknown

/** The interface of a broker for its connections. */
export interface Endpoint {
  readonly actor: Actor
  isUp(): boolean
  /** A number that changes whenever the broker is started. Requests sent before the last start are lost. */
  readonly generation: number
  /** Answers a request, now or later. Answers on a connection are sent in the order of the requests. */
  handle(request: ClientRequest): void
}

export interface ClientRequest {
  readonly apiKey: number
  readonly apiVersion: number
  readonly body: Reader
  readonly clientId: string
  /** Becomes false when the connection is closed. */
  isOpen(): boolean
  reply(answer: Writer): void
}

interface Pending {
  readonly apiKey: number
  readonly apiVersion: number
  readonly payload: Buffer
  readonly parser: Parser
  readonly callback: Callback
  cancelTimeout: () => void
}

/** All connections between processes and brokers. */
export interface Network {
  connection(client: Actor, clientId: string, options: ConnectionOptions): Connection
  /**
   * Cuts the connections for which `wanted` returns true. Both ends notice this. The broker still carries out the
   * requests that the client has already sent.
   */
  cut(wanted: (client: Actor, endpoint: Endpoint) => boolean): void
  /**
   * From now until the given time, holds back the messages that the process and the broker send to each other. Neither
   * of them notices this.
   */
  partition(client: Actor, endpoint: Endpoint, until: number): void
}

export function network(scheduler: Scheduler, find: (host: string, port: number) => Endpoint | undefined): Network {
  const open = new Set<SimulatedConnection>()
  const silent: { client: Actor; endpoint: Endpoint; until: number }[] = []

  function latency(client: Actor, endpoint: Endpoint): number {
    const { random, between } = scheduler.chance(`${client.name} to ${endpoint.actor.name}`)
    return random() < SHARE_SLOW ? between(...SLOW_LATENCY_MS) : between(...LATENCY_MS)
  }

  /**
   * Returns when a message that is sent now will arrive. Messages that are sent during a network partition arrive after
   * the partition, because TCP resends lost messages.
   */
  function arrival(client: Actor, endpoint: Endpoint, after: number): number {
    let at = Math.max(after, scheduler.now() + latency(client, endpoint))
    for (const each of silent)
      if (each.client === client && each.endpoint === endpoint && each.until > at) at = each.until + latency(client, endpoint)
    return at
  }

  const ends: Ends = { scheduler, find, open, arrival }
  return {
    connection: (client, clientId, options) => new SimulatedConnection(ends, client, clientId, options) as unknown as Connection,
    cut(wanted) {
      for (const each of [...open]) if (each.endpoint !== undefined && wanted(each.client, each.endpoint)) each.cut()
    },
    partition(client, endpoint, until) {
      silent.push({ client, endpoint, until })
    },
  }
}

interface Ends {
  readonly scheduler: Scheduler
  readonly find: (host: string, port: number) => Endpoint | undefined
  readonly open: Set<SimulatedConnection>
  arrival(client: Actor, endpoint: Endpoint, after: number): number
}

/** Implements the parts of the protocol package's `Connection` that the client uses. */
class SimulatedConnection {
  readonly client: Actor
  endpoint: Endpoint | undefined
  host: string | undefined
  port: number | undefined
  status = 'none'
  readonly #ends: Ends
  readonly #clientId: string
  readonly #options: ConnectionOptions
  readonly #onClose: (() => void)[] = []
  /** Sent requests whose answers have not arrived yet. */
  readonly #inFlight: Pending[] = []
  /** Requests that are not sent yet, because too many are in flight. */
  readonly #waiting: Pending[] = []
  /** Requests that the broker has received. The broker handles them one at a time. */
  readonly #received: Pending[] = []
  #generation = 0
  #lastToBroker = 0
  #lastToClient = 0

  constructor(ends: Ends, client: Actor, clientId: string, options: ConnectionOptions) {
    this.#ends = ends
    this.client = client
    this.#clientId = clientId
    this.#options = options
  }

  on(_event: string, _listener: () => void): void {}

  once(event: string, listener: () => void): void {
    if (event === 'close') this.#onClose.push(listener)
  }

  connect(host: string, port: number): Promise<void> {
    const { scheduler, find, open, arrival } = this.#ends
    this.host = host
    this.port = port
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const endpoint = find(host, port)
    if (endpoint === undefined) return Promise.reject(new Error(`unknown host ${host}`))
    const at = arrival(this.client, endpoint, 0)
    const timeout = this.#options.connectTimeout ?? DEFAULT_REQUEST_TIMEOUT_MS
    if (at - scheduler.now() > timeout) {
      scheduler.after(timeout, this.client, `connecting to ${endpoint.actor.name} timed out`, () => reject(new Error('timed out')))
      return promise
    }
    scheduler.after(at - scheduler.now(), this.client, `connects to ${endpoint.actor.name}`, () => {
      if (!endpoint.isUp()) return reject(new Error('connection refused'))
      this.endpoint = endpoint
      this.#generation = endpoint.generation
      this.status = 'connected'
      open.add(this)
      resolve()
    })
    return promise
  }

  isConnected(): boolean {
    return this.status === 'connected'
  }

  async ready(): Promise<void> {}

  async close(): Promise<void> {
    this.#end('closed by the client')
  }

  cut(): void {
    const { scheduler } = this.#ends
    scheduler.note(`${this.client.name} loses ${this.endpoint?.actor.name}`)
    this.#end('the connection was reset')
  }

  send(
    apiKey: number,
    apiVersion: number,
    createPayload: () => Writer,
    parser: Parser,
    _requestTags: boolean,
    _responseTags: boolean,
    callback: Callback,
  ): void {
    if (!this.isConnected()) {
      callback(new Error('the connection is closed'))
      return
    }
    this.#waiting.push({ apiKey, apiVersion, payload: createPayload().buffer, parser, callback, cancelTimeout: () => {} })
    this.#fill()
  }

  #fill(): void {
    const { scheduler } = this.#ends
    while (this.#waiting.length > 0 && this.#inFlight.length < (this.#options.maxInflights ?? DEFAULT_IN_FLIGHT)) {
      const pending = this.#waiting.shift() as Pending
      this.#inFlight.push(pending)
      const timeout = this.#options.requestTimeout ?? DEFAULT_REQUEST_TIMEOUT_MS
      pending.cancelTimeout = scheduler.after(timeout, this.client, `request ${pending.apiKey} timed out`, () => this.#end('timed out'))
      this.#deliver(pending)
    }
  }

  #deliver(pending: Pending): void {
    const { scheduler, arrival } = this.#ends
    const endpoint = this.endpoint as Endpoint
    this.#lastToBroker = arrival(this.client, endpoint, this.#lastToBroker)
    scheduler.after(this.#lastToBroker - scheduler.now(), endpoint.actor, `gets ${pending.apiKey} from ${this.client.name}`, () => {
      if (!endpoint.isUp() || endpoint.generation !== this.#generation) return
      this.#received.push(pending)
      if (this.#received.length === 1) this.#serve(pending)
    })
  }

  #serve(pending: Pending): void {
    const endpoint = this.endpoint as Endpoint
    endpoint.handle({
      apiKey: pending.apiKey,
      apiVersion: pending.apiVersion,
      body: Reader.from(pending.payload),
      clientId: this.#clientId,
      isOpen: () => this.isConnected(),
      reply: (answer) => this.#reply(pending, answer),
    })
  }

  #reply(pending: Pending, answer: Writer): void {
    const { scheduler } = this.#ends
    const endpoint = this.endpoint as Endpoint
    // A broker that hangs sends its answers when it continues.
    if (endpoint.actor.stalledUntil > scheduler.now())
      return void scheduler.after(0, endpoint.actor, `answers ${pending.apiKey} late`, () => this.#reply(pending, answer))
    if (endpoint.isUp() && endpoint.generation === this.#generation) this.#answer(pending, answer.buffer)
    this.#received.shift()
    if (this.#received.length > 0) this.#serve(this.#received[0])
  }

  #answer(pending: Pending, bytes: Buffer): void {
    const { scheduler, arrival } = this.#ends
    const endpoint = this.endpoint as Endpoint
    this.#lastToClient = arrival(this.client, endpoint, this.#lastToClient)
    scheduler.after(this.#lastToClient - scheduler.now(), this.client, `answer ${pending.apiKey} of ${bytes.length} bytes`, () => {
      const at = this.#inFlight.indexOf(pending)
      if (at < 0) return
      this.#inFlight.splice(at, 1)
      pending.cancelTimeout()
      settle(pending, bytes)
      this.#fill()
    })
  }

  #end(reason: string): void {
    if (this.status === 'closed') return
    this.status = 'closed'
    this.#ends.open.delete(this)
    // A dead process is not notified.
    if (!this.client.alive) return
    for (const { callback, cancelTimeout } of [...this.#inFlight.splice(0), ...this.#waiting.splice(0)]) {
      cancelTimeout()
      callback(new Error(reason))
    }
    for (const listener of this.#onClose.splice(0)) listener()
  }
}

function settle({ parser, apiKey, apiVersion, callback }: Pending, bytes: Buffer): void {
  let response: unknown
  try {
    response = parser(0, apiKey, apiVersion, Reader.from(bytes))
  } catch (error) {
    callback(error as Error)
    return
  }
  callback(null, response)
}
