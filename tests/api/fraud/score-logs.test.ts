import { expect, test } from 'vitest'
import { fraudErrors } from '../../../api/fraud/errors.ts'
import { scorePart } from '../../../api/fraud/score/part.ts'
import { addressRanges } from '../../../api/kit/client-address.ts'
import { personalHashes } from '../../../schemas/fraud/personal-hash.ts'
import type { FraudRequest } from '../../../schemas/fraud/types.ts'
import { testApp } from '../kit/harness.ts'
import { scoreWorld } from './score-world.ts'
import { payment } from './system.ts'

/** Distinctive parts of the e-mail address, the phone number and the card data in the requests. */
const PERSONAL = ['ada.lovelace', '30 1234567', '4111 1111', 'hash-of-her-card', 'cvc-737']
const PAYER = { user_id: 'u1', email: 'ada.lovelace@example.com', phone: '+49 30 1234567' }
const CARD = { type: 'CREDIT_CARD', card_hash: 'hash-of-her-card', bin_country: 'DE' }
const FULL = { payer: PAYER, payment_instrument: CARD }

/** Serves the scoring route, and captures all log lines down to the level debug. */
async function served(fails?: (request: FraudRequest) => never) {
  const { score } = scoreWorld()
  const part = scorePart({
    started: () => Promise.resolve(),
    score: async (request) => (fails === undefined ? await score(request) : fails(request)),
    hashes: personalHashes('0123456789abcdef012345'),
    gateways: addressRanges(['127.0.0.1/32']),
    observe: () => undefined,
    onAnswer: () => undefined,
    now: Date.now,
    monotonic: () => performance.now(),
  })
  const service = { name: 'fraud', description: '', isUserId: () => true, probes: [], errors: Object.values(fraudErrors), ...part }
  const api = await testApp({ services: [service] })
  const headers = { 'content-type': 'application/json', ...(await api.bearer({ sub: 'payments', scope: 'internal' })) }

  /** Sends a body, and returns the status and everything that was logged about the request. */
  async function logged(body: string): Promise<{ readonly status: number; readonly text: string }> {
    const first = api.lines.length
    const { status } = await api.app.request('/api/v1/transactions/score', { method: 'POST', headers, body })
    return { status, text: JSON.stringify(api.lines.slice(first)) }
  }
  return logged
}

function personalDataIn(text: string): string[] {
  return PERSONAL.filter((value) => text.includes(value))
}

test('the check for personal data finds such data in a request body', () => {
  expect(personalDataIn(JSON.stringify(payment('t1', { ...FULL, pan: '4111 1111', cvc: 'cvc-737' })))).toEqual(PERSONAL)
})

test.each([
  ['a payment that is scored', JSON.stringify(payment('t1', FULL)), 200],
  ['an invalid payment', JSON.stringify(payment('t1', { ...FULL, amount: 'ada.lovelace', currency: '30 1234567' })), 400],
  ['a payment with fields that do not exist', JSON.stringify(payment('t1', { ...FULL, 'ada.lovelace@example.com': 'cvc-737' })), 200],
  [
    'a payment with the number of a card',
    JSON.stringify(payment('t1', { ...FULL, payment_instrument: { ...CARD, pan: '4111 1111 1111 1111' } })),
    400,
  ],
  ['invalid JSON', `{"payer": {"email": "ada.lovelace@example.com"}, "pan": 4111 1111 1111 1111, "cvc": "cvc-737"}`, 400],
  ['a body that is too large', JSON.stringify(payment('t1', { ...FULL, unknown: 'x'.repeat(65_536) })), 413],
])('the log has no e-mail address, phone number or card data of %s', async (_what, body, expected) => {
  const logged = await served()
  const { status, text } = await logged(body)
  expect(status).toBe(expected)
  expect(text).toContain('request_completed')
  expect(personalDataIn(text)).toEqual([])
})

test('the log has no e-mail address, phone number or card data of a payment whose scoring fails', async () => {
  const logged = await served((request) => {
    throw new Error(`there is no factor for ${Object.keys(request)}`)
  })
  const { status, text } = await logged(JSON.stringify(payment('t1', FULL)))
  expect(status).toBe(500)
  expect(text).toContain('there is no factor')
  expect(personalDataIn(text)).toEqual([])
})
