import { expect, onTestFinished, test, vi } from 'vitest'
import { timeOf } from '../../../../pipelines/links/clicks/time.ts'

const TIME = Date.UTC(2026, 10, 21, 22, 30)

test.each([
  '2026-11-21T22:30:00.000Z',
  '2026-11-21T22:30:00.000000Z',
  '2026-11-21T22:30Z',
  '2026-11-22T00:30:00+02:00',
  '2026-11-22T00:30:00+02',
  '2026-11-22T00:30:00+0200',
  '2026-11-21T18:00:00.000-0430',
  '2026-11-21T22:30:00',
  '2026-11-21T22:30:00.000',
])('%s is parsed as the same time, regardless of the time zone of the machine', (text) => {
  onTestFinished(() => void vi.unstubAllEnvs())
  for (const zone of ['UTC', 'Asia/Tokyo', 'America/New_York']) {
    vi.stubEnv('TZ', zone)
    expect(timeOf(text)).toBe(TIME)
  }
})

test('a time on 29 February of a leap year is valid', () => {
  expect(timeOf('2028-02-29T23:30:00-01:00')).toBe(Date.UTC(2028, 2, 1, 0, 30))
})

test.each([
  '',
  '5',
  '2026-11-21',
  '2026/11/21 22:30',
  '21 Nov 2026 22:30 GMT',
  '2026-11-21T22:30:00.000Z ',
  '2026-13-21T22:30:00Z',
  '2026-02-31T22:30:00Z',
  '2026-02-29T22:30:00+02:00',
  '2026-11-31T22:30',
  '2026-11-21T22:30:00+2',
  '2026-11-21T22:30:00+25',
])('%j is not a time in ISO 8601', (text) => {
  expect(timeOf(text)).toBeNaN()
})
