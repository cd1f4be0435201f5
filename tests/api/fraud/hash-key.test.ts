import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openPersonalHashes } from '../../../api/fraud/hash-key.ts'
import { personalHashes } from '../../../schemas/fraud/personal-hash.ts'

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'hash-key-'))
})
afterEach(() => rmSync(home, { recursive: true }))

test('without a setting, processes with the same home folder share a key that only the owner can read', () => {
  const first = openPersonalHashes({ hashKey: undefined }, { home }).email('a@example.com')
  expect(openPersonalHashes({ hashKey: undefined }, { home }).email('a@example.com')).toBe(first)
  expect(statSync(join(home, 'auth', 'fraud-hash-key')).mode & 0o777).toBe(0o600)
})

test('if a key is configured, it is used', () => {
  const key = 'a key for tests, long enough'
  expect(openPersonalHashes({ hashKey: key }, { home }).phone('1')).toBe(personalHashes(key).phone('1'))
})
