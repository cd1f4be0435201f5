import { createHmac, randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

/** A push notification as it was received. */
export interface ReceivedPush {
  readonly key: string
  /**
   * True if one of the signatures equals the signature that the receiver computes as described in
   * docs/services/matches.md, and if the webhook id equals the idempotency key.
   */
  readonly isGenuine: boolean
  readonly status: number
  // biome-ignore lint/suspicious/noExplicitAny: tests read arbitrary fields
  readonly body: any
}

const NO_CONTENT = 204

/** Starts a receiver of push notifications about matches. It runs until the end of the test file. */
export async function pushReceiver() {
  const key = randomBytes(32)
  const received: ReceivedPush[] = []
  const control = { status: NO_CONTENT }
  const server = createServer(async (request, response) => {
    const { headers } = request
    let body = ''
    for await (const chunk of request) body += String(chunk)
    const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    const signature = `v1,${createHmac('sha256', key).update(content).digest('base64')}`
    const { status } = control
    received.push({
      key: String(headers['idempotency-key']),
      isGenuine:
        String(headers['webhook-signature']).split(' ').includes(signature) && headers['webhook-id'] === headers['idempotency-key'],
      status,
      body: JSON.parse(body),
    })
    response.writeHead(status).end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  server.unref()
  const { port } = server.address() as AddressInfo

  return {
    env: { MATCH_WEBHOOK_URL: `http://127.0.0.1:${port}/hooks/matches`, MATCH_WEBHOOK_SECRET: `whsec_${key.toString('base64')}` },
    received,
    control,
    /** Returns the sorted keys of the successful pushes about a match. */
    keysOf: (matchId: string) =>
      received
        .filter(({ body, status }) => body.data.match_id === matchId && status === NO_CONTENT)
        .map((push) => push.key)
        .sort(),
    /** Returns how often the receiver has refused pushes about a match. */
    refusalsOf: (matchId: string) => received.filter(({ body, status }) => body.data.match_id === matchId && status !== NO_CONTENT).length,
  }
}
