/** A payment as a caller sends it. */
export const EXAMPLE_PAYMENT = {
  transaction_id: 't1',
  timestamp: '2026-01-15T12:00:00Z',
  amount: 20,
  currency: 'USD',
  transaction_type: 'PURCHASE',
  payer: { user_id: 'u1', email: 'ada@example.com', account_age_days: 400 },
  payee: { merchant_id: 'm1', merchant_category: 'books', merchant_country: 'DE' },
  payment_instrument: { type: 'CREDIT_CARD', card_hash: 'c1', bin_country: 'DE' },
  device: { fingerprint_id: 'd1', ip_address: '192.0.2.1', geo_location: { lat: 52.5, lng: 13.4 } },
  session: { session_id: 's1', login_method: 'passkey', time_since_login_sec: 40 },
}
