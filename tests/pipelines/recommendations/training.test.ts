import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { getPriority, tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { TrainingTimeoutError, trainingProgram } from '../../../pipelines/recommendations/models/training.ts'

const TRAINED_AT = Date.UTC(2026, 7, 1)
/**
 * The beginning of fake training programs. Like the real program, they get the path of a job file and write their files
 * next to it.
 */
const BEGIN = `
import { readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
const { folder, sequence } = JSON.parse(readFileSync(process.argv[2], 'utf8'))
const write = (name, text) => writeFileSync(join(folder, name), text)
const die = () => process.kill(process.pid, 'SIGKILL')
const result = JSON.stringify({ state: 'IN_FORCE', reason: '', version: 'v' + sequence, learnedUntil: 1, metrics: {}, files: [] })
`

function training(program: string, { isUrgent = false, limitMs }: { isUrgent?: boolean; limitMs?: number } = {}) {
  const place = mkdtempSync(join(tmpdir(), 'millrace-training-'))
  onTestFinished(() => rmSync(place, { recursive: true, force: true }))
  const file = join(place, 'program.mjs')
  writeFileSync(file, `${BEGIN}\n${program}`)
  const folder = join(place, 'trainings')
  const train = trainingProgram({ folder, tools: place, python: undefined, program: file, ...(limitMs !== undefined && { limitMs }) })
  const order = (signal: AbortSignal) => ({ runId: 'run-1', sequence: 3, trainedAt: TRAINED_AT, inForce: undefined, isUrgent, signal })
  return { place, folder, start: (signal = new AbortController().signal) => train(order(signal)) }
}

test('a training run that succeeds returns its result, and leaves no files behind', async () => {
  const { folder, start } = training(`write('result.json', result)`)
  await expect(start()).resolves.toMatchObject({ state: 'IN_FORCE', version: 'v3' })
  expect(existsSync(folder)).toBe(false)
})

test.each([
  ['before it writes its first file', 'die()', 'SIGKILL'],
  ['after it wrote the vectors but not the groups', `write('items.f16', 'x'); die()`, 'SIGKILL'],
  ['before it writes the manifest', `write('items.f16', 'x'); write('trees.txt', 'x'); die()`, 'SIGKILL'],
  ['while it writes its result', `write('result.json', result.slice(0, 40)); die()`, 'SIGKILL'],
  ['after it wrote only part of its result', `write('result.json', result.slice(0, 40))`, 'JSON'],
  ['with an error', `throw new Error('factorise.py: killed')`, 'factorise.py: killed'],
  ['on a full disk', `symlinkSync('/dev/full', join(folder, 'items.f16')); write('items.f16', 'x')`, 'ENOSPC'],
])('a training run that ends %s fails with a reason and leaves no files behind', async (_, program, reason) => {
  const { folder, start } = training(program)
  await expect(start()).rejects.toThrow(reason)
  expect(existsSync(folder)).toBe(false)
})

test('the next training run removes files that a killed worker left behind', async () => {
  const first = training(`write('items.f16', 'x'); process.stdin.resume()`)
  const killed = new AbortController()
  const ended = expect(first.start(killed.signal)).rejects.toThrow()
  await expect.poll(() => existsSync(join(first.folder, 'run-1', 'items.f16'))).toBe(true)
  writeFileSync(join(first.place, 'program.mjs'), `${BEGIN}\nwrite('result.json', result)`)
  await first.start()
  expect(readdirSync(first.place)).toEqual(['program.mjs'])
  killed.abort()
  await ended
})

test('a worker that stops ends its training', async () => {
  const { folder, start } = training(`write('pid', String(process.pid)); process.stdin.on('end', () => process.exit(1)).resume()`)
  const stopping = new AbortController()
  const ended = expect(start(stopping.signal)).rejects.toThrow('the training run was stopped')
  await expect.poll(() => existsSync(join(folder, 'run-1', 'pid'))).toBe(true)
  stopping.abort()
  await ended
  expect(existsSync(folder)).toBe(false)
})

test('a training run has the lowest priority, but an urgent run has the priority of its worker', async () => {
  const saysPriority = `
    const { getPriority } = await import('node:os')
    write('result.json', JSON.stringify({ ...JSON.parse(result), metrics: { nice: getPriority() } }))`
  await expect(training(saysPriority).start()).resolves.toMatchObject({ metrics: { nice: 19 } })
  await expect(training(saysPriority, { isUrgent: true }).start()).resolves.toMatchObject({ metrics: { nice: getPriority() } })
})

test('a training run at the lowest priority ends at its time limit, which does not apply to an urgent run', async () => {
  const waits = `process.stdin.on('end', () => process.exit(1)).resume()`
  await expect(training(waits, { limitMs: 300 }).start()).rejects.toThrow(TrainingTimeoutError)
  const ends = `setTimeout(() => write('result.json', result), 20)`
  await expect(training(ends, { limitMs: 1, isUrgent: true }).start()).resolves.toMatchObject({ version: 'v3' })
})
