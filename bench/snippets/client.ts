import { Agent, type IncomingMessage, request } from 'node:http'

/**
 * An HTTP client on the same cores as the measured service. It uses `node:http`, because `fetch` would take as much CPU
 * time as the service.
 */
export interface Client {
  /**
   * Sends a GET request. Resolves when the whole response has arrived.
   * @returns the size and the first chunk of the response
   * @throws Error when the status is not 2xx
   */
  get(path: string, headers?: Record<string, string>): Promise<Arrived>
  /** @param body the chunks of the body */
  post(path: string, body: readonly Uint8Array[], headers: Record<string, string>): Promise<Arrived>
  close(): void
}

export interface Arrived {
  readonly bytes: number
  /** The first chunk of the response. A short response is a single chunk. */
  readonly head: string
}

/**
 * @param connections maximum number of connections; unlimited by default. Without a limit, the client opens a
 * connection for each waiting request while the server stalls
 */
export function httpClient(url: string, connections = Number.POSITIVE_INFINITY): Client {
  const agent = new Agent({ keepAlive: true, maxSockets: connections })
  const { hostname, port } = new URL(url)

  function send(method: string, path: string, headers: Record<string, string>, body?: readonly Uint8Array[]): Promise<Arrived> {
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': String(body.reduce((sum, { byteLength }) => sum + byteLength, 0)) }
      const asked = request({ agent, hostname, port, method, path, headers: { ...headers, ...length } }, (response) =>
        arrived(response).then(resolve, reject),
      )
      asked.on('error', reject)
      for (const piece of body ?? []) asked.write(piece)
      asked.end()
    })
  }

  return {
    get: (path, headers = {}) => send('GET', path, headers),
    post: (path, body, headers) => send('POST', path, headers, body),
    close: () => agent.destroy(),
  }
}

function arrived(response: IncomingMessage): Promise<Arrived> {
  return new Promise((resolve, reject) => {
    let bytes = 0
    let head = ''
    response.on('data', (piece: Buffer) => {
      if (bytes === 0) head = piece.toString()
      bytes += piece.byteLength
    })
    response.on('error', reject)
    response.on('end', () => {
      const { statusCode = 0 } = response
      if (statusCode >= 200 && statusCode < 300) resolve({ bytes, head })
      else reject(new Error(`${statusCode} ${head.slice(0, 100)}`))
    })
  })
}
