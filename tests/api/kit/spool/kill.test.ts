import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, onTestFinished, test } from 'vitest'
import { SOON, spoolFolder, spoolWorld } from './spool-world.ts'

const PROGRAM = join(import.meta.dirname, 'children/spooling-process.ts')
const SLOW = 60_000

function startProcess(folder: string, ...name: string[]): { readonly child: ChildProcess; readonly lines: string[] } {
  const child = spawn(process.execPath, [PROGRAM, folder, ...name], { stdio: ['ignore', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill('SIGKILL'))
  const lines: string[] = []
  createInterface({ input: child.stdout }).on('line', (line) => lines.push(line))
  return { child, lines }
}

async function kill(child: ChildProcess): Promise<void> {
  const closed = once(child, 'close')
  child.kill('SIGKILL')
  await closed
}

test('nothing that a process had spooled before kill -9 is lost, and the records of each key stay in order', {
  timeout: SLOW,
}, async () => {
  const folder = await spoolFolder()
  const reported: number[] = []
  for (const name of ['first', 'second']) {
    const { child, lines } = startProcess(folder, name)
    await expect.poll(() => lines.length, SOON).toBeGreaterThan(300)
    await kill(child)
    reported.push(Math.max(...lines.slice(1).map(Number)))
  }
  const { logged, spool } = await spoolWorld({ folder, maxBytes: 100_000_000 })
  await expect.poll(() => spool.state.records, SOON).toBe(0)
  const log = logged()
  for (const [at, name] of ['first', 'second'].entries())
    for (let key = 0; key < 5; key++) {
      const values = log[`${name}-${key}`].map(Number)
      expect(values).toEqual(values.map((_, index) => index * 5 + key))
      expect(values.at(-1)).toBeGreaterThan(reported[at] - 5)
    }
})

test('if several processes start at once, only one of them adopts the folder of a dead process', { timeout: SLOW }, async () => {
  const folder = await spoolFolder()
  const dead = startProcess(folder, 'dead')
  await expect.poll(() => dead.lines.length, SOON).toBeGreaterThan(50)
  const rival = startProcess(folder)
  await expect.poll(() => rival.lines, SOON).toEqual(['adopted 0'])
  await kill(dead.child)
  const heirs = [1, 2, 3].map(() => startProcess(folder))
  await expect.poll(() => heirs.every(({ lines }) => lines.length === 1), SOON).toBe(true)
  const counts = heirs.map(({ lines }) => Number(lines[0].split(' ')[1])).toSorted((a, b) => a - b)
  expect(counts.slice(0, 2)).toEqual([0, 0])
  expect(counts[2]).toBeGreaterThanOrEqual(49)
})
