import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'

/** Returns the status of a GET with exactly these headers. `fetch` would send neither Host nor Sec-Fetch-Site. */
export async function statusOf(url: string, headers: Readonly<Record<string, string>>): Promise<number | undefined> {
  const sent = request(url, { headers })
  sent.end()
  const [response] = (await once(sent, 'response')) as [IncomingMessage]
  response.resume()
  return response.statusCode
}
