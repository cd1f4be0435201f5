import { expect, test } from 'vitest'
import { readRequest } from '../../../api/fraud/score/read-request.ts'
import { parseJsonBody } from '../../../api/kit/body.ts'
import { ApiError, errors } from '../../../api/kit/errors.ts'
import { personalHashes } from '../../../schemas/fraud/personal-hash.ts'

const NOW = Date.UTC(2026, 0, 15, 12)
const hashes = personalHashes('a key for tests that is long enough')

const LEAST = {
  transaction_id: 't1',
  timestamp: '2026-01-15T12:00:00Z',
  amount: 20,
  currency: 'USD',
  transaction_type: 'PURCHASE',
  payer: { user_id: 'u1' },
}

const FULL = {
  ...LEAST,
  payer: { user_id: ' u1 ', email: ' Ada@Example.com', phone: '+49 (30) 123', account_age_days: 400, country: 'de' },
  payee: { merchant_id: 'm1', merchant_category: 'books', merchant_country: 'FR' },
  payment_instrument: { type: 'CREDIT_CARD', card_hash: 'c1', issuer_bank: 'Bank', bin_country: 'DE', unknown: { deep: ['x'] } },
  device: { fingerprint_id: 'd1', ip_address: '::ffff:192.0.2.1', user_agent: 'agent', geo_location: { lat: 52.5, lng: 13.4 } },
  session: { session_id: 's1', login_method: 'passkey', time_since_login_sec: 40 },
}

function refusal(body: unknown): { code: string; paths: string[]; text: string } {
  try {
    readRequest(body, hashes, NOW)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const { details = [] } = error.options
    return { code: error.definition.code, paths: details.map(({ path }) => path), text: JSON.stringify([error.message, details]) }
  }
  throw new Error('unexpected: the request was accepted')
}

test('in a request with only the required fields, everything else counts as missing', () => {
  expect(readRequest(LEAST, hashes, NOW)).toEqual({
    ...LEAST,
    timestamp: NOW,
    payer: { user_id: 'u1', email_hash: null, phone_hash: null, account_age_days: null, country: null },
    payee: { merchant_id: null, merchant_category: null, merchant_country: null },
    payment_instrument: { type: null, card_hash: null, issuer_bank: null, bin_country: null },
    device: { fingerprint_id: null, ip_address: null, user_agent: null, lat: null, lng: null },
    session: { session_id: null, login_method: null, time_since_login_sec: null },
  })
})

test('null counts as missing', () => {
  const nulls = { payee: null, payment_instrument: null, device: { fingerprint_id: null, geo_location: null }, session: null }
  expect(readRequest({ ...LEAST, ...nulls }, hashes, NOW)).toEqual(readRequest(LEAST, hashes, NOW))
})

