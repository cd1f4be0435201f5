import { z } from '@hono/zod-openapi'
import type { FraudModels } from '../../../schemas/fraud/types.ts'
import { SHIPPED_VERSIONS } from './folder.ts'

const version = z.string().min(1).max(50).openapi({ example: '2' })

/**
 * Versions, keyed by model. For an omitted model, a champion uses the shipped version, and a challenger uses the
 * champion's version.
 */
export const VersionsSchema = z
  .strictObject({ account_takeover: version.optional(), payment_fraud: version.optional(), money_laundering: version.optional() })
  .openapi('FraudModelVersions')

const time = z.string().openapi({ format: 'date-time' })

export const AssignmentSchema = z
  .object({
    champion: VersionsSchema,
    challenger: z
      .object({ versions: VersionsSchema, since: time, days: z.number().openapi({ description: 'Length of the trial so far, in days.' }) })
      .nullable(),
    policy: z.looseObject({ version: z.int() }).openapi({ description: 'The thresholds and weights in force.' }),
  })
  .openapi('FraudModelAssignment')

export const ModelsSchema = AssignmentSchema.extend({
  scoring: VersionsSchema.nullable().openapi({ description: 'The models that this process now uses for scoring; null if there are none.' }),
  available: z.array(
    z.object({ name: z.string(), version, sha256: z.string(), trained_on: z.string(), shipped: z.boolean() }).openapi('FraudModel'),
  ),
}).openapi('FraudModels')

const rate = z.number().min(0).max(1)

export const ReportSchema = z
  .object({
    models: z.array(
      z
        .object({
          name: z.string(),
          version,
          transactions: z.int(),
          frauds: z.int(),
          auc: rate.nullable(),
          average_precision: rate.nullable(),
          recall_at_1pct_fpr: rate.nullable(),
          roc: z.array(z.object({ fpr: rate, tpr: rate })),
          pr: z.array(z.object({ recall: rate, precision: rate })),
          calibration: z.array(z.object({ predicted: rate, observed: rate, count: z.int() })),
          drift: z.array(z.object({ feature: z.string(), psi: z.number().nullable() })),
        })
        .openapi('FraudModelQuality'),
    ),
  })
  .openapi('FraudModelReport')

const DAY_MS = 86_400_000

/** @param now epoch ms */
export function assignmentJson({ champion, challenger }: FraudModels, now: number) {
  return {
    champion: { ...SHIPPED_VERSIONS, ...champion.versions },
    challenger: challenger && {
      versions: challenger.versions,
      since: new Date(challenger.since).toISOString(),
      days: Math.floor(((now - challenger.since) / DAY_MS) * 100) / 100,
    },
    policy: champion.policy,
  }
}
