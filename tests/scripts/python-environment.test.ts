import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { pythonEnvironment } from '../../scripts/python-environment.ts'

/** Replaces `python3 -m venv FOLDER` with a script that creates an environment whose Python finds its packages. */
const PYTHON3 = `#!/bin/sh
mkdir -p "$3/bin"
ln -s /bin/true "$3/bin/python"
ln -s /bin/true "$3/bin/pip"
`

let tools: string
beforeEach(() => {
  tools = mkdtempSync(join(tmpdir(), 'millrace-python-'))
  writeFileSync(join(tools, 'requirements.txt'), '')
  writeFileSync(join(tools, 'python3'), PYTHON3)
  chmodSync(join(tools, 'python3'), 0o755)
  vi.stubEnv('PATH', `${tools}:${process.env.PATH}`)
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(tools, { recursive: true, force: true })
})

const make = () => pythonEnvironment({ name: 'test', requirements: join(tools, 'requirements.txt'), tools })

test('an environment is built once', async () => {
  const bin = await make()
  writeFileSync(join(bin, 'mark'), '')
  expect(await make()).toBe(bin)
  expect(existsSync(join(bin, 'mark'))).toBe(true)
})

test.each([
  ['was removed', '/nonexistent/python3'],
  ['no longer finds the packages, because another version has replaced it', '/bin/false'],
])('an environment is built again if its Python %s', async (_, python) => {
  const bin = await make()
  rmSync(join(bin, 'python'))
  symlinkSync(python, join(bin, 'python'))
  mkdirSync(join(bin, 'old'))
  expect(await make()).toBe(bin)
  expect(existsSync(join(bin, 'old'))).toBe(false)
  expect(existsSync(join(bin, 'python'))).toBe(true)
})
