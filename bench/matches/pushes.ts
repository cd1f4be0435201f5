import { randomBytes } from 'node:crypto'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Transport } from '../../kafka/transport.ts'
import { partitionKey } from '../../kafka/transport.ts'
import { matchNotifications } from '../../schemas/matches/topics.ts'

/** A receiver of push notifications about matches. */
export interface Pushes {
  /** Environment variables that make workers send their push notifications to this receiver. */
  readonly workerEnv: Readonly<Record<string, string>>
  /** Starts to receive push notifications. Kafka must be running. */
  open(transport: Transport): Promise<void>
  /**
   * Returns the `performance.now()` time at which a user's push about a match arrived; undefined if it has not arrived.
   */
  arrivedAt(matchId: string, userId: string): number | undefined
  close(): Promise<void>
}

const POLL_MS = 100
const UUID = /[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}/
const SECRET_BYTES = 32

/** Receives push notifications as records of `match-notifications`, as soon as their transactions are committed. */
export function pushRecords(): Pushes {
  const arrived = new Map<string, number>()
  let closed = false
  let reading: Promise<void> | undefined

  return {
    workerEnv: {},
    async open(transport) {
      const topic = matchNotifications.name
      const count = (await transport.partitionCounts([topic])).get(topic) as number
      const partitions = Array.from({ length: count }, (_, partition) => ({ topic, partition }))
      const ends = await transport.offsets(partitions, 'end')
      const fetcher = transport.fetcher({ isolation: 'read_committed' })
      for (const one of partitions) fetcher.assign(one, ends.get(partitionKey(topic, one.partition)) as number, 'fail')
      async function read(): Promise<void> {
        while (!closed) {
          const polled = await fetcher.poll(POLL_MS)
          const now = performance.now()
          for (const { chunks } of polled)
            for (const { buffer, count: records, keyStart, keyEnd, valueStart, valueEnd } of chunks)
              for (let i = 0; i < records; i++) {
                // The first UUID of the record is the match_id.
                const matchId = buffer.toString('latin1', valueStart[i], valueEnd[i]).match(UUID)?.[0]
                const key = `${matchId}:${buffer.toString('latin1', keyStart[i], keyEnd[i])}`
                if (!arrived.has(key)) arrived.set(key, now)
              }
        }
        await fetcher.close()
      }
      reading = read()
    },
    arrivedAt: (matchId, userId) => arrived.get(`${matchId}:${userId}`),
    async close() {
      closed = true
      await reading
    },
  }
}

/** Receives push notifications as requests to the webhook. Their Idempotency-Key is `match_id:user_id`. */
export async function pushWebhook(): Promise<Pushes> {
  const arrived = new Map<string, number>()
  const server: Server = createServer((request, response) => {
    const key = String(request.headers['idempotency-key'])
    if (!arrived.has(key)) arrived.set(key, performance.now())
    request.resume().on('end', () => response.writeHead(204).end())
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  return {
    workerEnv: {
      MATCH_WEBHOOK_URL: `http://127.0.0.1:${port}/pushes`,
      MATCH_WEBHOOK_SECRET: `whsec_${randomBytes(SECRET_BYTES).toString('base64')}`,
    },
    async open() {},
    arrivedAt: (matchId, userId) => arrived.get(`${matchId}:${userId}`),
    async close() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}
