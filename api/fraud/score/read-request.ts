import type { PersonalHashes } from '../../../schemas/fraud/personal-hash.ts'
import type { FraudRequest } from '../../../schemas/fraud/types.ts'
import { ApiError, type ErrorDetail, errors, MAX_DETAILS } from '../../kit/errors.ts'
import { check } from '../../kit/input.ts'
import { textFaults } from '../../kit/text.ts'
import { fraudErrors } from '../errors.ts'
import { hasCardNumber } from './card-number.ts'
import { isTimely, type ScoreRequest, ScoreRequestSchema } from './model.ts'

const INSTRUMENT = 'payment_instrument'
/**
 * Maximum length of a path in `details`. It is limited, because a path may contain field names that the caller has
 * chosen.
 */
const MAX_PATH_CHARACTERS = 200

/**
 * Checks a body and returns the request, in which hashes replace the e-mail address and the phone number.
 * @param now epoch ms
 * @throws ApiError that names the first faults but repeats no value: `raw_card_number`, `invalid_encoding`,
 * `invalid_request`
 */
export function readRequest(body: unknown, hashes: PersonalHashes, now: number): FraudRequest {
  assertNoCardNumber(body)
  const unclean = textFaults(body, 'body')
  const { value, details } = check(ScoreRequestSchema, body, 'body')
  const request = value as ScoreRequest | undefined
  const faults = [...unclean, ...details, ...timeFaults(request?.timestamp ?? timestampOf(body), now)]
  if (request !== undefined && faults.length === 0) return fraudRequest(request, hashes)
  const isEncoding = unclean.length === faults.length
  throw new ApiError(isEncoding ? errors.invalid_encoding : errors.invalid_request, {
    details: faults.slice(0, MAX_DETAILS).map(shortened),
  })
}

function shortened({ path, message }: ErrorDetail): ErrorDetail {
  return { path: path.length > MAX_PATH_CHARACTERS ? `${path.slice(0, MAX_PATH_CHARACTERS)}…` : path, message }
}

function assertNoCardNumber(body: unknown): void {
  const instrument = typeof body === 'object' && body !== null && INSTRUMENT in body ? body[INSTRUMENT] : undefined
  if (!hasCardNumber(instrument)) return
  const message = 'contains the number of a payment card; send a token of the card as card_hash instead'
  throw new ApiError(fraudErrors.raw_card_number, { details: [{ path: `body.${INSTRUMENT}`, message }] })
}

/**
 * Returns a fault if the timestamp is outside the accepted range. The range depends on the clock, so the schema cannot
 * check it.
 */
function timeFaults(timestamp: number | undefined, now: number): ErrorDetail[] {
  if (timestamp === undefined || isTimely(timestamp, now)) return []
  return [{ path: 'body.timestamp', message: 'must be at most 7 days in the past and at most 5 minutes in the future' }]
}

/** Reads the timestamp of a body that has other invalid fields; undefined if the timestamp is invalid as well. */
function timestampOf(body: unknown): number | undefined {
  const given = typeof body === 'object' && body !== null && 'timestamp' in body ? body.timestamp : undefined
  return ScoreRequestSchema.shape.timestamp.safeParse(given).data
}

function fraudRequest(
  { payer, payee, payment_instrument: instrument, device, session, ...txn }: ScoreRequest,
  hashes: PersonalHashes,
): FraudRequest {
  return {
    transaction_id: txn.transaction_id,
    timestamp: txn.timestamp,
    amount: txn.amount,
    currency: txn.currency,
    transaction_type: txn.transaction_type,
    payer: {
      user_id: payer.user_id,
      email_hash: payer.email == null ? null : hashes.email(payer.email),
      phone_hash: payer.phone == null ? null : hashes.phone(payer.phone),
      account_age_days: payer.account_age_days ?? null,
      country: payer.country ?? null,
    },
    payee: {
      merchant_id: payee?.merchant_id ?? null,
      merchant_category: payee?.merchant_category ?? null,
      merchant_country: payee?.merchant_country ?? null,
    },
    payment_instrument: {
      type: instrument?.type ?? null,
      card_hash: instrument?.card_hash ?? null,
      issuer_bank: instrument?.issuer_bank ?? null,
      bin_country: instrument?.bin_country ?? null,
    },
    device: {
      fingerprint_id: device?.fingerprint_id ?? null,
      ip_address: device?.ip_address ?? null,
      user_agent: device?.user_agent ?? null,
      lat: device?.geo_location?.lat ?? null,
      lng: device?.geo_location?.lng ?? null,
    },
    session: {
      session_id: session?.session_id ?? null,
      login_method: session?.login_method ?? null,
      time_since_login_sec: session?.time_since_login_sec ?? null,
    },
  }
}
