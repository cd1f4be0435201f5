import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { MODELS } from '../../../schemas/fraud/decision/policy.ts'

const run = promisify(execFile)
const SHIPPED = 'schemas/fraud/models/shipped'
const SMALLEST = ['--people', '100', '--days', '10', '--occurrences', '10']

let home: string
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'millrace-fraud-train-'))
})
afterEach(() => rmSync(home, { recursive: true, force: true }))

function sha256Of(file: string): string {
  return createHash('sha256').update(readFileSync(file)).digest('hex')
}

/**
 * Installs a program in place of Python. The check whether packages are installed succeeds with this program. When the
 * program is run for training, it writes the file of the first model and then fails.
 */
function installFailingPython(): void {
  const packages = sha256Of('tools/fraud/python/requirements.txt').slice(0, 12)
  const environment = join(home, 'tools', `python-fraud-${packages}`)
  mkdirSync(join(environment, 'bin'), { recursive: true })
  writeFileSync(join(environment, 'ready'), '')
  const program = `#!${process.execPath}
const fs = require('node:fs')
if (process.argv[2] === '-c') process.exit(0)
fs.writeFileSync(JSON.parse(fs.readFileSync(process.argv[3], 'utf8')).models[0].onnx, 'half a model')
process.stderr.write('no space left on device')
process.exit(1)
`
  writeFileSync(join(environment, 'bin', 'python'), program)
  chmodSync(join(environment, 'bin', 'python'), 0o755)
}

test('a training run that fails leaves earlier models of the same version intact', async () => {
  installFailingPython()
  const out = join(home, 'models')
  mkdirSync(out)
  for (const name of MODELS) {
    for (const type of ['json', 'onnx']) copyFileSync(join(SHIPPED, `${name}-1.${type}`), join(out, `${name}-mine.${type}`))
  }
  const contents = () => readdirSync(out).map((name) => [name, sha256Of(join(out, name))])
  const before = contents()
  const training = run(process.execPath, ['tools/fraud/train/train.ts', ...SMALLEST, '--version', 'mine', '--out', out], {
    env: { ...process.env, MILLRACE_HOME: home },
  })
  await expect(training).rejects.toMatchObject({ code: 1, stderr: expect.stringContaining('no space left on device') })
  expect(contents()).toEqual(before)
})
