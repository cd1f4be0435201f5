import { apiTarget } from '../../config.ts'
import type { DemoClient } from '../http/client.ts'
import { type Count, playRequests } from '../http/play-requests.ts'
import { servedClient } from '../http/served.ts'
import type { DemoService } from '../service.ts'
import { judgeOne } from './analyst.ts'
import { type DemoPayment, demoPayments } from './stream.ts'

/** Maximum number of payments per second. */
const GREATEST_RATE = 5
/** Number of payments between two verdicts of the demo's analyst. At the maximum rate, this is 40 seconds. */
const PAYMENTS_PER_VERDICT = 200

const GATEWAY = { subject: 'demo-payments', scope: 'internal' }

/**
 * A demo with payments by generated people. Some of the payments are fraudulent, and an analyst gives verdicts on some
 * of the cases.
 */
export const fraudDemo: DemoService = {
  name: 'fraud',
  async play(session, { rate, seed, endAt }) {
    const client = await servedClient(session, {
      url: apiTarget(),
      what: 'fraud scoring',
      endAt,
      ask: (api) => api.ask(GATEWAY, 'GET', '/api/v1/transactions/demo'),
      isServed: ({ status, code }) => status === 200 || code === 'transaction_not_found',
    })
    if (client === undefined) return
    // The stream starts only now, because the API may have become ready long after the command was started.
    const { next } = demoPayments({ seed, rate: Math.min(rate, GREATEST_RATE), startAt: Date.now() })
    let payments = 0
    await playRequests(session, {
      next,
      async perform(payment, count) {
        await pay(client, payment, count)
        if (++payments % PAYMENTS_PER_VERDICT === 0) await judgeOne(client, count)
      },
      endAt,
    })
  },
}

/** Sends a payment for scoring, and counts the decision. A payment that cannot be scored is not sent again. */
export async function pay(client: DemoClient, { body, pattern }: DemoPayment, count: Count): Promise<void> {
  const reply = await client.ask(GATEWAY, 'POST', '/api/v1/transactions/score', body)
  if (reply.code !== '') return count(reply.code)
  const decision = String(reply.body.decision).toLowerCase()
  count(pattern === undefined ? decision : `fraud ${decision}`)
}
