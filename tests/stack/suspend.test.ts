import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { suspend } from './suspend.ts'

const BUSY = `
const { Worker } = require('node:worker_threads')
for (let thread = 0; thread < 6; thread++) new Worker('for (;;);', { eval: true })
process.stdout.write('started')
setInterval(() => {}, 1000)
`
const ROUNDS = 20
/** How long to watch the CPU time of the suspended threads. */
const LOOK_MS = 40

/** Returns the CPU time of all threads of a process in ns. */
function cpuTime(pid: number): number {
  const times = readdirSync(`/proc/${pid}/task`).map((thread) => readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'))
  return times.reduce((sum, time) => sum + Number.parseInt(time, 10), 0)
}

test('no thread of a suspended process continues to run', async () => {
  const child = spawn(process.execPath, ['-e', BUSY], { stdio: ['ignore', 'pipe', 'inherit'] })
  const pid = child.pid as number
  onTestFinished(() => void child.kill('SIGKILL'))
  await once(child.stdout, 'data')
  for (let round = 0; round < ROUNDS; round++) {
    await suspend(pid)
    const before = cpuTime(pid)
    const until = performance.now() + LOOK_MS
    while (performance.now() < until);
    expect(cpuTime(pid)).toBe(before)
    process.kill(pid, 'SIGCONT')
  }
})