test('a full request is read in canonical form, with hashes instead of e-mail address and phone number', () => {
  const request = readRequest(FULL, hashes, NOW)
  expect(request.payer).toEqual({
    user_id: 'u1',
    email_hash: hashes.email('ada@example.com'),
    phone_hash: hashes.phone('+4930123'),
    account_age_days: 400,
    country: 'DE',
  })
  expect(request.device).toEqual({ fingerprint_id: 'd1', ip_address: '192.0.2.1', user_agent: 'agent', lat: 52.5, lng: 13.4 })
  expect(JSON.stringify(request)).not.toMatch(/example|123"/i)
})

test('all errors in a body are named at once', () => {
  const wrong = {
    transaction_id: '',
    timestamp: '2026-01-15T13:00:00Z',
    amount: -1,
    currency: 'XXX',
    transaction_type: 'purchase',
    payer: { email: 5, account_age_days: 1.5, country: 'Germany' },
    payee: { merchant_id: 'm\u0000' },
    payment_instrument: [],
    device: { ip_address: '1.2.3', geo_location: { lat: 91 } },
    session: { time_since_login_sec: -1, login_method: '' },
  }
  const { code, paths } = refusal(wrong)
  expect(code).toBe('invalid_request')
  expect(paths.sort()).toEqual([
    'body.amount',
    'body.currency',
    'body.device.geo_location.lat',
    'body.device.geo_location.lng',
    'body.device.ip_address',
    'body.payee.merchant_id',
    'body.payer.account_age_days',
    'body.payer.country',
    'body.payer.email',
    'body.payer.user_id',
    'body.payment_instrument',
    'body.session.login_method',
    'body.session.time_since_login_sec',
    'body.timestamp',
    'body.transaction_id',
    'body.transaction_type',
  ])
})

test.each([
  ['an infinite amount', { amount: JSON.parse('1e999') }, 'body.amount'],
  ['an amount as text', { amount: '20' }, 'body.amount'],
  ['no amount', { amount: undefined }, 'body.amount'],
  ['a currency in small letters', { currency: 'usd' }, 'body.currency'],
  ['a transaction_id of more than 50 characters', { transaction_id: 'x'.repeat(51) }, 'body.transaction_id'],
  ['a time without an offset', { timestamp: '2026-01-15T12:00:00' }, 'body.timestamp'],
  ['a day that does not exist', { timestamp: '2026-02-30T12:00:00Z' }, 'body.timestamp'],
  ['a timestamp in epoch seconds', { timestamp: NOW / 1000 }, 'body.timestamp'],
  ['a timestamp just over 5 minutes in the future', { timestamp: new Date(NOW + 300_001).toISOString() }, 'body.timestamp'],
  ['a timestamp just over 7 days ago', { timestamp: new Date(NOW - 604_800_001).toISOString() }, 'body.timestamp'],
  ['no payer', { payer: undefined }, 'body.payer'],
  [
    'a country of one character that becomes two letters in upper case',
    { payer: { user_id: 'u1', country: '\ufb01' } },
    'body.payer.country',
  ],
  ['a place without a longitude', { device: { geo_location: { lat: 1 } } }, 'body.device.geo_location.lng'],
])('%s: the request is refused', (_what, change, path) => {
  expect(refusal({ ...LEAST, ...change })).toMatchObject({ code: 'invalid_request', paths: [path] })
})

test.each([NOW + 300_000, NOW - 604_800_000])('the earliest and the latest allowed timestamp are accepted: %i', (at) => {
  expect(readRequest({ ...LEAST, timestamp: new Date(at).toISOString() }, hashes, NOW).timestamp).toBe(at)
})

test.each([[null], ['text'], [[]], [5]])('a body that is not an object is refused: %j', (body) => {
  expect(refusal(body)).toMatchObject({ code: 'invalid_request', paths: ['body'] })
})

test.each([{ payer: { user_id: 'u\u0000' } }, { unknown: ['a', '\u0000'] }, { session: { session_id: '\ud800' } }])(
  'the refusal names a field with NUL or a lone surrogate: %j',
  (change) => {
    const { code, paths } = refusal({ ...LEAST, ...change })
    expect(code).toBe('invalid_encoding')
    expect(paths).toHaveLength(1)
  },
)

test('the answer to a body with 5,000 faults in a field whose name has 20,000 characters names 20 faults and stays below 10,000 characters', () => {
  const { code, paths, text } = refusal({ ...LEAST, ['x'.repeat(20_000)]: Array.from({ length: 5_000 }, () => '\u0000') })
  expect([code, paths.length]).toEqual(['invalid_encoding', 20])
  expect(text.length).toBeLessThan(10_000)
})

test.each([
  { card_hash: '4111111111111111' },
  { pan: '4111 1111 1111 1111' },
  { card: { number: ['4111-1111-1111-1111'] } },
  { number: 4111111111111111 },
  { '4111111111111111': 'x' },
])('a raw card number is refused, and the answer does not repeat it: %j', (instrument) => {
  const { code, paths, text } = refusal({ ...LEAST, amount: -1, payment_instrument: instrument })
  expect(code).toBe('raw_card_number')
  expect(paths).toEqual(['body.payment_instrument'])
  expect(text.replaceAll(/\D/g, '')).not.toContain('41111')
})

test.each([
  ['[', ']', 20_000],
  ['{"a":', '}', 8_000],
])(
  'a body with thousands of nested %j is refused, and the recursive search for card numbers does not overflow the stack',
  (open, close, depth) => {
    const instrument = `${open.repeat(depth)}${open === '[' ? '' : '1'}${close.repeat(depth)}`
    const body = JSON.stringify(LEAST).replace(/}$/, `,"payment_instrument":${instrument}}`)
    const read = () => readRequest(parseJsonBody(Buffer.from(body)), hashes, NOW)
    expect(read).toThrow(expect.objectContaining({ definition: errors.invalid_request }))
  },
)
