import { z } from '@hono/zod-openapi'
import { canonicalIp } from '../../../schemas/fraud/canonical.ts'
import { isCurrency } from '../../../schemas/fraud/money.ts'

/** How far a timestamp may be in the future, because the caller's clock may be ahead. */
const MAX_AHEAD_MS = 5 * 60_000
/** Maximum age of a transaction. It equals the longest window of the velocity features. */
const MAX_BEHIND_MS = 7 * 86_400_000

/** Maximum length of the ids of transactions and users. Cases have the same limit. */
const MAX_ID = 50
/** Maximum length of other ids, which may be hashes or tokens. */
const MAX_TOKEN = 128
const MAX_NAME = 200
/** Maximum length of an e-mail address: RFC 5321. */
const MAX_EMAIL = 320
const MAX_PHONE = 40
const MAX_USER_AGENT = 2_048
const MAX_LATITUDE = 90
const MAX_LONGITUDE = 180

function text(most: number) {
  const message = `must be a string of 1 to ${most} characters`
  return z
    .string(message)
    .trim()
    .min(1, message)
    .refine((value) => value.length <= most || [...value].length <= most, message)
    .openapi({ minLength: 1, maxLength: most })
}

/** Makes a field optional. Null means the same as no value. */
function optional<S extends z.ZodType>(schema: S) {
  return schema.nullish()
}

const country = z
  .string('must be a country code of two letters')
  .trim()
  .regex(/^[A-Za-z]{2}$/, 'must be a country code of two letters')
  .transform((code) => code.toUpperCase())
  .openapi({ description: 'Country code according to ISO 3166-1 alpha-2.', example: 'DE' })

const wholeNumber = z
  .number('must be a whole number of at least 0')
  .int('must be a whole number of at least 0')
  .min(0, 'must be a whole number of at least 0')
  .openapi({ minimum: 0 })

function degrees(most: number) {
  const message = `must be a number from -${most} to ${most}`
  return z.number(message).min(-most, message).max(most, message)
}

const Timestamp = z.iso
  .datetime({ offset: true, error: 'must be an ISO 8601 time with its offset from UTC, such as 2026-01-15T12:00:00Z' })
  .transform((time) => Date.parse(time))
  .openapi({
    type: 'string',
    format: 'date-time',
    description: 'Time of the transaction, at most 7 days in the past and at most 5 minutes in the future.',
  })

const part = 'must be an object'

/** A scoring request. An optional field that is null counts as missing. */
export const ScoreRequestSchema = z
  .object(
    {
      transaction_id: text(MAX_ID),
      timestamp: Timestamp,
      amount: z
        .number('must be a number of at least 0')
        .min(0, 'must be a number of at least 0')
        .transform((amount) => amount + 0)
        .openapi({ type: 'number', minimum: 0, description: 'Amount in the currency of the transaction.' }),
      currency: z
        .string('must be an ISO 4217 code')
        .refine(isCurrency, 'is not a currency that this service supports; use an ISO 4217 code in capitals')
        .openapi({ example: 'USD' }),
      transaction_type: z
        .string('must be 1 to 30 capital letters and underscores')
        .regex(/^[A-Z_]{1,30}$/, 'must be 1 to 30 capital letters and underscores')
        .openapi({ example: 'PURCHASE' }),
      payer: z.object(
        {
          user_id: text(MAX_ID),
          email: optional(text(MAX_EMAIL)),
          phone: optional(text(MAX_PHONE)),
          account_age_days: optional(wholeNumber),
          country: optional(country),
        },
        part,
      ),
      payee: optional(
        z.object(
          { merchant_id: optional(text(MAX_TOKEN)), merchant_category: optional(text(MAX_NAME)), merchant_country: optional(country) },
          part,
        ),
      ),
      payment_instrument: optional(
        z.object(
          {
            type: optional(text(MAX_TOKEN)),
            card_hash: optional(text(MAX_TOKEN)).openapi({ description: 'A token of the card, never its number.' }),
            issuer_bank: optional(text(MAX_NAME)),
            bin_country: optional(country),
          },
          part,
        ),
      ),
      device: optional(
        z.object(
          {
            fingerprint_id: optional(text(MAX_TOKEN)),
            ip_address: optional(
              z
                .string('must be an IPv4 or IPv6 address')
                .transform((address) => canonicalIp(address) ?? '')
                .refine((address) => address !== '', 'must be an IPv4 or IPv6 address')
                .openapi({ example: '192.0.2.1' }),
            ),
            user_agent: optional(text(MAX_USER_AGENT)),
            geo_location: optional(z.object({ lat: degrees(MAX_LATITUDE), lng: degrees(MAX_LONGITUDE) }, part)),
          },
          part,
        ),
      ),
      session: optional(
        z.object(
          { session_id: optional(text(MAX_TOKEN)), login_method: optional(text(MAX_NAME)), time_since_login_sec: optional(wholeNumber) },
          part,
        ),
      ),
    },
    'must be a JSON object',
  )
  .openapi('ScoreRequest')

/** A checked scoring request. */
export type ScoreRequest = z.output<typeof ScoreRequestSchema>

/** @param now epoch ms */
export function isTimely(timestamp: number, now: number): boolean {
  return timestamp <= now + MAX_AHEAD_MS && timestamp >= now - MAX_BEHIND_MS
}

const probability = z.number().openapi({ minimum: 0, maximum: 1 })

const RiskFactorSchema = z.object({
  factor: z.string().openapi({ description: '`rule:<rule_id>`, or the name of a feature that raised the score of a model.' }),
  contribution: z.number(),
})

export const ScoreAnswerSchema = z
  .object({
    transaction_id: z.string(),
    decision: z.enum(['APPROVE', 'REVIEW', 'BLOCK']),
    risk_score: z.int().openapi({ minimum: 0, maximum: 1_000 }),
    risk_level: z.enum(['LOW', 'MEDIUM', 'HIGH', 'CRITICAL']),
    triggered_rules: z.array(z.string()).openapi({ description: 'The live rules that matched, in order of precedence.' }),
    ml_scores: z.object({
      account_takeover: probability,
      payment_fraud: probability,
      money_laundering: probability,
      evaluated: z.boolean().openapi({ description: 'Whether the models scored the transaction. If false, all scores are 0.' }),
    }),
    requires_3ds: z.boolean(),
    request_id: z.string(),
    reason: z.string(),
    risk_factors: z.array(RiskFactorSchema).openapi({ description: 'At most five risk factors, strongest first.' }),
    degraded: z.array(z.string()).openapi({ description: 'The parts that were unavailable; empty if all parts were available.' }),
    ruleset_version: z.int(),
    policy_version: z.int(),
    model_versions: z.record(z.string(), z.string()),
  })
  .openapi('ScoreAnswer')

export type ScoreAnswer = z.output<typeof ScoreAnswerSchema>
