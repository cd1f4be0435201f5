import { type ClientRequest, type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import type { Runtime } from '../../../../runtime/runtime.ts'
import { DELIVERED, type DeliveryOutcome } from './delivery.ts'

export interface HttpSenderOptions {
  /** An http or https address. */
  readonly url: URL
  /** Maximum number of connections. */
  readonly connections: number
  /**
   * Time limit of a request, including the wait for a free connection and the response.
   * @default 5 s
   */
  readonly timeoutMs?: number
}

export interface HttpMessage {
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** Sends messages to one address with POST. */
export interface HttpSender {
  /** Never rejects. */
  send(message: HttpMessage): Promise<DeliveryOutcome>
  /** Closes all connections. This aborts the requests that are using them. */
  close(): void
}

/**
 * Default timeout of a request. A receiver that needs longer should respond first and process the message later. With a
 * longer timeout, requests that hang would occupy their slots for longer, and other deliveries would have to wait.
 */
const TIMEOUT_MS = 5_000
/**
 * Maximum number of bytes that are read from a response body. The body is ignored, but the connection can be used again
 * only if the body is read to its end.
 */
const MAX_ANSWER_BYTES = 16_384
/** Maximum size of the response headers. */
const MAX_HEADER_BYTES = 16_384

/** Statuses below 500 after which another attempt may succeed: request timeout, too early, too many requests. */
const RETRIABLE = new Set([408, 425, 429])
const FIRST_SUCCESS = 200
const FIRST_REDIRECT = 300
const FIRST_SERVER_ERROR = 500
const MS_PER_SECOND = 1_000
/** Error codes of a request on an idle connection that the receiver has closed. */
const CLOSED_WHILE_IDLE = new Set(['ECONNRESET', 'EPIPE'])

export function httpSender(options: HttpSenderOptions, runtime: Pick<Runtime, 'setTimer' | 'now'>): HttpSender {
  const { url, connections, timeoutMs = TIMEOUT_MS } = options
  const isTls = url.protocol === 'https:'
  const agentOptions = { keepAlive: true, maxSockets: connections, maxFreeSockets: connections, scheduling: 'lifo' as const }
  const agent = isTls ? new TlsAgent(agentOptions) : new PlainAgent(agentOptions)
  let isClosed = false

  async function send(message: HttpMessage): Promise<DeliveryOutcome> {
    const first = await attempt(message).catch(unsendable)
    // The receiver may have closed the idle connection just before the request arrived. This does not mean that it
    // refuses the message, so the request is repeated once.
    return asOutcome(first === 'closed-while-idle' && !isClosed ? await attempt(message) : first)
  }

  function asOutcome(result: DeliveryOutcome | 'closed-while-idle'): DeliveryOutcome {
    return result === 'closed-while-idle' ? failed('ECONNRESET', 'the receiver closed the connection') : result
  }

  async function attempt({ headers, body }: HttpMessage): Promise<DeliveryOutcome | 'closed-while-idle'> {
    const { promise, resolve } = Promise.withResolvers<DeliveryOutcome | 'closed-while-idle'>()
    const bytes = Buffer.from(body)
    const request = (isTls ? tlsRequest : plainRequest)(url, {
      method: 'POST',
      agent,
      maxHeaderSize: MAX_HEADER_BYTES,
      headers: { ...headers, 'content-length': String(bytes.length) },
    })
    let answered: DeliveryOutcome | undefined
    const cancelTimer = runtime.setTimer(timeoutMs, () => {
      settle(answered ?? failed('timeout', `no answer within ${timeoutMs} ms`))
      request.destroy()
    })

    function settle(result: DeliveryOutcome | 'closed-while-idle'): void {
      cancelTimer()
      resolve(result)
    }

    request.on('response', (answer) => {
      answered = outcomeOf(answer, runtime.now())
      const outcome = answered
      drain(answer, request, () => settle(outcome))
    })
    request.on('error', (error: NodeJS.ErrnoException) => {
      const wasIdle = request.reusedSocket && answered === undefined && CLOSED_WHILE_IDLE.has(error.code ?? '')
      settle(wasIdle ? 'closed-while-idle' : (answered ?? failed(error.code ?? 'network', error.message)))
    })
    request.end(bytes)
    return await promise
  }

  return {
    send,
    close() {
      isClosed = true
      agent.destroy()
    },
  }
}

/** Reads a response to its end. If it is too long, closes the connection instead. */
function drain(answer: IncomingMessage, request: ClientRequest, ended: () => void): void {
  let bytes = 0
  answer.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > MAX_ANSWER_BYTES) request.destroy()
  })
  answer.on('error', ended)
  answer.on('close', ended)
}

/**
 * Classifies a response. Redirects are not followed, because they could lead to any address. They count as refusals.
 */
function outcomeOf({ statusCode = 0, headers }: IncomingMessage, now: number): DeliveryOutcome {
  if (statusCode >= FIRST_SUCCESS && statusCode < FIRST_REDIRECT) return DELIVERED
  const code = `http_${statusCode}`
  const message = `the receiver answered with status ${statusCode}`
  if (statusCode < FIRST_SERVER_ERROR && !RETRIABLE.has(statusCode)) return { outcome: 'refused', code, message }
  return { ...failed(code, message), retryAfterMs: retryAfter(headers['retry-after'], now) }
}

/**
 * Returns the outcome for a message that Node cannot send, for example because of an invalid header. Node would throw
 * again at every attempt, so the record is refused.
 */
function unsendable({ code, message }: NodeJS.ErrnoException): DeliveryOutcome {
  return { outcome: 'refused', code: code ?? 'invalid', message }
}

function failed(code: string, message: string): Extract<DeliveryOutcome, { outcome: 'failed' }> {
  return { outcome: 'failed', code, message }
}

/**
 * Returns the pause that a receiver requests, in ms; undefined if it requests none.
 * @param text the value of Retry-After. Only a positive number of seconds, or a date in the future, requests a pause
 */
function retryAfter(text: string | undefined, now: number): number | undefined {
  if (text === undefined) return undefined
  const ms = /^\d{1,9}$/.test(text) ? Number(text) * MS_PER_SECOND : Date.parse(text) - now
  return ms > 0 ? ms : undefined
}
