import { z } from '@hono/zod-openapi'
import type { StoredTransaction } from '../../../state/tables/fraud/read-transaction.ts'
import { answerOf } from '../score/answer.ts'
import { ScoreAnswerSchema } from '../score/model.ts'

const value = z.union([z.number(), z.string(), z.boolean(), z.null()])

export const TransactionSchema = z
  .object({
    transaction_id: z.string(),
    request: z.record(z.string(), z.unknown()).openapi({
      description:
        'The request. A value of null means that the field was missing. `email_hash` and `phone_hash` replace the e-mail address and the phone number.',
    }),
    features: z.record(z.string(), value).nullable().openapi({
      description:
        'The features with which the transaction was scored. A feature with the value null was missing. `features` is null after 30 days, and may be null for a few seconds after scoring.',
    }),
    ip: z.record(z.string(), value).openapi({ description: 'What was known about the IP address.' }),
    answer: ScoreAnswerSchema,
    shadow_rules: z.array(z.string()).openapi({ description: 'The rules in shadow mode that matched.' }),
    scored_at: z.string(),
    feedback: z
      .record(z.string(), z.unknown())
      .nullable()
      .openapi({ description: 'The newest verdict; null if the transaction has no verdict, or if ClickHouse is unavailable or slow.' }),
  })
  .openapi('ScoredTransaction')

export function transactionJson({ scored, feedback }: StoredTransaction): z.output<typeof TransactionSchema> {
  const { request, ip, features, shadow_rules, scored_at } = scored
  return {
    transaction_id: request.transaction_id,
    request: { ...request, timestamp: new Date(request.timestamp).toISOString() },
    features: features && { ...features },
    ip: { ...ip },
    answer: answerOf(scored),
    shadow_rules,
    scored_at: new Date(scored_at).toISOString(),
    feedback: feedback && { ...feedback, at: new Date(feedback.at).toISOString() },
  }
}
