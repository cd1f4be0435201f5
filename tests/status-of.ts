import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'

/**
 * Sends a GET request with exactly these headers and returns the status. `fetch` would not send the given Host or
 * Sec-Fetch-Site.
 */
export async function statusOf(url: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  const sent = request(url, { headers })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}
