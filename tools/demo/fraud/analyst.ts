import { PATTERNS } from '../../fraud/patterns/payment.ts'
import type { DemoClient } from '../http/client.ts'
import type { Count } from '../http/play-requests.ts'

const ANALYST = { subject: 'demo-analyst', scope: 'fraud:analyst' }
/**
 * The analyst looks at this many of the newest open cases, and judges the oldest of them that belongs to the demo. If
 * fewer cases are open, the analyst judges none, so that people always find some open cases.
 */
const OLDEST_OF = 20

interface OpenCase {
  readonly transaction_id: string
}

/** Gives a verdict on one open case of the demo. The id of the transaction shows whether the case is a fraud. */
export async function judgeOne(client: DemoClient, count: Count): Promise<void> {
  const listed = await client.ask(ANALYST, 'GET', `/api/v1/cases?status=OPEN&limit=${OLDEST_OF}`)
  if (listed.code !== '') return count(listed.code)
  const cases: readonly OpenCase[] = listed.body.cases
  if (cases.length < OLDEST_OF) return
  const found = cases.findLast(({ transaction_id }) => transaction_id.startsWith('demo-'))
  if (found === undefined) return
  const pattern = PATTERNS.find((one) => found.transaction_id.includes(`-${one}-`))
  const verdict = pattern === undefined ? { verdict: 'FALSE_POSITIVE' } : { verdict: 'CONFIRMED_FRAUD', fraud_type: pattern }
  const path = `/api/v1/transactions/${encodeURIComponent(found.transaction_id)}/feedback`
  const { code } = await client.ask(ANALYST, 'POST', path, verdict)
  count(code === '' ? 'verdicts' : code)
}
