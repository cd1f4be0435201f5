import { z } from '@hono/zod-openapi'
import type { AnsweredCase } from '../../../schemas/fraud/cases/flow.ts'
import { CASE_STATUSES } from '../../../schemas/fraud/cases/transitions.ts'
import type { FraudCase, FraudCaseEntry } from '../../../schemas/fraud/types.ts'

/** Limits of requests, with lengths in code points: docs/services/fraud.md#cases */
const MAX_NAME = 200
const MAX_FRAUD_TYPE = 50
const MAX_NOTES = 4_000
const MAX_EVIDENCE = 20
const MAX_EVIDENCE_LENGTH = 500
const MAX_TRANSACTION_ID = 50
const MAX_VERSION = 2_147_483_647

/**
 * Maximum number of cases that can be listed. It is limited, because every partition has to return all cases up to the
 * end of the page.
 */
export const MAX_LISTED = 10_000

const VERDICTS = ['CONFIRMED_FRAUD', 'FALSE_POSITIVE', 'SUSPICIOUS'] as const

function text(most: number, least = 0, string = z.string()) {
  const message = `must have ${least} to ${most} characters`
  return string
    .refine((value) => [...value].length <= most && [...value].length >= least, message)
    .openapi({ minLength: least, maxLength: most })
}

/** Surrounding spaces are removed, as in scoring requests. */
export const transactionId = text(MAX_TRANSACTION_ID, 1, z.string().trim()).openapi({
  description: 'The id of a scored transaction.',
  example: 't7',
})
export const caseId = z
  .string()
  .openapi({ description: 'The id of a case, which is a 64-bit integer in decimal notation.', example: '918273645546372819' })
export const caseStatus = z.enum(CASE_STATUSES)
export const analyst = text(MAX_NAME, 1)

const fraudType = text(MAX_FRAUD_TYPE, 1).nullable().openapi({ description: 'The kind of fraud, in your own words.' })
const notes = text(MAX_NOTES).openapi({ description: 'The new notes. The history keeps the earlier notes.' })
const version = z.int().min(1).max(MAX_VERSION).openapi({ description: 'If set, the change is refused unless the case has this version.' })

export const CasePatchBody = z
  .strictObject({
    assigned_to: analyst.nullable().optional().openapi({ description: 'The analyst who works on the case; null if nobody does.' }),
    status: caseStatus.optional().openapi({ description: 'The new status. CONFIRMED_FRAUD and FALSE_POSITIVE are verdicts.' }),
    notes: notes.optional(),
    fraud_type: fraudType.optional(),
    version: version.optional(),
  })
  .refine(({ version: _version, ...changes }) => Object.values(changes).some((value) => value !== undefined), 'must change something')
  .openapi('FraudCasePatch')

export const FeedbackBody = z
  .strictObject({
    reporter: analyst.optional().openapi({ description: "The analyst who gives the verdict. Default: the token's subject." }),
    verdict: z.enum(VERDICTS),
    fraud_type: fraudType.optional(),
    notes: notes.optional(),
    evidence: z
      .array(text(MAX_EVIDENCE_LENGTH, 1))
      .max(MAX_EVIDENCE)
      .optional()
      .openapi({ description: 'Evidence for the verdict, such as links to documents.' }),
    version: version.optional(),
  })
  .openapi('FraudFeedback')

const time = z.string().openapi({ example: '2026-01-15T12:00:00.000Z' })

export const CaseSchema = z
  .object({
    case_id: caseId,
    transaction_id: z.string(),
    user_id: z.string(),
    risk_score: z.int(),
    decision: z.enum(['APPROVE', 'REVIEW', 'BLOCK']),
    assigned_to: z.string().nullable(),
    status: caseStatus,
    fraud_type: z.string().nullable(),
    notes: z.string(),
    created_at: time,
    updated_at: time,
    resolved_at: time.nullable().openapi({ description: 'Time of the newest verdict; null while the case is not closed.' }),
    verdict: z.enum(VERDICTS).nullable(),
    triggered_rules: z.array(z.string()),
    risk_factors: z.array(z.object({ factor: z.string(), contribution: z.number() })),
    amount: z.number(),
    currency: z.string(),
    version: z.int().openapi({ description: 'Increases with every change.' }),
  })
  .openapi('FraudCase')

export const CaseWithHistorySchema = CaseSchema.extend({
  history: z
    .array(
      z.object({
        at: time,
        actor: z
          .string()
          .nullable()
          .openapi({ description: 'Who made the change; null if the decision about the transaction opened the case.' }),
        action: z.enum(['opened', 'changed', 'verdict']),
        status: caseStatus,
        assigned_to: z.string().nullable(),
        verdict: z.enum(VERDICTS).nullable(),
        reporter: z.string().nullable().openapi({ description: 'The `reporter` of the feedback; null if the request did not name one.' }),
        fraud_type: z.string().nullable(),
        notes: z.string(),
        evidence: z.array(z.string()),
      }),
    )
    .openapi({
      description:
        'The most recent changes, in chronological order. `status`, `assigned_to` and `fraud_type` are the values after the change. The other fields describe the change itself.',
    }),
}).openapi('FraudCaseWithHistory')

export const CaseListSchema = z
  .object({
    cases: z.array(CaseSchema).openapi({ description: 'Newest first.' }),
    page: z.int(),
    limit: z.int(),
    total: z.int(),
    complete: z.boolean().openapi({
      description:
        'Whether the list is complete. If false, ClickHouse could not be read in time, and cases that were closed more than 30 days ago may be missing.',
    }),
  })
  .openapi('FraudCaseList')

export const RecordedSchema = z
  .object({
    status: z.literal('recorded'),
    case_id: caseId,
    version: z.int().openapi({ description: 'The version of the case with this verdict.' }),
  })
  .openapi('RecordedFeedback')

/** @param found the case, with times in epoch ms */
export function caseJson(found: AnsweredCase): z.output<typeof CaseSchema> {
  const { user_id, transaction_id, risk_score, decision, triggered_rules, risk_factors, amount, currency } = found.transaction
  return {
    case_id: found.case_id,
    transaction_id,
    user_id,
    risk_score,
    decision,
    assigned_to: found.assigned_to,
    status: found.status,
    fraud_type: found.fraud_type,
    notes: found.notes,
    created_at: iso(found.created_at),
    updated_at: iso(found.updated_at),
    resolved_at: found.resolved_at === null ? null : iso(found.resolved_at),
    verdict: found.verdict,
    triggered_rules,
    risk_factors,
    amount,
    currency,
    version: found.version,
  }
}

export function caseWithHistoryJson(found: FraudCase): z.output<typeof CaseWithHistorySchema> {
  return { ...caseJson(found), history: found.history.map(entryJson) }
}

const ACTIONS = { OPENED: 'opened', CHANGED: 'changed', VERDICT: 'verdict' } as const

function entryJson({ at, action, previous_verdict: _verdict, previous_at: _at, ...values }: FraudCaseEntry) {
  return { ...values, at: iso(at), action: ACTIONS[action] }
}

function iso(time: number): string {
  return new Date(time).toISOString()
}
