import { connect, type Socket } from 'node:net'

/** An HTTP response. */
export interface PoolAnswer {
  readonly status: number
  readonly body: string
}

type Settle = (answer: PoolAnswer | Error) => void

interface Waiting {
  readonly request: string
  readonly settle: Settle
}

const HEAD_END = '\r\n\r\n'
/** Index of the status code in the status line, which begins like `HTTP/1.1 200`. */
const STATUS_AT = 9
const STATUS_END = 12
const LENGTH = /\r\ncontent-length: (\d+)/i

export interface HttpPool {
  /** Sends a body as soon as a connection is free. */
  post(body: string, settle: Settle): void
  /** Closes all connections. Requests without a response fail, including requests that wait for a connection. */
  close(): void
}

/**
 * Posts JSON over a fixed number of connections. Node's HTTP client would compete with the server under test for the
 * cores. This pool takes only a fraction of that client's CPU time. Responses must have a Content-Length, as the API's
 * responses do.
 */
export function httpPool(url: URL, connections: number, headers: Readonly<Record<string, string>>): HttpPool {
  const lines = Object.entries({ ...headers, host: url.host, 'content-type': 'application/json' }).map(
    ([name, value]) => `${name}: ${value}`,
  )
  const head = `POST ${url.pathname} HTTP/1.1\r\n${lines.join('\r\n')}\r\ncontent-length: `
  const queue: Waiting[] = []
  const free: Connection[] = []
  let taken = 0

  function next(connection: Connection): void {
    const waiting = queue[taken++]
    if (waiting !== undefined) {
      connection.send(waiting)
      return
    }
    queue.length = 0
    taken = 0
    free.push(connection)
  }

  const all = Array.from({ length: connections }, () => new Connection(url, next))
  free.push(...all)
  return {
    post(body, settle) {
      const waiting = { request: `${head}${Buffer.byteLength(body)}${HEAD_END}${body}`, settle }
      const connection = free.pop()
      if (connection === undefined) queue.push(waiting)
      else connection.send(waiting)
    },
    close() {
      // A connection that breaks takes the next waiting request and connects again, so the queue must be empty before
      // the connections are closed.
      const waiting = queue.splice(0).slice(taken)
      taken = 0
      for (const connection of all) connection.close()
      for (const { settle } of waiting) settle(new Error('the pool was closed'))
    },
  }
}

class Connection {
  readonly #url: URL
  readonly #onFree: (connection: Connection) => void
  #socket: Socket | undefined
  #settle: Settle | undefined
  #text = ''

  constructor(url: URL, onFree: (connection: Connection) => void) {
    this.#url = url
    this.#onFree = onFree
  }

  send({ request, settle }: Waiting): void {
    this.#settle = settle
    this.#socket ??= this.#connect()
    this.#socket.write(request)
  }

  close(): void {
    this.#socket?.destroy()
  }

  #connect(): Socket {
    const socket = connect({ host: this.#url.hostname, port: Number(this.#url.port), noDelay: true })
    socket.setEncoding('latin1').on('data', (text: unknown) => this.#read(text as string))
    socket.on('error', () => undefined)
    socket.on('close', () => {
      this.#socket = undefined
      this.#text = ''
      this.#done(new Error('the connection broke'))
    })
    return socket
  }

  #read(text: string): void {
    this.#text += text
    const headEnd = this.#text.indexOf(HEAD_END)
    if (headEnd < 0) return
    const length = Number(LENGTH.exec(this.#text)?.[1] ?? 0)
    const start = headEnd + HEAD_END.length
    if (this.#text.length < start + length) return
    const answer = { status: Number(this.#text.slice(STATUS_AT, STATUS_END)), body: this.#text.slice(start) }
    this.#text = ''
    this.#done(answer)
  }

  #done(answer: PoolAnswer | Error): void {
    const settle = this.#settle
    if (settle === undefined) return
    this.#settle = undefined
    settle(answer)
    this.#onFree(this)
  }
}
