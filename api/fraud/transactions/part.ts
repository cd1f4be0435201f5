import { jsonAnswer } from '../../kit/answer.ts'
import { ApiError } from '../../kit/errors.ts'
import { PRIVATE } from '../../kit/headers.ts'
import { bind } from '../../kit/route.ts'
import { fraudErrors } from '../errors.ts'
import type { FraudPart } from '../part.ts'
import type { TransactionFinder } from './find-transaction.ts'
import { transactionJson } from './model.ts'
import { transactionRoute } from './routes.ts'

/** Creates the route that reads scored transactions. */
export function transactionsPart(transactions: Pick<TransactionFinder, 'withFeedback'>): FraudPart {
  return {
    routes: [
      bind(transactionRoute, async ({ params }) => {
        const found = await transactions.withFeedback(params.transaction_id)
        if (found === undefined) throw new ApiError(fraudErrors.transaction_not_found)
        return jsonAnswer(200, transactionJson(found), PRIVATE)
      }),
    ],
  }
}
