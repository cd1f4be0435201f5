import { createHmac } from 'node:crypto'
import { expect, test } from 'vitest'
import { personalHashes } from '../../../schemas/fraud/personal-hash.ts'

const KEY = 'a key for tests, long enough'
const { email, phone } = personalHashes(KEY)

test('equal canonical values have equal hashes', () => {
  expect(email(' A@example.com')).toBe(email('a@EXAMPLE.com'))
  expect(phone('+49 170 1')).toBe(phone('+491701'))
})

test('a hash is the first half of an HMAC-SHA-256 with the key', () => {
  expect(email('a@example.com')).toBe(createHmac('sha256', KEY).update('email:a@example.com').digest('hex').slice(0, 32))
})

test('different keys, kinds and values give different hashes', () => {
  const hashes = [email('1'), email('2'), phone('1'), personalHashes('another key, long enough').email('1')]
  expect(new Set(hashes).size).toBe(hashes.length)
})
