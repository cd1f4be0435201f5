import { createHmac, timingSafeEqual } from 'node:crypto'
import { expect, test } from 'vitest'
import { pushMessage, signatureOf } from '../../../../pipelines/matches/pushes/message.ts'

const PUSH = { match_id: 'm-1', user_id: 'u-1', other_id: 'u-2', conversation_id: 'c-1', matched_at: Date.UTC(2026, 0, 2, 3, 4, 5, 678) }
const NOW = Date.UTC(2026, 0, 2, 3, 4, 6, 999)
const [OLD, NEW] = [Buffer.alloc(24, 1), Buffer.alloc(32, 2)]

test('the signature agrees with the published example of Standard Webhooks', () => {
  const secret = Buffer.from('MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw', 'base64')
  const signature = signatureOf(secret, 'msg_p5jXN8AQM9LWM0D4loKWxJek', 1_614_265_330, '{"test": 2432232314}')
  expect(signature).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=')
})

test('all attempts to send a push have the same key and body, but each has its own signature, and the body contains only ids and the time of the match', () => {
  const { headers, body } = pushMessage(PUSH, [NEW], NOW)
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'idempotency-key': 'm-1:u-1',
    'webhook-id': 'm-1:u-1',
    'webhook-timestamp': String(Math.floor(NOW / 1_000)),
  })
  expect(JSON.parse(body)).toEqual({
    type: 'match.created',
    timestamp: '2026-01-02T03:04:05.678Z',
    data: { match_id: 'm-1', user_id: 'u-1', other_id: 'u-2', conversation_id: 'c-1', matched_at: '2026-01-02T03:04:05.678Z' },
  })
  const later = pushMessage(PUSH, [NEW], NOW + 5_000)
  expect(later.headers['webhook-id']).toBe(headers['webhook-id'])
  expect(later.body).toBe(body)
  expect(later.headers['webhook-signature']).not.toBe(headers['webhook-signature'])
})

test('while the secret is being replaced, a receiver with either secret can verify a push', () => {
  const { headers, body } = pushMessage(PUSH, [NEW, OLD], NOW)
  const signatures = headers['webhook-signature'].split(' ')
  expect(signatures).toHaveLength(2)
  for (const secret of [OLD, NEW]) {
    const content = `${headers['webhook-id']}.${headers['webhook-timestamp']}.${body}`
    const expected = Buffer.from(`v1,${createHmac('sha256', secret).update(content).digest('base64')}`)
    expect(signatures.some((one) => one.length === expected.length && timingSafeEqual(Buffer.from(one), expected))).toBe(true)
  }
})
