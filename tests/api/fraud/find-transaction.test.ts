import { expect, test } from 'vitest'
import { transactionFinder } from '../../../api/fraud/transactions/find-transaction.ts'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import type { TableReader } from '../../../state/tables/reader.ts'
import { scored } from '../../pipelines/fraud/scored.ts'
import { pay } from '../../schemas/fraud/payments.ts'
import { START } from '../kit/harness.ts'

const FEEDBACK_TIMEOUT_MS = 20
const kept = scored(pay({ id: 't1', user: 'u1', device: 'd1', at: START }))
const answers = { find: async (id: string) => (id === 't1' ? kept : undefined) }

/** A ClickHouse that accepts connections but never answers. */
function hangingTables() {
  const asked: string[] = []
  const reader: TableReader = {
    query({ query }) {
      asked.push(query)
      return new Promise(() => {})
    },
  }
  return { reader, asked }
}

test('while ClickHouse hangs, a transaction that Redis has is found soon, without its verdict', async () => {
  const { reader } = hangingTables()
  const finder = transactionFinder({ answers, tables: reader, feedbackTimeoutMs: FEEDBACK_TIMEOUT_MS })
  expect(await finder.withFeedback('t1')).toEqual({ scored: kept, feedback: null })
})

test('the lookup of a transaction for a verdict does not query ClickHouse if Redis has the transaction', async () => {
  const { reader, asked } = hangingTables()
  expect(await transactionFinder({ answers, tables: reader }).reviewed('t1')).toEqual(kept)
  expect(asked).toEqual([])
})

test('while Redis does not respond, a payment that ClickHouse does not have yet is not reported as unknown', async () => {
  const tables: TableReader = { query: async () => ({ json: async () => [] }) }
  const away = { find: () => Promise.reject(new ApiError(errors.unavailable)) }
  await expect(transactionFinder({ answers: away, tables }).withFeedback('t1')).rejects.toMatchObject({ definition: errors.unavailable })
  expect(await transactionFinder({ answers, tables }).withFeedback('t2')).toBeUndefined()
})
