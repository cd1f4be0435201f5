import { afterEach, expect, test, vi } from 'vitest'
import { createLogger } from '../../../api/kit/logging.ts'

afterEach(() => {
  vi.useRealTimers()
})

function captured() {
  const lines: Record<string, unknown>[] = []
  return { lines, log: createLogger('info', { write: (line: string) => void lines.push(JSON.parse(line)) }) }
}

test('each event is one line with the name of the event, its fields, the time and the level', () => {
  const { lines, log } = captured()
  log.info({ request_id: 'r', count: 1 }, 'request_completed')
  log.debug({}, 'too_fine')
  log.child({ route: '/x' }).warn({}, 'odd')
  expect(lines).toEqual([
    { level: 'info', time: expect.stringMatching(/^\d{4}-.*Z$/), request_id: 'r', count: 1, event: 'request_completed' },
    { level: 'warn', time: expect.anything(), route: '/x', event: 'odd' },
  ])
})

test('each line has the time at which it was written, in milliseconds', () => {
  vi.useFakeTimers({ toFake: ['Date'] })
  const { lines, log } = captured()
  const times = [0, 7, 999, 1_000, 59_999, 5].map((ms) => Date.UTC(2026, 0, 15, 12) + ms)
  for (const time of times) {
    vi.setSystemTime(time)
    log.info({}, 'e')
  }
  expect(lines.map(({ time }) => time)).toEqual(times.map((time) => new Date(time).toISOString()))
})

test("secrets are redacted, and the caller's object is not changed", () => {
  const { lines, log } = captured()
  const fields = { token: 't0p', user: { password: 't0p', name: 'a', deeper: { api_key: 't0p' } }, list: [1], error: undefined }
  log.info(fields, 'e')
  expect(JSON.stringify(lines)).not.toContain('t0p')
  expect(lines[0]).toMatchObject({ token: '[redacted]', user: { name: 'a', deeper: {} }, list: [1] })
  expect(fields.user.password).toBe('t0p')
})

test('the credentials of a URL are redacted in messages, stacks and errors', () => {
  const { lines, log } = captured()
  const error = new Error('cannot reach redis://user:t0p@10.0.0.1:6379/0', { cause: new Error('http://:t0p@b refuses') })
  log.error({ message: error.message, stack: error.stack, url: 'https://a.example/p:q@r' }, 'request_failed')
  log.error({ err: error }, 'thread_ended')
  log.error({ err: new AggregateError([error], 'two servers') }, 'servers_away')
  log.error({ reasons: [error.message], err: 'a text' }, 'texts')
  expect(JSON.stringify(lines)).not.toContain('t0p')
  expect(lines[0]).toMatchObject({ message: 'cannot reach redis://[redacted]@10.0.0.1:6379/0', url: 'https://a.example/p:q@r' })
  expect(lines[1]).toMatchObject({ err: { type: 'Error', message: expect.stringContaining('redis://[redacted]@10.0.0.1') } })
  expect(lines[3]).toMatchObject({ reasons: ['cannot reach redis://[redacted]@10.0.0.1:6379/0'], err: 'a text' })
})
