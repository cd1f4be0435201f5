import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readPipelinesConfig } from '../../../../pipelines/config.ts'
import { keptVisitorSecret } from '../../../../pipelines/links/clicks/visitor-secret.ts'

test('workers with the same state folder share one generated secret, which other users cannot read', () => {
  const folder = mkdtempSync(join(tmpdir(), 'millrace-secret-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const state = join(folder, 'state')
  const secret = keptVisitorSecret(state)
  expect(secret.length).toBeGreaterThanOrEqual(43)
  expect(keptVisitorSecret(state)).toBe(secret)
  expect(statSync(join(state, 'visitor-secret')).mode & 0o077).toBe(0)
})

test('in production, workers that count clicks require a configured secret, and short secrets are refused everywhere', () => {
  const production = { NODE_ENV: 'production' }
  expect(() => readPipelinesConfig(production)).toThrow('VISITOR_SECRET: is missing')
  expect(() => readPipelinesConfig({ ...production, PIPELINES: 'clicks' })).toThrow('VISITOR_SECRET')
  expect(() => readPipelinesConfig({ VISITOR_SECRET: 'too short' })).toThrow('VISITOR_SECRET')
  expect(() => readPipelinesConfig({ ...production, PIPELINES: 'trends' })).not.toThrow()
  const { services } = readPipelinesConfig({ ...production, PIPELINES: 'clicks', VISITOR_SECRET: 'sixteen letters or more' })
  expect(services[0].settings).toEqual({
    visitorSecret: 'sixteen letters or more',
    countryDatabase: undefined,
    keepAddresses: false,
  })
})
