import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'

const STOP_SIGNAL = join(import.meta.dirname, '../../../scripts/command-line/stop-signal.ts')
/** A program that receives the given signals at the given times, in ms. The first signal arrives at time 0. */
const SCRIPT = `
const { onStopSignal } = await import(process.argv[1])
const print = (line) => process.stdout.write(line + '\\n')
onStopSignal(() => print('stop'))
for (const [signal, at] of JSON.parse(process.argv[2])) {
  performance.now = () => at
  process.emit(signal)
  print(signal + ' at ' + at)
}
process.exit(0)
`

function after(...signals: readonly [signal: string, at: number][]) {
  const args = ['--input-type=module', '-e', SCRIPT, STOP_SIGNAL, JSON.stringify(signals)]
  const { status, stdout } = spawnSync(process.execPath, args, { encoding: 'utf8' })
  return { status, lines: stdout.trim().split('\n') }
}

test('while a command is stopping, a further signal ends it only if it arrives more than a second after the first one', () => {
  const { status, lines } = after(['SIGINT', 0], ['SIGINT', 5], ['SIGTERM', 900], ['SIGINT', 1_500], ['SIGINT', 2_000])
  expect(lines).toEqual(['stop', 'SIGINT at 0', 'SIGINT at 5', 'SIGTERM at 900'])
  expect(status).toBe(1)
})

test('a terminal that is closed after Ctrl-C does not interrupt the stop', () => {
  const { status, lines } = after(['SIGINT', 0], ['SIGHUP', 5_000])
  expect(lines).toEqual(['stop', 'SIGINT at 0', 'SIGHUP at 5000'])
  expect(status).toBe(0)
})
