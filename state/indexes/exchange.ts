import http from 'node:http'
import https from 'node:https'

export interface ExchangeOptions {
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | undefined
  readonly signal: AbortSignal
  /** Maximum size of the answer in bytes. */
  readonly maxBytes: number
}

/**
 * Sends one HTTP request.
 * @throws when there is no complete answer, or when the answer is too large or a redirect
 */
export type Exchange = (url: string, options: ExchangeOptions) => Promise<{ readonly status: number; readonly text: string }>

const FIRST_REDIRECTION = 300
const LAST_REDIRECTION = 399

/**
 * Creates an exchange that keeps its connections open. A request takes less than half the CPU time of `fetch`, and does
 * not ask the server to compress its answer.
 * @param protocol `http:` or `https:`
 */
export function httpExchange(protocol: string): Exchange {
  const { request, Agent } = protocol === 'https:' ? https : http
  const agent = new Agent({ keepAlive: true })

  return function exchange(url, { method, headers, body, signal, maxBytes }) {
    return new Promise((resolve, reject) => {
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }
      const asked = request(url, { method, agent, signal, headers: { ...headers, ...length } }, (response) => {
        const status = response.statusCode!
        const chunks: Buffer[] = []
        let bytes = 0
        response.on('data', (chunk: Buffer) => {
          bytes += chunk.length
          chunks.push(chunk)
          if (bytes > maxBytes) response.destroy(new Error(`the answer is larger than ${maxBytes} bytes`))
        })
        response.on('error', reject)
        response.on('end', () => {
          if (status >= FIRST_REDIRECTION && status <= LAST_REDIRECTION) reject(new Error(`the answer is a redirect (${status})`))
          else resolve({ status, text: Buffer.concat(chunks).toString() })
        })
      })
      asked.on('error', reject)
      asked.end(body)
    })
  }
}
