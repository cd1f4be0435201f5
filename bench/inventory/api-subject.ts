import { Agent, request } from 'node:http'
import type { Subject } from './subject.ts'

/**
 * Number of connections, similar to the pool of a load balancer. Without this limit, a stall of one second would open
 * 500 new connections at the default rate.
 */
const CONNECTIONS = 256
const WAREHOUSE = 'east'

export interface ApiSubject extends Subject {
  receive(variant: number, quantity: number): Promise<void>
  /** Receives one unit of the variant, and returns whether this succeeded. */
  isReady(variant: number): Promise<boolean>
  close(): void
}

interface Answer {
  /** HTTP status of the response; 0 when the connection failed. */
  readonly status: number
  readonly reservationId: string | undefined
}

/** Creates a subject that sends its operations to the API. @param token must have the scope `internal` */
export function apiSubject(apiUrl: string, token: string): ApiSubject {
  const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS })
  const { hostname, port } = new URL(apiUrl)

  function change(variant: number, fields: object): Promise<Answer> {
    const body = JSON.stringify({ warehouse_id: WAREHOUSE, ...fields })
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }
    return new Promise((resolve) => {
      const path = `/api/v1/inventory/${variant}`
      const asked = request({ agent, hostname, port, method: 'PATCH', path, headers }, (response) => {
        const chunks: Buffer[] = []
        response.on('data', (chunk: Buffer) => chunks.push(chunk))
        response.on('end', () => {
          const answer = JSON.parse(Buffer.concat(chunks).toString()) as { reservation_id?: string | null }
          resolve({ status: response.statusCode as number, reservationId: answer.reservation_id ?? undefined })
        })
      })
      asked.on('error', () => resolve({ status: 0, reservationId: undefined }))
      asked.end(body)
    })
  }

  return {
    async receive(variant, quantity) {
      const { status } = await change(variant, { quantity_delta: quantity, operation: 'RECEIVE' })
      if (status !== 200) throw new Error(`receiving stock of variant ${variant} returned status ${status}`)
    },
    isReady: async (variant) => (await change(variant, { quantity_delta: 1, operation: 'RECEIVE' })).status === 200,
    reserve: async (variant) => (await change(variant, { quantity_delta: -1, operation: 'RESERVE' })).reservationId,
    async end(variant, reservation_id, operation) {
      return (await change(variant, { quantity_delta: -1, operation, reservation_id })).status === 200
    },
    close: () => agent.destroy(),
  }
}
