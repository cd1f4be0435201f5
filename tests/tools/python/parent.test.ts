import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { processMark } from '../../../deploy/local/child.ts'
import { waitUntil } from '../../../deploy/local/wait.ts'

/**
 * Replaces the packages of the programs, because the real packages are large. When a program reads its first numbers,
 * the replacement writes the process id of the program to the file that `PID_FILE` names, and sleeps for ten minutes.
 */
const PACKAGES = `
import os, sys, time
from unittest.mock import MagicMock

def read(*_, **__):
    with open(os.environ["PID_FILE"], "w") as file:
        file.write(f"{os.getpid()}\\n")
    time.sleep(600)

numpy = MagicMock(fromfile=read)
names = """pip numpy lightgbm scipy scipy.linalg scipy.sparse implicit implicit.cpu implicit.cpu.als onnxruntime
    onnxmltools onnxmltools.convert onnxmltools.convert.common onnxmltools.convert.common.data_types sklearn
    sklearn.metrics sklearn.impute sklearn.linear_model sklearn.pipeline sklearn.preprocessing"""
sys.modules.update({name: MagicMock() for name in names.split()}, numpy=numpy)
`

/** Creates the Python environment of a service. In it, the packages above take the place of the real ones. */
function fakeEnvironment(home: string, service: string): void {
  const packages = createHash('sha256')
    .update(readFileSync(`tools/${service}/python/requirements.txt`))
    .digest('hex')
    .slice(0, 12)
  const folder = join(home, `python-${service}-${packages}`)
  mkdirSync(join(folder, 'bin'), { recursive: true })
  writeFileSync(join(folder, 'ready'), '')
  writeFileSync(join(folder, 'sitecustomize.py'), PACKAGES)
  const python = join(folder, 'bin/python')
  const environment = `PATH="${process.env.PATH}" PID_FILE="${home}/pid" PYTHONPATH="${folder}:$PYTHONPATH"`
  writeFileSync(python, `#!/bin/sh\n${environment} exec python3 "$@"\n`)
  chmodSync(python, 0o755)
}

/**
 * Returns the process id that the Python program has written.
 * @throws Error if the process id is not written completely yet
 */
function pidOf(home: string): number {
  const text = readFileSync(join(home, 'pid'), 'utf8')
  if (!text.endsWith('\n')) throw new Error('the process id is not complete')
  return Number(text)
}

test.each([
  ['fraud', 'train'],
  ['fraud', 'evaluate'],
  ['recommendations', 'factorise'],
  ['recommendations', 'rank'],
])('the Python program of %s for “%s” ends when the process that started it is killed', async (service, program) => {
  const home = mkdtempSync(join(tmpdir(), 'millrace-parent-'))
  onTestFinished(() => rmSync(home, { recursive: true, force: true }))
  fakeEnvironment(home, service)
  const job = { folder: home, rows: '', weights: '', parts: '', width: 1, columns: [], items: 1, dimensions: 1 }
  const options = { program, job, folder: home, tools: home }
  const module = new URL(`../../../tools/${service}/python/run.ts`, import.meta.url)
  const script = `import(${JSON.stringify(module.href)}).then(({ runPython }) => runPython(${JSON.stringify(options)}))`
  const starter = spawn(process.execPath, ['-e', script], { stdio: ['ignore', 'ignore', 'inherit'] })
  onTestFinished(() => void starter.kill('SIGKILL'))
  const pid = await vi.waitFor(() => pidOf(home), { timeout: 60_000 })
  onTestFinished(() => {
    if (processMark(pid) !== undefined) process.kill(pid, 'SIGKILL')
  })
  expect(processMark(pid)).toBeDefined()
  starter.kill('SIGKILL')
  await once(starter, 'exit')
  await waitUntil(() => processMark(pid) === undefined, { what: 'the end of the Python program', timeoutMs: 30_000 })
})
