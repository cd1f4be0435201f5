import { z } from '@hono/zod-openapi'
import { errors } from '../../kit/errors.ts'
import { defineRoute } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import { READERS } from '../readers.ts'
import { TransactionSchema } from './model.ts'

export const transactionRoute = defineRoute({
  method: 'get',
  path: '/api/v1/transactions/{transaction_id}',
  operationId: 'getTransaction',
  summary: 'Read a scored transaction',
  description: 'Returns a transaction of the last 90 days with its request, features and answer.',
  auth: READERS,
  params: z.object({ transaction_id: z.string().trim().openapi({ example: 't1' }) }),
  answers: { 200: { description: 'The transaction.', schema: TransactionSchema } },
  errors: [fraudErrors.transaction_not_found, errors.query_too_large],
})
