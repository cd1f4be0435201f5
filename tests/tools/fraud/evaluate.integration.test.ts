import { execFile } from 'node:child_process'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { recordingOf } from './recording.ts'

const run = promisify(execFile)
/** Time limit of the test. The first run has to install Python packages. */
const TIMEOUT_MS = 5 * 60_000

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'evaluate-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function evaluate(...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, ['tools/fraud/evaluate/evaluate.ts', ...args])
  return stdout
}

test('a recording is split at a given day, and the results of both models are reported', { timeout: TIMEOUT_MS }, async () => {
  const file = join(folder, 'payments.csv.gz')
  await writeFile(file, gzipSync(recordingOf(90)))
  const output = await evaluate('--train', file, '--test', file, '--test-from', '2020-03-01')
  // Training uses the 60 days before March except the last 7, because their labels are not known yet.
  expect(output).toContain('training: 6360 payments')
  expect(output).toContain('test: 3600 payments')
  const [, recall] = /recall at 1 % false positives \| ([\d.]+) \|/.exec(output)!
  expect(Number(recall)).toBeGreaterThan(0.5)
  expect(output).toMatch(/recall of scenario 1 \(\d+ frauds\) \| 1\.000/)
  expect(output).toMatch(/recall of scenario 2 /)
})

test.each<[string[], string]>([
  [['--train', 'absent.csv', '--test', 'other.csv'], 'absent.csv is missing. The command was made for the simulated card payments'],
  [['--train', 'one.csv', '--test', 'one.csv'], '--test-from is missing'],
  [['--train', 'one.csv', '--test', 'two.csv', '--test-from', 'July'], '--test-from must be a day'],
])('with the wrong arguments %j, the error says what is wrong', async (args, message) => {
  await expect(evaluate(...args)).rejects.toThrow(message)
})
