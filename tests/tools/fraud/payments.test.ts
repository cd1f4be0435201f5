import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { INPUT_FIELDS, inputField } from '../../../schemas/fraud/models/inputs.ts'
import { merged } from '../../../tools/fraud/evaluate/merge.ts'
import { readPayments } from '../../../tools/fraud/evaluate/payments.ts'
import { PART, replayPayments } from '../../../tools/fraud/evaluate/replay.ts'
import type { MatrixFile } from '../../../tools/fraud/matrix.ts'
import { recordingOf } from './recording.ts'

const DAY_MS = 86_400_000
const START = Date.UTC(2020, 0, 1)

let folder: string
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'payments-'))
})
afterAll(() => rm(folder, { recursive: true }))

async function fileOf(name: string, text: string): Promise<string> {
  const file = join(folder, name)
  await writeFile(file, text)
  return file
}

test('the columns of a row are converted to a request', async () => {
  const [first] = await Array.fromAsync(readPayments(await fileOf('all.csv', recordingOf(2))))
  expect(first).toMatchObject({
    request: { transaction_id: '0', timestamp: START, currency: 'USD', device: { fingerprint_id: null } },
    isFraud: false,
    scenario: 0,
  })
})

test.each([
  ['TRANSACTION_ID,TX_DATETIME\n', 'lacks the columns CUSTOMER_ID'],
  [recordingOf(1).replace('2020-01-01 00:12:00', 'yesterday'), 'line 3: the time or the amount'],
  [recordingOf(1).replace('2020-01-01 00:12:00', '2019-12-31 00:12:00'), 'line 3: the rows must be ordered'],
  [recordingOf(1).replace(/(2020-01-01 00:12:00.*),0$/m, '$1,stolen card'), 'line 3: the scenario'],
  [recordingOf(1).replace(/(2020-01-01 00:12:00.*),0$/m, '$1,256'), 'line 3: the scenario'],
  ['', 'is empty'],
])('the error about a faulty file names the faulty line, or says what is missing (case %#)', async (text, message) => {
  const file = await fileOf('wrong.csv', text)
  await expect(Array.fromAsync(readPayments(file))).rejects.toThrow(message)
})

test('the error about a file that is not gzip, although its name says so, names the file', async () => {
  const file = await fileOf('plain.csv.gz', recordingOf(2))
  await expect(Array.fromAsync(readPayments(file))).rejects.toThrow(`${file} cannot be read: incorrect header check`)
})

test('each payment counts once if two recordings overlap', async () => {
  const lines = recordingOf(4).trim().split('\n')
  const one = await fileOf('one.csv', lines.slice(0, 300).join('\n'))
  const other = await fileOf('other.csv', [lines[0], ...lines.slice(200)].join('\n'))
  const ids = (await Array.fromAsync(merged(readPayments(one), readPayments(other)))).map(({ request }) => request.transaction_id)
  expect(ids).toEqual(lines.slice(1).map((line) => line.split(',')[0]))
})

test('labels enter the profiles after a delay, and training uses only labels known when the test period begins', async () => {
  const rates: number[] = []
  const rate = inputField('merchant.fraud_rate_7d')!
  const matrix: MatrixFile = {
    path: '',
    width: INPUT_FIELDS.length,
    count: 0,
    add: (input) => void rates.push(rate.read(input)),
    close() {},
  }
  const days = (count: number) => START + count * DAY_MS
  const periods = { trainFrom: days(1), trainTo: days(30), testFrom: days(30), testTo: days(35), labelDelayMs: 7 * DAY_MS }
  const file = await fileOf('labels.csv', recordingOf(40))
  const { parts } = await replayPayments(readPayments(file), periods, matrix)
  expect(parts.filter((part) => part === PART.train)).toHaveLength(22 * 120)
  expect(parts.filter((part) => part === PART.test)).toHaveLength(5 * 120)
  // The first frauds at terminals happen on day 10. Each day has 120 rows, and the first row is on day 1.
  const risky = (from: number, to: number) => rates.slice((from - 1) * 120, (to - 1) * 120).filter((one) => one > 0.5).length
  expect(risky(1, 17)).toBe(0)
  expect(risky(19, 23)).toBeGreaterThan(0)
})
