import { z } from '@hono/zod-openapi'
import { readUserTransactions, type UserTransaction } from '../../../state/tables/fraud/user-transactions.ts'
import type { TableReader } from '../../../state/tables/reader.ts'
import { jsonAnswer } from '../../kit/answer.ts'
import { errors } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { integerParameter } from '../../kit/parameters.ts'
import { type BoundRoute, bind, defineRoute } from '../../kit/route.ts'

const DAY_MS = 86_400_000
/**
 * Maximum length of the period, in days. Analysts compare a payment with the payments of the days around it. For longer
 * periods, they query ClickHouse directly.
 */
const MAX_DAYS = 7
const MAX_LISTED = 100
/** Maximum length in code points, as in scoring requests. */
const MAX_USER_ID = 50

const TransactionInShort = z
  .object({
    transaction_id: z.string(),
    timestamp: z.string().openapi({ example: '2026-01-15T12:00:00.000Z' }),
    amount: z.number(),
    currency: z.string(),
    amount_usd: z.number(),
    merchant_id: z.string().nullable(),
    fingerprint_id: z.string().nullable(),
    ip_address: z.string().nullable(),
    geo_location: z.object({ lat: z.number(), lng: z.number() }).nullable(),
    decision: z.string(),
    risk_score: z.int(),
  })
  .openapi('TransactionInShort')

export const userTransactionsRoute = defineRoute({
  method: 'get',
  path: '/api/v1/transactions',
  operationId: 'listTransactionsOfUser',
  summary: "List a user's transactions, newest first",
  description:
    'Returns the transactions whose timestamps are in a period of up to 7 days. A transaction may be missing for a few seconds after it is scored.',
  auth: { kind: 'scope', scope: ['fraud:analyst', 'fraud:ops', 'internal', 'admin'] },
  query: z.object({
    user_id: z
      .string()
      .trim()
      .refine((id) => id !== '' && [...id].length <= MAX_USER_ID, `must have 1 to ${MAX_USER_ID} characters`)
      .openapi({ description: '`payer.user_id` of the transactions.', example: 'u1', minLength: 1, maxLength: MAX_USER_ID }),
    to: z.iso
      .datetime()
      .optional()
      .openapi({ description: 'The end of the period (exclusive). Default: now.', example: '2026-01-15T12:00:00.000Z' }),
    days: integerParameter({ minimum: 1, maximum: MAX_DAYS, default: MAX_DAYS, description: 'Length of the period in days.' }),
    limit: integerParameter({ minimum: 1, maximum: MAX_LISTED, default: MAX_LISTED, description: 'Maximum number of transactions.' }),
  }),
  answers: {
    200: {
      description: 'The transactions.',
      schema: z.object({ transactions: z.array(TransactionInShort) }).openapi('TransactionsOfUser'),
    },
  },
  errors: [errors.query_too_large],
})

export interface UserTransactionsDeps {
  readonly tables: TableReader
  /** Epoch ms. */
  now(): number
}

export function userTransactions({ tables, now }: UserTransactionsDeps): BoundRoute {
  return bind(userTransactionsRoute, async ({ query: { user_id: userId, to, days, limit } }) => {
    const end = to === undefined ? now() : Date.parse(to)
    const found = await readUserTransactions(tables, { userId, from: end - days * DAY_MS, to: end, limit })
    return jsonAnswer(200, { transactions: found.map(inShort) }, PRIVATE)
  })
}

function inShort({ timestamp, place, device_fp, ...rest }: UserTransaction): z.input<typeof TransactionInShort> {
  return { ...rest, timestamp: new Date(timestamp).toISOString(), fingerprint_id: device_fp, geo_location: place }
}
