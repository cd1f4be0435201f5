import { featuresOf } from '../../../schemas/fraud/features/features.ts'
import type { FraudFeatures, FraudRequest } from '../../../schemas/fraud/types.ts'

const NOTHING: FraudRequest = {
  transaction_id: '',
  timestamp: 0,
  amount: 0,
  currency: 'USD',
  transaction_type: '',
  payer: { user_id: '', email_hash: null, phone_hash: null, account_age_days: null, country: null },
  payee: { merchant_id: null, merchant_category: null, merchant_country: null },
  payment_instrument: { type: null, card_hash: null, issuer_bank: null, bin_country: null },
  device: { fingerprint_id: null, ip_address: null, user_agent: null, lat: null, lng: null },
  session: { session_id: null, login_method: null, time_since_login_sec: null },
}

const UNKNOWN = { geo_country: null, is_vpn: null, is_tor: null, is_datacenter: null }
const NO_LOOK_UPS = { user: 'failed', device: undefined, ip: undefined, card: undefined, merchant: undefined } as const

/**
 * The features of a transaction for which nothing was looked up. The caller must set the amount. All other features are
 * missing.
 */
export const NO_FEATURES: FraudFeatures = featuresOf(NOTHING, UNKNOWN, NO_LOOK_UPS).features
